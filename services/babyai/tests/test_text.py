"""The text is true: what it says is rebuilt from it and compared with minigrid's own grid and view, after random walks."""

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT
from minigrid.minigrid_env import MiniGridEnv
from scene_reader import Scene, read

from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.levels import levels

WALKS = st.tuples(
    st.sampled_from(levels()),
    st.integers(0, 10**6),
    st.sampled_from(["high-level", "primitive"]),
    st.integers(0, 25),
    st.integers(0, 2**32),
)
STATES = {0: "open", 1: "closed", 2: "locked"}
SIDES = {"ahead": (1, 0), "left": (0, -1), "right": (0, 1)}


def walked(walk: tuple[str, int, str, int, int]) -> tuple[BabyAI, str]:
    """An episode after a random walk, still open, and its last scene."""
    level, seed, actions, turns, choice = walk
    env = BabyAI(level, seed, BabyAIOptions.model_validate({"actions": actions, "instructions": "none"}))
    rng, text = Random(choice), env.start()[-1].content
    for _ in range(turns):
        outcome = env.step(rng.choice(env.actions()))
        if outcome.stop is not None:
            return walked((level, seed, actions, turns // 2, choice + 1))
        text = outcome.text
    return env, text


def truth(env: BabyAI) -> tuple[Any, Any]:
    """minigrid's own view: the turned part of the grid that is in sight (cells out of sight are empty), and the mask."""
    return MiniGridEnv.gen_obs_grid(env.world.game)


def test_every_kind_of_line_is_read() -> None:
    scene = read(
        "Mission: open the door\nIn sight:\nred ball 1: 3 ahead, 1 right\ngreen door 2, locked: 2 left\nSeen before:\n"
        "blue box 1: 1 behind\nStanding in: red door 1, open\nWalls: 4 ahead, 2 left\nCarrying: blue key 1\n"
        "You can: turn left; drop"
    )
    assert scene == Scene(
        in_sight={"red ball 1": (3, 1), "green door 2": (0, -2)},
        before={"blue box 1": (-1, 0)},
        states={"green door 2": "locked", "red door 1": "open"},
        standing_in="red door 1",
        walls={"ahead": 4, "left": 2},
        carrying="blue key 1",
        offers=["turn left", "drop"],
    )


@settings(max_examples=60, deadline=None)
@given(walk=WALKS)
def test_what_is_in_sight_and_where_and_the_doors_states(walk: tuple[str, int, str, int, int]) -> None:
    env, text = walked(walk)
    scene = read(text)
    grid, seen = truth(env)
    told = Counter(
        (*name.split()[:2], scene.states.get(name), place) for name, place in scene.in_sight.items()
    )
    there: Counter[Any] = Counter()
    for i in range(grid.width):
        for j in range(grid.height):
            thing, place = grid.get(i, j), (grid.height - 1 - j, i - grid.width // 2)
            if seen[i, j] and thing is not None and thing.type != "wall" and place != (0, 0):
                state = STATES[thing.encode()[2]] if thing.type == "door" else None
                there[(thing.color, thing.type, state, place)] += 1
    assert told == there


@settings(max_examples=60, deadline=None)
@given(walk=WALKS)
def test_walls_what_is_carried_and_where_the_agent_stands(walk: tuple[str, int, str, int, int]) -> None:
    env, text = walked(walk)
    scene = read(text)
    grid, seen = truth(env)
    for side, (ahead, right) in SIDES.items():
        cells = [(grid.width // 2 + n * right, grid.height - 1 - n * ahead) for n in range(1, 8)]
        hits = [
            n
            for n, (i, j) in enumerate(cells, 1)
            if 0 <= i < grid.width and j >= 0 and seen[i, j] and _kind(grid.get(i, j)) == "wall"
        ]
        on_grid = [n for n in hits if _inside(env, ahead * n, right * n)]
        assert scene.walls.get(side) == (on_grid[0] if on_grid else None)
    carried = env.world.game.carrying
    assert (scene.carrying or "nothing").split()[:2] == (
        [carried.color, carried.type] if carried else ["nothing"]
    )
    under = env.world.game.grid.get(*env.world.game.agent_pos)
    assert (scene.standing_in is not None) == (under is not None)


@settings(max_examples=60, deadline=None)
@given(walk=WALKS)
def test_what_was_seen_before_is_still_there(walk: tuple[str, int, str, int, int]) -> None:
    env, text = walked(walk)
    scene, game = read(text), env.world.game
    f, r = game.dir_vec, game.right_vec
    for name, (ahead, right) in {**scene.before, **scene.in_sight}.items():
        x, y = game.agent_pos + ahead * f + right * r
        thing = game.grid.get(int(x), int(y))
        assert [thing.color, thing.type] == name.split()[:2]
        if thing.type == "door":
            assert scene.states[name] == STATES[thing.encode()[2]]
    assert not scene.before.keys() & scene.in_sight.keys()


@settings(max_examples=60, deadline=None)
@given(walk=WALKS)
def test_the_symbolic_grid_is_minigrid_s_observation(walk: tuple[str, int, str, int, int]) -> None:
    env, _ = walked(walk)
    image = MiniGridEnv.gen_obs(env.world.game)["image"]
    assert env.data()["grid"] == image.tolist()
    assert env.data()["direction"] == env.world.game.agent_dir
    assert image.shape == (7, 7, 3)
    assert all(int(code) in IDX_TO_OBJECT for code in image[:, :, 0].flat)
    assert all(int(code) in IDX_TO_COLOR for code in image[:, :, 1].flat)


@settings(max_examples=25, deadline=None)
@given(walk=WALKS)
def test_a_thing_keeps_its_name(walk: tuple[str, int, str, int, int]) -> None:
    env, _ = walked(walk)
    names, rng = dict(env.world.names), Random(walk[4])
    assert len(set(names.values())) == len(names)
    for _ in range(5):
        if env.step(rng.choice(env.actions())).stop is not None:
            return
        assert names.items() <= env.world.names.items()


def test_the_mission_is_told_in_minigrid_s_words(open_level: Any) -> None:
    joined = Counter()
    for level in levels():
        for seed in range(3):
            env = open_level(level, seed)
            mission = env.world.game.mission
            assert f"\n\nMission: {mission}\n" in env.start()[-1].content
            joined["then"] += ", then " in mission
            joined["after you"] += " after you " in mission
            env.close()
    assert min(joined["then"], joined["after you"]) >= 5


def _kind(thing: Any) -> str | None:
    return None if thing is None else thing.type


def _inside(env: BabyAI, ahead: int, right: int) -> bool:
    """Whether a place lies on the grid; minigrid's view shows walls beyond its edge."""
    game = env.world.game
    x, y = game.agent_pos + ahead * game.dir_vec + right * game.right_vec
    return bool(0 <= x < game.width and 0 <= y < game.height)

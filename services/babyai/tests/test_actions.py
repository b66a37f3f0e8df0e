"""Actions: what is offered is accepted and does what it says; what can't be done is named and changes nothing."""

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turngym.environment import Outcome
from turngym.parsing import UnreadableAction, read_action
from turngym_babyai.commands import GRAMMAR
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.levels import levels
from turngym_babyai.view import position
from turngym_babyai.world import FORWARD

Opener = Callable[..., BabyAI]
REPR = re.compile(r"object at 0x|\bNone\b|\{'|<class|Order\(|np\.")


def snapshot(env: BabyAI) -> tuple[object, ...]:
    game = env.world.game
    return position(game), game.agent_dir, game.carrying, game.grid.encode().tobytes(), game.step_count


@settings(max_examples=25, deadline=None)
@given(
    level=st.sampled_from(levels()),
    seed=st.integers(0, 10**6),
    actions=st.sampled_from(["high-level", "primitive"]),
    choice=st.integers(0, 2**32),
)
def test_every_offered_action_is_accepted_and_leads_where_it_says(
    level: str, seed: int, actions: str, choice: int
) -> None:
    env = BabyAI(level, seed, BabyAIOptions.model_validate({"actions": actions}))
    rng = Random(choice)
    for _ in range(4):
        offered = env.actions()
        assert len(set(offered)) == len(offered)
        for action in offered:
            branch = env.fork()
            assert read_action(action, GRAMMAR) == action
            outcome = branch.step(action)
            assert not outcome.invalid, (action, outcome.text)
            if outcome.stop is None:
                arrived(branch, action)
        if env.step(rng.choice(offered)).stop is not None:
            return


def arrived(env: BabyAI, action: str) -> None:
    """What an action promises, checked on the grid."""
    world = env.world
    named = re.fullmatch(r"(go to|pick up|go through|toggle and go through) (.+)", action)
    if named is None:
        return
    (thing,) = [thing for thing, name in world.names.items() if name == named[2]]
    if named[1] == "go to":
        assert world.facing is thing
    elif named[1] == "pick up":
        assert world.game.carrying is thing
    else:
        assert thing.is_open
        if world.under is thing:  # something stands right behind the door
            assert world.facing is not None
        else:
            dx, dy = world.game.dir_vec
            x, y = position(world.game)
            assert world.game.grid.get(x - int(dx), y - int(dy)) is thing


def in_sight_of(open_level: Opener, level: str, kind: str) -> tuple[BabyAI, str]:
    """An episode of the first layout where a thing of that kind comes in sight within three turns to the left; its name."""
    for seed in range(50):
        env = open_level(level, seed)
        for _ in range(4):
            named = [name for name in env.world.names.values() if f" {kind} " in name]
            if named:
                return env, named[0]
            env.step("turn left")
    pytest.fail(f"no {kind} in sight in any layout of {level}")


def test_both_spellings_of_pick_up_are_understood(open_level: Opener) -> None:
    texts = []
    for spelling in ("pick up", "pickup", "Pick Up", "PICKUP", "pick  up"):
        env = open_level("PickupLoc", 1)
        name = next(a for a in env.actions() if a.startswith("pick up ")).removeprefix("pick up ")
        outcome = env.step(f"{spelling} {name}")
        assert not outcome.invalid
        texts.append(outcome.text)
        for facing in (f"go to {name}", spelling):
            near = open_level("PickupLoc", 1, actions="high-level")
            near.step(f"go to {name}")
            assert not near.step(spelling).invalid, facing
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Turn Left.", "turn left"),
        ("turn  right", "turn right"),
        ("GO TO the {name}", "go to {name}"),
        ("goto {name}", "go to {name}"),
        ("go to {kind}", "go to {name}"),
    ],
)
def test_spelling_is_forgiven(open_level: Opener, said: str, meant: str) -> None:
    plain, name = in_sight_of(open_level, "GoToRedBallNoDists", "ball")
    spelt = plain.fork()
    names = {"name": name, "kind": name.rpartition(" ")[0]}
    assert spelt.step(said.format(**names)) == plain.step(meant.format(**names))


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("", "Unknown action: . Use"),
        ("dance", "Unknown action: dance. Use"),
        ("go to", "Unknown action: go to. Use"),
        ("go to purple dragon 1", "You have seen no purple dragon 1"),
        ("pick up purple dragon", "You have seen no purple dragon"),
        ("go through purple dragon 1", "You have seen no purple dragon 1"),
        ("x" * 500, "Unknown action: " + "x" * 60 + "…. Use"),
    ],
)
def test_what_is_no_action_is_named_and_the_game_stands_still(
    open_level: Opener, action: str, answer: str
) -> None:
    env = open_level("GoToLocal", 0)
    before = snapshot(env)
    outcome = env.step(action)
    assert outcome.text.startswith(answer)
    assert outcome.invalid
    assert (outcome.reward, outcome.score, outcome.stop) == (0, 0, None)
    assert snapshot(env) == before


def test_a_locked_door_asks_for_its_key(open_level: Opener) -> None:
    env, name = in_sight_of(open_level, "UnlockLocal", "door")
    (door,) = [thing for thing in env.world.names if thing.type == "door"]
    assert env.step(f"go through {name}").text == f"Can't go through {name}: it is locked"
    refused = env.step(f"toggle and go through {name}")
    assert refused.text == (
        f"Can't toggle and go through {name}: it is locked, and you don't carry a {door.color} key"
    )
    env.step(f"go to {name}")
    bare = env.step("toggle")
    assert bare.invalid
    assert bare.text == f"Can't toggle {name}: it is locked, and you don't carry a {door.color} key"


def test_a_step_into_a_wall_is_a_step_of_minigrid_s_without_effect(open_level: Opener) -> None:
    env = open_level("GoToObj", 0, actions="primitive")
    while env.step("move forward").text != "Can't move forward: a wall is in the way":
        assert env.world.game.step_count < 10
    steps = env.world.game.step_count
    outcome = env.step("move forward")
    assert outcome.invalid
    assert env.world.game.step_count == steps + 1


def test_one_cannot_carry_two_things(open_level: Opener) -> None:
    env = open_level("PickupLoc", 1)
    first = next(a for a in env.actions() if a.startswith("pick up "))
    env.step(first)
    carried = first.removeprefix("pick up ")
    assert env.world.names[env.world.game.carrying] == carried
    others = [name for thing, name in env.world.names.items() if thing.can_pickup() and name != carried]
    assert env.step(f"pick up {others[0]}").text == f"Can't pick up {others[0]}: you carry {carried}"
    assert env.step(f"go to {carried}").text == f"You carry {carried}"
    assert not any(action.startswith("pick up") for action in env.actions())


def test_the_primitive_set_names_nothing(open_level: Opener) -> None:
    env = open_level("GoToLocal", 0, actions="primitive")
    name = next(iter(env.world.names.values()))
    assert env.step(f"go to {name}").text.startswith(f"Unknown action: go to {name}. Use turn left")
    assert not any(" to " in action for action in env.actions())


def test_names_that_fit_several_things_are_asked_back(open_level: Opener) -> None:
    for seed in range(200):
        env = open_level("GoToLocal", seed)
        kinds = [name.rpartition(" ")[0] for name in env.world.names.values()]
        twice = [kind for kind in kinds if kinds.count(kind) > 1]
        if twice:
            assert env.step(f"go to {twice[0]}").text == f"Which one: {twice[0]} 1, {twice[0]} 2?"
            return
    pytest.fail("no layout has two things of a kind in sight")


WORDS = st.sampled_from(
    ["go to", "pick up", "pickup", "drop", "toggle", "go through", "toggle and go through", "turn left", "the",
     "move forward", "red ball 1", "door", "box", "1", "Action:", "```", "{thing}", "٣", ","]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=6).map(" ".join))


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=6), level=st.sampled_from(levels()), seed=st.integers(0, 99)
)
def test_no_text_breaks_an_episode(texts: list[str], level: str, seed: int) -> None:
    env = BabyAI(level, seed, BabyAIOptions())
    earned = 0.0
    for text in texts:
        try:
            outcome: Outcome = env.step(read_action(text, GRAMMAR))
        except UnreadableAction as error:
            outcome = env.unreadable(str(error))
            assert outcome.invalid
        assert REPR.search(text) or not REPR.search(outcome.text)
        earned += outcome.reward
        assert 0 <= outcome.score <= 1
    assert earned <= 1


def test_a_walk_stops_where_the_mission_is_accomplished(open_level: Opener) -> None:
    """Success on the way to something else ends the walk there, as each step of it is minigrid's."""
    env = open_level("GoToObj", 0)
    while env.world.verdict is None:
        outcome = env.step(env.expert())
    assert outcome.stop == "success"
    assert env.world.log[-1] in range(7)
    assert env.world.log.count(FORWARD) <= len(env.world.log) == env.world.game.step_count

"""One episode: order of missions, reward, clock, end, pictures, copies."""

import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from minigrid.envs.babyai.core.verifier import AfterInstr, BeforeInstr, GoToInstr
from pydantic import ValidationError

from turngym.environment import Outcome
from turngym.schema import StopReason
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.levels import levels
from turngym_babyai.service import BabyAIService
from turngym_babyai.world import NOTHING

Opener = Callable[..., BabyAI]


def solve(env: BabyAI) -> list[Outcome]:
    outcomes: list[Outcome] = []
    while not outcomes or outcomes[-1].stop is None:
        outcomes.append(env.step(env.expert()))
        assert len(outcomes) < 1024
    return outcomes


def ordered_missions(open_level: Opener, count: int) -> list[BabyAI]:
    """Fresh episodes whose mission is to go to two things, one before the other, each the only one that fits its clause."""
    found = []
    for seed in range(400):
        env = open_level("GoToSeqS5R2", seed)
        instr = env.world.game.instrs
        if isinstance(instr, BeforeInstr | AfterInstr) and all(
            isinstance(part, GoToInstr) for part in (instr.instr_a, instr.instr_b)
        ):
            a, b = instr.instr_a.desc.obj_set, instr.instr_b.desc.obj_set
            if len(a) == len(b) == 1 and a[0] is not b[0]:
                found.append(env)
                if len(found) == count:
                    return found
                continue
        env.close()
    pytest.fail(f"only {len(found)} missions in order")


def face(env: BabyAI, thing: Any) -> bool:
    """Walk up to a thing as someone who knows the whole grid; False where there is no free way."""
    world = env.world
    world.seen = {(x, y) for x in range(world.game.width) for y in range(world.game.height)}
    way = world.way_to_face((int(thing.cur_pos[0]), int(thing.cur_pos[1])))
    world.follow(way or [NOTHING])
    return way is not None


@pytest.mark.parametrize("reverse", [False, True])
def test_a_mission_in_order_is_rewarded_in_its_order_alone(open_level: Opener, reverse: bool) -> None:
    tried = 0
    for env in ordered_missions(open_level, 14):
        game = env.world.game
        game.open_all_doors()
        instr = game.instrs
        first, second = (
            (instr.instr_a, instr.instr_b)
            if isinstance(instr, BeforeInstr)
            else (instr.instr_b, instr.instr_a)
        )
        assert (", then " in game.mission) == isinstance(instr, BeforeInstr)
        parts = (second, first) if reverse else (first, second)
        if not face(env, parts[0].desc.obj_set[0]):
            continue
        if reverse and getattr(instr, "a_done" if isinstance(instr, BeforeInstr) else "b_done") == "success":
            continue  # the way led past the first one
        assert (env.world.verdict, env.score) == (None, 0)
        if not face(env, parts[1].desc.obj_set[0]):
            continue
        if reverse:
            assert (env.world.verdict, env.score) == (None, 0)
        else:
            assert env.world.verdict == "success"
            assert env.score > 0
        tried += 1
    assert tried >= 5


def test_the_reward_is_minigrid_s_own(open_level: Opener) -> None:
    """The same actions in minigrid, made and stepped as anyone would, end with the same reward."""
    for level, version, seed in (("GoToLocal", "v0", 4), ("GoToObjS6", "v1", 2), ("UnlockLocal", "v0", 1)):
        env = open_level(level, seed)
        outcome = solve(env)[-1]
        original = gymnasium.make(f"BabyAI-{level}-{version}")
        original.reset(seed=seed)
        for action in env.world.log:
            _, reward, terminated, _, _ = original.step(action)
        assert terminated
        assert outcome.reward == outcome.score == reward
        limit = original.unwrapped.max_steps
        assert reward == pytest.approx(1 - 0.9 * len(env.world.log) / limit)


def test_the_plain_reward_is_one(open_level: Opener) -> None:
    outcomes = solve(open_level("GoToLocal", 4, reward="goal"))
    assert [outcome.reward for outcome in outcomes] == [0] * (len(outcomes) - 1) + [1]
    assert outcomes[-1].score == 1


@pytest.mark.parametrize("reward", ["minigrid", "goal"])
def test_nothing_is_earned_after_the_end(open_level: Opener, reward: str) -> None:
    env = open_level("GoToLocal", 4, reward=reward)
    won = solve(env)[-1]
    log = list(env.world.log)
    for action in ("turn left", "move forward", "toggle", "go to red ball 1", "nonsense"):
        after = env.step(action)
        assert (after.reward, after.score, after.stop, after.invalid) == (0, won.score, None, True)
    assert env.actions() == []
    assert env.world.log == log


@settings(max_examples=40, deadline=None)
@given(level=st.sampled_from(levels()), seed=st.integers(0, 10**6), choice=st.integers(0, 2**32))
def test_no_sequence_of_actions_earns_more_than_one(level: str, seed: int, choice: int) -> None:
    rng = Random(choice)
    env = BabyAI(level, seed, BabyAIOptions())
    earned, ended = 0.0, False
    for _ in range(40):
        action = rng.choice([*(env.actions() or ["toggle"]), "drop", "pick up", "go to the door", "?"])
        outcome = env.step(action)
        assert not ended or outcome.reward == 0
        ended |= outcome.stop is not None
        earned += outcome.reward
        assert 0 <= outcome.score <= 1
    assert 0 <= earned <= 1
    assert earned == env.score


@pytest.mark.parametrize("actions", ["high-level", "primitive"])
def test_minigrid_s_clock_ends_an_episode(open_level: Opener, actions: str) -> None:
    env = open_level("GoToObjS4", 0, actions=actions)
    limit = env.world.game.max_steps
    outcomes = []
    while not outcomes or outcomes[-1].stop is None:
        blocked = env.world.facing is not None and env.world.facing.type != "wall"
        outcomes.append(env.step("turn left" if not blocked else "turn right"))
        if env.world.verdict == "success":
            pytest.skip("this layout is won by turning")
    assert len(outcomes) == limit
    last = outcomes[-1]
    assert (last.stop, last.reward, last.score) == (StopReason.FAILURE, 0, 0)
    assert last.text == f"Mission failed: its {limit} steps are used up"


def test_a_strict_mission_can_be_failed(open_level: Opener) -> None:
    """In PickupDistDebug the first thing taken must be the right one."""
    for seed in range(30):
        env = open_level("PickupDistDebug", seed)
        wanted = {env.world.names.get(thing) for thing in env.world.game.instrs.desc.obj_set}
        wrong = [
            a for a in env.actions() if a.startswith("pick up ") and a.removeprefix("pick up ") not in wanted
        ]
        if wrong:
            outcome = env.step(wrong[0])
            assert (outcome.stop, outcome.score, outcome.text) == (StopReason.FAILURE, 0, "Mission failed")
            return
    pytest.fail("no layout shows a wrong thing")


def test_the_opening_is_one_user_message(service: BabyAIService, open_level: Opener) -> None:
    (message,) = open_level("GoToLocal", 0).start()
    assert message.role == "user"
    assert message.content.startswith(service.spec.instruction)
    (bare,) = open_level("GoToLocal", 0, instructions="none").start()
    assert message.content == f"{service.spec.instruction}\n\n{bare.content}"
    (primitive,) = open_level("GoToLocal", 0, actions="primitive").start()
    assert "go to {thing}" not in primitive.content


def test_listing_and_memory_can_be_left_out(open_level: Opener) -> None:
    env = open_level("GoToLocal", 1, listing=False, memory=False)
    texts = [env.start()[0].content.partition("Mission: ")[2]]
    texts += [env.step("turn left").text for _ in range(4)]
    assert not any("You can:" in text or "Seen before:" in text for text in texts)
    full = open_level("GoToLocal", 1)
    texts = [full.step("turn left").text for _ in range(4)]
    assert all("You can:" in text for text in texts)
    assert any("Seen before:" in text for text in texts)


def test_a_fork_is_independent_of_its_parent(open_level: Opener) -> None:
    for level in ("BossLevel", "PutNextS5N2Carrying", "KeyInBox"):
        parent, twin = open_level(level, 1), open_level(level, 1)
        for env in (parent, twin):
            env.step("turn left")
        child = parent.fork()
        rng = Random(0)
        said = []
        for _ in range(12):
            action = rng.choice(child.actions())
            said.append((action, child.step(action)))
            if said[-1][1].stop:
                break
        assert parent.step("turn right") == twin.step("turn right")
        child.close()
        other = open_level(level, 1)
        other.step("turn left")
        assert [outcome for _, outcome in said] == [other.step(action) for action, _ in said]


def test_a_closed_episode_leaves_no_cycle_behind(open_level: Opener) -> None:
    """What is closed is freed by counting references; a garbage collection that has to find it would stall others."""
    import gc
    import weakref

    env = open_level("BossLevel", 0)
    env.step("turn left")
    gc.collect()
    gc.disable()
    try:
        gone = [weakref.ref(thing) for thing in (env.world.game, env.world.game.room_grid[0][0])]
        env.close()
        del env
        assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()


def test_the_picture_is_a_png_of_the_whole_world(open_level: Opener) -> None:
    env = open_level("GoToObjS6", 0)
    png = env.render()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (32 * env.world.game.width, 32 * env.world.game.height)
    assert zlib.crc32(png[12:29]) == struct.unpack(">I", png[29:33])[0]
    env.step("turn left")
    assert env.render() != png


@pytest.mark.parametrize(
    "options", [{"actions": "low"}, {"reward": "gold"}, {"listing": "perhaps"}, {"instruction": "none"}]
)
def test_a_wrong_option_is_refused(service: BabyAIService, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        service.Options(**options)

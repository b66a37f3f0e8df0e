"""One episode: what actions do, what they are answered with, what they earn, and who solves what."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sciworlds import Opener, play, sample

from turngym.parsing import UnreadableAction, read_action
from turngym.problems import ProblemError
from turngym.schema import StopReason, TaskInfo
from turngym_sciworld.env import GRAMMAR, INSTRUCTION, MAX_ACTION, SciWorld, SciWorldOptions
from turngym_sciworld.service import SciWorldService


def test_the_opening_is_one_user_message_with_the_task_and_a_first_look(open_task: Opener) -> None:
    (message,) = open_task("boil").start()
    assert message.role == "user"
    assert message.content.startswith(f"{INSTRUCTION}\n\nYour task is to boil water.")
    assert "\n\nThis room is called the " in message.content
    (bare,) = open_task("boil", instructions="none").start()
    assert message.content == f"{INSTRUCTION}\n\n{bare.content}"


def test_the_goal_of_the_task_is_what_the_episode_says(
    open_task: Opener, task_of: Callable[[str, int], TaskInfo]
) -> None:
    for _, kind, variation in sample()[::5]:
        opening = open_task(kind, variation, instructions="none").start()[-1].content
        assert opening.startswith(task_of(kind, variation).goal + "\n\n")


def test_an_action_that_cannot_be_read_is_invalid_and_changes_nothing(open_task: Opener) -> None:
    env = open_task("boil")
    env.start()
    before = env.step("look around").text
    outcome = env.step("dance wildly")
    assert (outcome.invalid, outcome.reward, outcome.stop) == (True, 0, None)
    assert outcome.text == "No known action matches that input."
    assert env.step("look around").text == before
    long = env.step("look at " + "x" * MAX_ACTION)
    assert long.invalid and "too long" in long.text


def test_an_ambiguous_action_is_answered_by_a_number(open_task: Opener) -> None:
    env = open_task("boil", simplifications=["teleportAction", "openDoors"])
    env.start()
    env.step("teleport to kitchen")
    env.step("open cupboard")
    question = env.step("look at substance")
    assert question.text.startswith("Ambiguous request")
    assert not question.invalid
    choices = [line.split(":\t")[1] for line in question.text.splitlines() if ":\t" in line]
    assert len(choices) > 1
    assert all(choice.startswith("look at ") for choice in choices)
    assert env.actions() == sorted(str(number) for number in range(question.text.count(":\t")))
    assert not env.step("0").text.startswith("Ambiguous")


def test_a_wrong_answer_is_a_failure_that_takes_the_score_back(open_task: Opener) -> None:
    env = open_task("find-plant")
    env.start()
    outcomes = play(env, SciWorld.expert, turns=3)
    outcomes.append(env.step("focus on air"))
    assert outcomes[-1].stop is StopReason.FAILURE
    assert outcomes[-1].score == env.score == 0
    assert sum(outcome.reward for outcome in outcomes) == pytest.approx(0)
    after = env.step("look around")
    assert (after.invalid, after.reward, after.score) == (True, 0, 0)


def test_rewards_add_up_to_the_score(open_task: Opener) -> None:
    env = open_task("melt")
    env.start()
    outcomes = play(env, SciWorld.expert)
    assert outcomes[-1].stop is StopReason.SUCCESS
    assert sum(outcome.reward for outcome in outcomes) == pytest.approx(1)
    assert all(0 <= outcome.score <= 1 for outcome in outcomes)
    plain = open_task("melt", reward="success")
    plain.start()
    assert [outcome.reward for outcome in play(plain, SciWorld.expert)] == [0.0] * (len(outcomes) - 1) + [1.0]


def test_simplifications_change_the_house(open_task: Opener) -> None:
    env = open_task("boil", simplifications=["easy"])
    env.start()
    assert "teleport" in env.step("teleport to kitchen").text.lower()
    plain = open_task("boil")
    plain.start()
    assert plain.step("teleport to kitchen").invalid
    assert not env.step("teleport to foundry").invalid  # the other episode has not taken it away


@pytest.mark.parametrize(
    "options",
    [{"reward": "gold"}, {"simplifications": ["fly"]}, {"simplification": []}, {"instructions": "some"}],
)
def test_a_wrong_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SciWorldOptions(**options)


def test_a_simplification_that_rules_the_task_out_is_refused(open_task: Opener) -> None:
    with pytest.raises(ProblemError, match="needs electrical actions"):
        open_task("power-component", simplifications=["noElectricalAction"])
    open_task("power-component", simplifications=["easy"])


def test_a_player_that_does_nothing_and_a_random_one_get_nowhere(
    service: SciWorldService, open_task: Opener
) -> None:
    for _, kind, variation in sample()[::9]:
        for player in (lambda env, rng: "look around", SciWorld.random):
            env = open_task(kind, variation)
            env.start()
            rng = Random(variation)
            outcomes = play(env, lambda e, rng=rng, player=player: player(e, rng), turns=6)
            assert outcomes[-1].stop is not StopReason.SUCCESS


def test_the_novice_gets_there_too_but_later(open_task: Opener) -> None:
    rng = Random(4)
    for kind in ("boil", "find-animal", "power-component"):
        env = open_task(kind)
        env.start()
        expert = len(play(env, SciWorld.expert))
        slow = open_task(kind)
        slow.start()
        outcomes = play(slow, lambda e: e.novice(rng, 0.5))
        assert outcomes[-1].stop is StopReason.SUCCESS
        assert len(outcomes) > expert
        assert not any(outcome.invalid for outcome in outcomes)


def test_every_listed_action_is_read(open_task: Opener) -> None:
    env = open_task("find-living-thing")
    env.start()
    listed = env.actions()
    assert listed == sorted(set(listed))
    assert len(listed) > 50
    for action in listed[::25]:
        other = open_task("find-living-thing")
        other.start()
        assert read_action(action, GRAMMAR) == action
        assert not other.step(action).invalid, action


WORDS = st.sampled_from(
    ["look", "at", "on", "focus", "move", "to", "pour", "into", "use", "mix", "0", "1", "air", "door", "picture", "agent",
     "inventory", "hallway", "kitchen", "help", "objects", "task", "wait1", "reset", "\ud800", "\x00", "é", "Action:"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=7).map(" ".join))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=1, max_size=5))
def test_no_text_breaks_an_episode(open_task: Opener, texts: list[str]) -> None:
    env = open_task("find-plant", 1)
    env.start()
    for text in texts:
        try:
            outcome = env.step(read_action(text, GRAMMAR))
        except UnreadableAction as error:
            outcome = env.unreadable(str(error))
        assert outcome.text
        assert 0 <= outcome.score <= 1
        assert -1 <= outcome.reward <= 1

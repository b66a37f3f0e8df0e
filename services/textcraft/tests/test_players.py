"""The players: an expert that never fails, a novice that fails by its rate, floors that don't get anywhere."""

from collections.abc import Callable
from random import Random

import pytest

from turngym.environment import Outcome
from turngym.parsing import read_action
from turngym.schema import StopReason, TaskInfo
from turngym_textcraft.env import GRAMMAR, TextCraft, TextCraftOptions
from turngym_textcraft.service import TextCraftService
from turngym_textcraft.tree import MAX_TURNS

Play = Callable[[TextCraft, Callable[[TextCraft], str], int], list[Outcome]]


def success(
    service: TextCraftService,
    play: Play,
    player: Callable[[TextCraft, Random], str],
    turns: int,
    depth: int | None = None,
) -> float:
    """The share of test tasks that the player solves."""
    tasks = [t for t in service.tasks.page("test", 0, 365) if depth in (None, t.info["depth"])]
    won = 0
    for task in tasks:
        rng = Random(task.index)
        env = service.open(task, task.index, TextCraftOptions())
        won += play(env, lambda e, rng=rng: player(e, rng), turns)[-1].stop == StopReason.SUCCESS
    return won / len(tasks)


def test_a_player_that_does_nothing_never_wins(service: TextCraftService, play: Play) -> None:
    assert success(service, play, lambda env, rng: "inventory", MAX_TURNS) == 0


def test_a_random_player_hardly_ever_wins_within_a_training_horizon(
    service: TextCraftService, play: Play
) -> None:
    assert success(service, play, TextCraft.random, turns=8) < 0.03


def test_a_random_player_gains_by_patience_on_single_recipes_only(
    service: TextCraftService, play: Play
) -> None:
    """With 30 turns for a task of two or three, chance solves some; with depth that is gone."""
    assert success(service, play, TextCraft.random, turns=30) < 0.25
    assert success(service, play, TextCraft.random, turns=30, depth=3) < 0.05


def test_the_novice_at_rate_0_is_the_expert(service: TextCraftService, play: Play) -> None:
    assert success(service, play, lambda env, rng: env.novice(rng, 0.0), MAX_TURNS) == 1


def test_the_novice_at_rate_1_never_makes_anything(
    service: TextCraftService, every_task: list[TaskInfo], play: Play
) -> None:
    for task in every_task[::3]:
        rng = Random(task.index)
        env = service.open(task, task.index, TextCraftOptions(reward="shaped"))
        play(env, lambda e, rng=rng: e.novice(rng, 1.0), MAX_TURNS)
        assert isinstance(env, TextCraft)
        assert env.score == 0
        assert not env.made


def test_the_novice_meets_every_refusal(service: TextCraftService, play: Play) -> None:
    said = []
    for index in range(365):
        env = service.open(service.tasks.at("test", index), index, TextCraftOptions())
        rng = Random(index)
        said += [outcome.text for outcome in play(env, lambda e, rng=rng: e.novice(rng, 1.0), 8)]
    for refusal in (
        ": craft it",
        "no command here needs it",
        "not enough ingredients",
        "like that: the command is",
    ):
        assert any(refusal in text for text in said), refusal


def test_the_novice_gets_worse_with_its_rate(service: TextCraftService, play: Play) -> None:
    shares = [
        success(service, play, lambda env, rng, r=rate: env.novice(rng, r), 8) for rate in (0.3, 0.6, 0.9)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] > 0.3


@pytest.mark.parametrize("rename", [False, True])
def test_every_player_s_action_is_well_formed(service: TextCraftService, rename: bool) -> None:
    """Read by the grammar as it was written, and known to the game, whether or not it works."""
    for index in range(0, 365, 3):
        env = service.open(service.tasks.at("test", index), index, TextCraftOptions(rename=rename))
        assert isinstance(env, TextCraft)
        rng = Random(index)
        for player in (lambda: env.novice(rng, 0.6), lambda: env.random(rng), env.expert):  # noqa: B023
            for _ in range(4):
                action = player()
                assert read_action(action, GRAMMAR) == action
                outcome = env.fork().step(action)
                assert not outcome.text.startswith("Unknown action")
                assert "no such item" not in outcome.text


def test_the_expert_finds_its_way_from_wherever_the_novice_left(
    service: TextCraftService, play: Play
) -> None:
    for index in range(0, 365, 3):
        env = service.open(service.tasks.at("test", index), index, TextCraftOptions())
        rng = Random(index)
        early = play(env, lambda e, rng=rng: e.novice(rng, 0.8), 12)
        if early[-1].stop is None:
            assert play(env, TextCraft.expert, 2 * MAX_TURNS)[-1].stop == StopReason.SUCCESS

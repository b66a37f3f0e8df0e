"""Tasks: the same everywhere, apart between splits, solvable, and not to be solved another way."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turngym.environment import Outcome
from turngym.schema import StopReason, TaskInfo
from turngym_textcraft.env import TextCraft, TextCraftOptions
from turngym_textcraft.recipes import FAMILIES, MAX_COUNT, items, members, recipes
from turngym_textcraft.service import TextCraftService
from turngym_textcraft.tasks import tree_of
from turngym_textcraft.tree import MAX_TURNS

GOLDEN = "daa03f8e604d96a669496e95f12b09d1d2d605fc7505c72531c33ddeb3c77c53"

Play = Callable[[TextCraft, Callable[[TextCraft], str], int], list[Outcome]]


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_ids_texts_and_expert_episodes_are_the_same_in_every_process(hash_seed: str) -> None:
    program = [sys.executable, str(Path(__file__).parent / "golden.py")]
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    printed = subprocess.run(program, env=environ, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == GOLDEN


def test_no_goal_is_in_two_splits(every_task: list[TaskInfo]) -> None:
    splits: dict[str, set[str]] = {}
    for task in every_task:
        splits.setdefault(tree_of(task).goal, set()).add(task.split)
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(found.pop() for found in splits.values()).keys() == {"train", "validation", "test"}


def test_every_split_has_every_depth_in_about_its_share(every_task: list[TaskInfo]) -> None:
    for depth in (1, 2, 3, 4):
        counts = Counter(task.split for task in every_task if task.info["depth"] == depth)
        assert 0.18 < counts["test"] / counts.total() < 0.32
        assert 0.55 < counts["train"] / counts.total() < 0.75


def test_the_test_split_has_goals_enough_to_measure_on(every_task: list[TaskInfo]) -> None:
    shallow = {task.goal for task in every_task if task.split == "test" and task.info["depth"] <= 2}
    assert len(shallow) >= 120


def test_a_task_is_found_by_its_id(service: TextCraftService, every_task: list[TaskInfo]) -> None:
    assert len({task.task_id for task in every_task}) == len(every_task)
    for task in every_task:
        assert service.tasks.get(task.task_id) == task
        assert service.tasks.at(task.split, task.index) == task


@pytest.mark.parametrize(
    "task_id",
    [
        "", "/", "0", "5", "textcraft", "textcraft/", "textcraft/test", "textcraft/test/", "textcraft/test/-1",
        "textcraft/test/+1", "textcraft/test/01", "textcraft/test/1.0", "textcraft/test/1e2", "textcraft/test/ 1",
        "textcraft/test/1 ", "textcraft/test/1\n", "textcraft/test/1/", "textcraft/test//1", "textcraft/test/1_0",
        "textcraft/test/٣", "textcraft/test/²", "textcraft/test/\uff11", "textcraft/test/365", "textcraft/dev/1",
        "textcraft/test/" + "9" * 30, "textcraft/test/" + "9" * 5000, "TEXTCRAFT/test/1", "babyai/test/1",
        "textcraft/train/textcraft/test/1", "../textcraft/test/1", "textcraft/test/1\x00",
    ],
)  # fmt: skip
def test_an_id_that_is_none_is_a_key_error(service: TextCraftService, task_id: str) -> None:
    with pytest.raises(KeyError):
        service.tasks.get(task_id)


@pytest.mark.parametrize("index", [-1, 365, 10**12])
def test_an_index_beyond_the_split_is_an_index_error(service: TextCraftService, index: int) -> None:
    with pytest.raises(IndexError):
        service.tasks.at("test", index)


def test_a_task_does_not_tell_its_answer(every_task: list[TaskInfo]) -> None:
    for task in every_task:
        assert task.info.keys() == {"depth", "expert_turns"}
        assert task.goal == f"craft {tree_of(task).goal}"


@pytest.mark.parametrize(
    "options",
    [{}, {"rename": True}, {"distractors": 0}, {"distractors": 32}, {"reward": "shaped", "rename": True}],
    ids=str,
)
def test_the_expert_solves_every_task_in_the_turns_it_says(
    service: TextCraftService, every_task: list[TaskInfo], play: Play, options: dict[str, Any]
) -> None:
    for task in every_task:
        outcomes = play(
            service.open(task, task.index, TextCraftOptions(**options)), TextCraft.expert, MAX_TURNS
        )
        assert outcomes[-1].stop == StopReason.SUCCESS, task
        assert len(outcomes) == task.info["expert_turns"]
        assert sum(outcome.reward for outcome in outcomes) == pytest.approx(1)
        assert not any(outcome.invalid for outcome in outcomes)


def test_quantities_are_bounded(every_task: list[TaskInfo]) -> None:
    for task in every_task:
        crafted = tree_of(task).crafted.values()
        assert all(
            1 <= count <= MAX_COUNT for recipe in crafted for count in (recipe.count, *recipe.needs.values())
        )
        assert 2 <= task.info["expert_turns"] <= MAX_TURNS


def test_no_distractor_opens_another_way(service: TextCraftService, every_task: list[TaskInfo]) -> None:
    """Without any single recipe of its tree, the goal can't be had from all that can be fetched and crafted: so fetching
    alone never does it, and no way has fewer steps of crafting than the tree."""
    for task in every_task:
        for seed, distractors in ((0, 4), (1, 12)):
            env = service.open(task, seed, TextCraftOptions(distractors=distractors))
            assert isinstance(env, TextCraft)
            assert env.tree.goal in reachable(env, without=None)
            assert not env.raw & env.tree.crafted.keys()
            for item in env.tree.crafted:
                assert env.tree.goal not in reachable(env, without=item), (task, seed, item)


def reachable(env: TextCraft, without: str | None) -> set[str]:
    """Every item that can be had without the listed command that makes ``without``, however long it takes."""
    have = {member for name in env.raw for member in members(name)}
    commands = [recipe for item, recipe in env.commands.items() if item != without]
    while new := [
        r.item for r in commands if r.item not in have and all(have & {*members(n)} for n in r.needs)
    ]:
        have.update(new)
    return have


def test_every_distractor_is_listed_and_the_order_is_the_seed_s(service: TextCraftService) -> None:
    task = service.tasks.at("test", 0)
    plain, full = (service.open(task, 0, TextCraftOptions(distractors=n)) for n in (0, 7))
    assert isinstance(plain, TextCraft)
    assert isinstance(full, TextCraft)
    assert len(full.commands) == len(plain.commands) + 7
    openings = {service.open(task, seed, TextCraftOptions()).start()[0].content for seed in range(8)}
    assert len(openings) == 8


def test_the_recipes_are_the_game_s() -> None:
    book = recipes()
    assert book["stick"].needs == {"planks": 2}
    assert (book["oak planks"].count, dict(book["oak planks"].needs)) == (4, {"any oak log": 1})
    assert dict(book["crafting table"].needs) == {"planks": 4}
    assert all(set(FAMILIES[name]) <= set(items()) for name in ("planks", "wool", "log"))
    assert not any(item in recipe.needs for item, recipe in book.items())

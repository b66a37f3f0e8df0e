"""Tasks: the same everywhere, apart between splits, and found by their ids, those of published results too."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from turngym.schema import SPLITS
from turngym_babyai.catalogue import BASES, expert_effort, reserved
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.expert import EXCLUDED
from turngym_babyai.levels import PUBLISHED, fingerprint, levels, new_game
from turngym_babyai.service import BabyAIService
from turngym_babyai.tasks import FILE, ITEMS, size, tasks

GOLDEN = "0419015e4aa299d8296ca12664de38b53301a23c9408999ea14f81b9e2675157"


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_texts_and_players_are_the_same_in_every_process(hash_seed: str) -> None:
    program = [sys.executable, str(Path(__file__).parent / "golden.py")]
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    printed = subprocess.run(program, env=environ, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == GOLDEN


def test_every_level_of_minigrid_is_in_every_split() -> None:
    assert len(levels()) == 96
    for split in SPLITS:
        assert {task.level for task in tasks()[split]} == set(levels())


def test_no_layout_is_in_two_splits() -> None:
    splits: dict[str, set[str]] = {}
    for split in SPLITS:
        for task in tasks()[split]:
            splits.setdefault(task.fingerprint, set()).add(split)
    assert all(len(found) == 1 for found in splits.values())


def test_the_first_published_items_are_not_trained_on() -> None:
    learnt = {task.fingerprint for split in ("train", "validation") for task in tasks()[split]}
    items = reserved()
    assert len(items) > ITEMS * 0.9
    assert not learnt & items


def test_the_list_says_what_the_levels_are() -> None:
    """A sample of lines, made anew."""
    lines = [task for split in BASES for task in tasks()[split]]
    assert "".join(task.line() for task in lines) == FILE.read_text()
    for task in lines[::61]:
        game = new_game(task.level, task.seed)
        shape = size(game)
        assert (task.fingerprint, task.mission) == (fingerprint(game), game.mission)
        assert (task.rooms, task.things) == (shape["rooms"], shape["things"])
        assert task.seed >= BASES[task.split]


def test_the_expert_takes_the_turns_that_the_list_says() -> None:
    small = [task for split in SPLITS for task in tasks()[split] if task.rooms == 1]
    for task in small[::97]:
        assert expert_effort(task.level, task.seed) == (
            None if task.turns is None else (task.turns, task.steps)
        )


def test_the_list_has_the_expert_s_turns_for_what_it_claims() -> None:
    claimed = [task for split in SPLITS for task in tasks()[split] if task.level not in EXCLUDED]
    assert sum(task.turns is not None for task in claimed) / len(claimed) >= 0.98
    assert all(task.turns is None or task.turns >= 1 for task in claimed)


def test_easy_tasks_are_enough_to_learn_and_to_measure_on(service: BabyAIService) -> None:
    """What the preset for two cores asks for."""
    counts = Counter(
        task.split
        for split in SPLITS
        for task in service.tasks.page(split, 0, service.tasks.count(split))
        if task.info["level_number"] <= 18
        and task.info["things"] <= 4
        and 3 <= task.info.get("expert_steps", 0) <= 8
    )
    assert counts["train"] >= 500
    assert counts["test"] >= 50


def test_a_task_is_found_by_its_id(service: BabyAIService) -> None:
    for split in SPLITS:
        for task in service.tasks.page(split, 0, service.tasks.count(split)):
            assert service.tasks.get(task.task_id) == task


@pytest.mark.parametrize(("number", "level", "seed"), [(0, 0, 0), (39, 39, 0), (40, 0, 1), (927, 7, 23)])
def test_published_items_are_accepted(service: BabyAIService, number: int, level: int, seed: int) -> None:
    task = service.tasks.get(f"babyai/item/{number}")
    assert (task.info["level"], task.info["seed"]) == (PUBLISHED[level], seed)
    assert (task.split, task.index) == ("test", number)
    env = service.open(task, 0, BabyAIOptions())
    assert isinstance(env, BabyAI)
    assert env.world.game.mission == task.goal
    assert env.world.seed == seed


def test_the_published_levels_are_forty_levels_of_minigrid() -> None:
    assert len(set(PUBLISHED)) == 40
    assert set(PUBLISHED) <= set(levels())


@pytest.mark.parametrize(
    "task_id",
    [
        "", "/", "0", "babyai", "babyai/", "babyai/test", "babyai/test/", "babyai/test/-1", "babyai/test/01",
        "babyai/test/1.0", "babyai/test/ 1", "babyai/test/1\n", "babyai/test//1", "babyai/test/٣",
        "babyai/test/99999999", "babyai/dev/1", "babyai/item/", "babyai/item/-1", "babyai/item/01",
        "babyai/item/" + "9" * 30, "BABYAI/test/1", "textcraft/test/1", "../babyai/test/1", "test/1",
        "babyai/test/1\x00", "item/1", "babyai/babyai/test/1",
    ],
)  # fmt: skip
def test_an_id_that_is_none_is_a_key_error(service: BabyAIService, task_id: str) -> None:
    with pytest.raises(KeyError):
        service.tasks.get(task_id)


@pytest.mark.parametrize("index", [-1, 10**6, 10**12])
def test_an_index_beyond_the_split_is_an_index_error(service: BabyAIService, index: int) -> None:
    with pytest.raises(IndexError):
        service.tasks.at("test", index)


def test_a_seed_of_the_session_changes_nothing(service: BabyAIService) -> None:
    task = service.tasks.at("test", 3)
    assert service.open(task, 0, BabyAIOptions()).start() == service.open(task, 99, BabyAIOptions()).start()

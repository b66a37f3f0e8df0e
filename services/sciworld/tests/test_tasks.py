"""Tasks: the official splits, apart from each other, found by their ids and by the numbers of published results."""

import json
from importlib import resources

import pytest

from turngym.schema import SPLITS
from turngym_sciworld.service import SciWorldService
from turngym_sciworld.tasks import KINDS, SciWorldTasks, official_split, order, survey, variation_of

TASKS = SciWorldTasks()


def test_the_kinds_are_those_of_the_simulator() -> None:
    listed = json.loads(resources.files("scienceworld").joinpath("tasks.json").read_text())
    assert [(kind.number, kind.name) for kind in KINDS] == [
        (item["task_id"], item["task_name"]) for item in listed
    ]


def test_the_splits_are_those_of_the_simulator(service: SciWorldService) -> None:
    jvm = service._pool.freest()
    for kind in KINDS[::4]:
        split = official_split(kind.variations)
        assert jvm.variations(kind.name) == (split["train"], split["validation"], split["test"])


def test_every_variation_is_in_one_split() -> None:
    found = [variation_of(task) for split in SPLITS for task in TASKS.page(split, 0, 10_000)]
    assert len(found) == len(set(found)) == sum(kind.variations for kind in KINDS) == 7207


def test_the_first_tasks_of_a_split_have_every_kind() -> None:
    for split in SPLITS:
        assert {task.info["kind"] for task in TASKS.page(split, 0, 30)} == {kind.name for kind in KINDS}


def test_a_task_is_found_by_its_id() -> None:
    for split in SPLITS:
        for index in (0, 1, 77, TASKS.count(split) - 1):
            task = TASKS.at(split, index)
            assert KINDS[task.info["kind_number"]].name == task.info["kind"]
            assert task.task_id == f"sciworld/{split}/{index}"
            assert TASKS.get(task.task_id) == task


@pytest.mark.parametrize(
    ("item", "kind", "variation"),
    [
        (0, "boil", 0), (29, "boil", 29), (30, "melt", 0), (119, "change-the-state-of-matter-of", 29),
        (120, "use-thermometer", 0), (660, "measure-melting-point-known-substance", 0), (4638, "identify-life-stages-2", 9),
    ],
)  # fmt: skip
def test_a_task_is_found_by_its_item_number(item: int, kind: str, variation: int) -> None:
    task = TASKS.get(f"sciworld/item/{item}")
    assert (task.info["kind"], task.info["variation"]) == (kind, variation)
    assert TASKS.get(task.task_id) == task


@pytest.mark.parametrize(
    "task_id",
    [
        "", "/", "0", "sciworld", "sciworld/", "sciworld/test", "sciworld/test/", "sciworld/test/-1", "sciworld/test/01",
        "sciworld/test/1 ", "sciworld/test/٣", "sciworld/test/²", "sciworld/test/99999", "sciworld/dev/1",
        "sciworld/test/" + "9" * 5000, "SCIWORLD/test/1", "babyai/test/1", "sciworld/item/4639", "sciworld/item/-1",
        "sciworld/boil/1", "sciworld/test/1\x00", "../sciworld/test/1",
    ],
)  # fmt: skip
def test_an_id_that_is_none_is_a_key_error(task_id: str) -> None:
    with pytest.raises(KeyError):
        TASKS.get(task_id)


@pytest.mark.parametrize("index", [-1, 10**6])
def test_an_index_beyond_the_split_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        TASKS.at("test", index)


def test_the_survey_has_every_variation_and_has_played_some_of_each_kind_and_split() -> None:
    known = survey()
    assert {name: len(rows) for name, rows in known["kinds"].items()} == {
        kind.name: kind.variations for kind in KINDS
    }
    for kind, rows in known["kinds"].items():
        assert all(goal is None or known["goals"][goal].startswith("Your task is to") for goal, _ in rows)
        assert all(turns is None or 0 <= turns <= 400 for _, turns in rows)
        for split, numbers in official_split(len(rows)).items():
            played = [rows[number] for number in numbers if rows[number][1] is not None]
            assert all(goal is not None for goal, _ in played)
            assert sum(turns > 0 for _, turns in played) > len(played) / 2, (kind, split)


def test_a_task_whose_goal_the_survey_lacks_goes_by_its_kind() -> None:
    known = survey()["kinds"]
    for split in SPLITS:
        for index, (kind, variation) in enumerate(order(split)):
            goal, turns = known[kind][variation]
            task = TASKS.at(split, index)
            assert task.goal.startswith("Your task is to" if goal is not None else f"{kind}, variation ")
            assert task.info.get("expert_turns") == (turns or None)

"""Task rows: the same for the same settings, spread over the tasks that the filter leaves."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym.schema import Split, TaskInfo
from turngym_trainer.rows import NoSuchTasks, TaskList, derive_seed, rows, select, weighted, write


def tasks(split: Split, count: int = 20) -> list[TaskInfo]:
    return [
        TaskInfo(
            task_id=f"game/{split}/{i}", split=split, index=i, goal=f"goal {i}", info={"depth": 1 + i % 4}
        )
        for i in range(count)
    ]


def test_a_filter_keeps_what_lies_in_its_range_with_both_ends() -> None:
    chosen = select("train", tasks("train"), {"depth": [2, 3]})
    assert {task.info["depth"] for task in chosen.tasks} == {2, 3}
    assert len(chosen.tasks) == 10


@pytest.mark.parametrize("where", [{"depth": [9, 10]}, {"level": [0, 1]}])
def test_a_filter_that_leaves_nothing_is_an_error_that_says_what_there_is(
    where: dict[str, list[float]],
) -> None:
    with pytest.raises(NoSuchTasks, match=r"20 tasks, which have \['depth'\]"):
        select("train", tasks("train"), where)


def test_a_weighted_task_comes_as_often_as_it_says() -> None:
    chosen = select("train", tasks("train"), {"depth": [1, 3]})
    made = rows(weighted(chosen, "depth"), run_seed=1, name="game", options={})
    ids = [row["extra_info"]["task_id"] for row in made]
    assert {task.task_id: ids.count(task.task_id) for task in chosen.tasks} == {
        task.task_id: task.info["depth"] for task in chosen.tasks
    }
    assert len({row["extra_info"]["seed"] for row in made}) == len(made)
    assert weighted(chosen, None) == chosen


@pytest.mark.parametrize("value", [None, 0, 101, 1.5, True, "2"])
def test_a_weight_that_is_none_is_an_error_that_names_the_task(value: Any) -> None:
    odd = TaskInfo(task_id="game/train/7", split="train", index=7, goal="", info={"often": value})
    with pytest.raises(NoSuchTasks, match=r"weigh_by=often .* game/train/7 has"):
        weighted(TaskList("train", (odd,)), "often")


def test_the_same_settings_give_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    chosen = select("train", tasks("train"), {})
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, rows(chosen, run_seed=seed, name="game", options={"rename": True}))
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_every_task_comes_once_before_any_comes_again_and_then_with_another_seed() -> None:
    made = rows(select("train", tasks("train"), {}), run_seed=1, name="game", options={}, count=45)
    ids = [row["extra_info"]["task_id"] for row in made]
    assert len(set(ids[:20])) == len(set(ids[20:40])) == 20
    seeds = [row["extra_info"]["seed"] for row in made]
    assert len(set(seeds)) == 45


def test_validation_rows_are_the_same_in_every_run_and_spread_over_the_list() -> None:
    chosen = select("validation", tasks("validation"), {})
    one = rows(chosen, run_seed=1, name="game", options={}, count=5)
    assert one == rows(chosen, run_seed=2, name="game", options={}, count=5)
    assert [row["extra_info"]["task_id"] for row in one] == [
        f"game/validation/{i}" for i in (0, 4, 8, 12, 16)
    ]


def test_a_row_says_what_the_session_needs() -> None:
    (row,) = rows(
        TaskList("train", tuple(tasks("train", 1))), run_seed=1, name="game", options={"distractors": 2}
    )
    info = row["extra_info"]
    assert (row["agent_name"], row["data_source"]) == ("turngym", "game")
    assert (info["task_id"], info["split"], json.loads(info["options"])) == (
        "game/train/0",
        "train",
        {"distractors": 2},
    )


def test_the_hash_of_a_list_depends_on_its_order() -> None:
    found = tuple(tasks("test"))
    assert TaskList("test", found).sha256 == TaskList("test", tuple(tasks("test"))).sha256
    assert TaskList("test", found).sha256 != TaskList("test", found[::-1]).sha256


@given(st.lists(st.integers() | st.text(max_size=5), min_size=1, max_size=4))
def test_derived_seeds_fit_the_protocol_and_depend_on_each_part(parts: list[int | str]) -> None:
    assert 0 <= derive_seed(*parts) < 2**53
    assert derive_seed(*parts) == derive_seed(*parts)
    assert derive_seed(*parts, 1) != derive_seed(*parts, 2)

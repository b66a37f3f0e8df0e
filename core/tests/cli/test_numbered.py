"""Numbered tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym.numbered import NumberedTasks, parse_task_id
from turngym.schema import SPLITS

TASKS = NumberedTasks("game", {"train": 12, "test": 3}, lambda task_id: f"win {task_id}")


def test_every_task_is_found_by_its_id() -> None:
    for split in SPLITS:
        for task in TASKS.page(split, 0, 100):
            assert TASKS.get(task.task_id) == task
    assert (TASKS.count("validation"), TASKS.at("test", 2).goal) == (0, "win game/test/2")


@pytest.mark.parametrize("index", [-1, 12])
def test_there_is_nothing_beyond_the_end(index: int) -> None:
    with pytest.raises(IndexError, match="train has 12 tasks"):
        TASKS.at("train", index)


@given(st.one_of(st.text(), st.from_regex(r"game/(train|test|validation)/[-+ 0-9²٣]{0,30}", fullmatch=True)))
def test_an_id_that_is_not_written_just_so_is_unknown(task_id: str) -> None:
    if task_id not in {task.task_id for split in SPLITS for task in TASKS.page(split, 0, 100)}:
        with pytest.raises(KeyError):
            TASKS.get(task_id)


def test_an_id_is_a_folder_and_a_number() -> None:
    assert parse_task_id("game/test/0") == ("game/test", 0)
    assert parse_task_id("a\nb//102") == ("a\nb/", 102)
    assert parse_task_id("game/" + "9" * 18) == ("game", 10**18 - 1)
    with pytest.raises(KeyError):
        parse_task_id("game/1" + "0" * 18)


def test_the_digest_follows_name_and_counts() -> None:
    same = NumberedTasks("game", {"test": 3, "train": 12}, "win")
    assert same.digest == TASKS.digest != NumberedTasks("game", {"test": 3, "train": 13}, "win").digest


def test_a_split_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="no split 'trian'"):
        NumberedTasks("game", {"trian": 1}, "win")  # type: ignore[dict-item]


def test_an_index_alone_is_unknown() -> None:
    with pytest.raises(KeyError):
        TASKS.get("0")

"""Questions from files: Search-R1's Parquet rows and plain JSON lines, and clear words where a row is none."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import turngym_corpus
from turngym.schema import TaskInfo
from turngym_search.questions import Gold, QuestionsError, open_questions
from turngym_search.tasks import SearchTasks


def search_r1_row(question: str, answers: list[str], source: str = "nq") -> dict[str, Any]:
    """A row as Search-R1's data scripts write it."""
    return {
        "id": "test_0",
        "question": question,
        "golden_answers": answers,
        "data_source": source,
        "prompt": [{"role": "user", "content": "Answer the given question. " + question}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": {"target": answers}},
        "extra_info": {"split": "test", "index": 0},
    }


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def jsonl(path: Path, rows: list[Any]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")


def test_search_r1_s_parquet_is_read(tmp_path: Path) -> None:
    parquet(
        tmp_path / "test.parquet",
        [search_r1_row("who got the first nobel prize", ["Röntgen", "W. C. Röntgen"])],
    )
    parquet(tmp_path / "train.parquet", [search_r1_row(f"q{n}", [f"a{n}"], "hotpotqa") for n in range(3)])
    source = open_questions(str(tmp_path))
    (question,) = source.splits["test"]
    assert question.text == "who got the first nobel prize"
    assert question.answers == ("Röntgen", "W. C. Röntgen")
    assert question.gold == ()
    assert question.about == {"data_source": "nq"}
    assert [len(source.splits[split]) for split in ("train", "validation")] == [3, 0]  # type: ignore[index]


def test_plain_json_lines_are_read_with_gold_passages(tmp_path: Path) -> None:
    rows = [
        {"question": " Which? ", "answers": "one", "gold": ["p1", {"id": "p2", "title": "T"}], "hops": 2},
        {"question": "What?", "golden_answers": ["a", "b"], "reward_model": {"ground_truth": {"target": []}}},
        {"question": "Where?", "reward_model": {"ground_truth": "here"}},
    ]
    jsonl(tmp_path / "dev.jsonl", rows)
    first, second, third = open_questions(str(tmp_path)).splits["validation"]
    assert (first.text, first.answers, first.about) == ("Which?", ("one",), {"hops": 2})
    assert first.gold == (Gold("p1", ""), Gold("p2", "T"))
    assert (second.answers, third.answers) == (("a", "b"), ("here",))


def test_other_content_has_another_hash(tmp_path: Path) -> None:
    jsonl(tmp_path / "test.jsonl", [{"question": "Which?", "answers": ["one"]}])
    first = open_questions(str(tmp_path)).sha256
    assert open_questions(str(tmp_path)).sha256 == first
    jsonl(tmp_path / "test.jsonl", [{"question": "Which?", "answers": ["two"]}])
    assert open_questions(str(tmp_path)).sha256 != first


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"question": "Which?"}, "row 2"),
        ({"answers": ["one"]}, "row 2"),
        ({"question": "  ", "answers": ["one"]}, "row 2"),
        ({"question": "Which?", "answers": [" "]}, "row 2"),
        ({"question": 7, "answers": ["one"]}, "row 2"),
        ([1], "row 2"),
    ],
)
def test_a_row_that_is_no_question_is_named(tmp_path: Path, row: Any, says: str) -> None:
    jsonl(tmp_path / "test.jsonl", [{"question": "Which?", "answers": ["one"]}, row])
    with pytest.raises(QuestionsError, match=says) as raised:
        open_questions(str(tmp_path))
    assert str(tmp_path / "test.jsonl") in str(raised.value)


def test_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(QuestionsError, match="no train, validation or test file"):
        open_questions(str(tmp_path))
    (tmp_path / "test.jsonl").write_text('{"question": "Which?", "answers": ["one"]}\n{')
    with pytest.raises(QuestionsError, match="line 2 is not JSON"):
        open_questions(str(tmp_path))
    (tmp_path / "test.parquet").write_bytes(b"PAR0")
    with pytest.raises(QuestionsError, match="Parquet"):
        open_questions(str(tmp_path))


def every(tasks: SearchTasks, split: Any) -> list[TaskInfo]:
    return list(tasks.page(split, 0, tasks.count(split)))


def test_shipped_questions_are_tasks_that_do_not_tell_their_answers() -> None:
    tasks = SearchTasks(lambda: open_questions("shipped"))
    for split in turngym_corpus.SPLITS:
        shipped = turngym_corpus.questions(split)
        for task, question in zip(every(tasks, split), shipped, strict=True):
            assert task.goal == question.question
            assert task.info.keys() == {"kind", "hops", "template", "expert_turns"}
            assert task.info["expert_turns"] == question.hops + 1
            said = f"{task.task_id} {task.goal} {task.info['template']}".lower()
            assert not any(f" {answer.lower()} " in f" {said} " for answer in question.answers), task
            assert tasks.get(task.task_id) == task


@pytest.mark.parametrize(
    "task_id",
    [
        "", "/", "0", "search", "search/test", "search/test/", "search/test/-1", "search/test/01", "search/test/1.0",
        "search/test/ 1", "search/test/1\n", "search/test/٣", "search/dev/1", "search/test/" + "9" * 5000,
        "SEARCH/test/1", "textcraft/test/1", "search/test/1/", "search/test/99999999",
    ],
)  # fmt: skip
def test_an_id_that_is_none_is_a_key_error(task_id: str) -> None:
    with pytest.raises(KeyError):
        SearchTasks(lambda: open_questions("shipped")).get(task_id)


@pytest.mark.parametrize("index", [-1, 10**9])
def test_an_index_beyond_the_split_is_an_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        SearchTasks(lambda: open_questions("shipped")).at("test", index)

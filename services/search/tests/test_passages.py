"""A corpus in a file: any line by its number, and clear words where it is none."""

import hashlib
import json
import os
from pathlib import Path

import pytest

import turngym_corpus
from turngym_search.passages import CorpusError, JsonlCorpus, ShippedCorpus, open_corpus


def write(path: Path, rows: list[dict[str, object]], end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + end)
    return path


ROWS: list[dict[str, object]] = [
    {"id": "0", "contents": '"Aaron"\nAaron is a name.'},
    {"id": 1, "contents": '"Ünïcode"\n東京 is a city.', "wiki": "x"},
    {"id": "2", "contents": "no title"},
]


@pytest.mark.parametrize("end", ["\n", ""])
def test_every_line_is_a_passage(tmp_path: Path, end: str) -> None:
    corpus = JsonlCorpus(write(tmp_path / "c.jsonl", ROWS, end), tmp_path)
    assert len(corpus) == 3
    assert [passage.id for passage in corpus] == ["0", "1", "2"]
    assert corpus[1].title == '"Ünïcode"' and corpus[1].text == "東京 is a city."
    assert (corpus[2].title, corpus[2].text) == ("no title", "")
    assert corpus.sha256 == hashlib.sha256((tmp_path / "c.jsonl").read_bytes()).hexdigest()


def test_lines_are_found_across_the_borders_of_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turngym_search.passages._CHUNK", 7)
    rows: list[dict[str, object]] = [{"id": str(n), "contents": f"{n} " * n} for n in range(50)]
    told: list[float] = []
    corpus = JsonlCorpus(write(tmp_path / "c.jsonl", rows), tmp_path, told.append)
    assert [passage.contents for passage in corpus] == [row["contents"] for row in rows]
    assert told == sorted(told) and told[-1] == 1


def test_the_scan_is_kept_until_the_file_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", ROWS)
    first = JsonlCorpus(path, tmp_path)
    told: list[float] = []
    assert JsonlCorpus(path, tmp_path, told.append).sha256 == first.sha256
    assert told == []
    os.utime(write(path, ROWS[:2]), ns=(1, 1))
    changed = JsonlCorpus(path, tmp_path, told.append)
    assert len(changed) == 2 and changed.sha256 != first.sha256 and told


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("not json\n", "line 1 is not"),
        ('{"id": "1"}\n', "'contents'"),
        ("[1, 2]\n", "line 1 is not"),
    ],
)
def test_a_file_that_is_no_corpus_is_refused_by_name(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "c.jsonl").write_text(content)
    with pytest.raises(CorpusError, match=says) as raised:
        JsonlCorpus(tmp_path / "c.jsonl", tmp_path)
    assert str(tmp_path / "c.jsonl") in str(raised.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="No such file"):
        open_corpus(str(tmp_path / "none.jsonl"), tmp_path)


def test_the_shipped_corpus_is_the_package_s() -> None:
    corpus = ShippedCorpus()
    assert corpus.sha256 == turngym_corpus.CORPUS_SHA256
    first = next(iter(turngym_corpus.passages()))
    assert (corpus[0].id, corpus[0].contents) == (first.id, first.contents)
    assert corpus[0].title == f'"{first.title}"' and corpus[0].text == first.text

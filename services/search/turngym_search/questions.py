"""Where questions come from: the package ``turngym_corpus``, or files of a folder in Search-R1's form.

A folder holds ``train``, ``validation`` (or ``dev``) and ``test`` files, as Parquet or JSON lines. A row has the question and
the gold answers: Search-R1's ``question`` with ``reward_model.ground_truth.target`` (or ``golden_answers``), or plainly
``question`` with ``answers``; ``id``, ``data_source`` and ``gold`` (passage ids in hop order) where there are some. A split
without a file is empty.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

import turngym_corpus
from turngym.schema import Split
from turngym_search.settings import SHIPPED

_FILE_NAMES: Mapping[Split, tuple[str, ...]] = {
    "train": ("train",),
    "validation": ("validation", "dev"),
    "test": ("test",),
}


class QuestionsError(Exception):
    """The questions can't be read. The message is one line that says where and what would be right."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A passage that a question needs: its id, and the title under which it is found."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question. ``answers`` are aliases of the one answer; ``gold`` is in hop order, empty where it isn't known.

    ``about`` is what may be said of the question without telling its answer: kind, number of hops, source.
    """

    text: str
    answers: tuple[str, ...]
    gold: tuple[Gold, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


class QuestionSource:
    """The questions of the three splits. ``sha256`` is over what they were read from."""

    def __init__(self, splits: Mapping[Split, list[Question]], sha256: str) -> None:
        self.splits = splits
        self.sha256 = sha256


def open_questions(name: str) -> QuestionSource:
    """The questions of that name: "shipped" or a folder. Raises QuestionsError."""
    return _shipped() if name == SHIPPED else _from_folder(Path(name))


def _shipped() -> QuestionSource:
    try:
        splits: dict[Split, list[Question]] = {
            split: [_from_corpus(found) for found in turngym_corpus.questions(split)]
            for split in turngym_corpus.SPLITS
        }
        return QuestionSource(splits, turngym_corpus.QUESTIONS_SHA256)
    except turngym_corpus.CorpusError as error:
        raise QuestionsError(str(error)) from None


def _from_corpus(found: turngym_corpus.Question) -> Question:
    gold = tuple(Gold(id, title) for id, title in zip(found.gold, found.titles, strict=True))
    about = {"kind": found.kind, "hops": found.hops, "template": found.template}
    return Question(found.question, found.answers, gold, about)


def _from_folder(folder: Path) -> QuestionSource:
    splits: dict[Split, list[Question]] = {}
    digest = hashlib.sha256()
    for split, names in _FILE_NAMES.items():
        paths = [folder / f"{name}.{kind}" for name in names for kind in ("parquet", "jsonl")]
        path = next((path for path in paths if path.is_file()), None)
        splits[split] = [] if path is None else _read(path)
        if path is not None:
            with path.open("rb") as file:
                digest.update(split.encode() + hashlib.file_digest(file, "sha256").digest())
    if not any(splits.values()):
        raise QuestionsError(
            f"{folder} has no train, validation or test file (.parquet or .jsonl) with questions"
        )
    return QuestionSource(splits, digest.hexdigest())


def _read(path: Path) -> list[Question]:
    rows = _parquet(path) if path.suffix == ".parquet" else _jsonl(path)
    return [_question(row, f"{path}, row {number}") for number, row in enumerate(rows, start=1)]


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise QuestionsError(f"{path} can't be read as Parquet: {error}") from None


def _jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise QuestionsError(f"{path}, line {number} is not JSON: {error}") from None


def _question(row: Any, place: str) -> Question:
    known: dict[str, Any] = row if isinstance(row, dict) else {}
    text = known.get("question")
    answers = _answers(known)
    if not isinstance(text, str) or not text.strip() or not answers:
        raise QuestionsError(
            f"{place}: a question and its answers are wanted (question, and reward_model.ground_truth.target or answers)"
        )
    gold = tuple(
        Gold(str(entry), "")
        if not isinstance(entry, dict)
        else Gold(str(entry["id"]), entry.get("title", ""))
        for entry in known.get("gold") or ()
    )
    about = {key: known[key] for key in ("data_source", "kind", "hops") if known.get(key) is not None}
    return Question(text.strip(), answers, gold, about)


def _answers(row: dict[str, Any]) -> tuple[str, ...]:
    truth = (row.get("reward_model") or {}).get("ground_truth") or {}
    found = truth.get("target") if isinstance(truth, dict) else truth
    for other in ("golden_answers", "answers"):
        found = found if found is not None and len(found) else row.get(other)
    listed = [found] if isinstance(found, str) else list(found or ())
    return tuple(str(answer) for answer in listed if str(answer).strip())

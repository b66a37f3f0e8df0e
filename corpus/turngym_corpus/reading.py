"""Reads what the package carries: passages, questions and passage vectors, each checked against the manifest's hash.

Needs NumPy and the standard library. Passages and questions are gzipped JSON lines, vectors a plain NumPy file of int8.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from turngym_corpus.passage import Passage

PASSAGES_FILE = "passages.jsonl.gz"
QUESTIONS_FILE = "questions.jsonl.gz"
VECTORS_FILE = "vectors.npy"
MANIFEST_FILE = "manifest.json"
CACHE = (
    Path.home() / ".cache" / "turngym" / "corpus" / "minilm.bin"
)  # vectors that were encoded here, for the next time

Split = Literal["train", "validation", "test"]
Kind = Literal["one_hop", "two_hop", "three_hop", "comparison", "intersection"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
KINDS: tuple[Kind, ...] = ("one_hop", "two_hop", "three_hop", "comparison", "intersection")


class CorpusError(Exception):
    """The package's data is damaged or incomplete. The message says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its one answer.

    :param id: ``split/kind/number``, stable for one ``QUESTIONS_SHA256``.
    :param answers: the answer as it stands in the last gold passage, then other ways to write it.
    :param gold: ids of the passages that are needed, in the order in which they lead to the answer.
    :param titles: the gold passages' titles, in the same order.
    :param hops: the number of gold passages.
    :param template: the pattern that the question was made from.
    :param entity: what the question starts from; no other split has a question that starts from it.
    """

    id: str
    split: Split
    kind: Kind
    question: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    titles: tuple[str, ...]
    template: str
    entity: str

    @property
    def hops(self) -> int:
        """How many passages it takes to answer."""
        return len(self.gold)


@dataclass(frozen=True)
class PassageVectors:
    """The default encoder's vector of each passage, in the passages' order.

    :param quantised: int8, shape (passages, 384); a row times any positive number is the same direction.
    :param corpus_sha256: of the passages that were encoded.
    :param encoder_sha256: of the weights that encoded them.
    """

    quantised: NDArray[np.int8]
    corpus_sha256: str
    encoder_sha256: str

    @property
    def rows(self) -> NDArray[np.float32]:
        """As float32 rows of length 1 (made anew on each call: 70 MB)."""
        return unit_rows(self.quantised)


def unit_rows(quantised: NDArray[np.int8]) -> NDArray[np.float32]:
    """int8 vectors as float32 rows of length 1."""
    rows = quantised.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def passages() -> Iterator[Passage]:
    """Every passage, in the corpus's order. Raises CorpusError if the file isn't the manifest's."""
    content = _content(PASSAGES_FILE, manifest()["corpus_sha256"])
    return (Passage(**json.loads(line)) for line in content.splitlines())


@cache
def load() -> tuple[Passage, ...]:
    """Every passage, read once per process."""
    return tuple(passages())


def questions(split: Split | None = None) -> list[Question]:
    """The questions of a split (all of them without one), in their order.

    :raises ValueError: for a split that doesn't exist.
    """
    if split is not None and split not in SPLITS:
        raise ValueError(f"no split {split!r}; there are: {', '.join(SPLITS)}")
    return [question for question in _all_questions() if split in (None, question.split)]


@cache
def _all_questions() -> tuple[Question, ...]:
    content = _content(QUESTIONS_FILE, manifest()["questions_sha256"])
    return tuple(_question(json.loads(line)) for line in content.splitlines())


def _question(row: dict[str, Any]) -> Question:
    for name in ("answers", "gold", "titles"):
        row[name] = tuple(row[name])
    return Question(**row)


def vectors() -> PassageVectors:
    """The passages' vectors.

    :raises CorpusError: if they are missing, damaged or of another corpus.
    """
    described = manifest()
    of = described.get("vectors")
    if of is None:
        raise CorpusError("the corpus package has no vectors: python -m turngym_corpus.build makes them")
    if of["corpus_sha256"] != described["corpus_sha256"]:
        raise CorpusError(
            f"the vectors are of the corpus {of['corpus_sha256']} and the passages are {described['corpus_sha256']}:"
            " python -m turngym_corpus.build encodes them anew"
        )
    with _file(VECTORS_FILE).open("rb") as file:
        found = np.load(file, allow_pickle=False)
    if sha256(found.tobytes()).hexdigest() != of["sha256"]:
        raise CorpusError(f"{VECTORS_FILE} is damaged: install turngym-corpus anew")
    return PassageVectors(found, of["corpus_sha256"], of["encoder_sha256"])


@cache
def manifest() -> dict[str, Any]:
    """Counts, hashes and releases of the sources, as ``manifest.json`` has them."""
    try:
        content = _file(MANIFEST_FILE).read_text("utf-8")
    except FileNotFoundError as error:
        raise CorpusError(
            "the corpus package has no data: python -m turngym_corpus.build makes it"
        ) from error
    described: dict[str, Any] = json.loads(content)
    return described


def _content(name: str, expected: str) -> bytes:
    try:
        content = gzip.decompress(_file(name).read_bytes())
    except (OSError, EOFError) as error:
        raise CorpusError(f"can't read the corpus's {name} ({error}): install turngym-corpus anew") from error
    found = sha256(content).hexdigest()
    if found != expected:
        raise CorpusError(
            f"the corpus's {name} has sha256 {found}, and its manifest says {expected}: install turngym-corpus anew"
        )
    return content


def _file(name: str) -> Traversable:
    return files("turngym_corpus") / "data" / name

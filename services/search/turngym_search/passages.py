"""The passages that are searched: the corpus that ships, or a JSONL file of any size read by offset.

A row number is a passage's place in its corpus and the number under which every index knows it. A large file is never held in
memory: its line offsets are found once, kept in the data folder beside its hash, and memory-mapped.
"""

import hashlib
import json
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

import turngym_corpus
from turngym.output import whole_file
from turngym_search.settings import SHIPPED

_CHUNK = 1 << 26  # bytes read at a time when a file is scanned
_NEWLINE = 10

Advance = Callable[[float], None]
"""Told how far a piece of work has come, 0..1."""


class CorpusError(Exception):
    """The corpus can't be read. The message is one line that says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage. ``contents`` is its title in double quotes, a line break, and its text: the form of Search-R1's corpora."""

    id: str
    contents: str

    @property
    def title(self) -> str:
        """The first line, with its quotes."""
        return self.contents.partition("\n")[0]

    @property
    def text(self) -> str:
        """What follows the first line."""
        return self.contents.partition("\n")[2]


class Corpus(ABC):
    """Numbered passages. ``sha256`` is over their source and guards every index made from them."""

    sha256: str

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, row: int) -> Passage: ...

    def __iter__(self) -> Iterator[Passage]:
        return (self[row] for row in range(len(self)))


class ShippedCorpus(Corpus):
    """The corpus of the package ``turngym_corpus``, in memory."""

    def __init__(self) -> None:
        try:
            self.sha256 = turngym_corpus.CORPUS_SHA256
            self._passages = [Passage(found.id, found.contents) for found in turngym_corpus.passages()]
        except turngym_corpus.CorpusError as error:
            raise CorpusError(str(error)) from None

    def __len__(self) -> int:
        return len(self._passages)

    def __getitem__(self, row: int) -> Passage:
        return self._passages[row]


class JsonlCorpus(Corpus):
    """A file of JSON lines with ``id`` and ``contents``; what else a line holds is left alone.

    :param path: the file.
    :param folder: where its offsets and its hash are kept; they are made again when size or time of the file have changed.
    :param advance: told of the first scan's progress (about a second a gigabyte).
    :raises CorpusError: if the file can't be read or its first line is no passage.
    """

    def __init__(self, path: Path, folder: Path, advance: Advance = lambda part: None) -> None:
        try:
            self._file = path.open("rb")
            status = os.fstat(self._file.fileno())
            if status.st_size == 0:
                raise CorpusError(f"{path} is empty")
            self._bytes = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CorpusError(f"{path} can't be read: {error.strerror or error}") from None
        self._path = path
        mark = f"{path.resolve()} {status.st_size} {status.st_mtime_ns}"
        kept = folder / f"corpus-{hashlib.sha256(mark.encode()).hexdigest()[:16]}"
        if not (kept / "corpus.json").exists():
            self._scan(kept, status.st_size, advance)
        self.sha256 = json.loads((kept / "corpus.json").read_text())["sha256"]
        self._offsets: npt.NDArray[np.int64] = np.load(kept / "offsets.npy", mmap_mode="r")
        self[0]

    def _scan(self, kept: Path, size: int, advance: Advance) -> None:
        """Find where each line begins, and the file's hash, in one pass. The last offset is the end of the last line."""
        digest, begin = hashlib.sha256(), 0
        found: list[npt.NDArray[np.int64]] = [np.zeros(1, np.int64)]
        while chunk := self._file.read(_CHUNK):
            digest.update(chunk)
            found.append(np.flatnonzero(np.frombuffer(chunk, np.uint8) == _NEWLINE) + (begin + 1))
            begin += len(chunk)
            advance(begin / size)
        offsets = np.concatenate(found)
        if offsets[-1] != size:
            offsets = np.append(offsets, size)
        with whole_file(kept / "offsets.npy") as file:
            np.save(file, offsets)
        with whole_file(kept / "corpus.json") as file:
            file.write(json.dumps({"path": str(self._path), "sha256": digest.hexdigest()}).encode())

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> Passage:
        begin, end = self._offsets[row], self._offsets[row + 1]
        try:
            line = orjson.loads(self._bytes[begin:end])
            return Passage(str(line["id"]), line["contents"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise CorpusError(
                f'{self._path}, line {row + 1} is not {{"id": …, "contents": …}}: {type(error).__name__} {error}'
            ) from None


def open_corpus(name: str, folder: Path, advance: Advance = lambda part: None) -> Corpus:
    """The corpus of that name: "shipped" or a path. Raises CorpusError."""
    return ShippedCorpus() if name == SHIPPED else JsonlCorpus(Path(name), folder, advance)

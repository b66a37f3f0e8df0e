"""From passages to the int8 vectors that ship, by way of a file that lets an interrupted encoding go on.

Encoding the corpus takes half an hour of a core, so each chunk of vectors is appended to a cache under the hash of its text;
a build encodes only what the cache lacks. A vector ships as 384 bytes: its components times 127 over the largest of them. The
scale need not be kept, as a vector has length 1.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from turngym_corpus.encoder import DIMENSIONS, WEIGHTS_SHA256, MiniLM
from turngym_corpus.passage import Passage
from turngym_corpus.reading import unit_rows

_CHUNK = 256  # texts between two writes of the cache
_RECORD = np.dtype([("key", "V32"), ("vector", "<f4", (DIMENSIONS,))])


def encode_cached(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    """Unit vectors of shape (len(texts), 384), in order; those that the cache file lacks are encoded and added to it."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    keys = [sha256(f"{WEIGHTS_SHA256}\n{text}".encode()).digest() for text in texts]
    known = _read(cache)
    missing = sorted({k: t for k, t in zip(keys, texts, strict=True) if k not in known}.items(), key=_length)
    if missing:
        encoder = MiniLM()
        with cache.open("ab") as file, tqdm(total=len(missing), desc="encoding", unit=" passages") as bar:
            for begin in range(0, len(missing), _CHUNK):
                chunk = missing[begin : begin + _CHUNK]
                records: NDArray[np.void] = np.empty(len(chunk), _RECORD)
                records["key"] = [np.void(key) for key, _ in chunk]
                records["vector"] = encoder.encode([text for _, text in chunk], bar.update)
                file.write(records.tobytes())
                file.flush()
        known = _read(cache)
    return np.stack([known[key] for key in keys])


def _length(entry: tuple[bytes, str]) -> tuple[int, bytes]:
    # texts of like length stand together, so a batch has little padding
    return len(entry[1]), entry[0]


def _read(cache: Path) -> dict[bytes, NDArray[np.float32]]:
    if not cache.exists():
        return {}
    data = cache.read_bytes()
    whole = len(data) - len(data) % _RECORD.itemsize
    if whole < len(data):  # an interrupted write
        with cache.open("r+b") as file:
            file.truncate(whole)
    records = np.frombuffer(data[:whole], _RECORD)
    vectors = records["vector"]
    return {bytes(key): vectors[i] for i, key in enumerate(records["key"].tolist())}


def quantise(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Each row scaled so that its largest component is ±127, and rounded."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    quantised: NDArray[np.int8] = np.rint(vectors * (127 / largest)).astype(np.int8)
    return quantised


def found_by_title(
    wanted: Sequence[Passage], passages: Sequence[Passage], vectors: NDArray[np.int8], cache: Path, k: int = 3
) -> set[str]:
    """Ids of those passages that a search for their own title finds among the first ``k``.

    :param passages: the whole corpus, in the order of its ``vectors``.
    """
    rows = {passage.id: row for row, passage in enumerate(passages)}
    queries = encode_cached([passage.title for passage in wanted], cache)
    found = nearest(queries, unit_rows(vectors), k)
    return {passage.id for passage, near in zip(wanted, found, strict=True) if rows[passage.id] in near}


def nearest(queries: NDArray[np.float32], rows: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The ``k`` rows with the greatest inner product for each query, best first: shape (queries, k)."""
    found: NDArray[np.int64] = np.empty((len(queries), k), np.int64)
    for begin in range(0, len(queries), 256):
        scores = queries[begin : begin + 256] @ rows.T
        best = np.argpartition(-scores, k, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        found[begin : begin + 256] = np.take_along_axis(best, order, axis=1)
    return found

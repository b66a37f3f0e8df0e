"""Dense indexes: FAISS inner product, made from vectors, kept in a folder with a manifest, opened memory-mapped.

The manifest names corpus and encoder by their hashes; an index of others is refused (:class:`IndexMismatch`). A bare FAISS
file, such as the ``e5_Flat.index`` that Search-R1 publishes, has no manifest: of it dimensions and count must fit.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import faiss
import numpy as np
import numpy.typing as npt

from turngym.output import whole_file
from turngym_search.encoders import Vectors

FORMAT = 1
KINDS = ("flat", "hnsw", "sq8", "ivf")
INDEX_FILE, MANIFEST_FILE = "index.faiss", "manifest.json"

HNSW_LINKS = 32
HNSW_BUILD = 80  # breadth of the search for links while building
HNSW_SEARCH = 64  # breadth of a search
IVF_TRAINING = 64  # vectors a list that its centroids are learnt from
IVF_PROBES = 32  # lists that a search looks into

_CallbackWriter: Any = vars(faiss)["PyCallbackIOWriter"]  # its type stubs don't know it

SCORE_DIGITS = 5  # float32 products differ in their last bits with the size of a batch; what is equal up to here is a tie
BATCH = 4  # queries from which on a flat index is searched by matrix products
BLOCK = 8192  # rows a product: 64 queries' scores of it lie in the processor's cache
SPARE = 4  # results beyond those asked for, or more: ties at the edge are broken by row, not by chance


class IndexMismatch(Exception):
    """The index belongs to another corpus or encoder, or is none. The message is one line that names both sides."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index was made from. ``encoder`` and ``corpus`` are names for people; the hashes decide.

    ``index_sha256`` is over the index's file: some kinds come out differently each time they are built.
    """

    kind: str
    count: int
    dim: int
    corpus: str
    corpus_sha256: str
    encoder: str
    encoder_sha256: str
    index_sha256: str = ""
    faiss: str = faiss.__version__
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a folder. Raises IndexMismatch where there is none that can be used."""
        try:
            fields: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text())
            manifest = cls(**fields)
        except (OSError, ValueError, TypeError) as error:
            raise IndexMismatch(
                f"{folder} holds no index (turngym-search build makes one): {error}"
            ) from None
        if manifest.format != FORMAT:
            raise IndexMismatch(
                f"{folder} has format {manifest.format}, this release reads {FORMAT}: build it again"
            )
        return manifest

    def must_fit(self, where: Path, corpus_sha256: str, encoder_sha256: str) -> None:
        """Raises IndexMismatch unless corpus and encoder are those the index was made from."""
        for what, made, here in (
            ("corpus", self.corpus_sha256, corpus_sha256),
            ("encoder", self.encoder_sha256, encoder_sha256),
        ):
            if made != here:
                raise IndexMismatch(
                    f"the index {where} was made from the {what} {made[:16]}…, and this {what} is {here[:16]}…: "
                    f"give the {what} it was made from, or build another index (turngym-search build)"
                )


class DenseIndex:
    """A FAISS index over the rows of a corpus. Safe to search from one thread at a time.

    Several queries at once to a flat index are one matrix product by NumPy. FAISS reads all vectors anew for each of them
    where the BLAS in its wheel doesn't know the processor: bench/search.py prints what a batch gains.
    """

    def __init__(self, index: Any, name: str) -> None:
        self._index = index
        self._rows = _rows_of_flat(index)
        self.name = name
        self.count = int(index.ntotal)
        self.dim = int(index.d)

    def search(self, queries: Vectors, k: int) -> list[list[tuple[int, float]]]:
        """The best ``k`` rows of each query with their scores, best first; fewer where the corpus has fewer.

        Scores are rounded and ties go to the lower row, so that the answer does not depend on what else is in the batch.
        """
        if self._rows is not None and len(queries) >= BATCH:
            return _best_of_rows(self._rows, queries, min(k, self.count))
        wanted = min(k + SPARE, self.count)
        while True:
            scores, rows = self._index.search(queries, wanted)
            tied = np.round(scores[:, -1] - scores[:, min(k, wanted) - 1], SCORE_DIGITS) == 0
            if wanted == self.count or not (tied & (rows[:, -1] >= 0)).any():
                break
            wanted = min(2 * wanted, self.count)
        return [
            _ranked(found, values, k) for found, values in zip(rows.tolist(), scores.tolist(), strict=True)
        ]


def _rows_of_flat(index: Any) -> Vectors | None:
    """The vectors of a flat index for inner products, where they lie; None of any other kind."""
    if not isinstance(index, faiss.IndexFlat) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
        return None
    pointer: Any = vars(faiss)["rev_swig_ptr"]
    rows: Vectors = pointer(index.get_xb(), index.ntotal * index.d).reshape(index.ntotal, index.d)
    return rows


def _best_of_rows(rows: Vectors, queries: Vectors, k: int) -> list[list[tuple[int, float]]]:
    """The best ``k`` rows for each query with their scores, as :func:`_ranked` orders them."""
    best: Vectors = np.full((len(queries), k), -np.inf, np.float32)
    asked: list[npt.NDArray[np.int64]] = []
    found: list[npt.NDArray[np.int64]] = []
    scores: list[Vectors] = []
    for begin in range(0, len(rows), BLOCK):
        products = queries @ rows[begin : begin + BLOCK].T
        greatest = np.partition(products, -k, axis=1)[:, -k:] if products.shape[1] > k else products
        best = np.partition(np.hstack([best, greatest]), -k, axis=1)[:, -k:]
        # What is equal to the last of the best, up to rounding, stays as well: ties are broken in the end, by row.
        query, row = np.nonzero(products >= best.min(axis=1, keepdims=True) - 10.0**-SCORE_DIGITS)
        asked.append(query)
        found.append(row + begin)
        scores.append(products[query, row])
    which = np.concatenate(asked)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(queries)))[:-1]
    return [
        _ranked(some.tolist(), values.tolist(), k)
        for some, values in zip(
            np.split(np.concatenate(found)[order], ends),
            np.split(np.concatenate(scores)[order], ends),
            strict=True,
        )
    ]


def _ranked(rows: Sequence[int], scores: Sequence[float], k: int) -> list[tuple[int, float]]:
    pairs = sorted(
        (-round(score, SCORE_DIGITS), row) for row, score in zip(rows, scores, strict=True) if row >= 0
    )
    return [(row, -score) for score, row in pairs[:k]]


def make_index(kind: str, dim: int, count: int, sample: Vectors) -> Any:
    """An empty FAISS index of that kind, trained on ``sample`` where the kind must be trained."""
    if kind == "flat":
        return faiss.IndexFlatIP(dim)
    if kind == "hnsw":
        index: Any = faiss.IndexHNSWFlat(dim, HNSW_LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction, index.hnsw.efSearch = HNSW_BUILD, HNSW_SEARCH
        return index
    if kind == "sq8":
        index = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    elif kind == "ivf":
        lists = max(1, min(int(4 * count**0.5), len(sample)))
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, lists, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = min(IVF_PROBES, lists)
    else:
        raise ValueError(f"there is no kind of index {kind!r}; there are: {', '.join(KINDS)}")
    index.train(sample)
    return index


def training_rows(kind: str, count: int) -> int:
    """How many vectors :func:`make_index` wants as its sample."""
    if kind == "ivf":
        return min(count, int(4 * count**0.5) * IVF_TRAINING)
    return min(count, 100_000) if kind == "sq8" else 0


def write_index(folder: Path, manifest: Manifest, sample: Vectors, blocks: Iterable[Vectors]) -> Manifest:
    """Make an index from blocks of vectors and write it with its manifest, last; the manifest as written."""
    index = make_index(manifest.kind, manifest.dim, manifest.count, sample)
    for block in blocks:
        index.add(np.ascontiguousarray(block, np.float32))
    if index.ntotal != manifest.count:
        raise IndexMismatch(f"the corpus has {manifest.count} passages, and {index.ntotal} vectors came")
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with whole_file(folder / INDEX_FILE) as file:

        def write(data: bytes) -> int:
            digest.update(data)
            return file.write(data)

        faiss.write_index(index, _CallbackWriter(write))
    written = replace(manifest, index_sha256=digest.hexdigest())
    with whole_file(folder / MANIFEST_FILE) as file:
        file.write(json.dumps(asdict(written), indent=1).encode())
    return written


def open_index(path: Path) -> DenseIndex:
    """The index in a folder or a bare file, memory-mapped. Raises IndexMismatch if FAISS can't read it."""
    file = path / INDEX_FILE if path.is_dir() else path
    try:
        index = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise IndexMismatch(f"{file} can't be read as a FAISS index: {reason}") from None
    return DenseIndex(index, str(path))


def rows_of(vectors: npt.NDArray[Any], block: int = 65536) -> Iterable[Vectors]:
    """The rows of an array in blocks, as float32; for arrays that are memory-mapped."""
    for begin in range(0, len(vectors), block):
        yield np.asarray(vectors[begin : begin + block], np.float32)

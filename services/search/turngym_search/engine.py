"""The retriever that the settings ask for, put together: corpus, encoder, index, BM25, batches.

What can be made from what ships is made on the first start and kept in the data folder under the hashes it depends on; a
second start maps it. An index that is given must be of this corpus and this encoder.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import threadpoolctl

import turngym_corpus
from turngym.environment import Progress
from turngym_search.batching import Batcher
from turngym_search.encoders import Encoder, Vectors, open_encoder
from turngym_search.index import (
    MANIFEST_FILE,
    DenseIndex,
    IndexMismatch,
    Manifest,
    open_index,
    training_rows,
    write_index,
)
from turngym_search.passages import Corpus, open_corpus
from turngym_search.remote import RemoteRetriever
from turngym_search.retrieval import DenseRetriever, Hit, HybridRetriever, Retriever, SparseRetriever
from turngym_search.settings import MINILM, PREFIX, SHIPPED, SearchSettings
from turngym_search.sparse import SparseIndex

REMOTE_LANES = 8  # requests to another server at a time
WARM_UP = "capital of France"


class Engine:
    """Finds passages for queries, from any number of coroutines of one event loop.

    ``sha256`` is over all that an answer depends on. Made by :func:`open_engine`; give it back with :meth:`close`.
    """

    def __init__(
        self,
        settings: SearchSettings,
        facts: Mapping[str, str],
        retriever: Retriever | None,
        remote: RemoteRetriever | None,
    ) -> None:
        self.sha256 = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        self.retriever = retriever
        self._remote = remote
        self._max_query_chars = settings.max_query_chars
        # FAISS and OpenMP count threads for the thread that calls them, so they are told in the one that works.
        self._thread = ThreadPoolExecutor(
            1, "turngym-search", lambda: threadpoolctl.threadpool_limits(settings.threads)
        )
        self._batcher = Batcher(
            self._compute if remote is None else remote.search,
            window_s=settings.window_ms / 1000,
            max_batch=settings.max_batch,
            queue=settings.queue,
            cache=settings.cache,
            lanes=1 if remote is None else REMOTE_LANES,
        )
        self.passages = int(facts.get("passages", "0"))

    async def search(self, queries: Sequence[str], k: int) -> list[Sequence[Hit]]:
        """The best ``k`` passages for each query; of a long one its beginning is looked at.

        :raises BackendUnavailable: if that can't be told now: too many queries wait, or the remote server fails.
        """
        return await self._batcher.search([query[: self._max_query_chars] for query in queries], k)

    async def _compute(self, queries: list[str], k: int) -> Sequence[Sequence[Hit]]:
        assert self.retriever is not None
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self.retriever.search, queries, k
        )

    def gauges(self) -> dict[str, float]:
        """Numbers for /metrics."""
        counts = self._batcher.counts
        return {
            "passages": self.passages,
            "queries": counts.queries,
            "queries_cached": counts.cached,
            "queries_shared": counts.shared,
            "queries_computed": counts.computed,
            "batches": counts.batches,
            "queries_waiting": self._batcher.waiting,
            "requests_refused": counts.refused,
        }

    def close(self) -> None:
        """End the thread and the connections. Called from another thread than the event loop's."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._remote is not None:
            self._remote.close()


def open_engine(settings: SearchSettings, progress: Progress = lambda what, part: None) -> Engine:
    """The engine that the settings ask for; builds what is missing.

    :raises CorpusError, EncoderError, IndexMismatch: if a part can't be used, with one line that says why.
    """
    if settings.remote_url is not None:
        remote = RemoteRetriever(settings.remote_url, settings.remote_timeout_s, settings.remote_tries)
        return Engine(settings, {"remote": settings.remote_url}, None, remote)
    folder = settings.data_dir / "search"
    corpus = open_corpus(settings.corpus, folder, lambda part: progress("reading the corpus", 0.1 * part))
    facts = {
        "retriever": settings.retriever,
        "corpus": corpus.sha256,
        "passages": str(len(corpus)),
        "max_query_chars": str(settings.max_query_chars),
    }
    sparse: SparseIndex | None = None
    if settings.retriever in ("bm25", "hybrid"):
        sparse = SparseIndex(corpus, folder, lambda part: progress("the BM25 index", 0.1 + 0.4 * part))
    retriever: Retriever
    if settings.retriever == "bm25":
        assert sparse is not None
        retriever = SparseRetriever(corpus, sparse)
    else:
        progress("the encoder", 0.5)
        encoder = open_encoder(settings.encoder, settings.prefixes)
        index, kind = _dense_index(
            settings, corpus, encoder, folder, lambda part: progress("the dense index", 0.6 + 0.3 * part)
        )
        facts |= {"encoder": encoder.sha256, "index": kind}
        retriever = DenseRetriever(corpus, encoder, index)
        if sparse is not None:
            retriever = HybridRetriever(corpus, retriever, sparse)
    progress("a first search", 0.95)
    retriever.search([WARM_UP], settings.topk)
    return Engine(settings, facts, retriever, None)


def _dense_index(
    settings: SearchSettings, corpus: Corpus, encoder: Encoder, folder: Path, advance: Callable[[float], None]
) -> tuple[DenseIndex, str]:
    """The index that is given, or the one made from what ships; and what is known of it, for the engine's hash."""
    if settings.index is None:
        if settings.corpus != SHIPPED or settings.encoder != MINILM:
            raise IndexMismatch(
                f"the index of the shipped corpus is made at the start; for another corpus or encoder make one with "
                f"turngym-search build and name it in {PREFIX}INDEX"
            )
        path = shipped_index(corpus, encoder, settings.index_kind, folder, advance)
    else:
        path = Path(settings.index)
    if path.is_dir():
        manifest = Manifest.read(path)
        manifest.must_fit(path, corpus.sha256, encoder.sha256)
        known = manifest.kind if manifest.kind == "flat" else manifest.index_sha256
    elif path.is_file():
        status = path.stat()
        known = f"{path.name} {status.st_size} {status.st_mtime_ns}"
    else:
        raise IndexMismatch(f"there is no index {path}; turngym-search build makes one")
    index = open_index(path)
    if (index.count, index.dim) != (len(corpus), encoder.dim):
        raise IndexMismatch(
            f"the index {path} has {index.count} vectors of {index.dim} dimensions, and the corpus has {len(corpus)} "
            f"passages and the encoder {encoder.dim} dimensions"
        )
    return index, known


def shipped_index(
    corpus: Corpus,
    encoder: Encoder,
    kind: str,
    folder: Path,
    advance: Callable[[float], None] = lambda part: None,
) -> Path:
    """The folder of the index over the shipped vectors, made where it is missing. Raises IndexMismatch."""
    shipped = turngym_corpus.vectors()
    manifest = Manifest(
        kind=kind,
        count=len(corpus),
        dim=encoder.dim,
        corpus=SHIPPED,
        corpus_sha256=shipped.corpus_sha256,
        encoder=MINILM,
        encoder_sha256=shipped.encoder_sha256,
    )
    name = hashlib.sha256(f"{manifest}".encode()).hexdigest()[:16]
    kept = folder / f"index-{kind}-{name}"
    manifest.must_fit(kept, corpus.sha256, encoder.sha256)
    if not (kept / MANIFEST_FILE).exists():
        rows = shipped.rows

        def blocks() -> Iterator[Vectors]:
            for begin in range(0, len(rows), 4096):
                yield rows[begin : begin + 4096]
                advance(begin / len(rows))

        wanted = training_rows(kind, len(rows))
        step = max(1, len(rows) // wanted) if wanted else 1
        sample = np.ascontiguousarray(rows[::step][:wanted], np.float32)
        write_index(kept, manifest, sample, blocks())
    return kept

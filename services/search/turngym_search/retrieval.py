"""Retrievers that search in this process: dense, BM25, and both fused. From queries to passages, with no cache and no queue.

They block and are called by one thread at a time; ``batching`` puts the event loop in front of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from turngym_search.encoders import Encoder
from turngym_search.index import DenseIndex
from turngym_search.passages import Corpus, Passage
from turngym_search.sparse import SparseIndex

RRF_CONSTANT = 60  # Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet…", SIGIR 2009
FUSED_DEPTH = 50  # how far down either ranking a passage counts


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. The higher the ``score``, the better; what it means is the retriever's business."""

    passage: Passage
    score: float


class Retriever(ABC):
    """Finds passages. The answer to a query does not depend on the other queries of a batch."""

    @abstractmethod
    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """The best ``k`` passages for each query, best first."""


class DenseRetriever(Retriever):
    """Encoder and FAISS index."""

    def __init__(self, corpus: Corpus, encoder: Encoder, index: DenseIndex) -> None:
        self._corpus = corpus
        self._encoder = encoder
        self._index = index

    def rank(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """The best ``k`` rows for each query with their scores."""
        return self._index.search(self._encoder.queries(queries), k)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [_hits(self._corpus, found) for found in self.rank(queries, k)]


class SparseRetriever(Retriever):
    """BM25. A query that shares no word with any passage finds nothing."""

    def __init__(self, corpus: Corpus, index: SparseIndex) -> None:
        self._corpus = corpus
        self._index = index

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [_hits(self._corpus, self._index.search(query, k)) for query in queries]


class HybridRetriever(Retriever):
    """Reciprocal rank fusion of a dense and a BM25 ranking."""

    def __init__(self, corpus: Corpus, dense: DenseRetriever, sparse: SparseIndex) -> None:
        self._corpus = corpus
        self._dense = dense
        self._sparse = sparse

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        depth = max(k, FUSED_DEPTH)
        found = []
        for query, dense in zip(queries, self._dense.rank(queries, depth), strict=True):
            fused: dict[int, float] = {}
            for ranking in (dense, self._sparse.search(query, depth)):
                for rank, (row, _) in enumerate(ranking, start=1):
                    fused[row] = fused.get(row, 0.0) + 1 / (RRF_CONSTANT + rank)
            best = sorted(fused.items(), key=lambda item: (-item[1], item[0]))[:k]
            found.append(_hits(self._corpus, best))
        return found


def _hits(corpus: Corpus, ranked: Sequence[tuple[int, float]]) -> list[Hit]:
    return [Hit(corpus[row], score) for row, score in ranked]

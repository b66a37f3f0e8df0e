"""BM25 over the corpus's passages, by ``bm25s`` (Lù 2024, arXiv 2407.03618).

The index is made once, kept in the data folder under the corpus's hash, and memory-mapped. Words are lower-cased; English
stop words are left out; there is no stemming. Equal scores go to the lower row, so the same query has one answer.
"""

import re
from pathlib import Path
from shutil import rmtree
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
from bm25s.stopwords import STOPWORDS_EN

from turngym_search.passages import Advance, Corpus

_WORD = re.compile(r"\w+")
_STOP = frozenset(STOPWORDS_EN)
_FOLDER = "bm25-1"  # with the release of the tokenization, which an index depends on
_INDEXING = 0.5  # share of the time that goes into reading and splitting


def words(text: str) -> list[str]:
    """What of a text counts, in order."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


class SparseIndex:
    """BM25 over the rows of a corpus. Safe to search from one thread at a time."""

    def __init__(self, corpus: Corpus, folder: Path, advance: Advance = lambda part: None) -> None:
        kept = folder / f"{_FOLDER}-{corpus.sha256[:16]}"
        if not kept.exists():
            _build(corpus, kept, advance)
        self._bm25: Any = bm25s.BM25.load(str(kept), mmap=True)
        self.count = len(corpus)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The best ``k`` rows that share a word with the query, with their scores, best first."""
        known = [word for word in words(query) if word in self._bm25.vocab_dict]
        if not known:
            return []
        scores: npt.NDArray[np.float32] = self._bm25.get_scores(known)
        edge = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
        rows = np.flatnonzero((scores >= edge) & (scores > 0))
        best = rows[np.lexsort((rows, -scores[rows]))][:k]
        return [(int(row), round(float(scores[row]), 5)) for row in best]


def _build(corpus: Corpus, kept: Path, advance: Advance) -> None:
    ids: dict[str, int] = {}
    tokens: list[list[int]] = []
    for row, passage in enumerate(corpus):
        tokens.append([ids.setdefault(word, len(ids)) for word in words(passage.contents)])
        if row % 1024 == 0:
            advance(_INDEXING * row / len(corpus))
    bm25 = bm25s.BM25()
    bm25.index(bm25s.tokenization.Tokenized(ids=tokens, vocab=ids), show_progress=False)
    draft = kept.with_name(f"{kept.name}.draft")
    rmtree(draft, ignore_errors=True)
    bm25.save(str(draft))
    draft.rename(kept)
    advance(1.0)

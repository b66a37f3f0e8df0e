"""Passages, questions over them and the passages' vectors, as data that a search environment starts with in a second.

``passages()`` and ``load()`` give the corpus, ``questions(split)`` the questions with answers and gold passages, ``vectors()``
the vectors of the default encoder (:mod:`turngym_corpus.encoder`, which needs an extra). ``python -m turngym_corpus.build``
makes all of it anew from its sources; ``python -m turngym_corpus.evaluate`` prints how well the questions are found.
"""

from turngym_corpus.passage import Passage
from turngym_corpus.reading import (
    KINDS,
    SPLITS,
    CorpusError,
    Kind,
    PassageVectors,
    Question,
    Split,
    load,
    manifest,
    passages,
    questions,
    vectors,
)

__all__ = [
    "CORPUS_SHA256",
    "KINDS",
    "QUESTIONS_SHA256",
    "SPLITS",
    "CorpusError",
    "Kind",
    "Passage",
    "PassageVectors",
    "Question",
    "Split",
    "load",
    "manifest",
    "passages",
    "questions",
    "vectors",
]


def __getattr__(name: str) -> str:
    """CORPUS_SHA256 and QUESTIONS_SHA256, over the uncompressed JSON lines; read late, so that a build can import this."""
    keys = {"CORPUS_SHA256": "corpus_sha256", "QUESTIONS_SHA256": "questions_sha256"}
    if name not in keys:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return str(manifest()[keys[name]])

"""BM25 and fusion: what they find, and that the same query has one answer."""

import json
from pathlib import Path

import bm25s
import numpy as np
import pytest
from searched import Small

from turngym_search.engine import open_engine
from turngym_search.passages import JsonlCorpus
from turngym_search.retrieval import RRF_CONSTANT
from turngym_search.sparse import SparseIndex, words


@pytest.fixture(scope="module")
def corpus(small: Small) -> JsonlCorpus:
    return JsonlCorpus(small.corpus, small.data / "search")


def test_words_are_lower_case_without_stop_words() -> None:
    assert words("The capital of CÔTE d'Ivoire, 東京!") == ["capital", "côte", "d", "ivoire", "東京"]
    assert words("of the and") == []


def test_bm25_ranks_like_its_library(corpus: JsonlCorpus, tmp_path: Path) -> None:
    index = SparseIndex(corpus, tmp_path)
    peer = bm25s.BM25()
    peer.index([words(passage.contents) for passage in corpus], show_progress=False)
    for query in ("capital of Peru", "mountains in Kenya", "Egypt coast parliament"):
        found = index.search(query, 3)
        rows, scores = peer.retrieve([words(query)], k=3, show_progress=False)
        assert np.allclose([score for _, score in found], scores[0], atol=1e-4)
        assert found[0][0] == rows[0][0]


def test_bm25_breaks_ties_by_row_and_finds_nothing_without_a_common_word(
    corpus: JsonlCorpus, tmp_path: Path
) -> None:
    index = SparseIndex(corpus, tmp_path)
    assert [row for row, _ in index.search("mountains", 4)] == [1, 3, 5, 7]
    assert index.search("quantum chromodynamics", 3) == []
    assert index.search("of the", 3) == []
    assert len(index.search("capital mountains", 1000)) == len(corpus)


def test_bm25_is_made_once(corpus: JsonlCorpus, tmp_path: Path) -> None:
    told: list[float] = []
    first = SparseIndex(corpus, tmp_path, told.append)
    assert told[-1] == 1
    told.clear()
    assert SparseIndex(corpus, tmp_path, told.append).search("Cuba", 2) == first.search("Cuba", 2)
    assert told == []


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
def test_each_retriever_finds_what_is_asked_for(small: Small, kind: str) -> None:
    engine = open_engine(small.settings(retriever=kind, index=None if kind == "bm25" else str(small.index)))
    assert engine.retriever is not None
    queries = ["What is the capital of Peru?", "long coast of Norway"]
    first, second = engine.retriever.search(queries, 3)
    assert first[0].passage.id == "gov-4"
    assert second[0].passage.id == "geo-6"
    assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)
    engine.close()


def test_fusion_adds_the_reciprocal_ranks(small: Small) -> None:
    engine = open_engine(small.settings(retriever="hybrid"))
    assert engine.retriever is not None
    ((best, *_),) = engine.retriever.search(["capital of Peru"], 3)
    assert best.score == pytest.approx(2 / (RRF_CONSTANT + 1))
    engine.close()


def test_what_an_engine_answers_from_is_in_its_hash(small: Small, tmp_path: Path) -> None:
    hashes = set()
    other = tmp_path / "other.jsonl"
    rows = [json.loads(line) for line in small.corpus.read_text().splitlines()]
    other.write_text("\n".join(json.dumps(row) for row in rows[:-1]))
    for changes in (
        {},
        {"retriever": "bm25", "index": None},
        {"retriever": "hybrid"},
        {"max_query_chars": 10},
    ):
        engine = open_engine(small.settings(**changes))
        hashes.add(engine.sha256)
        engine.close()
    engine = open_engine(small.settings(retriever="bm25", index=None, corpus=str(other)))
    hashes.add(engine.sha256)
    engine.close()
    assert len(hashes) == 5

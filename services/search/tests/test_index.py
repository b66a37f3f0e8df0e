"""Dense indexes: what they find, that they are mapped and not read, and that strangers are refused."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest
from searched import Small

from turngym_search.encoders import MiniLM, Vectors
from turngym_search.engine import open_engine
from turngym_search.index import (
    BLOCK,
    KINDS,
    DenseIndex,
    IndexMismatch,
    Manifest,
    open_index,
    rows_of,
    training_rows,
    write_index,
)

DIM = 64


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    """4,000 vectors of length 1 around 100 centres, with some twice."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4000, DIM)) + 2 * rng.normal(size=(100, DIM))[rng.integers(100, size=4000)]
    rows[1000:1010] = rows[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def manifest(kind: str, vectors: Vectors) -> Manifest:
    return Manifest(kind, len(vectors), vectors.shape[1], "made up", "c" * 64, "made up", "e" * 64)


def made(folder: Path, kind: str, vectors: Vectors) -> DenseIndex:
    sample = vectors[: training_rows(kind, len(vectors))]
    write_index(folder, manifest(kind, vectors), sample, rows_of(vectors, 999))
    return open_index(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_nearest_is_found(tmp_path: Path, vectors: Vectors, kind: str) -> None:
    index = made(tmp_path, kind, vectors)
    queries = vectors[::40]
    exact = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :3]
    found = index.search(queries, 3)
    hits = [len(set(want.tolist()) & {row for row, _ in got}) for want, got in zip(exact, found, strict=True)]
    assert sum(hits) / (3 * len(queries)) > (0.999 if kind == "flat" else 0.9)
    assert all(score == pytest.approx(1, abs=0.02) for ((_, score), *_) in found)


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_an_answer_does_not_depend_on_the_rest_of_the_batch(
    tmp_path: Path, vectors: Vectors, kind: str
) -> None:
    index = made(tmp_path, kind, vectors)
    together = [[row for row, _ in found] for found in index.search(vectors[:200], 5)]
    alone = [[row for row, _ in index.search(vectors[n : n + 1], 5)[0]] for n in range(200)]
    assert together == alone


@pytest.mark.parametrize("queries", [1, 8])
def test_ties_go_to_the_lower_row(tmp_path: Path, vectors: Vectors, queries: int) -> None:
    index = made(tmp_path, "flat", vectors)
    found = index.search(vectors[:queries], 4)[0]
    assert [row for row, _ in found] == [0, 1000, 1001, 1002]


def test_a_batch_over_many_blocks_finds_what_faiss_finds(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    # The last block has fewer rows than are asked for.
    rows = rng.normal(size=(2 * BLOCK + 3, DIM)).astype(np.float32)
    index = made(tmp_path, "flat", rows)
    queries = np.vstack([rows[-3:], rng.normal(size=(5, DIM)).astype(np.float32)])
    plain = faiss.read_index(str(tmp_path / "index.faiss")).search(queries, 6)[1]
    assert [[row for row, _ in found] for found in index.search(queries, 6)] == plain.tolist()


def test_a_small_corpus_gives_fewer(tmp_path: Path, vectors: Vectors) -> None:
    index = made(tmp_path, "flat", vectors[:2])
    assert [len(found) for found in index.search(vectors[:3], 5)] == [2, 2, 2]


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_the_file_is_mapped_into_memory(tmp_path: Path, vectors: Vectors, kind: str) -> None:
    index = made(tmp_path, kind, vectors)
    assert str(tmp_path / "index.faiss") in Path("/proc/self/maps").read_text()
    assert index.count == len(vectors)


def test_the_manifest_names_both_hashes_where_they_differ(tmp_path: Path, vectors: Vectors) -> None:
    made(tmp_path, "flat", vectors)
    read = Manifest.read(tmp_path)
    assert read.index_sha256 == hashlib.sha256((tmp_path / "index.faiss").read_bytes()).hexdigest()
    assert replace(read, index_sha256="") == manifest("flat", vectors)
    read.must_fit(tmp_path, "c" * 64, "e" * 64)
    for corpus, encoder, what in (("d" * 64, "e" * 64, "corpus"), ("c" * 64, "f" * 64, "encoder")):
        with pytest.raises(IndexMismatch) as raised:
            read.must_fit(tmp_path, corpus, encoder)
        assert what in str(raised.value) and "\n" not in str(raised.value)
        assert all(
            letter * 16 in str(raised.value) for letter in (("c", "d") if what == "corpus" else ("e", "f"))
        )


@pytest.mark.parametrize("content", ["", "{}", '{"kind": "flat"}', "[]", "nonsense"])
def test_a_folder_without_a_manifest_is_no_index(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(IndexMismatch, match="turngym-search build"):
        Manifest.read(tmp_path)


def test_a_manifest_of_another_format_is_refused(tmp_path: Path, vectors: Vectors) -> None:
    other = replace(manifest("flat", vectors), format=99)
    write_index(tmp_path, other, vectors[:0], rows_of(vectors))
    with pytest.raises(IndexMismatch, match="format 99"):
        Manifest.read(tmp_path)


def test_a_count_that_does_not_fit_writes_nothing(tmp_path: Path, vectors: Vectors) -> None:
    with pytest.raises(IndexMismatch, match="4000 passages, and 10 vectors"):
        write_index(tmp_path / "i", manifest("flat", vectors), vectors[:0], [vectors[:10]])
    assert not (tmp_path / "i").exists()


def test_a_file_that_is_no_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.index").write_bytes(b"nothing that FAISS knows")
    with pytest.raises(IndexMismatch, match=r"x\.index"):
        open_index(tmp_path / "x.index")


def test_a_bare_faiss_file_is_taken_if_its_size_fits(small: Small, tmp_path: Path, encoder: MiniLM) -> None:
    """As Search-R1 publishes for wiki-18: no manifest, so dimensions and count must do."""
    corpus = [line for line in small.corpus.read_text().splitlines() if line]
    rows = encoder.passages([json.loads(line)["contents"] for line in corpus])
    index = faiss.IndexFlatIP(encoder.dim)
    index.add(rows[:-1])
    faiss.write_index(index, str(tmp_path / "short.index"))
    with pytest.raises(
        IndexMismatch, match=f"{len(rows) - 1} vectors of 384 dimensions.*{len(rows)} passages"
    ):
        open_engine(small.settings(index=str(tmp_path / "short.index")))
    index.add(rows[-1:])
    faiss.write_index(index, str(tmp_path / "e5_Flat.index"))
    opened = open_engine(small.settings(index=str(tmp_path / "e5_Flat.index")))
    assert opened.retriever is not None
    ((hit, *_),) = opened.retriever.search(["the capital of Peru"], 3)
    assert hit.passage.id == "gov-4"
    opened.close()


def test_an_index_of_another_corpus_is_refused_with_both_hashes(small: Small, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(small.corpus.read_text().replace("mountains", "hills"))
    with pytest.raises(IndexMismatch, match="corpus") as raised:
        open_engine(small.settings(corpus=str(other)))
    assert Manifest.read(small.index).corpus_sha256[:16] in str(raised.value)


@pytest.mark.parametrize("index", [None, "/nowhere/index"])
def test_another_corpus_needs_an_index_of_its_own(small: Small, index: str | None) -> None:
    with pytest.raises(IndexMismatch, match="turngym-search build"):
        open_engine(small.settings(index=index))

"""turngym-search: building an index, going on where it was stopped, measuring; each failure in one line."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from searched import Small

from turngym_search.build import BuildError, build
from turngym_search.encoders import Encoder, MiniLM, Vectors
from turngym_search.engine import open_engine
from turngym_search.index import KINDS, Manifest, open_index
from turngym_search.passages import JsonlCorpus
from turngym_search.quality import recalls
from turngym_search.questions import open_questions

COMMAND = str(Path(sys.executable).with_name("turngym-search"))


def run(small: Small, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **small.environ(**settings), "COLUMNS": "200"}
    return subprocess.run([COMMAND, *arguments], env=environ, capture_output=True, text=True)


class Counting(Encoder):
    """The encoder that ships, which counts what it encodes and stops where it is told to."""

    def __init__(self, encoder: MiniLM, stop_after: int = 10**9) -> None:
        self.name, self.sha256, self.dim = encoder.name, encoder.sha256, encoder.dim
        self._encoder = encoder
        self.left = stop_after
        self.encoded = 0

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._encoder.queries(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self.encoded >= self.left:
            raise KeyboardInterrupt
        self.encoded += len(texts)
        return self._encoder.passages(texts)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_index_serves(small: Small, encoder: MiniLM, tmp_path: Path, kind: str) -> None:
    corpus = JsonlCorpus(small.corpus, small.data / "search")
    told: list[tuple[str, int, int]] = []
    manifest = build(
        corpus,
        encoder,
        kind,
        tmp_path,
        names=("small", "minilm"),
        threads=1,
        step=lambda *seen: told.append(seen),
    )
    assert manifest == Manifest.read(tmp_path)
    assert (manifest.count, manifest.dim, manifest.corpus_sha256) == (24, 384, corpus.sha256)
    assert told[0] == ("encoding passages", 0, 24) and told[-1][1:] == (24, 24)
    assert {path.name for path in tmp_path.iterdir()} == {"index.faiss", "manifest.json"}
    engine = open_engine(small.settings(index=str(tmp_path)))
    assert engine.retriever is not None
    assert engine.retriever.search(["capital of Kenya"], 1)[0][0].passage.id == "gov-3"
    engine.close()


def test_an_interrupted_build_goes_on(
    small: Small, encoder: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turngym_search.build.BLOCK", 5)
    corpus = JsonlCorpus(small.corpus, small.data / "search")

    def attempt(model: Encoder) -> Manifest:
        return build(corpus, model, "flat", tmp_path, names=("a", "b"), threads=1, step=lambda *_: None)

    first = Counting(encoder, stop_after=10)
    with pytest.raises(KeyboardInterrupt):
        attempt(first)
    second = Counting(encoder)
    attempt(second)
    assert (first.encoded, second.encoded) == (10, 14)
    queries = encoder.queries([passage.contents for passage in corpus])
    found = open_index(tmp_path).search(queries, 1)
    assert [row for ((row, _),) in found] == list(range(24))
    assert all(score == pytest.approx(1, abs=1e-4) for ((_, score),) in found)


def test_vectors_of_another_encoder_are_not_gone_on_with(
    small: Small, encoder: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turngym_search.build.BLOCK", 5)
    corpus = JsonlCorpus(small.corpus, small.data / "search")
    with pytest.raises(KeyboardInterrupt):
        build(
            corpus, Counting(encoder, 5), "flat", tmp_path, names=("a", "b"), threads=1, step=lambda *_: None
        )
    other = Counting(encoder)
    other.sha256 = "0" * 64
    with pytest.raises(BuildError, match="another corpus or encoder"):
        build(corpus, other, "flat", tmp_path, names=("a", "b"), threads=1, step=lambda *_: None)


def test_the_command_builds_and_says_so(small: Small, tmp_path: Path) -> None:
    done = run(small, "build", "--corpus", str(small.corpus), "--out", str(tmp_path / "i"), "--index", "hnsw")
    assert done.returncode == 0, done.stderr
    assert f"24 passages in {tmp_path / 'i'}" in done.stdout
    assert Manifest.read(tmp_path / "i").kind == "hnsw"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--corpus", "/nowhere.jsonl"], "/nowhere.jsonl can't be read: No such file"),
        (["--encoder", "/nowhere"], "neither 'minilm' nor a folder"),
    ],
)
def test_the_command_fails_in_one_line(small: Small, tmp_path: Path, arguments: list[str], says: str) -> None:
    done = run(small, "build", "--corpus", str(small.corpus), "--out", str(tmp_path / "i"), *arguments)
    assert done.returncode == 1
    assert says in done.stderr and "Traceback" not in done.stderr


def test_quality_counts_gold_passages_in_the_first_k(small: Small) -> None:
    engine = open_engine(small.settings())
    assert engine.retriever is not None
    told: list[int] = []
    by_question, by_title = recalls(
        engine.retriever, open_questions(str(small.questions)).splits["test"], 3, told.append
    )
    assert (by_question.what, by_question.asked, by_question.share) == ("one hop, by question", 12, 1.0)
    assert (by_title.what, by_title.share) == ("one hop, by title", 1.0)
    assert sum(told) == 24
    engine.close()


def test_the_command_prints_quality(small: Small) -> None:
    done = run(small, "quality", "--retriever", "dense", "--retriever", "bm25")
    assert done.returncode == 0, done.stderr
    assert "one hop, by question" in done.stdout and "1.000" in done.stdout
    refused = run(small, "quality", "--retriever", "remote")
    assert refused.returncode == 1 and "dense, bm25, hybrid" in refused.stderr

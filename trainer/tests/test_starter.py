"""The starter: what a fresh model can do before it is taught, and what the lesson reads when."""

import random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import tokenizer

from turngym_trainer.starter.teach import Lesson, _batches, _expert_share, encode, new_model

LENGTH = 60


@pytest.fixture(scope="module")
def words() -> Any:
    return tokenizer()


@pytest.mark.parametrize(("hidden", "layers"), [(64, 2), (128, 3), (128, 4)])
def test_a_fresh_model_repeats_what_it_has_read(words: Any, hidden: int, layers: int) -> None:
    """Random tokens, twice: in the second half the next one is known from the first, and from nowhere else."""
    torch.manual_seed(0)
    model = new_model(words, Lesson(hidden=hidden, layers=layers))
    once = torch.randint(len(words), (16, LENGTH))
    with torch.no_grad():
        likeliest = model(input_ids=torch.cat([once, once], dim=1)).logits.argmax(-1)
    again = (likeliest[:, LENGTH:-1] == once[:, 1:]).float().mean().item()
    at_first = (likeliest[:, : LENGTH - 1] == once[:, 1:]).float().mean().item()
    assert again > 0.4
    assert at_first < 0.05


def test_a_lesson_begins_with_the_expert_and_ends_with_the_novice() -> None:
    lesson = Lesson(expert_share=(0.9, 0.1))
    shares = [_expert_share(done / 8, lesson) for done in range(9)]
    assert shares == pytest.approx([0.9, 0.9, 0.9, 0.9, 0.9, 0.7, 0.5, 0.3, 0.1])


@given(
    lengths=st.lists(st.integers(2, 300), min_size=1, max_size=40),
    tokens=st.integers(1, 3_000),
    most=st.integers(1, 800),
    seed=st.integers(0, 5),
)
def test_batches_hold_whole_episodes_up_to_their_size_until_the_lesson_is_over(
    lengths: list[int], tokens: int, most: int, seed: int
) -> None:
    expert, novice = ([([kind] * n, [1.0] * n) for n in lengths] for kind in (1, 2))
    lesson = Lesson(tokens=tokens, batch_tokens=most, seed=seed)
    read, progress = 0, []
    for done, ids, weights in _batches(expert, novice, lesson, pad=0):
        assert ids.shape == weights.shape
        assert len(ids) == 1 or ids.numel() <= most
        assert ((ids == 0) == (weights == 0)).all()
        assert set((ids != 0).sum(1).tolist()) <= set(lengths)
        assert ids.size(1) == (ids != 0).sum(1).max()  # no longer than it must be
        assert read < tokens
        read += ids.numel()
        progress.append(done)
        assert done == pytest.approx(min(1, read / tokens))
    assert read >= tokens
    assert progress == sorted(progress)
    assert progress[-1] == 1


def test_the_share_of_novices_is_what_the_lesson_says() -> None:
    rng = random.Random(0)
    lengths = [rng.randint(20, 60) for _ in range(500)]
    expert, novice = ([([kind] * n, [1.0] * n) for n in lengths] for kind in (1, 2))
    lesson = Lesson(tokens=1_000_000, expert_share=(0.8, 0.0))
    by_quarter: list[list[int]] = [[], [], [], []]
    for done, ids, _ in _batches(expert, novice, lesson, pad=0):
        by_quarter[min(3, int(4 * done))] += ids[:, 0].tolist()
    shares = [kinds.count(1) / len(kinds) for kinds in by_quarter]
    assert shares[:2] == pytest.approx([0.8, 0.8], abs=0.05)
    assert shares[2:] == pytest.approx([0.6, 0.2], abs=0.05)


def test_an_encoded_dialogue_is_that_of_the_template(words: Any) -> None:
    dialogue = [
        {"role": "user", "content": "Goal: craft stick"},
        {"role": "assistant", "content": "get 2 oak log"},
        {"role": "user", "content": "Got 2 oak log"},
    ]
    ids, weights = encode(words, dialogue, 0.5)
    assert ids == words.apply_chat_template(dialogue, tokenize=True, return_dict=False)
    said = words.decode([token for token, weight in zip(ids, weights, strict=True) if weight == 1])
    seen = words.decode([token for token, weight in zip(ids, weights, strict=True) if weight == 0.5])
    assert (said, seen) == ("get 2 oak log<|im_end|>", "Got 2 oak log<|im_end|>")

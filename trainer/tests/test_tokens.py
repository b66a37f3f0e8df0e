"""Exact tokens: whatever was sampled is what would be trained on, for random dialogues on a real tokenizer."""

from functools import cache
from typing import Any

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from turngym_trainer.tokens import Dialogue, PromptTooLong, shorten

pytest.importorskip("verl")


@cache
def tokenizer() -> Any:
    return tiny.tokenizer()


@cache
def builder() -> Any:
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    return create_continuous_token_builder(tokenizer(), hf_model_type="qwen3")


def end() -> int:
    found: int = tokenizer().eos_token_id
    return found


def opened(text: str, limit: int = 10_000) -> Dialogue:
    return Dialogue.open(builder(), end(), [{"role": "user", "content": text}], limit)


texts = st.text(max_size=40) | st.sampled_from(
    ["get 2 oak log", "Crafted 4 oak planks", "inventory\nObservation:", "  \n\n "]
)
# What a model may sample: any ids at all, not those that its text would be tokenised to.
sampled = st.lists(st.integers(0, 599).map(lambda i: i % len(tokenizer())), min_size=1, max_size=12)
turns = st.lists(st.tuples(sampled, st.booleans(), texts), min_size=1, max_size=6)


@settings(deadline=None, max_examples=150)
@given(texts, turns)
def test_the_trained_ids_are_the_sampled_ones_and_the_mask_marks_them_alone(
    opening: str, played: list[tuple[list[int], bool, str]]
) -> None:
    dialogue = opened(opening)
    recorded, probabilities, read = [], [], []
    for number, (ids, closed, observation) in enumerate(played):
        ids = [*ids, end()] if closed else ids
        log_probs = [-0.5 - number] * len(ids)
        read.append(list(dialogue.ids))  # what the sampler was given
        dialogue.sampled(ids, log_probs)
        recorded += ids
        probabilities += log_probs
        action = tokenizer().decode(ids, skip_special_tokens=True)
        dialogue.observed(action, observation, closed=ids[-1] == end())
    response, mask, log_probs = dialogue.response()
    assert [i for i, on in zip(response, mask, strict=True) if on] == recorded
    assert [p for p, on in zip(log_probs, mask, strict=True) if on] == probabilities
    assert all(p == 0 for p, on in zip(log_probs, mask, strict=True) if not on)
    assert mask[0] == 1 and mask[-1] == 1
    whole = dialogue.ids
    for prefix in read:  # no token that was read is changed later
        assert whole[: len(prefix)] == prefix


@settings(deadline=None, max_examples=60)
@given(texts, turns)
def test_a_dialogue_of_closed_turns_in_canonical_tokens_reads_as_the_template_would_have_it(
    opening: str, played: list[tuple[list[int], bool, str]]
) -> None:
    dialogue, messages = opened(opening), [{"role": "user", "content": opening}]
    for ids, _, observation in played:
        action = tokenizer().decode(ids, skip_special_tokens=True)
        canonical = [*tokenizer().encode(action, add_special_tokens=False), end()]
        dialogue.sampled(canonical, None)
        dialogue.observed(action, observation, closed=True)
        messages += [{"role": "assistant", "content": action}, {"role": "user", "content": observation}]
    expected = tokenizer().apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert tokenizer().decode(dialogue.ids) == tokenizer().decode(expected)


def test_a_turn_that_ended_at_a_stop_string_is_closed_by_an_untrained_token() -> None:
    dialogue = opened("Goal")
    ids = tokenizer().encode("inventory\nObservation:", add_special_tokens=False)
    dialogue.sampled(ids, None)
    context, taken_back = dialogue.observed("inventory\nObservation:", "Inventory: empty", closed=False)
    assert context[0] == end() and taken_back == 0
    assert dialogue.mask == [1] * len(ids) + [0] * len(context)


def test_a_prompt_that_is_too_long_is_refused_with_the_number_that_would_do() -> None:
    with pytest.raises(PromptTooLong, match=r"raise it to at least \d+"):
        opened("get 2 oak log " * 50, limit=20)


@given(st.text(max_size=200), st.integers(2, 40))
@settings(deadline=None)
def test_a_long_observation_keeps_its_head_and_tail_and_says_what_is_missing(text: str, limit: int) -> None:
    cut = shorten(tokenizer(), text, limit)
    if len(tokenizer().encode(text, add_special_tokens=False)) <= limit:
        assert cut == text
    else:
        head, tail = cut.split("\n[", 1)[0], cut.rsplit("tokens left out]\n", 1)[1]
        assert "tokens left out]" in cut
        assert text.startswith(head) and text.endswith(tail)

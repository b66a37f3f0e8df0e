"""The advantages of turns: fair to late turns, GRPO's own where there is one turn, and nowhere but on sampled tokens."""

from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

from turngym_trainer.advantages import by_turn

_PLAIN = {"norm_adv_by_std_in_grpo": False}

# An episode: how many tokens each turn has, with one token of observation between two turns, and its score.
_EPISODE = st.tuples(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.floats(0, 1, width=32))
_GROUP = st.lists(_EPISODE, min_size=2, max_size=5)


def _tensors(episodes, penalties=()):
    spans = [sum(turns) + len(turns) - 1 for turns, _ in episodes]
    mask, rewards = torch.zeros(len(episodes), max(spans)), torch.zeros(len(episodes), max(spans))
    for row, (turns, score) in enumerate(episodes):
        at = 0
        for size in turns:
            mask[row, at : at + size] = 1
            at += size + 1
        rewards[row, at - 2] = score
    for row, token, value in penalties:
        rewards[row, token] -= value
    return rewards, mask


def _groups(*sizes):
    return np.array([f"g{number}" for number, size in enumerate(sizes) for _ in range(size)], dtype=object)


def test_late_turns_of_lost_episodes_are_not_blamed_for_being_late() -> None:
    won, lost = ([1], 1.0), ([1, 1, 1], 0.0)
    rewards, mask = _tensors([won, won, lost, lost])
    given_by_grpo, _ = compute_grpo_outcome_advantage(rewards, mask, _groups(4))
    advantages, _ = by_turn(rewards, mask, _groups(4))
    assert (given_by_grpo[2:, 4] < 0).all()
    assert (advantages[2:, 2] == 0).all() and (advantages[2:, 4] == 0).all()
    assert (advantages[2:, 0] < 0).all() and (advantages[:2, 0] > 0).all()


def test_a_late_win_is_praised_against_the_late_losses() -> None:
    rewards, mask = _tensors([([1], 1.0), ([1, 1, 1], 1.0), ([1, 1, 1], 0.0)])
    advantages, _ = by_turn(rewards, mask, _groups(3), _PLAIN)
    assert advantages[1, 4] == 0.5 and advantages[2, 4] == -0.5
    assert advantages[1, 0] == pytest.approx(1 / 3)


def test_a_penalty_counts_for_its_own_turn_and_those_before() -> None:
    rewards, mask = _tensors([([1, 1, 1], 1.0), ([1, 1, 1], 1.0)], penalties=[(0, 2, 0.5)])
    advantages, returns = by_turn(rewards, mask, _groups(2), _PLAIN)
    assert returns[0].tolist() == [0.5, 0, 0.5, 0, 1]
    assert advantages[0].tolist() == [-0.25, 0, -0.25, 0, 0]


@given(_GROUP, _GROUP)
def test_only_sampled_tokens_have_advantages_and_each_turn_of_a_group_sums_to_nothing(one, other) -> None:
    rewards, mask = _tensors(one + other)
    advantages, _ = by_turn(rewards, mask, _groups(len(one), len(other)), _PLAIN)
    assert (advantages[mask == 0] == 0).all()
    for members, episodes in ((slice(0, len(one)), one), (slice(len(one), None), other)):
        by_number: defaultdict[int, float] = defaultdict(float)
        for row, (turns, _) in zip(advantages[members], episodes, strict=True):
            at = 0
            for number, size in enumerate(turns):
                assert (row[at : at + size] == row[at]).all()
                by_number[number] += row[at].item()
                at += size + 1
        assert list(by_number.values()) == pytest.approx([0] * len(by_number), abs=1e-4)


@given(_GROUP, st.floats(0.5, 1))
def test_no_advantage_is_out_of_proportion(episodes, gamma) -> None:
    rewards, mask = _tensors(episodes)
    advantages, _ = by_turn(rewards, mask, _groups(len(episodes)), {"gamma": gamma})
    turns = sum(len(turns) for turns, _ in episodes)
    assert advantages.abs().max().item() <= turns**0.5


def test_equal_scores_earned_in_different_turns_are_not_blown_up() -> None:
    rewards, mask = torch.tensor([[0.5, 0, 0.5], [0, 0, 1.0]]), torch.tensor([[1, 0, 1], [1, 0, 1]])
    advantages, _ = by_turn(rewards, mask, _groups(2))
    assert advantages[:, 0].tolist() == [0, 0]
    assert advantages[:, 2].tolist() == pytest.approx([-1, 1], abs=1e-3)


def test_a_row_that_only_fills_up_the_batch_changes_nothing() -> None:
    """verl's copies an episode's group, and has no sampled token."""
    rewards, mask = _tensors([([1], 1.0), ([1, 1], 0.0)])
    alone, _ = by_turn(rewards, mask, _groups(2))
    nothing = torch.zeros(1, rewards.size(1))
    filled, _ = by_turn(torch.cat([rewards, nothing]), torch.cat([mask, nothing]), _groups(3))
    assert torch.equal(filled[:2], alone) and not filled[2].any()


def test_gamma_makes_a_detour_cost_something() -> None:
    rewards, mask = _tensors([([1], 1.0), ([1, 1], 1.0)])
    advantages, returns = by_turn(rewards, mask, _groups(2), {**_PLAIN, "gamma": 0.9})
    assert returns[1].tolist() == pytest.approx([0.9, 0, 1])
    assert advantages[:, 0].tolist() == pytest.approx([0.05, -0.05])


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=6))
def test_with_one_turn_it_is_grpo(scores) -> None:
    rewards, mask = _tensors([([2], score) for score in scores])
    expected, _ = compute_grpo_outcome_advantage(rewards, mask, _groups(len(scores)))
    advantages, _ = by_turn(rewards, mask, _groups(len(scores)))
    assert torch.allclose(advantages, expected, atol=1e-4)

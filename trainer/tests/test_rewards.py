"""Rewards lie on sampled tokens alone, rescaled as the settings say."""

from dataclasses import replace

import pytest

from turngym_trainer.rewards import Rewards
from turngym_trainer.settings import EpisodeSettings

BASE = EpisodeSettings(
    addresses=("http://127.0.0.1:1",),
    max_tokens=8,
    max_observation_tokens=8,
    reward="outcome",
    reward_range=None,
    invalid_penalty=0.0,
    deadline_s=10,
    reopen=1,
    use_stop_strings=True,
    log_dir=None,
)


def placed(settings: EpisodeSettings, score: float = 1.0) -> list[float]:
    """Two turns that end at tokens 2 and 6 of a response of seven; the first action was refused."""
    rewards = Rewards(settings)
    rewards.turn(3, reward=0.25, invalid=True)
    rewards.turn(7, reward=0.75, invalid=False)
    return rewards.on_tokens(7, score)


def test_an_outcome_is_paid_on_the_last_sampled_token() -> None:
    assert placed(BASE) == [0, 0, 0, 0, 0, 0, 1.0]


def test_rewards_per_turn_are_paid_on_the_last_token_of_their_turn() -> None:
    assert placed(replace(BASE, reward="per_turn")) == [0, 0, 0.25, 0, 0, 0, 0.75]


def test_a_refused_action_costs_its_penalty_where_it_was_written() -> None:
    assert placed(replace(BASE, invalid_penalty=0.1)) == [0, 0, -0.1, 0, 0, 0, 1.0]


@pytest.mark.parametrize(("score", "value"), [(0.0, -1.0), (0.5, 0.0), (1.0, 1.0)])
def test_an_outcome_is_mapped_from_its_range_to_minus_one_to_one(score: float, value: float) -> None:
    assert placed(replace(BASE, reward_range=(0.0, 1.0)), score)[-1] == value


def test_a_turn_that_earns_nothing_earns_nothing_in_any_range() -> None:
    rewards = Rewards(replace(BASE, reward="per_turn", reward_range=(-2.0, 1.0)))
    rewards.turn(1, reward=0.0, invalid=False)
    rewards.turn(2, reward=-2.0, invalid=False)
    assert rewards.on_tokens(2, 0.0) == [0.0, -1.0]

"""The players: an expert that solves what it claims, a novice that fails by its rate, floors that don't get far."""

from collections.abc import Callable
from random import Random

import pytest

from turngym.environment import Outcome
from turngym.players import NOTHING
from turngym.schema import StopReason
from turngym_babyai.env import BabyAI
from turngym_babyai.expert import EXCLUDED
from turngym_babyai.levels import levels

Opener = Callable[..., BabyAI]
Play = Callable[[BabyAI, Callable[[BabyAI], str], int], list[Outcome]]
EASY = levels()[:19]
SEEDS = 3
SAMPLE = [name for name in levels() if name not in EXCLUDED][::6]


def success(
    open_level: Opener,
    play: Play,
    player: Callable[[BabyAI, Random], str],
    turns: int,
    actions: str = "high-level",
) -> float:
    """The share of easy layouts that the player solves."""
    won = 0
    for level in EASY:
        for seed in range(SEEDS):
            env, rng = open_level(level, seed, actions=actions, listing=False), Random(seed)
            won += play(env, lambda e, rng=rng: player(e, rng), turns)[-1].stop == StopReason.SUCCESS
            env.close()
    return won / (len(EASY) * SEEDS)


@pytest.mark.parametrize("actions", ["high-level", "primitive"])
@pytest.mark.parametrize("level", SAMPLE)
def test_the_expert_solves_what_it_claims(open_level: Opener, play: Play, level: str, actions: str) -> None:
    """A sample; ``make prove TASK=babyai`` plays every level."""
    for seed in range(2):
        env = open_level(level, seed, actions=actions, listing=False)
        outcomes = play(env, BabyAI.expert, 1024)
        assert outcomes[-1].stop == StopReason.SUCCESS
        env.close()


def test_levels_where_one_starts_with_full_hands_are_solved(open_level: Opener, play: Play) -> None:
    for seed in range(5):
        env = open_level("PutNextS5N2Carrying", seed, listing=False)
        assert play(env, BabyAI.expert, 200)[-1].stop == StopReason.SUCCESS


def test_what_the_expert_does_not_claim_is_little_and_real(open_level: Opener, play: Play) -> None:
    assert len(EXCLUDED) <= 6
    assert set(EXCLUDED) <= set(levels())
    env = open_level("KeyInBox", 0, listing=False)
    assert play(env, BabyAI.expert, 40)[-1].stop != StopReason.SUCCESS


def test_the_expert_goes_on_from_wherever_others_left(open_level: Opener, play: Play) -> None:
    won = tried = 0
    for level in SAMPLE:
        for seed in (5, 6):
            env, rng = open_level(level, seed, listing=False), Random(seed)
            early = play(env, lambda e, rng=rng: e.random(rng), 8)
            if early[-1].stop is None:
                tried += 1
                won += play(env, BabyAI.expert, 400)[-1].stop == StopReason.SUCCESS
            env.close()
    assert tried > 10
    assert won >= 0.9 * tried


def test_asking_the_expert_depends_on_the_history_alone(open_level: Opener) -> None:
    asked, silent = open_level("BossLevel", 3, listing=False), open_level("BossLevel", 3, listing=False)
    rng = Random(1)
    for _ in range(10):
        asked.expert()
        action = rng.choice(asked.actions())
        assert asked.step(action) == silent.step(action)
    assert asked.expert() == silent.expert() == asked.fork().expert()


def test_the_high_level_expert_needs_fewer_turns(open_level: Opener, play: Play) -> None:
    turns = {
        actions: sum(
            len(play(open_level(level, 0, actions=actions, listing=False), BabyAI.expert, 500))
            for level in EASY
        )
        for actions in ("high-level", "primitive")
    }
    assert turns["high-level"] * 2 < turns["primitive"]


def test_a_player_that_does_nothing_never_wins(open_level: Opener, play: Play) -> None:
    for level in levels():
        env = open_level(level, 0, listing=False)
        outcomes = [env.step(NOTHING) for _ in range(3)]
        assert not any(outcome.score for outcome in outcomes)
        env.close()


def test_a_random_player_is_far_from_the_expert(open_level: Opener, play: Play) -> None:
    """With actions that find the way chance solves many of the easy layouts; step by step it gets nowhere."""
    assert success(open_level, play, BabyAI.random, turns=6) < 0.85
    assert success(open_level, play, BabyAI.random, turns=6, actions="primitive") < 0.35


def test_the_novice_at_rate_0_is_the_expert(open_level: Opener, play: Play) -> None:
    assert success(open_level, play, lambda env, rng: env.novice(rng, 0.0), 30) == 1


def test_the_novice_at_rate_1_wins_by_accident_alone(open_level: Opener, play: Play) -> None:
    """In the smallest rooms a turn is enough to face the one thing there is."""
    assert success(open_level, play, lambda env, rng: env.novice(rng, 1.0), 6) < 0.35


def test_the_novice_gets_worse_with_its_rate(open_level: Opener, play: Play) -> None:
    shares = [
        success(open_level, play, lambda env, rng, r=rate: env.novice(rng, r), 6) for rate in (0.0, 0.5, 0.9)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] > 0.3

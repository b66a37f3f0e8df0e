"""What the tests of BabyAI share: the service, fresh episodes, and playing them to their end."""

from collections.abc import Callable
from typing import Any

import pytest

from turngym.environment import Outcome
from turngym.parsing import read_action
from turngym_babyai.commands import GRAMMAR
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.service import BabyAIService

Opener = Callable[..., BabyAI]
Player = Callable[[BabyAI], str]
Play = Callable[[BabyAI, Player, int], list[Outcome]]


@pytest.fixture(scope="session")
def service() -> BabyAIService:
    """The service, as a process has it."""
    return BabyAIService()


@pytest.fixture(scope="session")
def open_level() -> Opener:
    """``open_level("GoToLocal", seed=0, **options)``: a fresh episode."""

    def opener(level: str, seed: int = 0, **options: Any) -> BabyAI:
        return BabyAI(level, seed, BabyAIOptions(**options))

    return opener


@pytest.fixture(scope="session")
def play() -> Play:
    """``play(env, player, turns)``: the outcomes up to the end or the horizon, read by the grammar as the server does."""

    def playing(env: BabyAI, player: Player, turns: int) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while len(outcomes) < turns and not (outcomes and outcomes[-1].stop):
            outcomes.append(env.step(read_action(player(env), GRAMMAR)))
        return outcomes

    return playing

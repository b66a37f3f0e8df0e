"""What the tests of TextCraft share: the service, fresh episodes, and playing them to their end."""

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from turngym.environment import Outcome
from turngym.parsing import read_action
from turngym.schema import Split, TaskInfo
from turngym_textcraft.env import GRAMMAR, TextCraft, TextCraftOptions
from turngym_textcraft.recipes import recipes
from turngym_textcraft.service import TextCraftService
from turngym_textcraft.tree import tree

Opener = Callable[..., TextCraft]
Player = Callable[[TextCraft], str]


@pytest.fixture(scope="session")
def service() -> TextCraftService:
    """The service, as a process has it."""
    return TextCraftService()


@pytest.fixture(scope="session")
def every_task(service: TextCraftService) -> list[TaskInfo]:
    """Every task of every split."""

    def pages() -> Iterator[TaskInfo]:
        for split in get_args(Split):
            yield from service.tasks.page(split, 0, service.tasks.count(split))

    return list(pages())


@pytest.fixture(scope="session")
def open_goal() -> Opener:
    """``open_goal("oak fence", depth=2, seed=0, **options)``: a fresh episode of a goal."""

    def opener(goal: str, depth: int = 1, seed: int = 0, **options: Any) -> TextCraft:
        found = tree(goal, depth)
        assert found is not None, (
            f"no playable tree of depth {depth} for {goal} among {len(recipes())} recipes"
        )
        return TextCraft(found, seed, TextCraftOptions(**options))

    return opener


@pytest.fixture(scope="session")
def play() -> Callable[[TextCraft, Player, int], list[Outcome]]:
    """``play(env, player, turns)``: the outcomes up to the end or the horizon, read by the grammar as the server does."""

    def playing(env: TextCraft, player: Player, turns: int) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while len(outcomes) < turns and not (outcomes and outcomes[-1].stop):
            outcomes.append(env.step(read_action(player(env), GRAMMAR)))
        return outcomes

    return playing

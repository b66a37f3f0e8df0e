"""Proofs of a task by playing it in the real browser: what must hold before it is shipped, and for every one that is.

1. The oracle scores 1, within the horizon, and changes no table but those that its family names.
2. ``stop []`` at once scores 0.
3. A wrong answer scores 0; what is asked doesn't stand on the first page.
4. The oracle of a task with another truth scores 0.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from turngym_webarena.env import Goal, Place, WebArena, WebArenaOptions
from turngym_webarena.evaluation import read_checks
from turngym_webarena.players import Oracle
from turngym_webarena.service import MAX_TURNS
from turngym_webarena.sites.worlds import Worlds
from turngym_webarena.tasks.page import Page

WRONG = "Zanzibar"  # the answer to nothing here
_TELLING = 4  # characters from which on an answer on the first page is no chance


@dataclass(slots=True)
class Watched:
    """Worlds of one episode, which keep what it has changed."""

    worlds: Worlds
    changes: dict[str, tuple[int, int]] = field(default_factory=dict)

    def open(self, session_id: str, world: str) -> object:
        """A session, fresh from the seed."""
        return self.worlds.open(session_id, world)

    def close(self, session_id: str) -> None:
        """Note what was changed, and close it."""
        self.changes = self.worlds.changes(session_id)
        self.worlds.close(session_id)


@dataclass(frozen=True, slots=True)
class Played:
    """One episode: its score, its number of turns, lines of its longest page, changed tables, first and last texts."""

    score: float
    turns: int
    nodes: int
    changes: Mapping[str, tuple[int, int]]
    first: str
    actions: tuple[str, ...]


@asynccontextmanager
async def _opened(
    place: Place, worlds: Worlds, task: Mapping[str, Any], world: str, player: Oracle
) -> AsyncIterator[tuple[WebArena, Watched, str]]:
    """An episode of a task that has begun, with its worlds and its first text; closed on the way out."""
    watched = Watched(worlds)
    goal = Goal(task["intent"], task["start_url"], world, read_checks(task["eval"]))
    env = WebArena(goal, replace(place, worlds=watched), WebArenaOptions(instructions="none"), player)
    try:
        first = (await env.start())[-1].content
        yield env, watched, first
    finally:
        await env.close()


async def play(place: Place, worlds: Worlds, task: Mapping[str, Any], world: str, player: Oracle) -> Played:
    """Play a task to its end or to the horizon."""
    actions: list[str] = []
    score = 0.0
    async with _opened(place, worlds, task, world, player) as (env, watched, first):
        nodes = env.page.nodes
        while len(actions) < MAX_TURNS:
            actions.append(env.expert())
            outcome = await env.step(actions[-1])
            nodes = max(nodes, env.page.nodes)
            if outcome.stop is not None:
                score = outcome.score
                break
    return Played(score, len(actions), nodes, watched.changes, first, tuple(actions))


async def stray(
    place: Place, worlds: Worlds, task: Mapping[str, Any], world: str, foreign: Oracle
) -> dict[str, float]:
    """What those score who don't do the task, by their names: who stops at once, who says something wrong, who does another.

    A verdict changes nothing, so all three are asked for in one episode: two before its first action, one after the last.
    """
    async with _opened(place, worlds, task, world, foreign) as (env, _, _):
        scores = {
            "stop []": (await env.step("stop []")).score,
            "a wrong answer": (await env.step(f"stop [{WRONG}]")).score,
        }
        for _ in range(MAX_TURNS):
            outcome = await env.step(env.expert())
            if outcome.stop is not None:
                break
        scores["a foreign oracle"] = outcome.score
    return scores


def told_at_once(task: Mapping[str, Any], first: str) -> bool:
    """Whether every part of the answer stands on the first page."""
    references = task["eval"]["reference_answers"]
    if not references or "fuzzy_match" in references:
        return False
    parts = [references["exact_match"]] if "exact_match" in references else references["must_include"]
    names = "\n".join(node.name for node in Page(first).walk())
    return all(len(part) >= _TELLING and part in names for part in parts)


async def problems(
    place: Place,
    worlds: Worlds,
    task: Mapping[str, Any],
    world: str,
    oracle: Oracle,
    foreign: Oracle,
    touches: frozenset[str],
) -> tuple[list[str], Played]:
    """What doesn't hold of a task, in words; and the oracle's episode."""
    found = []
    own = await play(place, worlds, task, world, oracle)
    if own.score != 1.0:
        found.append(f"the oracle scores {own.score:g} after {own.turns} turns, the last {own.actions[-1]!r}")
    if not set(own.changes) <= touches:
        found.append(f"the oracle changes {', '.join(sorted(set(own.changes) - touches))}")
    if told_at_once(task, own.first):
        found.append("the answer stands on the first page")
    scores = await stray(place, worlds, task, world, foreign)
    found += [f"{name} scores {score:g}" for name, score in scores.items() if score != 0.0]
    return found, own

"""Proofs of a task by playing it in the real browser: what must hold before it is shipped, and for every one that is.

1. The oracle scores 1, within the horizon, and changes no table but those that its family names.
2. ``stop []`` at once scores 0.
3. A wrong answer scores 0; what is asked doesn't stand on the first page.
4. The oracle of a task with another truth scores 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from turngym_webarena.env import Goal, Oracle, Place, WebArena, WebArenaOptions
from turngym_webarena.evaluation import read_checks
from turngym_webarena.sites.worlds import Worlds
from turngym_webarena.tasks.page import Page

HORIZON = 30
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


class Fixed:
    """A player with one action, always the same."""

    def __init__(self, action: str) -> None:
        self.action = action

    def act(self, observation: str) -> str:
        """That action."""
        return self.action


async def play(place: Place, worlds: Worlds, task: Mapping[str, Any], world: str, player: Oracle) -> Played:
    """Play a task to its end or to the horizon."""
    watched = Watched(worlds)
    goal = Goal(task["intent"], task["start_url"], world, read_checks(task["eval"]))
    env = WebArena(goal, replace(place, worlds=watched), WebArenaOptions(instructions="none"), player)
    actions: list[str] = []
    score, nodes, first = 0.0, 0, ""
    try:
        first = (await env.start())[-1].content
        nodes = env.page.nodes
        while len(actions) < HORIZON:
            actions.append(env.expert())
            outcome = await env.step(actions[-1])
            nodes = max(nodes, env.page.nodes)
            if outcome.stop is not None:
                score = outcome.score
                break
    finally:
        await env.close()
    return Played(score, len(actions), nodes, watched.changes, first, tuple(actions))


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
    for name, player in (
        ("stop []", Fixed("stop []")),
        ("a wrong answer", Fixed(f"stop [{WRONG}]")),
        ("a foreign oracle", foreign),
    ):
        other = await play(place, worlds, task, world, player)
        if other.score != 0.0:
            found.append(f"{name} scores {other.score:g}")
    return found, own

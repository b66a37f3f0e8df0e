"""Players of ScienceWorld: the expert, who follows the simulator's own solution of a variation, and the novice, who does so
with useless actions in between.

The solution ("gold path") is a list of actions from the start. It says nothing of a state off that path, so the expert goes
on with the first action of it that was not yet done in order; and the novice's useless actions are all of the kind that
takes no time in the simulator and changes nothing.
"""

from collections import OrderedDict
from collections.abc import Sequence
from random import Random
from threading import Lock

from turngym_sciworld.pool import Pool

_KEPT = 512  # solutions
_USELESS = ("look around", "inventory", "task", "look in inventory")
IDLE = "look around"


class GoldPaths:
    """The solutions of variations, found when they are asked for and the latest kept."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._lock = Lock()
        self._found: OrderedDict[tuple[str, int, str], Sequence[str]] = OrderedDict()

    def find(self, kind: str, variation: int, simplifications: str) -> Sequence[str]:
        """The actions of the simulator's solution. Raises BackendDied where the JVM dies of it."""
        key = (kind, variation, simplifications)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        path = self._pool.freest(scratch=True).gold_path(kind, variation, simplifications)
        with self._lock:
            self._found[key] = path
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return path


def next_action(path: Sequence[str], done: Sequence[str]) -> str:
    """The first action of ``path`` that was not yet done, where ``done`` may hold others in between."""
    reached = 0
    for action in done:
        if reached < len(path) and action == path[reached]:
            reached += 1
    return path[reached] if reached < len(path) else IDLE


def novice(best: str, rng: Random, rate: float) -> str:
    """The expert's action or, with probability ``rate`` (0..1), one that changes nothing."""
    if rng.random() >= rate or best.isdigit():  # a number answers a question, which must not be left open
        return best
    return rng.choice(_USELESS)

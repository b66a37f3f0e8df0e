"""The simplest set of tasks: each split has a number of them, and an id says which: ``<service>/<split>/<index>``."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256

from turngym.environment import TaskSet
from turngym.schema import SPLITS, Split, TaskInfo

_ID = re.compile(r"(.*)/(0|[1-9][0-9]{0,17})", re.DOTALL)


def parse_task_id(task_id: str) -> tuple[str, int]:
    """``("game/test", 7)`` of "game/test/7": what stands before the last slash, and the number after it.

    A number has one way to be written: ASCII digits, at most 18, without leading zeros. Raises KeyError for any other id.
    """
    match = _ID.fullmatch(task_id)
    if match is None:
        raise KeyError(task_id)
    return match[1], int(match[2])


class NumberedTasks(TaskSet):
    """Tasks told apart by split and index alone; the environment makes what it needs from the id.

    :param name: the service's name, the first part of every id.
    :param counts: how many tasks each split has; a split that is left out has none.
    :param goal: the goal of the task with an id, in words; a text where all have the same.
    """

    def __init__(self, name: str, counts: Mapping[Split, int], goal: str | Callable[[str], str]) -> None:
        if unknown := [split for split in counts if split not in SPLITS]:
            raise ValueError(f"there is no split {unknown[0]!r}; there are: {', '.join(SPLITS)}")
        self.name = name
        self.counts = dict(counts)
        self._goal = goal

    @property
    def digest(self) -> str:
        """A sha256 over the name and the counts, for a Spec's ``data_hash``."""
        return sha256(repr((self.name, sorted(self.counts.items()))).encode()).hexdigest()

    def count(self, split: Split) -> int:
        """How many tasks the split has."""
        return self.counts.get(split, 0)

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``. Raises IndexError beyond the end."""
        if not 0 <= index < self.count(split):
            raise IndexError(f"{split} has {self.count(split)} tasks, so there is no index {index}")
        task_id = f"{self.name}/{split}/{index}"
        goal = self._goal if isinstance(self._goal, str) else self._goal(task_id)
        return TaskInfo(task_id=task_id, split=split, index=index, goal=goal)

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id, written just so. Raises KeyError."""
        folder, index = parse_task_id(task_id)
        for split, count in self.counts.items():
            if folder == f"{self.name}/{split}" and index < count:
                return self.at(split, index)
        raise KeyError(task_id)

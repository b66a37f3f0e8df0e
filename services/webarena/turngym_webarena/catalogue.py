"""The tasks as the service offers them: ids, public words, and, apart from those, what decides on an episode."""

import hashlib
import json
from functools import cached_property
from typing import get_args

from turngym.environment import TaskSet
from turngym.schema import Split, TaskInfo
from turngym_webarena import tasks
from turngym_webarena.env import Goal
from turngym_webarena.evaluation import read_checks
from turngym_webarena.players import Oracle

SPLITS: tuple[Split, ...] = get_args(Split)


class Catalogue(TaskSet):
    """The embedded tasks. Ids are ``webarena/<split>/<index>``."""

    def count(self, split: Split) -> int:
        """How many tasks the split has."""
        return len(tasks.load(split))

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``; ``info`` has its sites, family and template, and how long it is for the expert."""
        if index < 0:
            raise IndexError(index)
        task = tasks.load(split)[index]
        return TaskInfo(
            task_id=f"webarena/{split}/{index}",
            split=split,
            index=index,
            goal=task.raw["intent"],
            info={
                "sites": task.raw["sites"],
                "family": task.family,
                "template": task.raw["intent_template_id"],
                "short": task.short,
                "turns": task.turns,
                "nodes": task.nodes,
            },
        )

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id. Raises KeyError."""
        for split in SPLITS:
            folder, _, index = task_id.rpartition("/")
            if folder != f"webarena/{split}" or not (index.isascii() and index.isdigit() and len(index) < 10):
                continue
            if index == str(int(index)) and int(index) < self.count(split):
                return self.at(split, int(index))
        raise KeyError(task_id)

    def goal(self, info: TaskInfo) -> Goal:
        """What an episode of the task is about."""
        task = self._of(info)
        return Goal(task.raw["intent"], task.raw["start_url"], task.world, read_checks(task.raw["eval"]))

    def oracle(self, info: TaskInfo) -> Oracle:
        """A player for one episode of the task."""
        return tasks.oracle(self._of(info))

    @cached_property
    def data_hash(self) -> str:
        """sha256 over every task of every split."""
        digest = hashlib.sha256()
        for split in SPLITS:
            for task in tasks.load(split):
                digest.update(json.dumps([split, task.world, task.raw], sort_keys=True).encode())
        return digest.hexdigest()

    @staticmethod
    def _of(info: TaskInfo) -> tasks.WebTask:
        return tasks.load(info.split)[info.index]

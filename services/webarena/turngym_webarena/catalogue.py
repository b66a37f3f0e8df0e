"""The tasks as the service offers them: ids, public words, and, apart from those, what decides on an episode."""

import hashlib
import json
from functools import cached_property

from turngym.numbered import NumberedTasks
from turngym.schema import SPLITS, Split, TaskInfo
from turngym_webarena import tasks
from turngym_webarena.env import Goal
from turngym_webarena.evaluation import read_checks
from turngym_webarena.players import Oracle


class Catalogue(NumberedTasks):
    """The embedded tasks. Ids are ``webarena/<split>/<index>``."""

    def __init__(self) -> None:
        super().__init__("webarena", {split: len(tasks.load(split)) for split in SPLITS}, "")

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``; ``info`` has its sites, family and template, and how long it is for the expert."""
        info = super().at(split, index)
        task = tasks.load(split)[index]
        known = {
            "sites": task.raw["sites"],
            "family": task.family,
            "template": task.raw["intent_template_id"],
            "short": task.short,
            "turns": task.turns,
            "nodes": task.nodes,
        }
        return info.model_copy(update={"goal": task.raw["intent"], "info": known})

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

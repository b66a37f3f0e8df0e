"""The tasks: a goal item and a depth. Which goals are for training, and their ids.

A goal belongs to one split with all its depths, so no test goal is ever trained on. Splits are stratified by the greatest
depth a goal has. Ids are ``textcraft/<split>/<index>`` over a fixed shuffle, the same on every machine. (The ids of
published results followed the order of files on the authors' disk; they can't be reproduced.)
"""

from functools import cache
from random import Random

from turngym.environment import TaskSet
from turngym.numbered import parse_task_id
from turngym.schema import SPLITS, Split, TaskInfo
from turngym_textcraft.recipes import recipes
from turngym_textcraft.tree import Tree, tree

DEPTHS = (1, 2, 3, 4)
SHARES: tuple[tuple[Split, float], ...] = (("test", 0.25), ("validation", 0.10), ("train", 0.65))
_SHUFFLE_SEED = 20231108


@cache
def _goals() -> dict[Split, list[str]]:
    """The goals of each split. Within a stratum, a seeded shuffle is cut at the shares' running sums."""
    rng = Random(_SHUFFLE_SEED)
    goals: dict[Split, list[str]] = {split: [] for split, _ in SHARES}
    for depth in DEPTHS:
        stratum = [g for g in recipes() if max((d for d in DEPTHS if tree(g, d)), default=0) == depth]
        rng.shuffle(stratum)
        begin, reached = 0, 0.0
        for split, share in SHARES:
            reached += share
            end = round(reached * len(stratum))
            goals[split] += stratum[begin:end]
            begin = end
    return goals


@cache
def _trees(split: Split) -> list[Tree]:
    trees = [found for goal in _goals()[split] for depth in DEPTHS if (found := tree(goal, depth))]
    Random(_SHUFFLE_SEED).shuffle(trees)
    return trees


class TextCraftTasks(TaskSet):
    """Every playable (goal, depth) pair of the recipe graph."""

    def count(self, split: Split) -> int:
        """How many tasks the split has."""
        return len(_trees(split))

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``; ``info`` has its depth and the expert's number of turns."""
        if index < 0:
            raise IndexError(index)
        found = _trees(split)[index]
        return TaskInfo(
            task_id=f"textcraft/{split}/{index}",
            split=split,
            index=index,
            goal=f"craft {found.goal}",
            info={"depth": found.depth, "expert_turns": found.turns},
        )

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id. Raises KeyError."""
        folder, index = parse_task_id(task_id)
        for split in SPLITS:
            if folder == f"textcraft/{split}" and index < self.count(split):
                return self.at(split, index)
        raise KeyError(task_id)


def tree_of(task: TaskInfo) -> Tree:
    """The crafting tree behind a task."""
    return _trees(task.split)[task.index]

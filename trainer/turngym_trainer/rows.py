"""Task rows: what verl's data loader reads. One row is one prompt group's task; the text comes from the session itself.

Rows are made from the service's ``/tasks``, ``train`` for training and ``validation`` for watching; ``test`` is for the
evaluation at the end alone. A row holds the task's id, its seed and the session's options, not the prompt: the environment
says what the agent reads. The same settings give the same files, byte for byte.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from turngym.client.aio import AsyncClient
from turngym.schema import SPLITS, Split, TaskInfo

AGENT = "turngym"
_PAGE = 500
_MAX_WEIGHT = 100
_SEEDS = 2**53  # exact in JSON readers that know doubles only


class NoSuchTasks(ValueError):
    """A filter leaves no task. The message says what the tasks have."""


@dataclass(frozen=True, slots=True)
class TaskList:
    """The tasks of one split that a run uses, and their hash."""

    split: str
    tasks: tuple[TaskInfo, ...]

    @property
    def sha256(self) -> str:
        """Over the ids, in order."""
        return hashlib.sha256("\n".join(task.task_id for task in self.tasks).encode()).hexdigest()


def derive_seed(*parts: int | str) -> int:
    """A seed that depends on every part and on nothing else, in 0 … 2^53."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") % _SEEDS


def select(split: str, tasks: Iterable[TaskInfo], where: Mapping[str, Sequence[float]]) -> TaskList:
    """The tasks whose info lies in every range.

    :param where: from a key of the tasks' ``info`` to [least, greatest], both included.
    :raises NoSuchTasks: if none is left, or the tasks have no such key.
    """
    found = list(tasks)
    kept = [task for task in found if all(_inside(task, key, span) for key, span in where.items())]
    if not kept:
        has = sorted({key for task in found for key in task.info})
        asked = {key: list(span) for key, span in where.items()}
        raise NoSuchTasks(
            f"no {split} task fits task.where={asked}; there are {len(found)} tasks, which have {has or 'no info'}"
        )
    return TaskList(split, tuple(kept))


def weighted(chosen: TaskList, weigh_by: str | None) -> TaskList:
    """Each task as often as a key of its ``info`` says: with ``depth``, one of depth 2 twice.

    :raises NoSuchTasks: if that is not a whole number from 1 to 100 for every task.
    """
    if weigh_by is None:
        return chosen
    again: list[TaskInfo] = []
    for task in chosen.tasks:
        weight = task.info.get(weigh_by)
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= _MAX_WEIGHT:
            raise NoSuchTasks(
                f"task.weigh_by={weigh_by} wants a whole number from 1 to {_MAX_WEIGHT}; {task.task_id} has {weight}"
            )
        again += [task] * weight
    return TaskList(chosen.split, tuple(again))


def rows(
    chosen: TaskList, *, run_seed: int, name: str, options: Mapping[str, Any], count: int | None = None
) -> list[dict[str, Any]]:
    """verl's rows for the chosen tasks.

    :param run_seed: the run's seed; training's order and seeds follow from it. Rows for other splits ignore it, so that
        every run is watched on the same episodes.
    :param count: how many rows; more than there are tasks go round again with other seeds, fewer are spread evenly.
    """
    tasks = list(chosen.tasks)
    base = run_seed if chosen.split == "train" else 0
    if chosen.split == "train":
        Random(derive_seed(base, "order")).shuffle(tasks)
    total = len(tasks) if count is None else count
    if total < len(tasks) and chosen.split != "train":
        tasks = [tasks[i * len(tasks) // total] for i in range(total)]
    return [_row(tasks[i % len(tasks)], i, base, name, options) for i in range(total)]


def write(file: Path, made: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as the parquet file that verl reads."""
    import pandas  # slow to import, and needed here alone

    file.parent.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame(list(made)).to_parquet(file, index=False)


async def prepare(client: AsyncClient, config: Any) -> Mapping[Split, TaskList]:
    """Make a run's rows from its service: ``data/train.parquet``, ``data/validation.parquet``, and ``data/tasks.json`` with
    the hash of each list (of the test split too, which is only listed).

    :param config: the run's configuration, with ``task``, ``run`` and ``data``.
    """
    task, folder = config.task, Path(config.run.dir) / "data"
    chosen: dict[Split, TaskList] = {
        split: select(split, await tasks_of(client, split), task.where) for split in SPLITS
    }
    listed = {"train": weighted(chosen["train"], task.weigh_by), "validation": chosen["validation"]}
    counts: dict[str, int | None] = {
        "train": max(int(config.data.train_batch_size), len(listed["train"].tasks)),
        "validation": task.validation,
    }
    for split, found in listed.items():
        made = rows(
            found, run_seed=config.run.seed, name=task.name, options=task.options, count=counts[split]
        )
        write(folder / f"{split}.parquet", made)
    lists = {split: {"tasks": len(found.tasks), "sha256": found.sha256} for split, found in chosen.items()}
    (folder / "tasks.json").write_text(json.dumps(lists, indent=2) + "\n")
    return chosen


async def tasks_of(client: AsyncClient, split: Split) -> list[TaskInfo]:
    found: list[TaskInfo] = []
    while True:
        page = await client.tasks(split, offset=len(found), limit=_PAGE)
        found += page.tasks
        if not page.tasks or len(found) >= page.total:
            return found


def _row(task: TaskInfo, number: int, base: int, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "data_source": name,
        "agent_name": AGENT,
        "prompt": [{"role": "user", "content": task.goal}],  # verl wants one; the loop asks the environment
        "ability": name,
        "reward_model": {"style": "environment", "ground_truth": ""},
        "extra_info": {
            "index": number,
            "split": task.split,
            "task_id": task.task_id,
            "seed": derive_seed(base, task.task_id, number),
            "options": json.dumps(dict(options), sort_keys=True),
        },
    }


def _inside(task: TaskInfo, key: str, span: Sequence[float]) -> bool:
    value = task.info.get(key)
    return isinstance(value, int | float) and span[0] <= value <= span[1]

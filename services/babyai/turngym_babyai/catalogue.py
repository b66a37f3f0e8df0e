"""Makes the list of tasks, ``tasks.tsv``: ``python -m turngym_babyai.catalogue``. Minutes on one core.

Seeds are counted up from a base for each split. A layout (grid, agent, mission) that the test split or the first published
items have is kept out of validation, and both out of training, whatever its level and seed. The expert plays each task once.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path

from turngym.output import whole_file
from turngym.schema import Split, StopReason
from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.levels import PUBLISHED, dispose, fingerprint, levels, new_game
from turngym_babyai.tasks import FILE, ITEMS, Task, size

BASES: dict[Split, int] = {"test": 0, "validation": 1_000, "train": 10_000}
SEEDS = {"test": 10, "validation": 5}
TRAIN_SEEDS = {True: 100, False: 10}  # by whether the level has a single room
_TURNS = 300  # of the expert, at most
_TRIES = 2_000  # seeds that are looked at for a level and split, at most


def reserved() -> set[str]:
    """The layouts of the first published items."""
    found = set()
    for number in range(ITEMS):
        game = new_game(PUBLISHED[number % len(PUBLISHED)], number // len(PUBLISHED))
        found.add(fingerprint(game))
        dispose(game)
    return found


def drawn(split: Split, level: str, barred: set[str]) -> Iterator[Task]:
    """The level's tasks of a split, without the expert's turns."""
    found = 0
    for seed in range(BASES[split], BASES[split] + _TRIES):
        game = new_game(level, seed)
        shape, mark, mission = size(game), fingerprint(game), game.mission
        dispose(game)
        if mark in barred:
            continue
        yield Task(split, level, seed, mark, shape["rooms"], shape["things"], None, None, mission)
        found += 1
        if found == SEEDS.get(split, TRAIN_SEEDS[shape["rooms"] == 1]):
            return


def expert_effort(level: str, seed: int) -> tuple[int, int] | None:
    """The turns in which the expert solves a task with the high-level actions, and minigrid's steps; None if it doesn't."""
    env = BabyAI(level, seed, BabyAIOptions(listing=False, memory=False, instructions="none"))
    try:
        for turn in range(1, _TURNS + 1):
            stop = env.step(env.expert()).stop
            if stop is not None:
                return (turn, len(env.world.log)) if stop is StopReason.SUCCESS else None
        return None
    finally:
        env.close()


def solved(task: Task) -> Task:
    """The task with the expert's turns and steps."""
    turns, steps = expert_effort(task.level, task.seed) or (None, None)
    return replace(task, turns=turns, steps=steps)


def all_tasks(names: Sequence[str]) -> list[Task]:
    """Every task, without the expert's turns: test, then validation, then training; a seed of each level by turns."""
    barred: set[str] = set()
    found: list[Task] = []
    for split in BASES:
        columns = [list(drawn(split, level, barred)) for level in names]
        made = [task for row in zip_longest(*columns) for task in row if task is not None]
        barred |= {task.fingerprint for task in made}
        if split == "test":
            barred |= reserved()
        found += made
        print(f"{len(made)} {split} tasks", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make the list of tasks.")
    parser.add_argument("--out", type=Path, default=FILE, help=f"default {FILE}")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    options = parser.parse_args()
    drafts = all_tasks(levels())
    with get_context("spawn").Pool(options.workers) as pool, whole_file(options.out) as file:
        for done, task in enumerate(pool.imap(solved, drafts, chunksize=16), 1):
            file.write(task.line().encode())
            print(f"\r{done} of {len(drafts)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()

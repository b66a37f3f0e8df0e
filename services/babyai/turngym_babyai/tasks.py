"""The tasks: a level and the seed of its layout, in three splits that share no layout.

The list lies in ``tasks.tsv`` beside this file, made by :mod:`turngym_babyai.catalogue`: a list of thousands of missions with
the expert's turns would take minutes to make anew. Ids are ``babyai/<split>/<index>``. Besides, ``babyai/item/<N>`` is item N
of published results: level N % 40 of their list (``levels.PUBLISHED``) with seed N // 40. Items count as test tasks; the
first 1,000 of them share no layout with training or validation.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from turngym.environment import TaskSet
from turngym.numbered import parse_task_id
from turngym.schema import SPLITS, Split, TaskInfo
from turngym_babyai.levels import PUBLISHED, VERSION, dispose, levels, new_game

FILE = Path(__file__).with_name("tasks.tsv")
ITEMS = 1_000  # published items whose layouts are kept out of training and validation
_ITEM_NUMBERS = 10**9  # a number may be any below this


@dataclass(frozen=True, slots=True)
class Task:
    """A line of the list. ``fingerprint`` is a hash of the layout; ``things`` counts doors, keys, balls and boxes.

    ``turns`` is how many the high-level expert takes, ``steps`` how many of minigrid's steps these come to; both are None
    where it fails.
    """

    split: Split
    level: str
    seed: int
    fingerprint: str
    rooms: int
    things: int
    turns: int | None
    steps: int | None
    mission: str

    def line(self) -> str:
        """The task as it is written in the list."""
        effort = ("-" if count is None else count for count in (self.turns, self.steps))
        fields = (self.split, self.level, self.seed, self.fingerprint, self.rooms, self.things, *effort)
        return "\t".join((*map(str, fields), self.mission)) + "\n"


@cache
def _text() -> str:
    return FILE.read_text(encoding="utf-8")


@cache
def data_hash() -> str:
    """sha256 over the list and minigrid's version: what every episode is made from."""
    return sha256(f"{VERSION}\n{_text()}".encode()).hexdigest()


@cache
def tasks() -> dict[Split, list[Task]]:
    """The list, by split."""
    found: dict[Split, list[Task]] = {split: [] for split in SPLITS}
    for line in _text().splitlines():
        split, level, seed, fingerprint, rooms, things, turns, steps, mission = line.split("\t")
        found[split].append(  # type: ignore[index]
            Task(
                split,  # type: ignore[arg-type]
                level,
                int(seed),
                fingerprint,
                int(rooms),
                int(things),
                None if turns == "-" else int(turns),
                None if steps == "-" else int(steps),
                mission,
            )
        )
    return found


class BabyAITasks(TaskSet):
    """Every level, some seeds of each."""

    def count(self, split: Split) -> int:
        """How many tasks the split has."""
        return len(tasks()[split])

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``. ``info``: level, its place among all (``level_number``), seed, rooms, things in the world;
        where the high-level expert solves the task, ``expert_turns`` and minigrid's steps in them, ``expert_steps``."""
        if index < 0:
            raise IndexError(index)
        task = tasks()[split][index]
        info = _info(task.level, task.seed) | {"rooms": task.rooms, "things": task.things}
        if task.turns is not None and task.steps is not None:
            info |= {"expert_turns": task.turns, "expert_steps": task.steps}
        return TaskInfo(
            task_id=f"babyai/{split}/{index}", split=split, index=index, goal=task.mission, info=info
        )

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id, a published item's too. Raises KeyError."""
        folder, index = parse_task_id(task_id)
        if folder == "babyai/item" and index < _ITEM_NUMBERS:
            return item(index)
        for split in SPLITS:
            if folder == f"babyai/{split}" and index < self.count(split):
                return self.at(split, index)
        raise KeyError(task_id)


def item(number: int) -> TaskInfo:
    """Item ``number`` of published results; its ``index`` is that number."""
    level, seed = PUBLISHED[number % len(PUBLISHED)], number // len(PUBLISHED)
    game = new_game(level, seed)
    info = _info(level, seed) | size(game)
    goal = game.mission
    dispose(game)
    return TaskInfo(task_id=f"babyai/item/{number}", split="test", index=number, goal=goal, info=info)


def size(game: object) -> dict[str, int]:
    """Rooms and things of a fresh game."""
    grid, rooms = game.grid.grid, game.num_rows * game.num_cols  # type: ignore[attr-defined]
    return {"rooms": rooms, "things": sum(1 for thing in grid if thing is not None and thing.type != "wall")}


def _info(level: str, seed: int) -> dict[str, str | int]:
    return {"level": level, "level_number": levels().index(level), "seed": seed}

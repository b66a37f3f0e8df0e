"""The tasks: thirty kinds of experiment in 7,207 variations, in the official splits.

A variation sets what is to be studied, where it lies and how the rooms are filled. ScienceWorld gives the first half of a
kind's variations to training, a quarter to development (here "validation") and the rest to test. Ids are
``sciworld/<split>/<index>``; the kinds take turns in that order, so that the first tasks of a split have all of them.
``sciworld/item/<n>`` is the same task by the number that AgentGym and AgentGym-RL give it: the kinds in the order of the
paper but for the seven of growing, inclined planes and genetics, each with all its variations.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from turngym.environment import TaskSet
from turngym.numbered import parse_task_id
from turngym.schema import SPLITS, Split, TaskInfo


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of task: its number in the paper, its topic, its name, how many variations it has (scienceworld 1.2.3)."""

    number: str
    topic: str
    name: str
    variations: int


KINDS = (
    Kind("1-1", "matter", "boil", 30),
    Kind("1-2", "matter", "melt", 30),
    Kind("1-3", "matter", "freeze", 30),
    Kind("1-4", "matter", "change-the-state-of-matter-of", 30),
    Kind("2-1", "measurement", "use-thermometer", 540),
    Kind("2-2", "measurement", "measure-melting-point-known-substance", 436),
    Kind("2-3", "measurement", "measure-melting-point-unknown-substance", 300),
    Kind("3-1", "electricity", "power-component", 20),
    Kind("3-2", "electricity", "power-component-renewable-vs-nonrenewable-energy", 20),
    Kind("3-3", "electricity", "test-conductivity", 900),
    Kind("3-4", "electricity", "test-conductivity-of-unknown-substances", 600),
    Kind("4-1", "classification", "find-living-thing", 300),
    Kind("4-2", "classification", "find-non-living-thing", 300),
    Kind("4-3", "classification", "find-plant", 300),
    Kind("4-4", "classification", "find-animal", 300),
    Kind("5-1", "biology", "grow-plant", 126),
    Kind("5-2", "biology", "grow-fruit", 126),
    Kind("6-1", "chemistry", "chemistry-mix", 32),
    Kind("6-2", "chemistry", "chemistry-mix-paint-secondary-color", 36),
    Kind("6-3", "chemistry", "chemistry-mix-paint-tertiary-color", 36),
    Kind("7-1", "biology", "lifespan-longest-lived", 125),
    Kind("7-2", "biology", "lifespan-shortest-lived", 125),
    Kind("7-3", "biology", "lifespan-longest-lived-then-shortest-lived", 125),
    Kind("8-1", "biology", "identify-life-stages-1", 14),
    Kind("8-2", "biology", "identify-life-stages-2", 10),
    Kind("9-1", "forces", "inclined-plane-determine-angle", 168),
    Kind("9-2", "forces", "inclined-plane-friction-named-surfaces", 1386),
    Kind("9-3", "forces", "inclined-plane-friction-unnamed-surfaces", 162),
    Kind("10-1", "biology", "mendelian-genetics-known-plant", 120),
    Kind("10-2", "biology", "mendelian-genetics-unknown-plant", 480),
)
_NOT_ITEMS = {"5-1", "5-2", "9-1", "9-2", "9-3", "10-1", "10-2"}
ELECTRICAL = {kind.name for kind in KINDS if kind.topic == "electricity"}

Variation = tuple[str, int]  # the kind's name, and the variation's number within it


def official_split(variations: int) -> dict[Split, list[int]]:
    """The variations of each split of a kind, as ScienceWorld 1.2.3 divides them (``PythonInterface.getSets``)."""
    quarter = variations // 4
    return {
        "train": list(range(2 * quarter)),
        "validation": list(range(2 * quarter, 3 * quarter)),
        "test": list(range(3 * quarter, variations)),
    }


@cache
def order(split: Split) -> Sequence[Variation]:
    """The variations of a split as its tasks are numbered: the kinds take turns."""
    queues = [(kind.name, official_split(kind.variations)[split]) for kind in KINDS]
    longest = max(len(numbers) for _, numbers in queues)
    return [
        (name, numbers[turn]) for turn in range(longest) for name, numbers in queues if turn < len(numbers)
    ]


@cache
def _places() -> dict[Variation, tuple[Split, int]]:
    return {variation: (split, index) for split in SPLITS for index, variation in enumerate(order(split))}


@cache
def _items() -> Sequence[Variation]:
    kinds = [kind for kind in KINDS if kind.number not in _NOT_ITEMS]
    return [(kind.name, number) for kind in kinds for number in range(kind.variations)]


@cache
def _survey_bytes() -> bytes:
    return resources.files(__package__).joinpath("data/survey.json.gz").read_bytes()


@cache
def survey() -> dict[str, Any]:
    """What ``turngym_sciworld.prove`` found out about variations so far: goals, and the turns of the expert.

    ``{"goals": [text], "kinds": {name: [[goal, turns], ...]}}``, where ``goal`` is a position in ``goals`` and ``turns`` is 0
    where the simulator's own solution does not reach the full score; both are None where it was not played yet.
    """
    found: dict[str, Any] = json.loads(gzip.decompress(_survey_bytes()))
    return found


def survey_hash() -> str:
    """sha256 of the survey, hexadecimal."""
    return sha256(gzip.decompress(_survey_bytes())).hexdigest()


def variation_of(task: TaskInfo) -> Variation:
    """The kind and the number of the variation behind a task."""
    return order(task.split)[task.index]


class SciWorldTasks(TaskSet):
    """Every variation of every kind."""

    def count(self, split: Split) -> int:
        """How many tasks the split has."""
        return len(order(split))

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``; ``info`` has its kind, the kind's place (0 to 29) and number in the paper, its topic and its
        variation, and the expert's number of turns where it is known that the expert solves it."""
        if index < 0:
            raise IndexError(index)
        name, number = order(split)[index]
        goal, turns = survey()["kinds"][name][number]
        place, kind = next((place, kind) for place, kind in enumerate(KINDS) if kind.name == name)
        info = {
            "kind": name,
            "kind_number": place,
            "number": kind.number,
            "topic": kind.topic,
            "variation": number,
        }
        return TaskInfo(
            task_id=f"sciworld/{split}/{index}",
            split=split,
            index=index,
            goal=f"{name}, variation {number}" if goal is None else survey()["goals"][goal],
            info=info | {"expert_turns": turns} if turns else info,
        )

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id, also by its item number. Raises KeyError."""
        folder, index = parse_task_id(task_id)
        if folder == "sciworld/item" and index < len(_items()):
            return self.at(*_places()[_items()[index]])
        for split in SPLITS:
            if folder == f"sciworld/{split}" and index < self.count(split):
                return self.at(split, index)
        raise KeyError(task_id)

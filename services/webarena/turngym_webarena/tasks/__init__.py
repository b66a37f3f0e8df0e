"""The tasks of the embedded sites, and the oracle that plays them.

A task is WebArena's JSON with its world beside it. Tasks are made from the worlds once (:mod:`.making`), proven by playing
them, and kept in ``data/``; loading them needs no world. The oracle reads the text observation and nothing else.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from turngym.schema import SPLITS, Split
from turngym_webarena.tasks.oracle import Oracle


@dataclass(frozen=True, slots=True)
class WebTask:
    """A task. ``raw`` is WebArena's JSON, ``world`` the seed that it was made from, ``family`` the intent's kind.

    ``turns`` is how many actions the oracle takes, its stop included; ``nodes`` the lines of the longest page that it reads.
    A ``short`` task has few turns and small pages, for small models.
    """

    raw: dict[str, Any]
    world: str
    family: str
    short: bool
    turns: int
    nodes: int


@cache
def load(split: str) -> tuple[WebTask, ...]:
    """The tasks of a split, in their order."""
    text = files(__package__).joinpath("data", f"{split}.json").read_text(encoding="utf-8")
    return tuple(WebTask(**entry) for entry in json.loads(text))


def oracle(task: WebTask) -> Oracle:
    """A player for one episode of the task."""
    return Oracle(task.raw["intent_template_id"], task.raw["instantiation_dict"])


__all__ = ["SPLITS", "Oracle", "Split", "WebTask", "load", "oracle"]

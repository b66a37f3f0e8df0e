"""Plays every task's proofs in the real browser: ``make prove TASK=webarena [ARGS="--one --split test"]``.

Without ``--make`` the tasks that are shipped are proven, and what doesn't hold is listed; ends with status 1 if anything
doesn't. With ``--make`` the tasks are made anew from the worlds: drafts that pass are kept, others are told and left out.

The first task of every template comes first, then the second of each, and so on. What has been proven goes to ``--log``, so
that the same command goes on where it ended or was interrupted; what failed is tried again. However far it came, ``--make``
ends by writing what the log holds as proven: ``--minutes 0`` proves nothing more and only writes.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turngym.environment import BackendDied
from turngym_webarena.service import WebArenaService
from turngym_webarena.sites.worlds import Worlds
from turngym_webarena.tasks import SPLITS, Oracle, load, making
from turngym_webarena.tasks.families import TEMPLATES
from turngym_webarena.tasks.proving import problems


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task to be proven."""

    split: str
    world: str
    task: dict[str, Any]

    @property
    def key(self) -> str:
        """What it is, in one line."""
        return json.dumps(
            [self.split, self.world, self.task["start_url"], self.task["intent"], self.task["eval"]]
        )

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"{self.task['intent_template_id']} {self.world} {self.task['intent']}"

    def oracle(self) -> Oracle:
        """A player for it."""
        return Oracle(self.task["intent_template_id"], self.task["instantiation_dict"])


def candidates(worlds: Worlds, splits: Iterable[str], make: bool) -> list[Candidate]:
    """The drafts, or the shipped tasks: the first of every template, then the second of each, and so on."""
    listed: list[Candidate] = []
    for split in splits:
        if make:
            found = making.drafts(worlds, split)
            listed += [
                Candidate(split, world, making.raw(template, draft)) for template, world, draft in found
            ]
        else:
            listed += [Candidate(split, task.world, task.raw) for task in load(split)]
    return by_turns(listed)


def by_turns(listed: list[Candidate]) -> list[Candidate]:
    """The same, so that templates and worlds take turns: a part of it covers them as evenly as it can."""
    of_world: Counter[tuple[int, str]] = Counter()
    of_template: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, one in enumerate(listed):
        number = one.task["intent_template_id"]
        of_template[number].append((of_world[number, one.world], place))
        of_world[number, one.world] += 1
    ranks = [(rank, place) for own in of_template.values() for rank, (_, place) in enumerate(sorted(own))]
    return [listed[place] for _, place in sorted(ranks)]


def foreign_of(candidate: Candidate, every: list[Candidate]) -> Oracle:
    """The oracle of a task with another truth: of the same template where there is one, else of the same site."""
    kin = [
        other for other in every
        if other.task["sites"] == candidate.task["sites"] and other.task["eval"] != candidate.task["eval"]
        and other.task["instantiation_dict"] != candidate.task["instantiation_dict"]
    ]  # fmt: skip
    own = [other for other in kin if other.task["intent_template_id"] == candidate.task["intent_template_id"]]
    if own and candidate.task["instantiation_dict"]:
        return own[0].oracle()
    others = [
        other for other in kin if other.task["intent_template_id"] != candidate.task["intent_template_id"]
    ]
    return others[len(candidate.key) % len(others)].oracle() if others else Oracle(0, {})


def proven(log: Path) -> dict[str, dict[str, Any]]:
    """What the log holds, by the tasks' keys."""
    if not log.exists():
        return {}
    return {entry["key"]: entry for entry in map(json.loads, log.read_text(encoding="utf-8").splitlines())}


async def prove(
    listed: list[Candidate],
    every: list[Candidate],
    service: WebArenaService,
    width: int,
    log: Path,
    minutes: float,
) -> None:
    """Prove the tasks that the log doesn't hold as proven, several at a time, and note in it what comes out.

    :param minutes: no task is begun after so long.
    """
    known = proven(log)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    deadline = time.monotonic() + minutes * 60
    with (
        Progress(*columns, console=Console(stderr=True)) as progress,
        log.open("a", encoding="utf-8") as file,
    ):
        bar = progress.add_task("proofs", total=len(listed))
        waiting = iter(listed)

        async def work() -> None:
            for candidate in waiting:
                entry = known.get(candidate.key)
                if entry is None or entry["problems"]:
                    if time.monotonic() >= deadline:
                        return
                    entry = await proof(candidate, foreign_of(candidate, every), service)
                    file.write(json.dumps(entry) + "\n")
                    file.flush()
                    for problem in entry["problems"]:
                        print(f"{candidate.name}: {problem}", flush=True)
                progress.advance(bar)

        await asyncio.gather(*(work() for _ in range(width)))


async def proof(candidate: Candidate, foreign: Oracle, service: WebArenaService) -> dict[str, Any]:
    """What the log keeps of a task. A browser that fails under it is told as a problem, and the next proofs go on."""
    touches = TEMPLATES[candidate.task["intent_template_id"]].touches
    try:
        found, own = await problems(
            service.place,
            service.worlds,
            candidate.task,
            candidate.world,
            candidate.oracle(),
            foreign,
            touches,
        )
    except (BackendDied, PlaywrightError) as error:
        return {"key": candidate.key, "problems": [f"the browser failed: {error}"], "turns": 0, "nodes": 0}
    return {"key": candidate.key, "problems": found, "turns": own.turns, "nodes": own.nodes}


def keep(listed: list[Candidate], log: Path, folder: Path = making.DATA) -> None:
    """Write the tasks that have passed, a file for each split."""
    known = proven(log)
    splits: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for candidate in listed:
        entry = known.get(candidate.key)
        if entry is not None and not entry["problems"]:
            short = entry["turns"] <= making.SHORT_TURNS and entry["nodes"] <= making.SHORT_NODES
            splits[candidate.split].append(
                {
                    "raw": candidate.task, "world": candidate.world,
                    "family": TEMPLATES[candidate.task["intent_template_id"]].family, "short": short,
                    "turns": entry["turns"], "nodes": entry["nodes"],
                }
            )  # fmt: skip
    for split, entries in splits.items():
        making.write(split, entries, folder)
        print(f"{split}: {len(entries)} tasks, {sum(entry['short'] for entry in entries)} of them short")


async def main_async(arguments: argparse.Namespace) -> int:
    """Load the service, prove, close it."""
    service = WebArenaService()
    await service.load(lambda what, part: None)
    try:
        every = candidates(service.worlds, arguments.split or SPLITS, arguments.make)
        listed = every
        if arguments.templates:
            listed = [one for one in every if one.task["intent_template_id"] in arguments.templates]
        if arguments.one:
            listed = list({one.task["intent_template_id"]: one for one in reversed(listed)}.values())[::-1]
        try:
            await prove(listed, every, service, arguments.width, arguments.log, arguments.minutes)
        finally:
            if arguments.make and not (arguments.one or arguments.templates or arguments.split):
                keep(listed, arguments.log)
        known = proven(arguments.log)
        hold = sum(1 for one in listed if one.key in known and not known[one.key]["problems"])
        print(f"{hold} of {len(listed)} tasks hold")
        return int(hold < len(listed) and not arguments.make)
    finally:
        await service.close()


def main() -> int:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--make", action="store_true", help="make the tasks anew from the worlds")
    parser.add_argument("--one", action="store_true", help="one task of each template")
    parser.add_argument(
        "--split", action="append", choices=SPLITS, help="only this split (may be given again)"
    )
    parser.add_argument("--templates", type=int, nargs="*", help="only these templates, by number")
    parser.add_argument("--width", type=int, default=4, help="episodes at a time (default 4)")
    parser.add_argument(
        "--log", type=Path, default=Path("runs/webarena-proofs.jsonl"), help="what has been proven"
    )
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no proof after so long (default: no limit)"
    )
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    return asyncio.run(main_async(arguments))


if __name__ == "__main__":
    sys.exit(main())

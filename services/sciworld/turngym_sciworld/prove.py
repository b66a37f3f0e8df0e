"""Plays the simulator's own solution of every variation, and writes what came of it into the package's survey.

``python -m turngym_sciworld.prove`` (``make prove TASK=sciworld``) compares: it fails where a variation's goal, or the turns
in which the expert solves it, are not what the survey says. ``--write`` makes the survey instead, for a new release of the
simulator. Variations are played by the environment itself, in this process, in as many JVMs as TURNGYM_JVMS says.
Interrupted, the same command goes on: each variation is kept in ``--results`` as it is done.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turngym.schema import StopReason
from turngym_sciworld.env import SciWorld, SciWorldOptions
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.jvm import SimulatorFailure
from turngym_sciworld.pool import Pool
from turngym_sciworld.settings import load_jvm_settings
from turngym_sciworld.tasks import KINDS, Variation, survey

SURVEY = Path(__file__).parent / "data" / "survey.json.gz"
RESULTS = Path("runs/data/sciworld-survey.jsonl")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one variation. ``turns`` is None where the expert does not solve it, and ``why`` says how it ended."""

    kind: str
    variation: int
    goal: str
    turns: int | None
    why: str = ""


def play(pool: Pool, gold: GoldPaths, variation: Variation) -> Result:
    """One episode of the expert."""
    env = SciWorld(pool, gold, *variation, SciWorldOptions(instructions="none"))
    try:
        goal = env.start()[-1].content.partition("\n\n")[0]
        path = gold.find(*variation, "")
        for turn, action in enumerate(path, 1):
            outcome = env.step(action)
            if outcome.stop is StopReason.SUCCESS:
                return Result(*variation, goal, turn)
            if outcome.stop is not None:
                return Result(*variation, goal, None, f"fails at turn {turn} of {len(path)}: {action}")
        return Result(*variation, goal, None, f"score {env.score:.2f} after all {len(path)} actions")
    except SimulatorFailure as error:
        return Result(*variation, goal, None, str(error))
    finally:
        env.close()


def variations(every: int, kinds: Sequence[str]) -> list[Variation]:
    """Every ``every``-th variation of the kinds; of all where none is named."""
    asked = [kind for kind in KINDS if not kinds or kind.name in kinds]
    return [(kind.name, number) for kind in asked for number in range(0, kind.variations, every)]


def played(todo: Sequence[Variation], results: Path) -> Iterator[Result]:
    """The results of all, those that ``results`` has first; new ones are added to it."""
    wanted = set(todo)
    if results.exists():
        for line in results.read_text().splitlines():
            result = Result(**json.loads(line))
            if (result.kind, result.variation) in wanted:
                wanted.discard((result.kind, result.variation))
                yield result
    if not wanted:
        return
    settings = load_jvm_settings()
    pool = Pool(settings)
    gold = GoldPaths(pool)
    try:
        pool.start(lambda what, part: None)
        results.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(settings.jvms) as threads, results.open("a") as file:
            rest = [variation for variation in todo if variation in wanted]
            for result in threads.map(lambda variation: play(pool, gold, variation), rest):
                fields = {name: getattr(result, name) for name in Result.__slots__}
                file.write(json.dumps(fields) + "\n")
                file.flush()
                yield result
    finally:
        pool.close()


def write(found: Sequence[Result]) -> None:
    """Makes the survey. Raises SystemExit where variations are missing."""
    by_variation = {(result.kind, result.variation): result for result in found}
    missing = [variation for variation in variations(1, []) if variation not in by_variation]
    if missing:
        raise SystemExit(
            f"prove: a survey needs every variation; {len(missing)} are missing, {missing[0]} first"
        )
    goals = sorted({result.goal for result in found})
    places = {goal: index for index, goal in enumerate(goals)}
    kinds: dict[str, list[Any]] = {}
    for kind in KINDS:
        row = [by_variation[kind.name, number] for number in range(kind.variations)]
        kinds[kind.name] = [[places[result.goal], result.turns] for result in row]
    content = json.dumps({"goals": goals, "kinds": kinds}, separators=(",", ":")).encode()
    SURVEY.parent.mkdir(exist_ok=True)
    SURVEY.write_bytes(gzip.compress(content, 9, mtime=0))
    print(f"wrote {SURVEY}")


def differs(result: Result) -> bool:
    """Whether the survey says something else."""
    known = survey()
    goal, turns = known["kinds"][result.kind][result.variation]
    return (known["goals"][goal], turns) != (result.goal, result.turns)


def summary(found: Sequence[Result]) -> None:
    """Prints, by kind, how many variations the expert solves, and each that it does not."""
    print(f"{'kind':50}{'solved':>8}{'of':>6}{'turns':>10}")
    for kind in KINDS:
        own = [result for result in found if result.kind == kind.name]
        turns = [result.turns for result in own if result.turns is not None]
        if own:
            span = f"{min(turns)} to {max(turns)}" if turns else "-"
            print(f"{kind.name:50}{len(turns):>8}{len(own):>6}{span:>10}")
    for result in found:
        if result.turns is None:
            print(f"not solved: {result.kind} {result.variation}: {result.why}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="prove", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--every", type=int, default=1, help="play every N-th variation alone (default 1: all)"
    )
    parser.add_argument("--kinds", default="", help="kinds by name, with commas between (default: all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"where results are kept ({RESULTS})")
    parser.add_argument("--write", action="store_true", help="make the survey instead of comparing with it")
    options = parser.parse_args()
    todo = variations(options.every, [name for name in options.kinds.split(",") if name])
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    found: list[Result] = []
    with Progress(*columns) as progress:
        bar = progress.add_task("variations", total=len(todo))
        for result in played(todo, options.results):
            found.append(result)
            progress.update(bar, advance=1)
    summary(found)
    if options.write:
        write(found)
        return
    wrong = Counter(result.kind for result in found if differs(result))
    if wrong:
        print(f"prove: {wrong.total()} differ from the survey: {dict(wrong)}", file=sys.stderr)
        raise SystemExit(1)
    print(f"all {len(found)} are as the survey says")


if __name__ == "__main__":
    main()

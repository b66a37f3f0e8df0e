"""Plays the simulator's own solution of every variation, and writes what came of it into the package's survey.

    make prove TASK=sciworld                                # hours; JVMS=2 for two cores
    make prove TASK=sciworld ARGS="--first 900"             # the first 300 tasks of each split
    make prove TASK=sciworld ARGS="--first 0 --goals"       # no solution, but every variation's goal: minutes
    make prove TASK=sciworld ARGS="--first 0 --write"       # the survey, of what was done so far

Compares: it fails where a variation's goal, or the turns in which the expert solves it, are not what the survey says.
``--write`` makes the survey instead. Variations are played by the environment itself, in this process, in as many JVMs as
TURNGYM_JVMS says, in the order of the tasks, the splits in turn: so whatever part is done has every kind and split.
Interrupted, the same command goes on: each variation is kept in ``--results`` as it is done.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turngym.environment import BackendDied
from turngym.schema import SPLITS, StopReason
from turngym.server.settings import read_settings
from turngym_sciworld.env import SciWorld, SciWorldOptions
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.jvm import SimulatorFailure
from turngym_sciworld.pool import Pool
from turngym_sciworld.settings import JvmSettings
from turngym_sciworld.tasks import KINDS, Variation, order, survey

SURVEY = Path(__file__).parent / "data" / "survey.json.gz"
RESULTS = Path("runs/data/sciworld-survey.jsonl")
PATIENCE_S = 600  # of one call: it runs beside other work


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one variation. ``turns`` is 0 where the expert does not solve it, and ``why`` says how it ended; None where
    only the goal is known."""

    kind: str
    variation: int
    goal: str
    turns: int | None
    why: str = ""


Results = dict[Variation, Result]
Work = Callable[[Pool, GoldPaths, Variation], Result]


def play(pool: Pool, gold: GoldPaths, variation: Variation) -> Result:
    """One episode of the expert."""
    env = SciWorld(pool, gold, *variation, SciWorldOptions(instructions="none"))
    try:
        goal = env.start()[-1].content.partition("\n\n")[0]
        try:
            path = gold.find(*variation, "")
        except SimulatorFailure as error:
            return Result(*variation, goal, 0, str(error))
        for turn, action in enumerate(path, 1):
            outcome = env.step(action)
            if outcome.stop is StopReason.SUCCESS:
                return Result(*variation, goal, turn)
            if outcome.stop is not None:
                return Result(*variation, goal, 0, f"fails at turn {turn} of {len(path)}: {action}")
        return Result(*variation, goal, 0, f"score {env.score:.2f} after all {len(path)} actions")
    finally:
        env.close()


def look(pool: Pool, variation: Variation) -> Result:
    """The goal alone, which takes a hundredth of the time."""
    jvm = pool.freest()
    simulation = jvm.open(*variation, "")
    try:
        return Result(*variation, jvm.describe(simulation).strip(), None)
    finally:
        jvm.close(simulation)


def in_turn() -> list[Variation]:
    """Every variation: the first of each split, the second of each split, and so on."""
    rows = zip_longest(*(order(split) for split in SPLITS))
    return [variation for row in rows for variation in row if variation is not None]


def kept(results: Path) -> Results:
    """What the file has; of several results of a variation the last that was played."""
    found: Results = {}
    for line in results.read_text().splitlines() if results.exists() else []:
        result = Result(**json.loads(line))
        if result.turns is not None or (result.kind, result.variation) not in found:
            found[result.kind, result.variation] = result
    return found


def worked(what: str, todo: Sequence[Variation], results: Path, work: Work) -> Iterator[Result]:
    """The result of ``work`` on each of ``todo``, added to the file as it comes, with a bar of progress. What is lost with its
    JVM, or can't be started, is left out and told."""
    settings = read_settings(JvmSettings).model_copy(update={"jvm_call_timeout_s": PATIENCE_S})
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    pool = Pool(settings)
    gold = GoldPaths(pool)

    def attempt(variation: Variation) -> Result | None:
        try:
            return work(pool, gold, variation)
        except (BackendDied, SimulatorFailure) as error:
            print(f"lost: {variation[0]} {variation[1]}: {error}", file=sys.stderr)
            return None

    try:
        pool.start(lambda what, part: None)
        results.parent.mkdir(parents=True, exist_ok=True)
        with (
            Progress(*columns) as progress,
            ThreadPoolExecutor(settings.jvms) as threads,
            results.open("a") as file,
        ):
            for result in progress.track(threads.map(attempt, todo), total=len(todo), description=what):
                if result is None:
                    continue
                file.write(json.dumps(asdict(result)) + "\n")
                file.flush()
                yield result
    finally:
        pool.close()


def write(found: Results) -> None:
    """Makes the survey, of the goals and the turns that are known."""
    goals = sorted({result.goal for result in found.values()})
    places = {goal: index for index, goal in enumerate(goals)}
    kinds: dict[str, list[Any]] = {}
    for kind in KINDS:
        row = [found.get((kind.name, number)) for number in range(kind.variations)]
        kinds[kind.name] = [[places[one.goal], one.turns] if one else [None, None] for one in row]
    content = json.dumps({"goals": goals, "kinds": kinds}, separators=(",", ":")).encode()
    SURVEY.parent.mkdir(exist_ok=True)
    SURVEY.write_bytes(gzip.compress(content, 9, mtime=0))
    played = sum(result.turns is not None for result in found.values())
    print(f"wrote {SURVEY}: {len(found)} goals, {played} solutions played")


def differs(result: Result) -> bool:
    """Whether the survey says something else. It says nothing of a variation that was not played for it."""
    known = survey()
    goal, turns = known["kinds"][result.kind][result.variation]
    return goal is not None and (known["goals"][goal] != result.goal or turns not in (None, result.turns))


def summary(found: Iterable[Result]) -> None:
    """Prints, by kind, how many variations the expert solves, and each that it does not."""
    played = [result for result in found if result.turns is not None]
    print(f"{'kind':50}{'solved':>8}{'of':>6}{'turns':>12}")
    for name in [*(kind.name for kind in KINDS), ""]:
        own = [result for result in played if name in ("", result.kind)]
        turns = [result.turns for result in own if result.turns]
        span = f"{min(turns)} to {max(turns)}" if turns else "-"
        print(f"{name or 'all':50}{len(turns):>8}{len(own):>6}{span:>12}")
    for result in played:
        if not result.turns:
            print(f"not solved: {result.kind} {result.variation}: {result.why}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="prove", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, help="how many variations are played (default: all)")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"where results are kept ({RESULTS})")
    parser.add_argument("--goals", action="store_true", help="look up the goals of those that are not played")
    parser.add_argument("--write", action="store_true", help="make the survey instead of comparing with it")
    options = parser.parse_args()
    todo, found = in_turn()[: options.first], kept(options.results)
    if rest := [variation for variation in todo if variation not in found or found[variation].turns is None]:
        for result in worked("solutions", rest, options.results, play):
            found[result.kind, result.variation] = result
    if options.goals and (unseen := [variation for variation in in_turn() if variation not in found]):
        for result in worked(
            "goals", unseen, options.results, lambda pool, _, variation: look(pool, variation)
        ):
            found[result.kind, result.variation] = result
    summary(found.values())
    missing = [variation for variation in todo if variation not in found or found[variation].turns is None]
    if missing or (options.goals and len(found) < len(in_turn())):
        print("prove: some were lost; the same command tries them again", file=sys.stderr)
        raise SystemExit(1)
    if options.write:
        write(found)
        return
    wrong = Counter(result.kind for result in found.values() if differs(result))
    if wrong:
        print(f"prove: {wrong.total()} differ from the survey: {dict(wrong)}", file=sys.stderr)
        raise SystemExit(1)
    print(f"all {len(found)} are as the survey says")


if __name__ == "__main__":
    main()

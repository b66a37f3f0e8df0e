"""Hundreds of episodes in one process, and what they leave behind: ``make soak TASK=webarena [ARGS="--episodes 500"]``.

Plays episodes of the random player and of the expert by turns, several at once, in one service process, and looks at it as it
goes: open contexts, sessions' files, file descriptors, memory of the service and of the browser. Nothing may grow with the
number of episodes: contexts and files are back at none after each round, and descriptors and memory after the last round are
within a bound of what they were after the first. Ends with status 1 if something grew.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from turngym.schema import Split
from turngym.server.episode import Episode
from turngym.server.settings import PREFIX
from turngym_webarena.env import WebArena, WebArenaOptions
from turngym_webarena.service import WebArenaService
from turngym_webarena.sites.worlds import ALIVE

GROWTH_MB = 64  # of the service's own memory, over all rounds after the first
BROWSER_GROWTH_MB = 400  # of the browser's, which collects its garbage when it likes
DESCRIPTORS = 16


@dataclass(frozen=True, slots=True)
class State:
    """What a process holds after a round. Memory in MB."""

    contexts: int
    files: int
    descriptors: int
    service_mb: float
    browser_mb: float

    def line(self, played: int) -> str:
        """A row of the table."""
        return (
            f"{played:6} episodes  {self.contexts} contexts  {self.files} files  {self.descriptors:4} descriptors"
            f"  service {self.service_mb:6.0f} MB  browser {self.browser_mb:6.0f} MB"
        )


async def look(service: WebArenaService, folder: Path) -> State:
    """The process as it is now."""
    await service.browser.watch()
    return measure(service, folder)


def measure(service: WebArenaService, folder: Path) -> State:
    """What is open, and the memory as last measured."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return State(
        service.browser.contexts,
        sum(1 for path in folder.glob("webarena/sessions-*/*") if path.is_file() and path.name != ALIVE),
        len(os.listdir("/proc/self/fd")),
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        service.browser.memory_bytes / 2**20,
    )


async def play(service: WebArenaService, number: int, horizon: int) -> None:
    """One episode: even numbers the expert's, odd ones the random player's, every tenth left in the middle."""
    split: Split = "train"
    task = service.tasks.at(split, number * 13 % service.tasks.count(split))
    environment: Any = service.open(task, number, WebArenaOptions())
    assert isinstance(environment, WebArena)
    rng = Random(number)
    try:
        episode = Episode(environment, service.spec, horizon)
        await episode.begin_async()
        while episode.stop is None and not (number % 10 == 7 and episode.turn == 3):
            action = environment.expert() if number % 2 == 0 else environment.random(rng)
            await episode.play_async(action)
    finally:
        await environment.close()


async def soak(episodes: int, width: int, horizon: int, folder: Path) -> bool:
    """All rounds; whether nothing grew."""
    service = WebArenaService()
    console = Console(stderr=True)
    console.print("loading the service …")
    await service.load(lambda what, part: None)
    states: list[State] = []
    rounds = 10
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("episodes", total=episodes)
            numbers = list(range(episodes))
            for index in range(rounds):
                share = iter(numbers[index * episodes // rounds : (index + 1) * episodes // rounds])

                async def work(share: Any = share) -> None:
                    for number in share:
                        await play(service, number, horizon)
                        progress.advance(bar)

                await asyncio.gather(*(work() for _ in range(width)))
                states.append(await look(service, folder))
                print(states[-1].line((index + 1) * episodes // rounds), flush=True)
    finally:
        await service.close()
    return nothing_grew(states)


def nothing_grew(states: list[State]) -> bool:
    """Whether the last state is within its bounds of the first; says what is not."""
    first, last = states[0], states[-1]
    wrong = []
    if any(state.contexts or state.files for state in states):
        wrong.append("contexts or files of sessions that are over are left")
    if last.descriptors > first.descriptors + DESCRIPTORS:
        wrong.append(f"descriptors grew from {first.descriptors} to {last.descriptors}")
    if last.service_mb > first.service_mb + GROWTH_MB:
        wrong.append(f"the service grew from {first.service_mb:.0f} to {last.service_mb:.0f} MB")
    if last.browser_mb > first.browser_mb + BROWSER_GROWTH_MB:
        wrong.append(f"the browser grew from {first.browser_mb:.0f} to {last.browser_mb:.0f} MB")
    print("nothing grew" if not wrong else "; ".join(wrong))
    return not wrong


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=500, help="episodes in all (default 500)")
    parser.add_argument("--width", type=int, default=4, help="episodes at a time (default 4)")
    parser.add_argument("--horizon", type=int, default=12, help="greatest number of turns (default 12)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[f"{PREFIX}DATA_DIR"] = folder
        good = asyncio.run(soak(options.episodes, options.width, options.horizon, Path(folder)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

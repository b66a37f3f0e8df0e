"""What a large run costs the viewer: time to index it, and what a filter takes beside reading the files.

Makes a run of so many trajectories (about 10 kB each, as a small model's are), indexes it, and asks the questions that the
page asks. The floor is what anybody without an index would do: read the files and parse every line. Ratios are against that
floor, in this process and this run. With ``--pages`` a Chromium then opens the same run in a viewer of its own process: what
somebody in front of it waits for, from the click until the page stands. (A filter begins a quarter of a second after the last
key.)

    python bench/viewer.py                                  # 20,000 trajectories, about a minute
    python bench/viewer.py --trajectories 200000 --pages    # 2 GB
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
from rich.progress import Progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core" / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "viewer" / "tests"))

import made
from browser import opened, running
from playwright.sync_api import Page
from process import started

from turngym_viewer import queries
from turngym_viewer.index import Index, place, read
from turngym_viewer.queries import Filter
from turngym_viewer.runs import Run, metrics

SAMPLES, GROUPS = 8, 25  # 200 trajectories a step
WORDS = (
    "oak", "birch", "spruce", "jungle", "acacia", "planks", "log", "stick", "fence", "gate", "door", "boat", "chest", "ladder",
    "torch", "coal", "iron", "ingot", "gold", "diamond", "pickaxe", "shovel", "axe", "hoe", "sword", "bow", "arrow", "string",
    "wool", "bed",
)  # fmt: skip
QUESTIONS: dict[str, dict[str, Any]] = {
    "the first page": {},
    "failures of a step": {"success": "no", "step_from": 17, "step_to": 17},
    "a stop reason": {"stop": "max_turns"},
    "one task": {"task": "textcraft/train/7", "sort": "oldest"},
    "long and solved": {"turns_from": 6, "success": "yes", "sort": "turns"},
    "a common word": {"text": "oak"},
    "three words": {"text": "birch ladder diamond"},
    "a rare word": {"text": "needle17"},
    "a late page": {"offset": 15_000},
}


def trajectory(number: int, rng: Random) -> dict[str, Any]:
    """One episode of about 10 kB."""
    step, rest = divmod(number, SAMPLES * GROUPS)
    group, sample = divmod(rest, SAMPLES)
    solved = rng.random() < 0.4
    extra = f" needle{number // 1000}" if number % 1000 == 0 else ""
    opening = f"Goal: craft {WORDS[group]}{extra}\n\nCrafting commands:\n{' '.join(WORDS)}"
    return made.trajectory(
        step + 1, group, sample, rng, horizon=8, session_id=f"s{number:019d}", prompt_ids=list(range(200)),
        messages=[{"role": "user", "content": opening}], turns=[turn(at, rng) for at in range(1, rng.randint(3, 8) + 1)],
        reward=float(solved), score=float(solved), success=solved, stop_reason="success" if solved else "max_turns",
    )  # fmt: skip


def turn(number: int, rng: Random) -> dict[str, Any]:
    """One turn of 40 tokens, its texts words by chance."""
    tokens = [rng.randrange(32000) for _ in range(40)]
    action = f"Thought: {' '.join(rng.choices(WORDS, k=12))}\nAction: get {number} {rng.choice(WORDS)}"
    return made.turn(number, action, " ".join(rng.choices(WORDS, k=30)), 0.0, rng) | {
        "token_ids": tokens,
        "log_probs": [-rng.random() for _ in tokens],
        "context_ids": tokens[:20],
        "advantages": [0.353552] * len(tokens),
        "invalid": rng.random() < 0.2,
    }


def write(folder: Path, count: int) -> int:
    """The run's files; their size in bytes."""
    rng, size = Random(0), 0
    (folder / "rollouts").mkdir(parents=True)
    with Progress(transient=True) as progress:
        bar = progress.add_task("writing", total=count)
        for first in range(0, count, SAMPLES * GROUPS):
            numbers = range(first, min(count, first + SAMPLES * GROUPS))
            lines = b"".join(
                orjson.dumps(trajectory(number, rng), option=orjson.OPT_APPEND_NEWLINE) for number in numbers
            )
            step = first // (SAMPLES * GROUPS) + 1
            (folder / "rollouts" / f"train-{step:06d}.jsonl").write_bytes(lines)
            with (folder / "metrics.jsonl").open("ab") as file:
                row = {"step": step, "rollout/success": rng.random(), "rollout/horizon": 8.0}
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            size += len(lines)
            progress.advance(bar, len(numbers))
    return size


def timed(act: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The median of so many wall times in seconds, and the last answer."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        answer = act()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken), answer


def scan(folder: Path) -> int:
    """The floor: every line read and parsed; how many failures there are."""
    files = sorted((folder / "rollouts").iterdir())
    return sum(not read(line)["success"] for file in files for line in file.read_bytes().splitlines())


STANDS = "#list[aria-busy=false]"
FILTERS = {
    "success": "no",
    "stop": "max_turns",
    "task": "textcraft/train/7",
    "text": "birch ladder",
    "turns_from": "6",
}


def pages(folder: Path) -> None:
    """What a browser shows after how long: the run, its trajectories, each filter alone, one trajectory, its group."""
    given = {"there": "/health", "runs": folder.parent}
    with (
        started("turngym-viewer", "serve", **given) as address,
        running() as browser,
        opened(browser) as page,
    ):
        page.goto(address)
        page.wait_for_selector("#runs")
        shown("opening the run", lambda: go(page, f"{address}/#/runs/{folder.name}", "#charts"))
        there = f"{address}/#/runs/{folder.name}/trajectories"
        shown("opening its trajectories", lambda: go(page, there, "#trajectories"))
        for name, value in FILTERS.items():
            shown(f"filter {name}={value}", lambda name=name, value=value: filtered(page, name, value))  # type: ignore[misc]
            page.click(".filters button")
            page.wait_for_selector(STANDS)
        first = page.locator("#trajectories tbody th a").first
        shown("opening a trajectory", lambda: (first.click(), page.wait_for_selector("#turns")))
        shown("opening its group", lambda: (page.click("#to-group"), page.wait_for_selector("#samples")))


def shown(name: str, act: Callable[[], Any]) -> None:
    """Print how long it takes until a page stands."""
    taken, _ = timed(act)
    print(f"in the browser: {name:<30}  {1000 * taken:8.0f} ms", flush=True)


def go(page: Page, address: str, there: str) -> None:
    """Open a page of the viewer."""
    page.goto(address)
    page.wait_for_selector(there)


def filtered(page: Page, name: str, value: str) -> None:
    """Set a filter and wait for its answer."""
    field = page.locator(f"#filter-{name}")
    if name in ("success", "stop"):
        field.select_option(value)
    else:
        field.fill(value)
    page.wait_for_url(lambda address: f"{name}=" in address)
    page.wait_for_selector(STANDS)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--trajectories", type=int, default=20_000)
    parser.add_argument(
        "--times", type=int, default=5, help="repetitions of each question; the median counts"
    )
    parser.add_argument("--pages", action="store_true", help="measure in a browser too")
    parser.add_argument("--folder", type=Path, help="where the run is made (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as home:
        folder = Path(home).resolve() / "large"
        size = write(folder, arguments.trajectories)
        print(f"{arguments.trajectories} trajectories, {size / 1e9:.2f} GB")
        run = Run("large", folder, folder.parent)
        index = Index(run, place(run, None))
        with Progress(transient=True) as progress:
            bar = progress.add_task("indexing", total=size)

            def advance(done: int, _: int) -> None:
                progress.update(bar, completed=done)

            built, _ = timed(lambda: index.sync(advance))
        floor, _ = timed(lambda: scan(folder))
        weight = sum(path.stat().st_size for path in folder.glob("viewer.index*"))
        print(f"reading and parsing it all    {floor:8.2f} s   (the floor)")
        print(f"building the index            {built:8.2f} s   {built / floor:6.2f} of the floor")
        print(f"size of the index             {weight / 1e6:8.0f} MB  {weight / size:6.1%} of the run")
        again, _ = timed(index.sync, arguments.times)
        print(f"a look for what is new        {1000 * again:8.1f} ms")
        opened, _ = timed(lambda: metrics(run), arguments.times)
        print(f"the metrics of all steps      {1000 * opened:8.1f} ms")
        for name, wanted in QUESTIONS.items():
            question = Filter.model_validate(wanted)
            taken, page = timed(lambda question=question: queries.page(index, question), arguments.times)  # type: ignore[misc]
            print(
                f"{name:<28}  {1000 * taken:8.1f} ms  {taken / floor:8.5f} of the floor, {page['total']} found"
            )
        if arguments.pages:
            pages(folder)


if __name__ == "__main__":
    sys.exit(main())

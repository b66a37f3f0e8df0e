"""What a browser episode costs, printed in one run: ``python bench/webarena.py`` (or ``make bench TASK=webarena``).

1. An observation, beside one that asks the browser for each node's box by calls of its own, as the published one does. Both
   read the same page in the same Chromium, give the same text, and take turns, so the ratio holds on a loaded machine too.
2. A service of its own over HTTP: how long a session takes to open, how many steps all sessions together make a second,
   played by the expert.
3. The reset of a session's sites after it has written.

Ends with status 1 if a bar is missed. Times depend on the machine: the bars are for two idle cores.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core" / "tests"))

from process import started

from turngym_webarena import sites
from turngym_webarena.browser import Chromium
from turngym_webarena.elements import Gone, call_on
from turngym_webarena.observation import Layout, read_lines, write_text
from turngym_webarena.serving import SiteServer
from turngym_webarena.settings import WebArenaSettings
from turngym_webarena.sites.worlds import WORLDS
from turngym_webarena.tabs import Tab, Tabs

HOST = "bench.test"
OBSERVATION_BAR_MS = 75.0
RATIO_BAR = 10.0
STEPS_BAR = 8.0
CREATE_BAR_S = 0.5
RESET_BAR_MS = 10.0
LIMIT = 5000

BOX = """function() {
  const range = document.createRange();
  if (this.nodeType === Node.TEXT_NODE) range.selectNode(this);
  const box = (this.nodeType === Node.TEXT_NODE ? range : this).getBoundingClientRect();
  return [box.x + scrollX, box.y + scrollY, box.width, box.height];
}"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number and its bar; ``least`` where more is better."""

    name: str
    value: float
    unit: str
    bar: float
    least: bool = False

    def holds(self) -> bool:
        """Whether the bar is kept."""
        return self.value >= self.bar if self.least else self.value <= self.bar

    def line(self) -> str:
        """A row of the table."""
        sign = "≥" if self.least else "≤"
        return f"{self.name:52}{self.value:9.2f} {self.unit:8}{sign} {self.bar:<8g}{'' if self.holds() else 'MISSED'}"


# -- observations ------------------------------------------------------------------------------------------------------


def shelf(rows: int) -> str:
    """A page like a shop's category: about fourteen nodes a product."""
    product = (
        '<li><a href="/p/{n}"><img alt="Picture of product {n}" src="data:," width="40" height="40"></a>'
        '<strong><a href="/p/{n}">Product number {n}</a></strong><div>Rating: <span>{n} %</span></div>'
        "<p>It costs <b>${n}.99</b> today</p><form><button>Add product {n}</button></form>"
        '<a href="/w/{n}">Keep product {n} for later</a></li>'
    )
    body = "".join(product.replace("{n}", str(number)) for number in range(rows))
    return f'<!doctype html><title>Shelf</title><h1>Shelf</h1><label>Find <input name="q"></label><ol>{body}</ol>'


async def per_node(tab: Tab) -> str:
    """The text of what is on the screen, each node's box asked for by itself, as the published observation does."""
    nodes = (await tab.cdp.send("Accessibility.getFullAXTree"))["nodes"]
    view = Layout(scroll_y=float(await tab.page.evaluate("() => scrollY")))
    for node in nodes:
        backend = node.get("backendDOMNodeId")
        if backend is None or node["role"]["value"] == "RootWebArea":
            continue
        try:
            x, y, width, height = await call_on(tab.cdp, backend, BOX)
        except (Gone, RuntimeError):
            continue
        view.boxes[backend] = (x, y, width, height)
    return write_text(read_lines(nodes, view), LIMIT, view).text


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    """Seconds that it took, and what came of it."""
    begun = time.perf_counter()
    result = await work()
    return time.perf_counter() - begun, result


async def observations(rows: int, rounds: int) -> list[Figure]:
    """Fast and per-node observations of one page, by turns."""

    async def page(request: Request) -> Response:
        return HTMLResponse(shelf(rows))

    server = SiteServer(Starlette(routes=[Route("/", page)]), 0)
    server.start()
    chromium = Chromium(WebArenaSettings(), {HOST: f"127.0.0.1:{server.port}"})
    whole, on_screen, slow = [], [], []
    try:
        tabs = await Tabs.open(chromium, {}, WebArenaSettings())
        tab = await tabs.new_tab()
        await tab.page.goto(f"http://{HOST}/")
        await tabs.settle()
        nodes = len((await tab.cdp.send("Accessibility.getFullAXTree"))["nodes"])
        for number in range(rounds + 1):
            one, _ = await timed(lambda: tabs.observe(LIMIT, False))
            two, seen = await timed(lambda: tabs.observe(LIMIT, True))
            three, text = await timed(lambda: per_node(tab))
            if seen.text != text:
                raise SystemExit("the two ways to observe differ in what they see")
            if number:  # the first warms up
                whole.append(one)
                on_screen.append(two)
                slow.append(three)
            print(f"\robservations {number} of {rounds}", end="", file=sys.stderr, flush=True)
        await tabs.close()
    finally:
        await chromium.stop()
        server.stop()
    print(file=sys.stderr)
    ratio = statistics.median(late / early for early, late in zip(on_screen, slow, strict=True))
    print(
        f"Chromium {chromium.version}, a page of {nodes} nodes; node by node {statistics.median(slow) * 1000:.0f} ms"
    )
    return [
        Figure("observation of the whole page", statistics.median(whole) * 1000, "ms", OBSERVATION_BAR_MS),
        Figure("observation of the screen", statistics.median(on_screen) * 1000, "ms", OBSERVATION_BAR_MS),
        Figure("times faster than node by node", ratio, "", RATIO_BAR, least=True),
    ]


# -- the service -------------------------------------------------------------------------------------------------------


async def episode(client: httpx.AsyncClient, index: int) -> tuple[float, int, bool]:
    """One episode of the expert: seconds to open it, steps, success."""
    begun = time.perf_counter()
    opened = await client.post("/sessions", json={"split": "test", "index": index})
    opening = time.perf_counter() - begun
    opened.raise_for_status()
    session, steps = opened.json()["session_id"], 0
    while True:
        action = (await client.get(f"/sessions/{session}/expert")).raise_for_status().json()["action"]
        body = {"action": action, "turn": steps + 1}
        answer = (await client.post(f"/sessions/{session}/step", json=body)).raise_for_status().json()
        steps += 1
        if answer["stop_reason"]:
            return opening, steps, bool(answer["success"])


async def service(episodes: int, width: int) -> list[Figure]:
    """Sessions opened one after another, then many at once."""
    given = {"experts": 1, "log_level": "warning", **WebArenaSettings().model_dump(exclude_unset=True)}
    with (
        tempfile.TemporaryDirectory() as folder,
        started("turngym", "serve", "webarena", journal=Path(folder) / "journal", **given) as url,
    ):
        async with httpx.AsyncClient(base_url=url, timeout=120) as client:
            total = (await client.get("/tasks", params={"split": "test", "limit": 1})).json()["total"]
            await episode(client, 0)
            openings = []
            for number in range(10):
                seconds, _, _ = await episode(client, number % total)
                openings.append(seconds)
                print(f"\rsessions one by one {number + 1} of 10", end="", file=sys.stderr, flush=True)
            numbers, played, won = iter(range(episodes)), 0, 0

            async def work() -> None:
                nonlocal played, won
                for number in numbers:
                    _, steps, success = await episode(client, number * 7 % total)
                    played, won = played + steps, won + success
                    print(
                        f"\r{width} sessions at once, {played} steps   ", end="", file=sys.stderr, flush=True
                    )

            begun = time.perf_counter()
            await asyncio.gather(*(work() for _ in range(width)))
            seconds = time.perf_counter() - begun
    print(f"\n{episodes} episodes of the expert, {width} at once: {played} steps, {won} won")
    return [
        Figure("opening a session, median", statistics.median(openings), "s", CREATE_BAR_S),
        Figure("steps a second, all sessions", played / seconds, "steps/s", STEPS_BAR, least=True),
    ]


def resets(rounds: int) -> Figure:
    """A session's world after a write, back to its seed."""
    with tempfile.TemporaryDirectory() as folder:
        worlds = sites.Worlds(Path(folder))
        worlds.build(lambda what, part: print(f"\r{what}      ", end="", file=sys.stderr, flush=True))
        seconds = []
        name = WORLDS[0]
        for number in range(rounds):
            session = worlds.open(f"bench{number}", name)
            with session.lock, session.write():
                pass
            begun = time.perf_counter()
            worlds.open(f"bench{number}", name)
            seconds.append(time.perf_counter() - begun)
        worlds.shutdown()
    print(file=sys.stderr)
    return Figure("reset of a session's sites", statistics.median(seconds) * 1000, "ms", RESET_BAR_MS)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=int, default=50, help="products on the observed page (default 50: 700 nodes)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of observations (default 7)")
    parser.add_argument("--episodes", type=int, default=48, help="episodes of the expert (default 48)")
    parser.add_argument("--width", type=int, default=8, help="sessions at a time (default 8)")
    options = parser.parse_args()
    figures = asyncio.run(observations(options.rows, options.rounds))
    figures += asyncio.run(service(options.episodes, options.width))
    figures.append(resets(20))
    for figure in figures:
        print(figure.line())
    good = all(figure.holds() for figure in figures)
    print("all bars hold" if good else "a bar was missed")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

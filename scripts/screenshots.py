"""Screenshots of every page, to look at: the playground of a service and the viewer over a folder of runs.

    python scripts/screenshots.py --runs runs --out screenshots        # make screenshots

Starts the service and the viewer on free ports, plays a little, and writes PNGs: laptop and phone, light and dark.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "core" / "tests"), str(ROOT / "viewer" / "tests")]

from browser import PATIENCE_MS, running  # noqa: E402
from playwright.sync_api import Browser, Page, expect  # noqa: E402
from process import started  # noqa: E402
from viewing import indexed  # noqa: E402

LAPTOP, PHONE = {"width": 1366, "height": 860}, {"width": 390, "height": 844}


class Album:
    """Takes the pictures: ``shot`` of a page at each of the sizes and colours asked for."""

    def __init__(self, browser: Browser, out: Path) -> None:
        self.browser = browser
        self.out = out
        out.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def page(self, name: str, *, phone: bool = False, dark: bool = False) -> Iterator[Page]:
        """A page that is photographed on leaving, whole if it is the phone's."""
        size = PHONE if phone else LAPTOP
        with self.browser.new_context(viewport=size, color_scheme="dark" if dark else "light") as window:
            window.set_default_timeout(PATIENCE_MS)
            page = window.new_page()
            yield page
            page.wait_for_timeout(400)
            place = self.out / f"{name}{'-phone' if phone else ''}{'-dark' if dark else ''}.png"
            page.screenshot(path=place, full_page=phone)
            print(place, file=sys.stderr, flush=True)


def playground(album: Album, address: str, task: str) -> None:
    """Start, middle and end of an episode."""
    for phone, dark in ((False, False), (True, False), (False, True)):
        with album.page(f"playground-{task}-episode", phone=phone, dark=dark) as page:
            page.goto(f"{address}/ui#task_id={task}/test/2")
            page.wait_for_selector("#timeline")
            for _ in range(3):
                page.click("#expert")
                expect(page.locator("#action")).not_to_have_value("")
                before = page.locator(".turn").count()
                page.click("#send")
                expect(page.locator(".turn")).to_have_count(before + 1)
                if page.locator("#ended").is_visible():
                    break
    with album.page(f"playground-{task}-start") as page:
        page.goto(f"{address}/ui")
        page.wait_for_selector("#task-goal strong")
    with album.page(f"playground-{task}-end") as page:
        page.goto(f"{address}/ui#task_id={task}/test/2")
        page.click("#expert-all")
        page.wait_for_selector("#ended")
        page.locator(".as-curl summary").last.click()
    with album.page(f"playground-{task}-problem") as page:
        page.goto(f"{address}/ui#task_id={task}/test/999999")
        page.wait_for_selector(".problem")


def viewer(album: Album, address: str) -> None:
    """Every kind of page, of the run with the most steps."""
    with album.page("viewer-runs") as page:
        page.goto(address)
        page.wait_for_selector("#runs")
        rows = page.locator("#runs tbody tr")
        steps = [
            int(text) if text.isdigit() else 0 for text in rows.locator("td:nth-child(5)").all_inner_texts()
        ]
        longest = steps.index(max(steps))
        run = rows.nth(longest).locator("th a").get_attribute("href") or ""
        names = [link.get_attribute("href") or "" for link in rows.locator("th a").all()]
    indexed(address, run.rsplit("/", 1)[1])
    for phone, dark in ((False, False), (True, False), (False, True)):
        with album.page("viewer-run", phone=phone, dark=dark) as page:
            page.goto(f"{address}/{run}")
            page.wait_for_selector("#charts, .note")
    with album.page("viewer-trajectories") as page:
        page.goto(f"{address}/{run}/trajectories")
        page.wait_for_selector("#trajectories")
        first = page.locator("#trajectories tbody th a").first.get_attribute("href")
        group = page.locator("#trajectories tbody tr").first.locator("td a").last.get_attribute("href")
    for phone, dark in ((False, False), (True, False), (False, True)):
        with album.page("viewer-trajectory", phone=phone, dark=dark) as page:
            page.goto(f"{address}/{first}")
            page.wait_for_selector("#turns")
    with album.page("viewer-group") as page:
        page.goto(f"{address}/{group}")
        page.wait_for_selector("#samples")
    with album.page("viewer-files") as page:
        page.goto(f"{address}/{run}/files")
        page.wait_for_selector("#config-filter, .muted")
    if len(names) > 1:
        two = "/".join(name.rsplit("/", 1)[1] for name in names[:2])
        with album.page("viewer-compare") as page:
            page.goto(f"{address}/#/compare/{two}")
            page.wait_for_selector(".charts")


def main() -> None:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--runs", type=Path, help="the folder of runs for the viewer's pages; without it they are left out"
    )
    parser.add_argument(
        "--task", default="textcraft", help="the service for the playground's pages; 'none' leaves them out"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "screenshots")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        album = Album(stack.enter_context(running()), arguments.out)
        if arguments.task != "none":
            given = {"journal": "off", "experts": 1, "data_dir": home}
            address = stack.enter_context(started("turngym", "serve", arguments.task, **given))
            playground(album, address, arguments.task)
        if arguments.runs is not None:
            given = {"runs": arguments.runs, "index_dir": f"{home}/indexes"}
            viewer(album, stack.enter_context(started("turngym-viewer", "serve", there="/health", **given)))


if __name__ == "__main__":
    main()

"""When the browser fails under an episode: a typed failure in time, a browser again at the next need, nothing left behind."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from turngym.environment import BackendDied
from turngym_webarena.browser import Chromium
from turngym_webarena.env import Place

pytestmark = pytest.mark.asyncio(loop_scope="session")
Opener = Callable[..., Awaitable[Any]]


async def processes(place: Place, kind: str) -> list[int]:
    """The browser's processes of that kind: "browser", "renderer", "GPU"."""
    running = place.chromium._running
    assert running is not None
    listed = await running.control.send("SystemInfo.getProcessInfo")
    return [item["id"] for item in listed["processInfo"] if item["type"] == kind]


def drivers() -> list[int]:
    """Playwright's own processes below this one."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid() and b"run-driver" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (OSError, IndexError):
            continue
    return found


async def is_gone(pid: int) -> bool:
    """Whether the process ends within ten seconds and leaves no zombie of ours."""
    for _ in range(200):
        if not runs(pid):
            return True
        await asyncio.sleep(0.05)
    return False


def runs(pid: int) -> bool:
    """Whether the process is there; one that only waits for its adoptive parent, outside, counts as gone."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return False
    return not (state == "Z" and parent == "1")


async def test_a_killed_renderer_ends_the_turn_as_a_dead_backend(open_at: Opener, place: Place) -> None:
    page = await open_at("/")
    for pid in await processes(place, "renderer"):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(BackendDied):
        await page.do("click [{link 'A form'}]")
    again = await open_at("/")
    await again.do("click [{link 'A form'}]")
    assert "Tab 0 (current): Form" in again.text


async def test_a_killed_browser_is_launched_again(open_at: Opener, place: Place) -> None:
    page = await open_at("/")
    launches = place.chromium.launches
    (pid,) = await processes(place, "browser")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(BackendDied):
        await page.do("click [{link 'A form'}]")
    again = await open_at("/")
    await again.do("click [{link 'A form'}]")
    assert "Tab 0 (current): Form" in again.text
    assert place.chromium.launches == launches + 1
    assert await is_gone(pid)


async def test_a_bystander_of_a_dead_browser_is_no_suspect(open_at: Opener, place: Place) -> None:
    page = await open_at("/")
    (pid,) = await processes(place, "browser")
    os.kill(pid, signal.SIGKILL)
    assert await is_gone(pid)
    await asyncio.wait_for(page.env.tabs._dead.wait(), 30)
    for action in ("scroll [down]", "stop []"):
        with pytest.raises(BackendDied) as died:
            await page.do(action)
        assert not died.value.acted


async def test_playwright_s_own_process_may_die_too(open_at: Opener, place: Place) -> None:
    page = await open_at("/")
    (driver,) = drivers()
    os.kill(driver, signal.SIGKILL)
    with pytest.raises(BackendDied):
        await page.do("click [{link 'A form'}]")
    again = await open_at("/")
    assert "Tab 0 (current): Hard pages" in again.text


async def test_a_page_that_hangs_is_given_up_in_time(open_at: Opener) -> None:
    page = await open_at("/", settle_s=1, call_s=5)
    await page.env.tabs.tab.page.evaluate("() => { setTimeout(() => { for (;;); }, 0) }")
    begun = time.monotonic()
    with pytest.raises(BackendDied, match="does not answer"):
        await page.do("scroll [down]")
    assert time.monotonic() - begun < 20, "a hanging page was waited for"


async def test_a_browser_is_replaced_after_so_many_sessions_and_closed_after_its_last(place: Place) -> None:
    settings = place.settings.model_copy(update={"recycle_contexts": 2})
    chromium = Chromium(settings, {"site.test": "127.0.0.1:9"})
    try:
        first = [await chromium.context({}) for _ in range(2)]
        owner = chromium._owners[first[0]]
        third = await chromium.context({})
        assert chromium.launches == 2
        assert owner.browser.is_connected()
        for context in first:
            await chromium.release(context)
        assert not owner.browser.is_connected()
        await chromium.release(third)
        assert chromium.contexts == 0
    finally:
        await chromium.stop()


async def test_memory_beyond_the_bound_retires_a_browser(place: Place) -> None:
    chromium = Chromium(place.settings.model_copy(update={"recycle_mb": 1}), {"site.test": "127.0.0.1:9"})
    try:
        contexts = [await chromium.context({}) for _ in range(2)]
        await chromium.watch()
        assert chromium.memory_bytes > 2**20
        contexts.append(await chromium.context({}))
        assert chromium.launches == 2
        for context in contexts:
            await chromium.release(context)
    finally:
        await chromium.stop()

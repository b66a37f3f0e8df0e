"""The browser: one Chromium for all sessions, each in a context of its own, cut off from everything but the sites.

Chromium resolves no name but the sites' (``--host-resolver-rules``), and maps those to the sites' own port whatever port an
address names: no other host, no address by number, no other port of this machine can be reached. A browser that died is
launched again at the next need; one that has served many sessions, or grown large, is replaced and closed when its last
session ends. What happens inside a page is ``tabs``' business.
"""

import asyncio
import logging
import os
import shutil
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from turngym.environment import BackendDied
from turngym_webarena.observation import VIEWPORT
from turngym_webarena.settings import WebArenaSettings

logger = logging.getLogger("turngym.webarena")

LAUNCH_S = 60.0
CLOSE_S = 10.0
_WATCH_EVERY = 20  # sessions between two looks at the browser's memory
# The headless shell first: the same engine without a desktop browser's windows, at a fraction of the work for each session.
PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-dev-shm-usage",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-proxy-server",
    "--mute-audio",
)


class NoBrowser(RuntimeError):
    """There is no Chromium here. The message is one line that says what to do."""


def find_chromium(wanted: Path | None, own: str) -> str:
    """The browser's program: the one asked for, else one on the PATH, else Playwright's ``own``. Raises NoBrowser."""
    if wanted is not None:
        if shutil.which(wanted) is None:
            raise NoBrowser(f"TURNGYM_CHROMIUM={wanted} is not a program that can be run")
        return str(wanted)
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    if os.access(own, os.X_OK):
        return own
    raise NoBrowser(
        "no Chromium on this machine: install one (Debian: apt install chromium-headless-shell), "
        "or let Playwright fetch its own (playwright install chromium), or name one by TURNGYM_CHROMIUM"
    )


@dataclass(slots=True)
class _Running:
    """A browser process. ``made`` counts its contexts so far, ``held`` those that are open."""

    browser: Browser
    control: CDPSession
    made: int = 0
    held: int = 0
    retired: bool = False


class Chromium:
    """Launches, watches and replaces the browser. Belongs to one event loop."""

    def __init__(self, settings: WebArenaSettings, hosts: Mapping[str, str]) -> None:
        """``hosts`` maps each host that may be reached to where it really is, such as ``127.0.0.1:8101``."""
        self._settings = settings
        self._hosts = dict(hosts)
        self._playwright: Playwright | None = None
        self._running: _Running | None = None
        self._owners: dict[BrowserContext, _Running] = {}
        self._lock = asyncio.Lock()
        self._chores: set[asyncio.Task[None]] = set()
        self.launches = 0
        self.memory_bytes = 0
        self.active = asyncio.Semaphore(settings.active_pages)
        self.version = ""

    @property
    def contexts(self) -> int:
        """How many sessions' contexts are open."""
        return len(self._owners)

    @property
    def hosts(self) -> list[str]:
        """The hosts that can be reached."""
        return list(self._hosts)

    def allows(self, host: str | None) -> bool:
        """Whether pages of that host can be reached."""
        return host in self._hosts

    async def start(self) -> None:
        """Launch the browser. Raises NoBrowser, or RuntimeError if it can't be started."""
        await self._alive()

    async def context(self, headers: Mapping[str, str]) -> BrowserContext:
        """A fresh context that sends ``headers`` with every request. Raises BackendDied if the browser dies meanwhile."""
        running = await self._alive()
        try:
            context = await _fresh_context(running.browser, headers)
        except (PlaywrightError, TimeoutError):
            # dead without having said so, as where Playwright's own process is gone
            self._retire(running)
            running = await self._alive()
            try:
                context = await _fresh_context(running.browser, headers)
            except (PlaywrightError, TimeoutError) as error:
                raise BackendDied(f"the browser gives no context: {error}") from error
        running.made += 1
        running.held += 1
        self._owners[context] = running
        if running.made % _WATCH_EVERY == 0:
            self._later(self.watch())
        return context

    async def release(self, context: BrowserContext) -> None:
        """Close a session's context, and a retired browser with its last one. Never raises for a dead browser."""
        running = self._owners.pop(context, None)
        if running is None:
            return
        running.held -= 1
        with suppress(PlaywrightError, TimeoutError):
            await asyncio.wait_for(context.close(), CLOSE_S)
        if running.retired and running.held == 0:
            await _close(running)

    async def pages(self, context: BrowserContext, name: str) -> int:
        """How many pages a context has by the browser's own count, those included that are just opening.

        :param name: the browser's own name for the context.
        """
        listed = await self._owners[context].control.send("Target.getTargets")
        return sum(
            item["type"] == "page" and item.get("browserContextId") == name for item in listed["targetInfos"]
        )

    async def watch(self) -> None:
        """Measure the browser's memory, and retire it where it is too large."""
        running = self._running
        if running is None or not running.browser.is_connected():
            return
        try:
            listed = await asyncio.wait_for(running.control.send("SystemInfo.getProcessInfo"), CLOSE_S)
        except (PlaywrightError, TimeoutError):
            return
        self.memory_bytes = sum(_private_bytes(item["id"]) for item in listed["processInfo"])
        if self.memory_bytes > self._settings.recycle_mb * 2**20 and running.made > 1:
            logger.info("the browser holds %d MB and is replaced", self.memory_bytes >> 20)
            self._retire(running)

    async def stop(self) -> None:
        """Close every browser and Playwright."""
        running, self._running = self._running, None
        for one in {id(owner): owner for owner in [*self._owners.values(), running] if owner}.values():
            await _close(one)
        self._owners.clear()
        if self._playwright is not None:
            with suppress(PlaywrightError, TimeoutError):
                await asyncio.wait_for(self._playwright.stop(), CLOSE_S)
            self._playwright = None

    async def _alive(self) -> _Running:
        async with self._lock:
            running = self._running
            if running is not None and not running.browser.is_connected():
                logger.warning("the browser died; launching it again")
                self._running = None
            elif running is not None and running.made >= self._settings.recycle_contexts:
                self._retire(running)
            if self._running is None:
                self._running = await self._launch()
            return self._running

    def _retire(self, running: _Running) -> None:
        running.retired = True
        if self._running is running:
            self._running = None
        if running.held == 0:
            self._later(_close(running))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it beside what is being done, so that nobody waits for it or breaks it off."""
        task = asyncio.get_running_loop().create_task(work)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    async def _launch(self) -> _Running:
        """A fresh browser; where Playwright's own process is gone too, that is started again first."""
        for _ in range(2):
            try:
                return await asyncio.wait_for(self._launch_once(), LAUNCH_S)
            except NoBrowser:
                raise
            except (PlaywrightError, TimeoutError, OSError) as error:
                failed = error
                stale, self._playwright = self._playwright, None
                if stale is not None:
                    with suppress(Exception):  # it is most likely dead
                        await asyncio.wait_for(stale.stop(), CLOSE_S)
        line = " ".join(str(failed).split("\n")[:1]) or type(failed).__name__
        raise RuntimeError(f"Chromium can't be started: {line}") from failed

    async def _launch_once(self) -> _Running:
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        program = find_chromium(self._settings.chromium, self._playwright.chromium.executable_path)
        rules = [f"MAP {host} {place}" for host, place in self._hosts.items()]
        browser = await self._playwright.chromium.launch(
            executable_path=program,
            headless=True,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            args=[*_FLAGS, f"--host-resolver-rules={','.join([*rules, 'MAP * ~NOTFOUND'])}"],
        )
        self.launches += 1
        self.version = browser.version
        return _Running(browser, await browser.new_browser_cdp_session())


async def _fresh_context(browser: Browser, headers: Mapping[str, str]) -> BrowserContext:
    return await asyncio.wait_for(
        browser.new_context(
            viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]},
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
            accept_downloads=False,
            service_workers="block",
            extra_http_headers=dict(headers),
        ),
        LAUNCH_S,
    )


async def _close(running: _Running) -> None:
    with suppress(PlaywrightError, TimeoutError):
        await asyncio.wait_for(running.browser.close(), CLOSE_S)


def _private_bytes(pid: int) -> int:
    """Memory of a process that no other shares; 0 where it is gone or the system doesn't say."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")

"""A session's tabs: one browser context, its pages, what comes to pass in them, and the current page as text.

Nothing here waits for a fixed time. After an action a page has come to rest when no navigation or popup is under way, its
document is complete and no request is in flight; that the renderer has announced what an action set off is made sure of by
asking it something afterwards, since answers and announcements come in order. Dialogs are answered at once, because a page
with an open dialog answers nothing; popups become the current tab, as in a browser on a desk.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

from playwright.async_api import BrowserContext, CDPSession, Dialog, Page, Request
from playwright.async_api import Error as PlaywrightError

from turngym.environment import BackendDied
from turngym_webarena.browser import Chromium
from turngym_webarena.observation import VIEWPORT, Layout, PageText, read_layout, read_lines, write_text
from turngym_webarena.settings import WebArenaSettings

logger = logging.getLogger("turngym.webarena")
Result = TypeVar("Result")

POLL_S = 0.05
GRACE_S = 1.5  # an announced navigation or popup without a request or page after so long is asked after
_LASTING = frozenset(("eventsource", "websocket", "media", "ping", "texttrack", "manifest"))
_GONE = (
    "has been closed",
    "Target closed",
    "Target crashed",
    "Connection closed",
    "Browser closed",
    "Page crashed",
)
_NAVIGATED = (
    "context was destroyed",
    "Cannot find context",
    "Execution context",
    "frame was detached",
    "navigat",
)
_STATE = "new Promise(done => setTimeout(() => done([document.readyState, document.title]), 0))"


def went_on(error: PlaywrightError) -> bool:
    """Whether a call failed because its page went on to another document meanwhile."""
    return any(sign in error.message for sign in _NAVIGATED)


class Tab:
    """A page with its own line to the browser, and what is under way in it."""

    def __init__(self, page: Page, cdp: CDPSession, changed: asyncio.Event) -> None:
        self.page = page
        self.cdp = cdp
        self.title = ""
        self.requests: set[Request] = set()
        self._changed = changed
        self._scheduled = False
        self._requested = False
        self._announced_at = 0.0
        self._main = ""

    @property
    def navigating(self) -> bool:
        """Whether a navigation of the page itself was announced and has not come to pass."""
        return self._scheduled or self._requested

    def overdue(self, since: float) -> bool:
        """Whether a navigation was announced before ``since``, and nothing was requested."""
        return self.navigating and self._announced_at <= since and not self.requests

    def give_up(self) -> None:
        """Expect no navigation any more."""
        self._scheduled = self._requested = False

    async def watch(self) -> None:
        """Begin to listen."""
        self.page.on("request", self._request_begun)
        self.page.on("requestfinished", self._request_over)
        self.page.on("requestfailed", self._request_over)
        self.cdp.on("Page.frameScheduledNavigation", lambda event: self._set(event, scheduled=True))
        self.cdp.on("Page.frameClearedScheduledNavigation", lambda event: self._set(event, scheduled=False))
        self.cdp.on("Page.frameRequestedNavigation", lambda event: self._set(event, requested=True))
        self.cdp.on("Page.navigatedWithinDocument", lambda event: self._set(event, requested=False))
        self.cdp.on("Page.frameStoppedLoading", lambda event: self._set(event, requested=False))
        self.cdp.on("Page.frameNavigated", lambda event: self._navigated(event["frame"]))
        told: Any = await asyncio.gather(self.cdp.send("Page.getFrameTree"), self.cdp.send("Page.enable"))
        self._main = told[0]["frameTree"]["frame"]["id"]

    def _set(self, event: Any, scheduled: bool | None = None, requested: bool | None = None) -> None:
        elsewhere = event.get("disposition", "currentTab") != "currentTab"
        if event["frameId"] != self._main or elsewhere or event.get("url", "").startswith("javascript:"):
            return
        if scheduled or requested:
            self._announced_at = asyncio.get_running_loop().time()
        self._scheduled = self._scheduled if scheduled is None else scheduled
        self._requested = self._requested if requested is None else requested
        self._changed.set()

    def _navigated(self, frame: Mapping[str, Any]) -> None:
        if "parentId" not in frame:
            self._main = frame["id"]
            self._requested = False
            self._changed.set()

    def _request_begun(self, request: Request) -> None:
        if request.resource_type not in _LASTING:
            self.requests.add(request)

    def _request_over(self, request: Request) -> None:
        self.requests.discard(request)
        self._changed.set()


class Tabs:
    """The tabs of one session. Made by :meth:`open`, closed once."""

    def __init__(
        self,
        chromium: Chromium,
        context: BrowserContext,
        settings: WebArenaSettings,
        dialogs: Literal["accept", "dismiss"],
    ) -> None:
        self.context = context
        self.tabs: list[Tab] = []
        self.current: Tab | None = None
        self.notes: list[str] = []
        self._chromium = chromium
        self._settings = settings
        self._dialogs = dialogs
        self._changed = asyncio.Event()
        self._dead = asyncio.Event()
        self._popups = 0
        self._popup_at = 0.0
        self._pending: set[Page] = set()
        self._joining: dict[Page, asyncio.Future[None]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._closed = False
        self._id = ""  # the browser's own name for the context

    @classmethod
    async def open(
        cls,
        chromium: Chromium,
        headers: Mapping[str, str],
        settings: WebArenaSettings,
        dialogs: Literal["accept", "dismiss"] = "accept",
    ) -> "Tabs":
        """A context with no tab yet. Raises BackendDied."""
        context = await chromium.context(headers)
        tabs = cls(chromium, context, settings, dialogs)
        context.on("page", tabs._page_came)
        context.on("close", lambda _: tabs._dead.set())
        return tabs

    @property
    def tab(self) -> Tab:
        """The current tab."""
        if self.current is None:
            raise BackendDied("the browser's tab is gone")
        return self.current

    async def close(self) -> None:
        """Free the context. Never raises for a browser that is gone."""
        if self._closed:
            return
        self._closed = True
        for task in [*self._joining.values(), *self._answering]:
            task.cancel()
        await self._chromium.release(self.context)

    def check(self) -> None:
        """Raises BackendDied where the browser or a page died before this turn, which then is not what killed it."""
        if self._dead.is_set():
            raise BackendDied("the browser died before this turn", acted=False)

    async def guarded(self, work: Awaitable[Result], longest: float | None = None) -> Result:
        """``work``'s result; BackendDied if a page crashes, the browser dies or nothing comes back within
        ``longest`` seconds, by default one call and one wait for the page to come to rest."""
        settings = self._settings
        task = asyncio.ensure_future(work)
        dead = asyncio.ensure_future(self._dead.wait())
        try:
            await asyncio.wait(
                {task, dead},
                timeout=longest or settings.call_s + settings.settle_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if task.done():
                return task.result()
            raise BackendDied("a page crashed" if self._dead.is_set() else "the browser does not answer")
        except PlaywrightError as error:
            if self._dead.is_set() or any(sign in error.message for sign in _GONE):
                raise BackendDied(error.message.split("\n")[0]) from error
            raise
        finally:
            dead.cancel()
            if not task.done():
                task.cancel()
                task.add_done_callback(_forget)

    # -- tabs ----------------------------------------------------------------------------------------------------------

    async def new_tab(self) -> Tab:
        """An empty tab, which becomes the current one."""
        page = await self.context.new_page()
        await self._joined(page)
        self.current = next((tab for tab in self.tabs if tab.page is page), None)
        return self.tab

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab. The last one that is left becomes current; without any, a new one opens."""
        await tab.page.close()
        self._leave(tab.page)
        if self.current is None:
            await self.new_tab()

    def _page_came(self, page: Page) -> None:
        """A page opened: one that was asked for, or a popup."""
        self._joined(page)

    def _joined(self, page: Page) -> "asyncio.Future[None]":
        """The task, begun once, that makes a page a tab."""
        task = self._joining.get(page)
        if task is None:
            self._pending.add(page)
            task = self._joining[page] = asyncio.ensure_future(self._join(page))
            task.add_done_callback(_forget)
        return task

    async def _join(self, page: Page) -> None:
        try:
            cdp = await self.context.new_cdp_session(page)
            tab = Tab(page, cdp, self._changed)
            page.on("dialog", self._dialog_came)
            page.on("download", lambda download: self._say(f"The download of {download.url} was refused."))
            page.on("crash", lambda _: self._dead.set())
            page.on("close", self._leave)
            cdp.on("Page.windowOpen", lambda _: self._popup_announced())
            await tab.watch()
            if not self._id:
                self._id = (await cdp.send("Target.getTargetInfo"))["targetInfo"]["browserContextId"]
        except PlaywrightError as error:
            if self._dead.is_set() or not page.is_closed():
                raise
            logger.debug("a popup closed again before it could be looked at: %s", error.message)
        else:
            self.tabs.append(tab)
            self.current = tab
        finally:
            self._popups = max(0, self._popups - 1)
            self._pending.discard(page)
            self._changed.set()

    def _popup_announced(self) -> None:
        self._popups += 1
        self._popup_at = asyncio.get_running_loop().time()
        self._changed.set()

    def _leave(self, page: Page) -> None:
        self._joining.pop(page, None)
        self.tabs = [tab for tab in self.tabs if tab.page is not page]
        if self.current is not None and self.current.page is page:
            self.current = self.tabs[-1] if self.tabs else None
        self._changed.set()

    def _dialog_came(self, dialog: Dialog) -> None:
        accepts = self._dialogs == "accept" or dialog.type in ("alert", "beforeunload")
        done = "accepted" if accepts else "dismissed"
        self._say(f"The page asked ({dialog.type}): {dialog.message!r}; it was {done}.")
        answer = dialog.accept(dialog.default_value) if accepts else dialog.dismiss()
        task = asyncio.ensure_future(_quietly(answer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _say(self, note: str) -> None:
        self.notes.append(note)
        self._changed.set()

    def take_notes(self) -> list[str]:
        """What the agent should be told beside the page, once."""
        notes, self.notes = self.notes, []
        return notes

    # -- coming to rest ------------------------------------------------------------------------------------------------

    async def settle(self) -> bool:
        """Wait until the current tab has come to rest; False if it has not within the limit."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._settings.settle_s
        while (left := deadline - clock()) > 0:
            self._changed.clear()
            if self.current is None and not self._under_way():
                await self.new_tab()
            if self.current is None or self._under_way():
                await self._change(min(left, GRACE_S))
                await self._give_up(clock() - GRACE_S)
                continue
            state = await self._state(self.current, left)
            if state is None or self._under_way():
                continue
            ready, self.current.title = state
            if ready == "complete" and not self.current.requests:
                return True
            await self._change(min(left, POLL_S))
        return False

    def _under_way(self) -> bool:
        """Whether something was announced that has not come to pass: another document, or another tab."""
        navigating = self.current is not None and self.current.navigating
        return navigating or bool(self._popups) or bool(self._pending)

    async def _give_up(self, since: float) -> None:
        """No longer wait for what was announced before ``since`` and doesn't come, such as a popup that closed again.

        On a busy machine it may only be late. What the page and the browser say when they are asked comes after whatever they
        had to tell before, so what is then still missing isn't on its way.
        """
        tab = self.current
        late = tab is not None and tab.overdue(since)
        popups = bool(self._popups) and not self._pending and self._popup_at <= since
        if not late and not popups:
            return
        try:
            if tab is not None:
                await asyncio.wait_for(tab.cdp.send("Runtime.evaluate", {"expression": "0"}), GRACE_S)
            opened = await asyncio.wait_for(self._chromium.pages(self.context, self._id), GRACE_S)
        except TimeoutError:
            return
        except PlaywrightError as error:
            if tab in self.tabs and not went_on(error):
                raise
            return
        if popups and not self._pending and opened <= len(self.tabs):
            self._popups = 0
        if tab is not None and late and tab.overdue(since):
            tab.give_up()

    async def _change(self, longest: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), longest)

    async def _state(self, tab: Tab, longest: float) -> tuple[str, str] | None:
        """Whether the document is complete, and its title; None where the page went on to another document meanwhile."""
        try:
            ready, title = await asyncio.wait_for(tab.page.evaluate(_STATE), longest)
        except TimeoutError:
            return None
        except PlaywrightError as error:
            if tab not in self.tabs or went_on(error):
                return None
            raise
        return ready, title

    # -- looking -------------------------------------------------------------------------------------------------------

    async def observe(self, limit: int, in_view: bool) -> PageText:
        """The current page as text, at most ``limit`` lines; with ``in_view`` only what is on the screen."""
        for attempt in range(3):
            try:
                return await self._observe(self.tab, limit, in_view)
            except PlaywrightError as error:
                # a page may go on to another document by itself at any moment
                if attempt == 2 or not went_on(error):
                    raise
                await self.settle()
        raise AssertionError("the loop returns or raises")

    async def _observe(self, tab: Tab, limit: int, in_view: bool) -> PageText:
        if in_view:
            tree, view = await asyncio.gather(_tree(tab), _layout(tab))
            return write_text(read_lines(tree, view), limit, view)
        lines = read_lines(await _tree(tab))
        return write_text(lines, limit, await _layout(tab) if len(lines) > limit else None)

    async def header(self) -> str:
        """The line of tabs, in WebArena's form."""
        for tab in self.tabs:
            if tab is not self.current:
                with suppress(PlaywrightError):  # it is just going on to another document
                    tab.title = await tab.page.title()
        return " | ".join(
            f"Tab {index}{' (current)' if tab is self.current else ''}: {tab.title}"
            for index, tab in enumerate(self.tabs)
        )

    async def picture(self) -> bytes:
        """The current page's viewport as a PNG."""
        return await self.tab.page.screenshot(
            type="png",
            clip={"x": 0, "y": 0, "width": VIEWPORT[0], "height": VIEWPORT[1]},
            animations="disabled",
        )


async def _tree(tab: Tab) -> list[dict[str, Any]]:
    answer = await tab.cdp.send("Accessibility.getFullAXTree")
    nodes: list[dict[str, Any]] = answer["nodes"]
    return nodes


async def _layout(tab: Tab) -> Layout:
    return read_layout(
        await tab.cdp.send("DOMSnapshot.captureSnapshot", {"computedStyles": [], "includeDOMRects": False})
    )


async def _quietly(work: Awaitable[Any]) -> None:
    with suppress(PlaywrightError):  # the page closed with its dialog
        await work


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled() and task.exception() is not None:
        logger.debug("a call to a dead browser ended with %r", task.exception())

"""Carrying out an action on a session's tabs, with real input events of mouse and keyboard.

What can't be done raises :class:`Refused` and changes nothing. That the page has come to rest afterwards is the caller's to
wait for.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

from playwright.async_api import Error as PlaywrightError

from turngym_webarena.actions import Action, Verb
from turngym_webarena.browser import Chromium
from turngym_webarena.elements import (
    CARET,
    CHOOSE,
    CLICK,
    FOCUS,
    FOCUS_FIELD,
    SCROLL,
    SELECT_ALL,
    SET_VALUE,
    Found,
    Gone,
    call_on,
    look,
)
from turngym_webarena.observation import Element
from turngym_webarena.tabs import Tab, Tabs, went_on

BLANK = "about:blank"
ERROR_PAGE = "chrome-error:"
_CHOICES = 20  # options that a refusal lists
_FORMS = {
    "date": "2023-05-31",
    "time": "14:30",
    "datetime-local": "2023-05-31T14:30",
    "month": "2023-05",
    "week": "2023-W22",
    "color": "#00ff00",
    "range": "a number",
}


class Refused(Exception):
    """The action can't be done. The message says why, and where it helps what could be done instead."""


class Hands:
    """Acts on one session's tabs."""

    def __init__(self, tabs: Tabs, chromium: Chromium) -> None:
        self._tabs = tabs
        self._chromium = chromium

    async def act(self, action: Action, elements: Mapping[int, Element]) -> bool:
        """Carry out ``action``; ``elements`` are those of the last observation. Raises Refused.

        :returns: whether the page has come to rest within the limit.
        """
        before = self._tabs.tab
        try:
            await self._act(action, elements)
        except (Gone, Refused) as error:
            await self._stay_within(
                before
            )  # the page may have gone outside by itself, and nothing else on it works then
            if isinstance(error, Gone):
                raise Refused(f"[{action.element}] is no longer on the page") from None
            raise
        except PlaywrightError as error:
            # an input that closes its own tab, or sends it elsewhere, has done what it was meant to
            if before in self._tabs.tabs and not before.navigating and not went_on(error):
                raise
        settled = await self._tabs.settle()
        await self._stay_within(before)
        return settled

    async def _act(self, action: Action, elements: Mapping[int, Element]) -> None:
        tabs = self._tabs
        match action.verb:
            case Verb.CLICK:
                await self._click(tabs.tab, *_element(action, elements))
            case Verb.HOVER:
                found = await look(tabs.tab.cdp, _element(action, elements)[0])
                await tabs.tab.page.mouse.move(*_middle(found, action.element))
            case Verb.TYPE:
                await self._type(tabs.tab, action, *_element(action, elements))
            case Verb.CLEAR:
                await self._clear(tabs.tab, *_element(action, elements))
            case Verb.SELECT:
                await self._select(tabs.tab, _element(action, elements)[0], action.text, action.element)
            case Verb.PRESS:
                await self._press(tabs.tab, action.text)
            case Verb.SCROLL:
                if not await tabs.tab.page.evaluate(SCROLL, 1 if action.text == "down" else -1):
                    raise Refused(f"nothing on this page can be scrolled {action.text}")
            case Verb.GOTO:
                await self._goto(tabs.tab, action.text)
            case Verb.NEW_TAB:
                await tabs.new_tab()
            case Verb.TAB_FOCUS:
                await self._focus_tab(action.element)
            case Verb.CLOSE_TAB:
                await tabs.close_tab(tabs.tab)
            case Verb.GO_BACK:
                await self._travel(tabs.tab, -1)
            case Verb.GO_FORWARD:
                await self._travel(tabs.tab, 1)
            case Verb.STOP:
                raise AssertionError("to stop is not an action on a page")

    # -- elements ------------------------------------------------------------------------------------------------------

    async def _click(self, tab: Tab, backend: int, name: str) -> None:
        found = await look(tab.cdp, backend)
        if found.kind == "option":
            await self._choose(tab, backend, None, name)
        elif found.kind == "select":
            await call_on(tab.cdp, backend, FOCUS)
            raise Refused(f"{name} is a list of choices; choose with select [id] [option]")
        elif found.kind == "file":
            raise Refused(f"{name} uploads a file, and there are no files here")
        elif found.kind == "date":
            await call_on(tab.cdp, backend, FOCUS)  # a click would open the browser's own picker
        elif found.x is None or found.y is None:
            await call_on(tab.cdp, backend, CLICK)  # drawn by another element in its stead
        else:
            await tab.page.mouse.click(found.x, found.y)

    async def _type(self, tab: Tab, action: Action, backend: int, name: str) -> None:
        found = await look(tab.cdp, backend)
        if found.kind in ("select", "option"):
            raise Refused(f"{name} is a list of choices; choose with select [id] [option]")
        if found.kind in ("file", "toggle"):
            raise Refused(f"nothing can be typed into {name}; it can be clicked")
        if found.locked:
            raise Refused(f"{name} can't be changed")
        if found.kind == "date":
            await self._set_value(tab, backend, found, name, action.text.strip())
            lines = False
        else:
            lines = await self._write(tab, backend, found, name, action.text)
        # a published agent ends every text with Enter, which in a field of several lines only adds one
        if action.enter if action.enter is not None else not lines:
            await tab.page.keyboard.press("Enter")

    async def _write(self, tab: Tab, backend: int, found: Found, name: str, text: str) -> bool:
        """Write at the end of the field; whether it holds several lines."""
        if found.kind == "other":
            await call_on(tab.cdp, backend, FOCUS_FIELD)  # a click might be more than that
        elif found.x is None or found.y is None:
            await call_on(tab.cdp, backend, FOCUS)
        else:
            await tab.page.mouse.click(found.x, found.y)
        focused = await tab.page.evaluate(f"({CARET})()")
        if focused == "locked":
            raise Refused(f"{name} can't be changed")
        if focused is None:
            raise Refused(f"{name} is not a field that can be typed into")
        if focused != "area":
            text = " ".join(text.splitlines())
        if focused == "number":
            await tab.page.keyboard.press("End")
        if text:
            # at once, but for one real key stroke: pages that listen to the keyboard hear that something was typed
            await tab.page.keyboard.insert_text(text[:-1])
            await tab.page.keyboard.type(text[-1]) if text[-1] != "\n" else await tab.page.keyboard.press(
                "Enter"
            )
        return bool(focused == "area")

    async def _set_value(self, tab: Tab, backend: int, found: Found, name: str, value: str) -> None:
        held = await call_on(tab.cdp, backend, SET_VALUE, value)
        if value and not held:
            raise Refused(f"{name} takes a {found.type} in the form {_FORMS[found.type]}")

    async def _clear(self, tab: Tab, backend: int, name: str) -> None:
        found = await look(tab.cdp, backend)
        if found.kind not in ("text", "area", "date"):
            raise Refused(f"{name} is not a field that can be cleared")
        if found.locked:
            raise Refused(f"{name} can't be changed")
        if found.kind == "date":
            await self._set_value(tab, backend, found, name, "")
            return
        await call_on(tab.cdp, backend, SELECT_ALL)
        await tab.page.keyboard.press("Delete")

    async def _select(self, tab: Tab, backend: int, wanted: str, number: int) -> None:
        found = await look(tab.cdp, backend)
        name = f"[{number}]"
        if found.kind not in ("select", "option"):
            raise Refused(
                f"{name} is not a list of choices; where it opens a menu, click it and then the entry"
            )
        await self._choose(tab, backend, wanted, name)

    async def _choose(self, tab: Tab, backend: int, wanted: str | None, name: str) -> None:
        said = await call_on(tab.cdp, backend, CHOOSE, wanted)
        if said.get("error") == "unknown":
            choices = said["choices"]
            more = f" and {len(choices) - _CHOICES} more" if len(choices) > _CHOICES else ""
            listed = ", ".join(f"{choice!r}" for choice in choices[:_CHOICES])
            raise Refused(f"there is no option {wanted!r}; there are {listed}{more}")
        if "error" in said:
            raise Refused(f"{name} can't be chosen: it is disabled")

    async def _press(self, tab: Tab, keys: str) -> None:
        try:
            await tab.page.keyboard.press(keys)
        except PlaywrightError as error:
            if "Unknown key" not in error.message:
                raise
            if len(keys) > 1:
                raise Refused(f"there is no key for {keys} on this keyboard") from error
            await tab.page.keyboard.insert_text(keys)

    # -- tabs and addresses --------------------------------------------------------------------------------------------

    async def _focus_tab(self, index: int) -> None:
        tabs = self._tabs.tabs
        if index >= len(tabs):
            raise Refused(f"there is no tab {index}; the tabs are 0 to {len(tabs) - 1}")
        self._tabs.current = tabs[index]
        await tabs[index].page.bring_to_front()

    async def _travel(self, tab: Tab, way: int) -> None:
        history = await tab.cdp.send("Page.getNavigationHistory")
        index = history["currentIndex"] + way
        if not 0 <= index < len(history["entries"]):
            raise Refused(f"there is no page to go {'back' if way < 0 else 'forward'} to in this tab")
        with suppress(PlaywrightError):  # where it doesn't come to pass, the page stays and shows it
            go = tab.page.go_back if way < 0 else tab.page.go_forward
            await go(wait_until="commit", timeout=10_000)

    async def _goto(self, tab: Tab, address: str) -> None:
        url = self.resolve(address, tab.page.url)
        try:
            await tab.page.goto(url, wait_until="commit", timeout=15_000)
        except PlaywrightError as error:
            if "ERR_ABORTED" in error.message:  # a download, or an answer without a page
                return
            if tab not in self._tabs.tabs or tab.page.is_closed():
                raise
            await self._back_from_error(tab)
            raise Refused(f"{url} can't be opened") from error

    def resolve(self, address: str, base: str) -> str:
        """The absolute address that an agent means. Raises Refused for what is not on the sites."""
        if address == BLANK:
            return address
        head = re.split(r"[/:?#]", address, maxsplit=1)[0]
        if "://" not in address and (self._allows(head) or "." in head):
            address = f"http://{address}"
        try:
            url = urljoin(base if base != BLANK else "", address)
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:
            raise Refused(f"{address} is not an address") from None
        if parts.scheme not in ("http", "https"):
            what = f"{parts.scheme}: addresses" if parts.scheme else "addresses without a site"
            raise Refused(f"{what} can't be opened; {self._where()}")
        if not self._allows(host):
            raise Refused(f"{host} can't be reached from here; {self._where()}")
        return url

    def _allows(self, host: str | None) -> bool:
        return self._chromium.allows(host)

    def _where(self) -> str:
        return "the sites are " + ", ".join(f"http://{host}/" for host in self._chromium.hosts)

    async def _stay_within(self, before: Tab) -> None:
        """Let go of an address that can't be reached: back to the page before, and away with a tab of its own."""
        tab = self._tabs.current
        if tab is None or not tab.page.url.startswith(ERROR_PAGE):
            return
        history = await tab.cdp.send("Page.getNavigationHistory")
        url = history["entries"][history["currentIndex"]]["url"]
        if tab is before:
            await self._back_from_error(tab)
        else:
            await self._tabs.close_tab(tab)
        await self._tabs.settle()
        raise Refused(f"{url} can't be reached from here; {self._where()}")

    async def _back_from_error(self, tab: Tab) -> None:
        if not tab.page.url.startswith(ERROR_PAGE):
            return
        with suppress(PlaywrightError):
            await tab.page.go_back(wait_until="commit", timeout=10_000)
        if tab.page.url.startswith(ERROR_PAGE):
            await tab.page.goto(BLANK)


def _element(action: Action, elements: Mapping[int, Element]) -> tuple[int, str]:
    """The element's backend node and how to speak of it. Raises Refused."""
    element = elements.get(action.element)
    if element is None:
        raise Refused(
            f"there is no element [{action.element}] in what is shown; its ids are those in brackets"
        )
    name = f"[{action.element}] {element.role} {element.name[:60]!r}"
    if element.backend is None:
        raise Refused(f"{name} can't be acted on")
    return element.backend, name


def _middle(found: Found, number: int) -> tuple[float, float]:
    if found.x is None or found.y is None:
        raise Refused(f"[{number}] takes no room on the page, so there is nothing to point at")
    return found.x, found.y

"""A real Chromium for the tests of pages, and the checks that every page must pass.

A page is watched while it is open: an error in its console or an exception in its code fails the test that opened it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# In the order of scripts/browser.py.
PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000  # on a machine that has other work
expect.set_options(timeout=PATIENCE_MS)
# A refused call is shown on the page; that the browser logs it too is no error of the page.
EXPECTED = "Failed to load resource"


class NoBrowser(RuntimeError):
    """There is no Chromium here. The message says what to do."""


def chromium(own: str) -> str:
    """The Chromium's path: the one that TURNGYM_CHROMIUM names, one on the PATH, or Playwright's ``own``. Raises NoBrowser."""
    named = os.environ.get("TURNGYM_CHROMIUM")
    for name in (named,) if named else (*PROGRAMS, own):
        if path := shutil.which(name):
            return path
    raise NoBrowser(
        f"no Chromium{f' at {named}' if named else ''}: install the package chromium, or name one by TURNGYM_CHROMIUM"
    )


@contextmanager
def running() -> Iterator[Browser]:
    """A browser. Raises NoBrowser."""
    with sync_playwright() as playwright:
        path = chromium(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(
            executable_path=path, args=ARGUMENTS, timeout=PATIENCE_MS, chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, **context: Any) -> Iterator[Page]:
    """A page of its own. On leaving, whatever went wrong in it is an assertion error."""
    with browser.new_context(**context) as window:
        window.set_default_timeout(PATIENCE_MS)
        page = window.new_page()
        wrong: list[str] = []

        def hear(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not message.text.startswith(EXPECTED):
                wrong.append(f"{message.type}: {message.text}")

        page.on("console", hear)
        page.on("pageerror", lambda error: wrong.append(f"exception: {error}"))
        yield page
        assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium; the tests are skipped where there is none.

    Each module has one of its own: Playwright's loop must be gone before a module with coroutines runs.
    """
    with ExitStack() as stack:
        try:
            found = stack.enter_context(running())
        except NoBrowser as error:
            pytest.skip(str(error))
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console stays clean."""
    with opened(browser) as found:
        yield found


def accessible(page: Page) -> None:
    """The page passes axe: labels, roles, contrast. Needs axe-core, which ``make axe`` fetches from npm."""
    if not AXE.exists():
        pytest.skip("no axe-core here: make axe fetches it from npm")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document)).violations")
    lines = [
        f"{one['id']}: {one['help']}: {', '.join(str(node['target']) for node in one['nodes'][:4])}"
        for one in found
    ]
    assert not lines, "\n".join(lines)

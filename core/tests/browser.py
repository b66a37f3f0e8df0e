"""A real Chromium for the tests of pages, and the checks that every page must pass.

A page is watched while it is open: an error in its console or an exception in its code fails the test that opened it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell")
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


def chromium() -> str | None:
    """The path of a Chromium: the one TURNGYM_CHROMIUM names, or the system's; None where only Playwright may have one."""
    named = os.environ.get("TURNGYM_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def running() -> Iterator[Browser]:
    """A browser. Skips the test where there is no Chromium."""
    with sync_playwright() as playwright:
        path = chromium() or playwright.chromium.executable_path
        if not os.path.exists(path):
            pytest.skip(
                "no Chromium here: install the package chromium, or name one in the variable TURNGYM_CHROMIUM"
            )
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

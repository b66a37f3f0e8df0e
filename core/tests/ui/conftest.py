"""A browser for each module: Playwright's loop must be gone before a module with coroutines runs."""

from collections.abc import Iterator

import pytest
from browser import opened, running
from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with running() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console stays clean."""
    with opened(browser) as found:
        yield found

"""The playground of every installed service, in a real browser: a whole episode by clicks, and its own form of it."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from browser import AXE, accessible, opened
from playwright.sync_api import Browser, expect
from process import started

from turngym.registry import installed

MOST_TURNS = 40
TASK_NUMBERS = {"sciworld": 13}  # find-plant, for which the expert takes few turns
OWN_FORM = {
    "textcraft": "#recipe-tree",
    "babyai": "#side-area img, #side-area svg",
    "sciworld": "#side-area h3",
    "search": "#side-area .documents",
    "webarena": "#side-area img",
}


def serving(name: str, folder: Path) -> AbstractContextManager[str]:
    """The service with experts on and its data in the folder; its address."""
    settings = {"experts": 1, "journal": "off", "log_level": "warning", "max_sessions": 8, "data_dir": folder}
    return started("turngym", "serve", name, **settings)


@pytest.mark.parametrize("name", list(installed()))
def test_a_whole_episode_by_clicks(name: str, browser: Browser, tmp_path: Path) -> None:
    with serving(name, tmp_path) as address, opened(browser) as page:
        page.goto(f"{address}/ui")
        expect(page.locator("#task-goal strong")).not_to_be_empty()
        page.get_by_label("Task number").fill(str(TASK_NUMBERS.get(name, 0)))
        page.click("#start")
        expect(page.locator("#turn-of")).to_contain_text("0 of")
        own = page.locator(OWN_FORM.get(name, "#side-area .panel")).first
        for turn in range(1, MOST_TURNS + 1):
            page.click("#expert")
            expect(page.locator("#action")).not_to_have_value("")
            page.click("#send")
            expect(page.locator("#turn-of")).to_contain_text(f"{turn} of")
            if turn == 1:
                expect(own).to_be_visible()
            if page.locator("#ended").is_visible():
                break
        expect(page.locator("#outcome")).to_contain_text("success ·")
        if AXE.exists():
            accessible(page)


def test_textcraft_shows_what_is_held(browser: Browser, tmp_path: Path) -> None:
    if "textcraft" not in installed():
        pytest.skip("textcraft is not installed")
    with serving("textcraft", tmp_path) as address, opened(browser) as page:
        page.goto(f"{address}/ui#task_id=textcraft/test/0")
        page.click("#valid-actions button:has-text('get 1 birch log')")
        expect(page.locator("#inventory")).to_have_text("1 birch log")
        expect(page.locator("#recipe-tree")).to_contain_text("birch planks")
        page.click("[aria-label='Show the state after turn 0']")
        expect(page.locator("#inventory")).not_to_contain_text("birch log")

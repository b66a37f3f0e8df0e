"""The text of real pages, pinned for the Chromium versions that it was looked at with: tests/browser/golden/<major>/."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from turngym_webarena.env import Place

pytestmark = pytest.mark.asyncio(loop_scope="session")
Opener = Callable[..., Awaitable[Any]]
GOLDEN = Path(__file__).parent / "golden"
PAGES = ["/", "/form", "/odd", "/menu"]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_s_text_is_as_it_was_looked_at(open_at: Opener, place: Place, path: str) -> None:
    folder = GOLDEN / place.chromium.version.split(".")[0]
    if not folder.is_dir():
        pytest.skip(f"no golden texts for Chromium {place.chromium.version}")
    page = await open_at(path)
    assert page.env.text == (folder / f"{path.strip('/') or 'index'}.txt").read_text().rstrip("\n")


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_s_text_is_the_same_in_every_session(open_at: Opener, path: str) -> None:
    first, second = await open_at(path), await open_at(path)
    assert first.text == second.text
    for page in (first, second):
        await page.do("scroll [down]")
        await page.do("press [Tab]")
    assert first.text == second.text

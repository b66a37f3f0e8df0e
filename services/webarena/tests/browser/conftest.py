"""What the browser's tests share: a real Chromium, the site of hard pages on a real port, and episodes on its pages."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import hard_pages
import pytest_asyncio

from turngym.environment import Outcome
from turngym_webarena.browser import Chromium
from turngym_webarena.env import Goal, Place, WebArena, WebArenaOptions
from turngym_webarena.evaluation import Checks, read_checks
from turngym_webarena.serving import SiteServer
from turngym_webarena.settings import WebArenaSettings

SITES = {"__SITE__": f"http://{hard_pages.HOST}", "__OTHER__": f"http://{hard_pages.OTHER}"}
NEVER = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "an answer that nobody gives"}}


class Stateless:
    """The worlds of a site that has none; it remembers which sessions are open."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()

    def open(self, session_id: str, world: str) -> None:
        """Remember a session."""
        self.sessions.add(session_id)

    def close(self, session_id: str) -> None:
        """Forget it."""
        self.sessions.discard(session_id)


@dataclass
class Played:
    """An episode on a page of the site, with the last outcome."""

    env: WebArena
    text: str
    outcome: Outcome | None = None

    async def do(self, action: str) -> str:
        """Play a turn; the observation. ``[{button 'Send'}]`` in the action stands for that element's id."""
        named = re.sub(r"\[\{(.+?)\}\]", lambda match: f"[{self.id(match[1])}]", action)
        self.outcome = await self.env.step(named)
        self.text = self.outcome.text
        return self.text

    async def refused(self, action: str) -> str:
        """Play a turn that must be refused; the first line of the observation."""
        await self.do(action)
        assert self.outcome is not None
        assert self.outcome.invalid, self.text
        return self.text.split("\n")[0]

    def id(self, line: str) -> int:
        """The id of the first element whose line contains ``line``."""
        for number, found in re.findall(r"^\t*\[(\d+)\] (.*)$", self.text, re.MULTILINE):
            if line in found:
                return int(number)
        raise AssertionError(f"no {line} in\n{self.text}")

    def lines(self) -> list[str]:
        """The page's lines, without indentation and ids."""
        return re.findall(r"^\t*\[\d+\] (.*)$", self.text, re.MULTILINE)


Opener = Callable[..., Awaitable[Played]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def place() -> AsyncIterator[Place]:
    """The site, served, and a browser that reaches nothing else."""
    server = SiteServer(hard_pages.create_app(), 0)
    server.start()
    settings = WebArenaSettings(settle_s=4)
    at = f"127.0.0.1:{server.port}"
    chromium = Chromium(settings, {hard_pages.HOST: at, hard_pages.OTHER: at})
    await chromium.start()
    yield Place(chromium, Stateless(), settings, SITES, "X-Session", None)
    await chromium.stop()
    server.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def open_at(place: Place) -> AsyncIterator[Opener]:
    """``await open_at("/form", evaluation={…}, **options)``: a fresh episode on a page; closed with the test."""
    opened: list[WebArena] = []

    async def opener(
        path: str,
        evaluation: dict[str, Any] | None = None,
        settle_s: float = 4,
        call_s: float = 25,
        **options: Any,
    ) -> Played:
        checks: Checks = read_checks(evaluation or NEVER)
        start = path if path.startswith("__") else f"__SITE__{path}"
        here = replace(
            place, settings=place.settings.model_copy(update={"settle_s": settle_s, "call_s": call_s})
        )
        env = WebArena(Goal("Try it.", start, "w", checks), here, WebArenaOptions(**options), None)
        opened.append(env)
        messages = await env.start()
        return Played(env, messages[-1].content)

    yield opener
    for env in opened:
        await env.close()
    assert not place.worlds.sessions  # type: ignore[attr-defined]

"""A visitor of the sites without a browser, for their tests."""

import asyncio
import re
from html import unescape
from typing import Any

import httpx

from turngym_webarena.sites import HEADER, Worlds, create_app


class Visitor:
    """A browser without a browser: follows redirects as one does, and reads pages with regular expressions."""

    def __init__(self, worlds: Worlds, session: str) -> None:
        self.worlds = worlds
        self.session = session
        self._app = create_app(worlds)

    def ask(self, method: str, address: str, form: Any = None, **headers: str) -> httpx.Response:
        """One request with what it leads to. ``form`` is a mapping or a list of pairs."""

        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            base = {HEADER: self.session} if self.session else {}
            async with httpx.AsyncClient(
                transport=transport,
                base_url="http://market.test",
                headers=base | headers,
                follow_redirects=True,
            ) as client:
                content = str(httpx.QueryParams(form)).encode() if form is not None else None
                kind = {"content-type": "application/x-www-form-urlencoded"} if form is not None else {}
                return await client.request(method, address, content=content, headers=kind)

        return asyncio.run(asking())

    def get(self, address: str) -> str:
        """A page that is there."""
        response = self.ask("GET", address)
        assert response.status_code == 200, (address, response.status_code)
        return response.text

    def post(self, address: str, form: Any = ()) -> str:
        """The page that a form leads to."""
        response = self.ask("POST", address, form)
        assert response.status_code == 200, (address, response.status_code)
        return response.text

    @property
    def changes(self) -> dict[str, tuple[int, int]]:
        """What the session has changed."""
        return self.worlds.changes(self.session)

    def value(self, sql: str, *values: Any) -> Any:
        """Something from the session's world."""
        session = self.worlds.get(self.session)
        with session.lock, session.read() as connection:
            row = connection.execute(sql, values).fetchone()
        return None if row is None else row[0]


def said(page: str) -> list[str]:
    """The notices on a page."""
    return [unescape(text) for text in re.findall(r'role="alert">(.*?)</div>', page)]

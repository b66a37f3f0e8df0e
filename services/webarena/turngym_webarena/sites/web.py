"""What every page of the sites is written with: a visit to a world, answers, forms, and the routes' two kinds.

A page is a plain function of a :class:`Visit`. ``get`` routes see a connection that can't write; ``post`` routes run in one
transaction and answer with a redirect, so that going back or reloading never acts twice. What a visitor writes reaches SQL
as parameters and HTML through Jinja's escaping, and in no other way.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from turngym_webarena.sites.worlds import HEADER, Session, UnknownWorld, Worlds, now

MAX_FORM = 256 * 1024  # bytes; more than any form of these pages can hold
MAX_TEXT = 20_000  # characters of one field
SUCCESS, ERROR = "success", "error"
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Missing(Exception):
    """There is no such page."""


class Refused(Exception):
    """A form can't be carried out: ``back`` is where the visitor goes on, and reads the message."""

    def __init__(self, message: str, back: str) -> None:
        super().__init__(message)
        self.back = back


Row = sqlite3.Row
Page = Callable[["Visit"], Response]


@dataclass(slots=True, frozen=True)
class _Asked:
    path: str
    query: tuple[tuple[str, str], ...]
    form: tuple[tuple[str, str], ...]
    ids: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Paging:
    """The page of a list that a visitor asks for: of ``total`` rows, ``limit`` are on each of the ``pages``. ``limits`` are
    what may be chosen."""

    total: int
    limits: Sequence[int]
    limit: int
    pages: int
    page: int

    @property
    def offset(self) -> int:
        """How many rows come before the page."""
        return (self.page - 1) * self.limit


class Visit:
    """One request to one session's world."""

    def __init__(self, session: Session, db: sqlite3.Connection, asked: _Asked) -> None:
        self.session = session
        self.db = db
        self.path = asked.path
        self.query = dict(asked.query)
        self.form = {name: value.replace("\r\n", "\n")[:MAX_TEXT] for name, value in asked.form}
        self.chosen = asked.form
        self.ids = asked.ids

    @cached_property
    def now(self) -> datetime:
        """The time in this world."""
        return now(self.db)

    @property
    def stamp(self) -> str:
        """The time as rows hold it."""
        return self.now.isoformat(sep=" ", timespec="seconds")

    @cached_property
    def customer(self) -> Row | None:
        """Who is signed in to the shop."""
        return self.one("SELECT customer.* FROM customer JOIN visitor ON visitor.customer_id = customer.id")

    @cached_property
    def admin(self) -> str | None:
        """Who is signed in to the back office."""
        found = self.value("SELECT admin FROM visitor")
        return None if found is None else str(found)

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row, or None."""
        row: Row | None = self.db.execute(sql, values).fetchone()
        return row

    def need(self, sql: str, *values: Any) -> Row:
        """The first row. Raises Missing."""
        row = self.one(sql, *values)
        if row is None:
            raise Missing
        return row

    def all(self, sql: str, *values: Any) -> list[Row]:
        """Every row."""
        return self.db.execute(sql, values).fetchall()

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, *values)
        return None if row is None else row[0]

    def run(self, sql: str, *values: Any) -> int:
        """Execute a statement; the id of the row it inserted."""
        return self.db.execute(sql, values).lastrowid or 0

    def insert(self, table: str, row: Mapping[str, Any]) -> int:
        """Add a row, given by its columns; its id."""
        places = ", ".join("?" * len(row))
        return self.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", *row.values())

    def update(self, table: str, identity: int, values: Mapping[str, Any]) -> None:
        """Give some columns of a row other values."""
        assignments = ", ".join(f"{column} = ?" for column in values)
        self.run(f"UPDATE {table} SET {assignments} WHERE id = ?", *values.values(), identity)

    def paging(self, total: int, limits: Sequence[int], name: str = "limit") -> Paging:
        """What the address asks for of a list of so many rows; ``name`` is the parameter of the rows on a page."""
        limit = whole(self.query.get(name), limits[0], 1, limits[-1])
        limit = limit if limit in limits else limits[0]
        pages = max(1, -(-total // limit))
        return Paging(total, limits, limit, pages, whole(self.query.get("p"), 1, 1, pages))

    def notice(self, message: str, kind: str = SUCCESS) -> None:
        """Say something on the next page."""
        self.session.notices.append((kind, message))

    def page(self, template: str, http_status: int = 200, **content: Any) -> Response:
        """A page. It shows the notices that wait, once."""
        notices = list(self.session.notices)
        self.session.notices.clear()
        text = _templates().get_template(template).render(visit=self, notices=notices, **content)
        return HTMLResponse(text, http_status, headers=_SECURITY)

    def go(self, address: str, message: str | None = None, kind: str = SUCCESS) -> Response:
        """Send the visitor to another page, with something to say there."""
        if message is not None:
            self.notice(message, kind)
        return _redirect(address)

    def field(self, name: str, label: str, back: str, most: int = 255) -> str:
        """A field of the form that must be filled in. Raises Refused."""
        text = self.form.get(name, "").strip()
        if not text:
            raise Refused(f"{label} is a required value.", back)
        if len(text) > most:
            raise Refused(f"{label} is too long: at most {most} characters.", back)
        return text

    def marked(self, refusal: str, back: str) -> list[int]:
        """The rows that are marked in a grid. Raises Refused where there are none."""
        found = [whole(value, 0, 1, 2**62) for name, value in self.chosen if name == "selected"]
        if not found:
            raise Refused(refusal, back)
        return found

    def with_query(self, **changes: object) -> str:
        """This page's address with other query parameters; None drops one."""
        query = {**self.query, **{k: None if v is None else str(v) for k, v in changes.items()}}
        text = urlencode([(key, value) for key, value in query.items() if value is not None])
        return f"{self.path}?{text}" if text else self.path


def _redirect(address: str) -> Response:
    return RedirectResponse(quote(address, safe="/:?&=#%+,.-_~"), status_code=303, headers=_SECURITY)


def is_email(text: str) -> bool:
    """Whether it has an "@" with something on both sides."""
    return "@" in text.strip("@")


def whole(text: str | None, default: int, low: int, high: int) -> int:
    """A whole number between ``low`` and ``high``, or ``default`` for anything else."""
    plain = (text or "").strip()
    if not re.fullmatch(r"-?[0-9]{1,20}", plain):
        return default
    number = int(plain)
    return number if low <= number <= high else default


def cents(text: str) -> int | None:
    """An amount of money as typed ("$1,234.5") in cents, or None."""
    plain = text.strip().removeprefix("$").replace(",", "")
    units, _, rest = plain.partition(".")
    if not (units.isascii() and units.isdigit() and len(units) < 10) or not (
        rest == "" or (rest.isascii() and rest.isdigit())
    ):
        return None
    return int(units) * 100 + int((rest + "00")[:2])


def like(text: str) -> str:
    """A pattern for ``LIKE … ESCAPE '\\'`` that finds the text anywhere."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def money(amount: int) -> str:
    """Cents as "$1,234.50"."""
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount // 100:,}.{amount % 100:02}"


def plain_money(amount: int) -> str:
    """Cents as "1234.50", for form fields."""
    return f"{amount // 100}.{amount % 100:02}"


def short_date(stamp: str) -> str:
    """A stamp as "5/17/23"."""
    when = datetime.fromisoformat(stamp)
    return f"{when.month}/{when.day}/{when:%y}"


def long_date(stamp: str) -> str:
    """A stamp as "May 17, 2023"."""
    when = datetime.fromisoformat(stamp)
    return f"{when:%B} {when.day}, {when.year}"


def full_time(stamp: str) -> str:
    """A stamp as "May 17, 2023 3:04:05 PM"."""
    when = datetime.fromisoformat(stamp)
    return f"{when:%b} {when.day}, {when.year} {when.hour % 12 or 12}:{when:%M:%S %p}"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("turngym_webarena.sites"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        money=money, plain_money=plain_money, short_date=short_date, long_date=long_date, full_time=full_time,
        zip_self=lambda names: [(name, name) for name in names],
    )  # fmt: skip
    return environment


def get(path: str, page: Page, worlds: Worlds) -> Route:
    """A page that only looks."""
    return Route(path, _endpoint(page, worlds, writes=False), methods=["GET"])


def post(path: str, page: Page, worlds: Worlds) -> Route:
    """A form's target. All of it happens, or nothing."""
    return Route(path, _endpoint(page, worlds, writes=True), methods=["POST"])


def both(
    kind: Callable[[str, Page, Worlds], Route], pages: Iterable[tuple[str, Page]], worlds: Worlds
) -> Iterator[Route]:
    """Routes for addresses with and without a slash at the end, as the real shop takes them."""
    for path, page in pages:
        yield kind(path, page, worlds)
        if path != "/":
            yield kind(f"{path}/", page, worlds)


def _endpoint(page: Page, worlds: Worlds, *, writes: bool) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        body = b""
        if request.method == "POST":
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_FORM:
                    return HTMLResponse("<h1>413 Too much for a form</h1>", 413)
        is_form = "urlencoded" in request.headers.get("content-type", "")
        asked = _Asked(
            request.url.path,
            tuple(parse_qsl(request.url.query, keep_blank_values=True)),
            tuple(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)) if is_form else (),
            request.path_params,
        )
        try:
            session = worlds.get(request.headers.get(HEADER))
            return await run_in_threadpool(_answer, page, session, asked, writes)
        except UnknownWorld:
            return HTMLResponse(f"<h1>404 No such session</h1><p>{HEADER} names none that is open.</p>", 404)

    return endpoint


def _answer(page: Page, session: Session, asked: _Asked, writes: bool) -> Response:
    with session.lock:
        try:
            with session.write() if writes else session.read() as db:
                return page(Visit(session, db, asked))
        except Refused as refusal:
            session.notices.append((ERROR, str(refusal)))
            return _redirect(refusal.back)
        except (Missing, OverflowError):  # an id beyond SQLite's integers is no page either
            with session.read() as db:
                visit = Visit(session, db, asked)
                return visit.page(
                    "admin/missing.html" if asked.path.startswith("/admin") else "shop/missing.html", 404
                )

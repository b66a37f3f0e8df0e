"""Grids of the back office, declared by their columns: filters, a keyword, order, pages, marks on rows for one action on all.

Everything is in the address, so a filtered grid can be linked to and opened again. Column expressions are this package's own
text; what a visitor writes is bound as a parameter.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from starlette.responses import Response

from turngym_webarena.sites.admin.office import office
from turngym_webarena.sites.web import Row, Visit, cents, full_time, like, money, whole

LIMITS = (20, 30, 50, 100, 200)
Kind = Literal["text", "choice", "number", "money", "date"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in addresses and rows, its title, the SQL behind it. ``choices`` are what a filter offers, value to
    title; ``search`` has the keyword look here; ``narrow`` is whether it can be filtered."""

    key: str
    title: str
    sql: str
    kind: Kind = "text"
    choices: dict[str, str] = field(default_factory=dict)
    search: bool = False
    narrow: bool = True


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid. ``link`` gives a row's own address, ``mass`` the actions on marked rows: address and title."""

    title: str
    section: str
    source: str
    columns: tuple[Column, ...]
    order: str
    link: Callable[[Row], str] | None = None
    action: str = "View"
    where: str = "1"
    mass: tuple[tuple[str, str], ...] = ()
    button: tuple[str, str] | None = None


def show(visit: Visit, grid: Grid) -> Response:
    """The grid as the address asks for it."""
    clauses, values, active = _filters(visit, grid)
    where = " AND ".join([grid.where, *clauses])
    total = int(visit.value(f"SELECT count(*) FROM {grid.source} WHERE {where}", *values))
    paging = visit.paging(total, LIMITS)
    sort, descending = visit.query.get("sort", ""), visit.query.get("dir") == "desc"
    sorted_by = next((column for column in grid.columns if column.key == sort), None)
    order = f"{sorted_by.sql} {'DESC' if descending else 'ASC'}, {grid.order}" if sorted_by else grid.order
    selected = ", ".join(f"{column.sql} AS {column.key}" for column in grid.columns)
    rows = visit.all(
        f"SELECT {grid.source.split()[0]}.id AS _key, {selected} FROM {grid.source} WHERE {where}"
        f" ORDER BY {order} LIMIT ? OFFSET ?",
        *values, paging.limit, paging.offset,
    )  # fmt: skip
    return office(
        visit, "grid.html", grid.section, grid=grid, rows=[(row, _cells(grid, row)) for row in rows], paging=paging,
        active=active, sort=sort, descending=descending,
    )  # fmt: skip


def _cells(grid: Grid, row: Row) -> list[str]:
    return [_shown(column, row[column.key]) for column in grid.columns]


def _shown(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind == "money":
        return money(value)
    if column.kind == "date":
        return full_time(value)
    return column.choices.get(str(value), str(value))


def _filters(visit: Visit, grid: Grid) -> tuple[list[str], list[Any], list[tuple[str, str]]]:
    """Clauses, their parameters, and what to say of them."""
    clauses: list[str] = []
    values: list[Any] = []
    active: list[tuple[str, str]] = []
    keyword = visit.query.get("keyword", "").strip()
    searched = [column for column in grid.columns if column.search]
    if keyword and searched:
        clauses.append("(" + " OR ".join(f"{column.sql} LIKE ? ESCAPE '\\'" for column in searched) + ")")
        values += [like(keyword)] * len(searched)
        active.append(("Keyword", keyword))
    for column in grid.columns:
        if not column.narrow:
            continue
        if column.kind in ("text", "choice"):
            text = visit.query.get(column.key, "").strip()
            if text and column.kind == "text":
                clauses.append(f"{column.sql} LIKE ? ESCAPE '\\'")
                values.append(like(text))
            elif text:
                clauses.append(f"CAST({column.sql} AS TEXT) = ?")
                values.append(text)
            if text:
                active.append((column.title, column.choices.get(text, text)))
            continue
        for end, sign in (("from", ">="), ("to", "<=")):
            text = visit.query.get(f"{column.key}_{end}", "").strip()
            bound = _bound(column.kind, text, end)
            if bound is not None:
                clauses.append(f"{column.sql} {sign} ?")
                values.append(bound)
            if text:
                active.append(
                    (f"{column.title} {end}", text if bound is not None else f"{text} (not understood)")
                )
    return clauses, values, active


def _bound(kind: Kind, text: str, end: str) -> Any:
    """The end of a range as rows hold it, or None for an empty or unreadable one."""
    if kind == "number":
        number = whole(text, -1, 0, 2**53)
        return None if number < 0 else number
    if kind == "money":
        return cents(text)
    when = date_of(text)
    return None if when is None else f"{when:%Y-%m-%d} {'00:00:00' if end == 'from' else '23:59:59'}"


def date_of(text: str) -> datetime | None:
    """A date as staff write it: 5/17/23, 5/17/2023, 05/17/2023 or 2023-05-17. None for anything else."""
    for form in ("%m/%d/%Y", "%m/%d/%y", "%Y-%m-%d"):
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    return None

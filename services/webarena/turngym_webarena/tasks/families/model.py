"""What a family of tasks is made of: a template with its drafts from a world, what decides on them, and the oracle's script.

A draft's parameters all stand in its intent, so that the script, which gets them, knows no more than an agent who reads.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from turngym_webarena.sites.seeding.vocabulary import domains, leaves
from turngym_webarena.sites.web import money
from turngym_webarena.sites.worlds import now
from turngym_webarena.tasks.page import Play

SHOP, ADMIN = "shopping", "shopping_admin"
BASE = {SHOP: "__SHOPPING__", ADMIN: "__SHOPPING_ADMIN__"}
NOT_DONE = "N/A"
Row = sqlite3.Row


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before it is proven: the template's parameters, WebArena's ``eval``, and a start page where it isn't the site's
    front page."""

    params: dict[str, str]
    eval: dict[str, Any]
    start: str | None = None


class World:
    """A seeded world, read only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection
        self.now: datetime = now(connection)
        self._alone: frozenset[str] | None = None
        self._found: dict[str, list[Row]] = {}
        self._shown: list[tuple[str, Row]] | None = None

    def all(self, sql: str, *values: Any) -> list[Row]:
        """Every row."""
        return self.db.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row, or None."""
        row: Row | None = self.db.execute(sql, values).fetchone()
        return row

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, *values)
        return None if row is None else row[0]

    @property
    def visitor(self) -> Row:
        """The customer who is signed in."""
        row = self.one("SELECT customer.* FROM customer JOIN visitor ON customer_id = customer.id")
        assert row is not None
        return row

    def orders(self, condition: str = "1", *values: Any) -> list[Row]:
        """The visitor's orders, newest first."""
        return self.all(
            f"SELECT * FROM sales_order WHERE customer_id = ? AND {condition} ORDER BY created_at DESC, id DESC",
            self.visitor["id"], *values,
        )  # fmt: skip

    def found(self, words: str) -> list[Row]:
        """What the shop's search finds for words that some product's name holds all of, as the search does it."""
        if self._shown is None:
            rows = self.all("SELECT * FROM product WHERE visible AND status = 1 ORDER BY id")
            self._shown = [(f" {row['name']} {row['sku']}".lower(), row) for row in rows]
        if words not in self._found:
            parts = [f" {part}" for part in words.lower().split()]
            self._found[words] = [row for text, row in self._shown if all(part in text for part in parts)]
        return self._found[words]

    def categories(self, level: int = 3) -> list[tuple[int, str, str]]:
        """Categories of a level: id, the way to them ("Electronics > Headphones > Earbuds"), address."""
        ways: dict[int, str] = {}
        found = []
        for row in self.all("SELECT * FROM category ORDER BY id"):
            ways[row["id"]] = f"{ways[row['parent_id']]} > {row['name']}" if row["parent_id"] else row["name"]
            if row["level"] == level:
                found.append((row["id"], ways[row["id"]], row["path"]))
        return found

    def products(self, category: int) -> list[Row]:
        """What a category shows."""
        return self.all(
            "SELECT * FROM product WHERE category_id = ? AND visible AND status = 1 ORDER BY id", category
        )

    def named(self, condition: str = "1") -> list[Row]:
        """Visible products whose name doesn't stand in another's, so that a filter by it finds nothing else."""
        if self._alone is None:
            names = [row["name"] for row in self.all("SELECT name FROM product WHERE visible")]
            text = "\n".join(names)
            self._alone = frozenset(name for name in names if text.count(name) == 1)
        rows = self.all(f"SELECT * FROM product WHERE visible AND status = 1 AND {condition} ORDER BY id")
        return [row for row in rows if row["name"] in self._alone]


Drafts = Callable[[World, Random], Iterable[Draft]]


@dataclass(frozen=True, slots=True)
class Template:
    """A family's template. ``official`` are the templates of WebArena that ask the like; ``split`` is the one whose tasks it
    gives; ``touches`` are the tables that the oracle's play may change. ``most`` bounds the tasks from one world."""

    number: int
    family: str
    official: tuple[int, ...]
    split: str
    site: str
    intent: str
    drafts: Drafts
    play: Play
    touches: frozenset[str]
    most: int

    def words(self, params: Mapping[str, str]) -> str:
        """The intent with its parameters."""
        text = self.intent
        for key, value in params.items():
            text = text.replace("{{" + key + "}}", value)
        return text


@dataclass(slots=True)
class Book:
    """Templates by number, in the order in which modules add them."""

    templates: dict[int, Template] = field(default_factory=dict)

    def add(
        self, number: int, family: str, official: Sequence[int], split: str, site: str, intent: str, drafts: Drafts,
        play: Play, *, touches: Sequence[str] = (), most: int = 6,
    ) -> None:  # fmt: skip
        """Add a template. Raises ValueError for a number that is taken."""
        if number in self.templates:
            raise ValueError(f"template {number} is there already")
        self.templates[number] = Template(
            number, family, tuple(official), split, site, intent, drafts, play, frozenset(touches), most
        )


def answer(*parts: str) -> dict[str, Any]:
    """The answer must hold each of these."""
    return _string({"must_include": list(parts)}, ", ".join(parts))


def exactly(text: str) -> dict[str, Any]:
    """The answer must be this."""
    return _string({"exact_match": text}, text)


def impossible(why: str) -> dict[str, Any]:
    """The answer must be that it can't be done."""
    return _string({"fuzzy_match": NOT_DONE}, why) | {"string_note": why}


def _string(references: dict[str, Any], raw: str) -> dict[str, Any]:
    return {
        "eval_types": ["string_match"], "reference_answers": references, "reference_url": "", "program_html": [],
        "string_note": "", "reference_answer_raw_annotation": raw,
    }  # fmt: skip


def address(url: str, *checks: dict[str, Any]) -> dict[str, Any]:
    """The episode must end at this address, with these checks of pages."""
    return {
        "eval_types": ["url_match", "program_html"] if checks else ["url_match"], "reference_answers": None,
        "reference_url": url, "program_html": list(checks), "url_note": "GOLD in PRED",
    }  # fmt: skip


def pages(*checks: dict[str, Any]) -> dict[str, Any]:
    """These checks of pages must hold afterwards."""
    return {
        "eval_types": ["program_html"],
        "reference_answers": None,
        "reference_url": "",
        "program_html": list(checks),
    }


def shows(
    url: str, locator: str, *include: str, without: Sequence[str] = (), exact: str | None = None
) -> dict[str, Any]:
    """A part of a page must hold these texts, hold none of those, or be exactly one."""
    required: dict[str, Any] = (
        {"exact_match": exact} if exact is not None else {"must_include": list(include)}
    )
    if without:
        required["must_exclude"] = list(without)
    return {"url": url, "locator": locator, "required_contents": required}


def product_url(row: Row) -> str:
    """The address of a product's page in the shop."""
    return f"__SHOPPING__/{row['slug']}.html"


def text_of(selector: str) -> str:
    """A locator: the text of the first element that a selector finds."""
    return f"document.querySelector('{selector}').outerText"


def value_of(name: str) -> str:
    """A locator: what stands in the field of that name."""
    return f"document.querySelector('[name=\"{name}\"]').value"


def unique(rows: Sequence[Row], key: str) -> list[Row]:
    """The rows whose value no other row has."""
    counts: dict[Any, int] = {}
    for row in rows:
        counts[row[key]] = counts.get(row[key], 0) + 1
    return [row for row in rows if counts[row[key]] == 1]


def some(rng: Random, things: Sequence[Any], count: int) -> list[Any]:
    """At most ``count`` of the things, drawn without repetition, in drawn order."""
    return rng.sample(list(things), min(count, len(things)))


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def month_of(stamp: str) -> str:
    """ "March 2023" for a stamp within it."""
    return f"{MONTHS[int(stamp[5:7]) - 1]} {stamp[:4]}"


def stem_of(month: str) -> str:
    """ "2023-03" for "March 2023"."""
    name, year = month.split()
    return f"{year}-{MONTHS.index(name) + 1:02}"


def nouns() -> list[str]:
    """What the shop's products are called, in lower case."""
    return sorted({noun.lower() for leaf in leaves() for noun in leaf.nouns})


def aspects() -> dict[str, tuple[str, ...]]:
    """What customers mention, with ways to write it."""
    return {aspect.name: aspect.phrases for domain in domains().values() for aspect in domain.aspects}


__all__ = [
    "ADMIN", "BASE", "MONTHS", "NOT_DONE", "SHOP", "Book", "Draft", "Drafts", "Row", "Template", "World", "address", "answer",
    "aspects", "exactly", "impossible", "money", "month_of", "nouns", "pages", "product_url", "shows", "some", "stem_of",
    "text_of", "unique", "value_of",
]  # fmt: skip

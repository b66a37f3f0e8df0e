"""What scripts of several families do alike: finding one's way, filling in fields, going through pages of a list."""

import re
from collections.abc import Callable, Generator

from turngym_webarena.tasks.families.model import MONTHS
from turngym_webarena.tasks.page import Lost, Node, Page

Move = Generator[str, Page, Page]


def press(page: Page, role: str, name: str | re.Pattern[str] | None = None) -> str:
    """Click the first element of that role and name."""
    return on(page.get(role, name))


def on(node: Node) -> str:
    """Click an element."""
    return f"click [{node.number}]"


def link(row: dict[str, Node], column: str, name: str) -> str:
    """Click a link in a row's cell."""
    found = row[column].find("link", name)
    if found is None:
        raise Lost(f"no link {name!r} in this row")
    return on(found)


def write(page: Page, field: str, text: str, enter: bool = False) -> str:
    """Write into an empty field."""
    return f"type [{page.field(field).number}] [{text}] [{int(enter)}]"


def fill(page: Page, field: str, text: str) -> Move:
    """Write into a field in place of what stands there."""
    if page.value(field):
        page = yield f"clear [{page.field(field).number}]"
    return (yield write(page, field, text))


def choose(page: Page, field: str, option: str) -> str:
    """Choose from a list."""
    return f"select [{page.field(field).number}] [{option}]"


def search(page: Page, words: str) -> str:
    """Search the shop."""
    return write(page, "Search", words, enter=True)


def into(page: Page, way: str) -> Move:
    """Go down to a category, by its way from the top: "Electronics > Headphones"."""
    for name in way.split(" > "):
        page = yield press(page, "link", name)
    return page


def product(page: Page, name: str) -> Move:
    """Search for a product by its name and open its page. The words of a search before stand in the field."""
    if page.value("Search"):
        page = yield f"clear [{page.field('Search').number}]"
    page = yield search(page, name)
    return (yield press(page, "link", name))


def account(page: Page, entry: str) -> Move:
    """Open a page of the customer's account."""
    page = yield press(page, "link", "My Account")
    return page if entry == "My Account" else (yield press(page, "link", entry))


def office(page: Page, section: str, entry: str) -> Move:
    """Open a page of the back office by its menu."""
    if _entry(page, section, entry) is None:
        page = yield press(page, "DisclosureTriangle", section)
    found = _entry(page, section, entry)
    if found is None:
        raise Lost(f"no {entry} below {section} in the menu")
    return (yield on(found))


def _entry(page: Page, section: str, entry: str) -> Node | None:
    inside = False
    for node in page.walk():
        if node.role == "DisclosureTriangle":
            inside = node.name == section
        elif inside and node.role == "link" and node.name == entry:
            return node
    return None


def rows_until(
    page: Page, column: str, done: Callable[[dict[str, Node]], bool]
) -> Generator[str, Page, dict[str, Node] | None]:
    """The first row of a paged table for which ``done`` holds, going from page to page; None where there is none. The page
    that it stands on is then the current one."""
    while True:
        for row in page.table(column):
            if done(row):
                return row
        following = next(iter(page.all("link", "Next")), None)
        if following is None:
            return None
        page = yield on(following)


def every_row(page: Page, column: str) -> Generator[str, Page, list[dict[str, Node]]]:
    """All rows of a paged table."""
    rows: list[dict[str, Node]] = []

    def keep(row: dict[str, Node]) -> bool:
        rows.append(row)
        return False

    yield from rows_until(page, column, keep)
    return rows


def after_heading(page: Page, title: str) -> str:
    """The first text below a heading. Raises Lost."""
    nodes = list(page.walk())
    for place, node in enumerate(nodes):
        if node.role == "heading" and node.name == title:
            for below in nodes[place + 1 :]:
                if below.role == "StaticText" and below.name != title and below.name.strip():
                    return below.name
    raise Lost(f"nothing below {title!r} on this page")


def after(page: Page, beginning: str) -> str:
    """What follows a beginning in the first text that has it. Raises Lost."""
    for node in page.walk():
        if node.name.startswith(beginning):
            return node.name.removeprefix(beginning)
    raise Lost(f"nothing on this page begins with {beginning!r}")


def months_since(month: str, date: str) -> int:
    """How many months after a month ("May 2023") a short date ("5/17/23") lies: 0 within it, below 0 before it."""
    name, year = month.split()
    number, _, short = date.split("/")
    return (2000 + int(short) - int(year)) * 12 + int(number) - 1 - MONTHS.index(name)


def found(page: Page) -> int:
    """How many records a grid says it has found. Raises Lost."""
    for node in page.walk():
        if match := re.search(r"(\d+) records found", node.name):
            return int(match[1])
    raise Lost("no number of records on this page")

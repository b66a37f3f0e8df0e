"""A text observation as the oracle reads it: nodes with roles, names and what lies within them; tables as rows of cells.

This is all that the oracle knows of a page. It is WebArena's text form and nothing of this project's own sites is in here.
A task's script (:data:`Play`) gets its parameters and the first page, yields actions, is sent a page for each, and returns the
answer.
"""

import ast
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field

_NODE = re.compile(r"(\t*)\[(\d+)\] (\S+) ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_NUMBER = re.compile(r"-?\$?\d[\d,]*(?:\.\d+)?")

Params = Mapping[str, str]
Script = Generator[str, "Page", str]
Play = Callable[[Params, "Page"], Script]


class Lost(Exception):
    """The page doesn't have what was looked for."""


@dataclass(slots=True)
class Node:
    """A line of the observation. ``inner`` are the nodes within."""

    number: int
    role: str
    name: str
    depth: int
    inner: list["Node"] = field(default_factory=list)

    def walk(self) -> Iterator["Node"]:
        """The node and everything within it, in order."""
        yield self
        for node in self.inner:
            yield from node.walk()

    @property
    def text(self) -> str:
        """Its name, or the names within it."""
        return self.name or " ".join(node.name for node in self.walk() if node.name).strip()

    def find(self, role: str, name: str | re.Pattern[str] | None = None) -> "Node | None":
        """The first node of that role and name within."""
        return next((node for node in self.walk() if _fits(node, role, name)), None)


def _fits(node: Node, role: str, name: str | re.Pattern[str] | None) -> bool:
    if role and node.role != role:
        return False
    if name is None:
        return True
    return node.name == name if isinstance(name, str) else bool(name.search(node.name))


class Page:
    """An observation."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.roots: list[Node] = []
        stack: list[Node] = []
        for line in text.splitlines():
            match = _NODE.match(line)
            if match is None:
                continue
            node = Node(int(match[2]), match[3], ast.literal_eval(match[4]), len(match[1]))
            while stack and stack[-1].depth >= node.depth:
                stack.pop()
            (stack[-1].inner if stack else self.roots).append(node)
            stack.append(node)

    @property
    def origin(self) -> str:
        """The address of its site, without a path. Raises Lost."""
        found = re.search(r"^URL: (\w+://[^/\s]+)", self.text, re.MULTILINE)
        if found is None:
            raise Lost("no address above this page")
        return found[1]

    def walk(self) -> Iterator[Node]:
        """Every node, in order."""
        for node in self.roots:
            yield from node.walk()

    def all(self, role: str, name: str | re.Pattern[str] | None = None) -> list[Node]:
        """Every node of that role and name."""
        return [node for node in self.walk() if _fits(node, role, name)]

    def has(self, role: str, name: str | re.Pattern[str] | None = None) -> bool:
        """Whether there is one."""
        return any(_fits(node, role, name) for node in self.walk())

    def get(self, role: str, name: str | re.Pattern[str] | None = None) -> Node:
        """The first node of that role and name. Raises Lost."""
        for node in self.walk():
            if _fits(node, role, name):
                return node
        raise Lost(f"no {role} {name!r} on this page")

    def field(self, name: str) -> Node:
        """The field with that label: one to write into or to choose from. Raises Lost."""
        for node in self.walk():
            if (
                node.role in ("textbox", "searchbox", "spinbutton", "combobox")
                and node.name.rstrip(" *") == name
            ):
                return node
        raise Lost(f"no field {name!r} on this page")

    def value(self, name: str) -> str:
        """What stands in that field. Raises Lost."""
        return " ".join(node.name for node in self.field(name).inner if node.role == "StaticText")

    def table(self, column: str) -> list[dict[str, Node]]:
        """The rows of the table that has a column of that title: cells by column titles. Raises Lost."""
        for table in self.all("table"):
            titles = [node.name.rstrip(" ▲▼") for node in table.walk() if node.role == "columnheader"]
            if column not in titles:
                continue
            rows = []
            for row in (node for node in table.walk() if node.role == "row"):
                cells = [node for node in row.inner if node.role in ("cell", "gridcell")]
                if len(cells) == len(titles):
                    rows.append(dict(zip(titles, cells, strict=True)))
            return rows
        raise Lost(f"no table with a column {column!r} on this page")

    def fact(self, title: str) -> str:
        """The cell beside a row's title. Raises Lost."""
        for row in self.all("row"):
            head, cell = row.find("rowheader"), row.find("cell") or row.find("gridcell")
            if head is not None and cell is not None and head.name == title:
                return cell.text
        raise Lost(f"no row {title!r} on this page")


def amount(text: str) -> int:
    """The last number in a text, as money in cents: "Now $1,234.50" is 123450. Raises Lost."""
    found = _NUMBER.findall(text)
    if not found:
        raise Lost(f"no number in {text!r}")
    units, _, rest = found[-1].replace("$", "").replace(",", "").partition(".")
    return int(units) * 100 + int((rest + "00")[:2])

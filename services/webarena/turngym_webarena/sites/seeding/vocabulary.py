"""The words that worlds are made from, read from the text files beside this module. All brands and people are made up."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files


def text(name: str) -> str:
    """A file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _lines(name: str) -> list[str]:
    return [line for line in text(name).splitlines() if line and not line.startswith("#")]


def _range(field_: str) -> tuple[int, int]:
    low, high = field_.split("-")
    return int(low), int(high)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A third-level category and what is sold in it. ``prices`` in dollars; ``unit`` and ``amounts`` where products come in
    sizes that their names tell ("GB", 32)."""

    path: tuple[str, str, str]
    nouns: tuple[str, ...]
    features: tuple[str, ...]
    prices: tuple[int, int]
    domain: str
    unit: str
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clothing:
    """A third-level category of clothes or shoes, sold by size and colour. ``lines`` is the number of products."""

    path: tuple[str, str, str]
    nouns: tuple[str, ...]
    prices: tuple[int, int]
    sizes: tuple[str, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that customers mention: what it is called in a task, and ways to write it."""

    name: str
    phrases: tuple[str, ...]


@dataclass(slots=True)
class Domain:
    """What customers write about a kind of product."""

    good: list[str] = field(default_factory=list)
    fair: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    aspects: list[Aspect] = field(default_factory=list)


def _split(text_: str, separator: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text_.split(separator) if part.strip())


def _path(text_: str) -> tuple[str, str, str]:
    top, middle, leaf = _split(text_, " / ")
    return top, middle, leaf


@cache
def leaves() -> tuple[Leaf, ...]:
    """Every category of simple products, in the order of the file."""
    found = []
    for line in _lines("catalogue.txt"):
        path, nouns, features, prices, domain, sizes = (part.strip() for part in line.split("|"))
        unit, _, amounts = sizes.partition(":")
        found.append(
            Leaf(
                _path(path), _split(nouns, ";"), _split(features, ";"), _range(prices), domain,
                unit.strip(), tuple(int(amount) for amount in amounts.split()),
            )
        )  # fmt: skip
    return tuple(found)


@cache
def wardrobe() -> tuple[Clothing, ...]:
    """Every category of clothes, in the order of the file."""
    found = []
    for line in _lines("wardrobe.txt"):
        path, nouns, prices, sizes, count = (part.strip() for part in line.split("|"))
        found.append(
            Clothing(_path(path), _split(nouns, ";"), _range(prices), tuple(sizes.split()), int(count))
        )
    return tuple(found)


@cache
def domains() -> dict[str, Domain]:
    """What customers write, by domain; "all" goes for every product."""
    found: dict[str, Domain] = {}
    for line in _lines("reviews.txt"):
        if line.startswith("["):
            current = found[line.strip("[]")] = Domain()
            continue
        kind, _, rest = line.partition(" ")
        if kind == "!":
            name, *phrases = _split(rest, "|")
            current.aspects.append(Aspect(name, tuple(phrases)))
        else:
            {"+": current.good, "=": current.fair, "-": current.bad}[kind].append(rest)
    return found


@cache
def names() -> dict[str, tuple[str, ...]]:
    """Lists of names by kind: first, last, city, street, suffix, brand, line, color."""
    pairs = (line.split(": ", 1) for line in _lines("names.txt"))
    return {kind: tuple(rest.split()) for kind, rest in pairs}


def amount_text(unit: str, amount: int) -> str:
    """How a name tells its size: "64 GB", "for 24 Cards", "Set of 4", "27 Inch"."""
    if unit == "pieces":
        return f"Set of {amount}"
    if unit == "cards":
        return f"for {amount} Cards"
    if unit == "person":
        return f"for {amount} Person{'s' if amount > 1 else ''}"
    return f"{amount} {unit if unit in ('GB', 'SPF', 'mAh') else unit.title()}"

"""The chemical elements (package ``mendeleev``): passages on each one's nature, discovery, name, sources and uses.

The package's SQLite file is read directly: its own reader needs SQLAlchemy and pandas for a single table.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from turngym_corpus.passage import Passage, clean, split_text

_COLUMNS = (
    "name, symbol, atomic_number, atomic_weight, density, period, group_id, block, description, discoverers,"
    " discovery_year, discovery_location, name_origin, sources, uses"
)


@dataclass(frozen=True)
class Element:
    """An element. Facts that the source lacks are "" or 0; ``passages`` is by aspect, "" being the element itself."""

    name: str
    symbol: str
    number: int
    weight: float
    discoverers: str
    year: int
    location: str
    origin: str
    passages: dict[str, Passage]


def elements() -> Iterator[Element]:
    """All elements, by atomic number."""
    package = find_spec("mendeleev")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("no module mendeleev: install the extra turngym-corpus[build]")
    database = sqlite3.connect(f"file:{Path(package.origin).parent / 'elements.db'}?mode=ro", uri=True)
    try:
        database.row_factory = sqlite3.Row
        rows = database.execute(f"select {_COLUMNS} from elements order by atomic_number").fetchall()
    finally:
        database.close()
    for row in rows:
        yield _element(dict(row))


def _element(row: dict[str, object]) -> Element:
    def text(column: str) -> str:
        return clean(str(row[column])).rstrip(".") if row[column] else ""

    name, symbol, number = text("name"), text("symbol"), int(str(row["atomic_number"]))
    weight = float(str(row["atomic_weight"]))
    place = f"period {row['period']}" + (f", group {row['group_id']}" if row["group_id"] else "")
    density = f" Density: {row['density']} g/cm³." if row["density"] else ""
    texts = {
        "": f"{name} (symbol {symbol}) is the chemical element with atomic number {number}, in {place}, {row['block']}-block "
        f"of the periodic table. Atomic weight: {weight:g}.{density} {text('description')}.",
        "Discovery": _discovery(
            name, text("discoverers"), text("discovery_year"), text("discovery_location")
        ),
        "Origin of the name": f"How {name} got its name: {text('name_origin')}."
        if text("name_origin")
        else "",
        "Sources": f"Where {name} is found: {text('sources')}." if text("sources") else "",
        "Uses": f"What {name} is used for: {text('uses')}." if text("uses") else "",
    }
    passages = {}
    for aspect, content in texts.items():
        if content:
            ending, heading = aspect.lower().replace(" ", "-"), f": {aspect}" if aspect else " (element)"
            key = f"element/{number}/{ending}".rstrip("/")
            passages[aspect] = Passage(key, f"{name}{heading}", split_text(content)[0])
    return Element(
        name=name,
        symbol=symbol,
        number=number,
        weight=weight,
        discoverers=text("discoverers"),
        year=int(text("discovery_year") or 0),
        location=text("discovery_location"),
        origin=text("name_origin"),
        passages=passages,
    )


def _discovery(name: str, discoverers: str, year: str, location: str) -> str:
    parts = [f"{name} was discovered in {year}" if year else f"The discovery of {name}"]
    if discoverers:
        parts.append(f"discovered by: {discoverers}")
    if location:
        parts.append(f"discovered in: {location}")
    return "; ".join(parts) + "." if len(parts) > 1 or year else ""

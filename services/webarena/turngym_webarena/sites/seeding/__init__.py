"""Builds a world: the same rows from the same name, on every machine.

Everything is drawn from ``random.Random`` seeded by the world's name, with integer draws only (no floating-point function of
a C library decides anything). A world takes a few seconds and about 11 MB.
"""

import sqlite3
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random

from turngym_webarena.sites.seeding import catalogue, orders, people, reviews
from turngym_webarena.sites.seeding.vocabulary import text

VERSION = 1  # raise it with any change of what is built
WORLDS = ("market-1", "market-2", "market-3", "market-4", "market-5", "market-6")
_FIRST_DAY = datetime(2023, 9, 14, 10, 0)
_BETWEEN = timedelta(days=47)


def start_of(world: str) -> datetime:
    """The time at which a world's clock stands. Raises ValueError for a name that isn't in :data:`WORLDS`."""
    return _FIRST_DAY + WORLDS.index(world) * _BETWEEN


def build(path: Path, world: str) -> None:
    """Write a world's file. ``path`` must not exist."""
    rng = Random(f"turngym webarena {world}")
    start = start_of(world)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + text("schema.sql"))
        connection.execute("BEGIN")
        connection.execute("INSERT INTO clock VALUES (?, 0)", (start.isoformat(sep=" "),))
        catalogue.write(connection, rng)
        visitor = people.write(connection, rng, start)
        reviews.write(connection, rng, start)
        orders.write(connection, rng, start, visitor)
        catalogue.write_views(connection, rng, start)
        connection.execute("INSERT INTO visitor VALUES (?, 'admin')", (visitor,))
        connection.execute("COMMIT")
        connection.execute("ANALYZE")
    finally:
        connection.close()


def digest(path: Path) -> str:
    """A sha256 over every row of every table, in order."""
    content = sha256()
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        for (table,) in names:
            if not table.startswith("sqlite_"):
                for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):
                    content.update(repr(tuple(row)).encode())
    finally:
        connection.close()
    return content.hexdigest()

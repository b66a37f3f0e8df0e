"""Customers and their addresses."""

import sqlite3
from datetime import datetime, timedelta
from random import Random

from turngym_webarena.sites.seeding.vocabulary import names

CUSTOMERS = 300
GROUPS = ("General", "General", "General", "General", "Wholesale", "Retailer")
_MAIL = ("mailbox.example", "post.example", "letters.example")


def write(connection: sqlite3.Connection, rng: Random, start: datetime) -> int:
    """Fill the tables of customers. Returns the id of the one who is signed in to the shop."""
    taken: set[tuple[str, str]] = set()
    joined = sorted(
        start - timedelta(days=rng.randint(745, 1200), minutes=rng.randrange(1440)) for _ in range(CUSTOMERS)
    )
    for number in range(1, CUSTOMERS + 1):
        name = rng.choice(names()["first"]), rng.choice(names()["last"])
        while name in taken:
            name = rng.choice(names()["first"]), rng.choice(names()["last"])
        taken.add(name)
        email = f"{name[0]}.{name[1]}@{rng.choice(_MAIL)}".lower()
        connection.execute(
            "INSERT INTO customer VALUES (?, ?, ?, ?, 'Password.123', ?, ?, 0, ?, ?)",
            (number, *name, email, rng.choice(GROUPS), joined[number - 1].isoformat(sep=" "), number, number),
        )
        connection.execute(
            "INSERT INTO address VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'United States', ?)",
            (number, number, *name, *place(rng), phone(rng)),
        )
    return rng.randint(20, CUSTOMERS - 20)


def place(rng: Random) -> tuple[str, str, str, str, str]:
    """Street, second line (often empty), city, state, postcode."""
    city, region, postcode = rng.choice(names()["city"]).split(",")
    street = f"{rng.randint(10, 9890)} {rng.choice(names()['street'])} {rng.choice(names()['suffix'])}"
    second = f"Apt {rng.randint(1, 60)}" if rng.randrange(3) == 0 else ""
    return street, second, city.replace("_", " "), region.replace("_", " "), postcode


def phone(rng: Random) -> str:
    """A telephone number from the range that is reserved for fiction."""
    return f"{rng.randint(201, 989)}555{rng.randint(100, 199):04}"

"""What customers wrote about products."""

import sqlite3
from datetime import datetime, timedelta
from random import Random

from turngym_webarena.sites.seeding.vocabulary import Domain, domains, leaves, names

REVIEWS = 25_000
PENDING = 160
REJECTED = 90
APPROVED, WAITING, REFUSED = 1, 2, 3
_TITLES = {
    5: ("Love it", "Perfect", "Five stars", "Exactly what I wanted", "Best purchase this year"),
    4: ("Very good", "Happy with it", "Solid choice", "Nearly perfect"),
    3: ("It is okay", "Average", "Could be better", "Three stars"),
    2: ("Not great", "Let down", "Expected more", "Two stars"),
    1: ("Waste of money", "Terrible", "Never again", "Do not buy", "Sent it back"),
}


def write(connection: sqlite3.Connection, rng: Random, start: datetime) -> None:
    """Fill the table of reviews, oldest first. A few wait for approval, a few were refused."""
    kinds = _kinds(connection)
    buyers = connection.execute("SELECT id, firstname, lastname FROM customer ORDER BY id").fetchall()
    counts = _counts(rng, len(kinds))
    drafts = []
    for (product, domain), count in zip(kinds, counts, strict=True):
        bias = rng.choice((1, 2, 3, 3, 4))
        authors: set[str] = set()
        while len(authors) < count:
            customer, author = _author(rng, buyers)
            if author in authors:
                continue
            authors.add(author)
            rating = _rating(rng, bias)
            when = start - timedelta(minutes=rng.randint(200, 720 * 1440))
            title = rng.choice(_TITLES[rating])
            drafts.append((when, product, customer, author, title, _detail(rng, domain, rating), rating))
    drafts.sort(key=lambda draft: (draft[0], draft[1], draft[3]))
    # Those that wait are among the newest fifth; refused ones may be any.
    numbers = range(len(drafts))
    waiting = set(rng.sample(numbers[len(drafts) * 4 // 5 :], PENDING + rng.randrange(20)))
    refused = set(rng.sample(numbers[: len(drafts) * 4 // 5], REJECTED + rng.randrange(20)))
    connection.executemany(
        "INSERT INTO review VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                number + 1, product, customer, author, title, detail, rating,
                WAITING if number in waiting else REFUSED if number in refused else APPROVED, when.isoformat(sep=" "),
            )
            for number, (when, product, customer, author, title, detail, rating) in enumerate(drafts)
        ],
    )  # fmt: skip


def _kinds(connection: sqlite3.Connection) -> list[tuple[int, Domain]]:
    """Every visible product with what is said about its kind."""
    by_leaf = {leaf.path[2]: leaf.domain for leaf in leaves()}
    rows = connection.execute(
        "SELECT product.id, category.name FROM product JOIN category ON category.id = category_id WHERE visible"
        " ORDER BY product.id"
    )
    return [(product, domains()[by_leaf.get(leaf, "wear")]) for product, leaf in rows.fetchall()]


def _counts(rng: Random, products: int) -> list[int]:
    """How many reviews each product has: many have few, a few have forty; the sum is REVIEWS."""
    weights = [rng.choice((0, 1, 1, 2, 3, 5, 5, 8, 12, 22)) for _ in range(products)]
    total = sum(weights)
    counts = [weight * REVIEWS // total for weight in weights]
    for _ in range(REVIEWS - sum(counts)):
        counts[rng.randrange(products)] += 1
    return counts


def _author(rng: Random, buyers: list[tuple[int, str, str]]) -> tuple[int | None, str]:
    if rng.randrange(5) < 3:
        customer, first, last = rng.choice(buyers)
        return customer, f"{first} {last}"
    return None, f"{rng.choice(names()['first'])} {rng.choice(names()['last'])}"


def _rating(rng: Random, bias: int) -> int:
    return {
        1: (1, 1, 2, 2, 3, 4, 5),
        2: (1, 2, 3, 3, 4, 4, 5),
        3: (1, 2, 3, 4, 4, 5, 5),
        4: (3, 4, 4, 5, 5, 5, 5),
    }[bias][rng.randrange(7)]


def _detail(rng: Random, domain: Domain, rating: int) -> str:
    every = domains()["all"]
    if rating >= 4:
        lines = rng.sample(every.good + domain.good, 2)
    elif rating == 3:
        lines = [rng.choice(every.fair)]
    else:
        lines = [rng.choice(every.bad + domain.bad)]
    if rating <= 3 and rng.randrange(3):
        phrase = rng.choice(rng.choice(domain.aspects + every.aspects).phrases)
        lines.insert(rng.randrange(2), phrase[0].upper() + phrase[1:] + ".")
    return " ".join(lines)

"""Categories and products of a world, what is searched for and looked at, and the back office's fixed pages."""

import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from random import Random

from turngym_webarena.sites.seeding.vocabulary import Clothing, Leaf, amount_text, leaves, names, wardrobe

PER_LEAF = (40, 60)  # simple products in a category
LAST_PIECES = 40  # products of which 1 to 15 are left
COLORS_SHOWN = ("Black", "White", "Gray", "Blue", "Green", "Red")

_USES = (
    "Made for daily use", "A favourite for travelling", "Designed with care in a small workshop",
    "Built to last for years", "A thoughtful present", "Tested by our own staff",
)  # fmt: skip
_TRAITS = (
    "easy to clean", "light enough to carry around", "quiet and reliable", "simple to set up",
    "packed without plastic", "backed by a two-year warranty", "available while stocks last",
)  # fmt: skip
_PAGES = (
    ("404 Not Found", "", "no-route", "The page you are looking for is not here."),
    ("Home Page", "", "home", "Everything for the house, at one address."),
    ("Enable Cookies", "", "enable-cookies", "Please allow cookies to shop with us."),
    ("Privacy Policy", "Privacy Policy", "privacy-policy-cookie-restriction-mode",
     "We keep what we need to deliver your orders, and nothing else."),
    ("About Us", "About us", "about-us", "A family shop since 1987, with more in it than you would think."),
    ("Customer Service", "Customer Service", "customer-service",
     "Questions about an order? Write to us through the contact form and we answer within a day."),
)  # fmt: skip
_RULES = (
    ("Four tee sale", "Four tees for the price of three", 1, "buy_x_get_y", "1"),
    ("Ten off above fifty", "$10 off orders above $50", 0, "cart_fixed", "10"),
    ("Welcome", "15% for newsletter subscribers", 1, "by_percent", "15"),
    ("Free ground shipping", "Orders over $200", 1, "by_percent", "0"),
)
_THEMES = (("Market Blank", "", "market/blank"), ("Market Luma", "Market Blank", "market/luma"),
           ("Market Dusk", "Market Blank", "market/dusk"))  # fmt: skip


def slug(name: str) -> str:
    """The part of an address that stands for a name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def write(connection: sqlite3.Connection, rng: Random) -> None:
    """Fill the tables of the catalogue and the back office's pages."""
    leaf_ids = _write_categories(connection)
    products = list(_products(rng, leaf_ids))
    small = rng.sample([row for row in products if row["type"] == "simple"], LAST_PIECES)
    for row in small:
        row["qty"], row["in_stock"] = rng.randint(1, 15), 1
    connection.executemany(
        "INSERT INTO product VALUES (:id, :sku, :type, :parent_id, :category_id, :attribute_set, :name, :slug, :brand,"
        " :price, :qty, :in_stock, :status, :visible, :sale, :color, :size, :description, :position)",
        products,
    )
    _write_terms(connection, rng)
    connection.executemany(
        "INSERT INTO cms_page (title, heading, identifier, content, active) VALUES (?, ?, ?, ?, 1)", _PAGES
    )
    connection.executemany(
        "INSERT INTO price_rule (name, description, active, website, customer_groups, coupon, simple_action,"
        " discount_amount, from_date, to_date) VALUES (?, ?, ?, 'Main Website', 'General', '', ?, ?, '', '')",
        _RULES,
    )
    connection.executemany("INSERT INTO theme (title, parent, path) VALUES (?, ?, ?)", _THEMES)


def write_views(connection: sqlite3.Connection, rng: Random, start: datetime) -> None:
    """How often products were looked at, for the twelve months before ``start``."""
    ids = [row[0] for row in connection.execute("SELECT id FROM product WHERE visible ORDER BY id")]
    rows = []
    for back in range(12):
        year, month = divmod(start.year * 12 + start.month - 1 - back, 12)
        views = rng.sample(range(20, 900), 12)
        rows += [
            (product, f"{year}-{month + 1:02}", seen)
            for product, seen in zip(rng.sample(ids, 12), views, strict=True)
        ]
    connection.executemany("INSERT INTO product_view VALUES (?, ?, ?)", rows)


def _write_categories(connection: sqlite3.Connection) -> dict[tuple[str, str, str], int]:
    found: dict[tuple[str, ...], int] = {}
    ways = [*(leaf.path for leaf in leaves()), *(line.path for line in wardrobe())]
    for way in ways:
        for level in (1, 2, 3):
            path = way[:level]
            if path not in found:
                found[path] = len(found) + 1
                address = "/".join(slug(part) for part in path)
                connection.execute(
                    "INSERT INTO category VALUES (?, ?, ?, ?, ?)",
                    (found[path], found.get(path[:-1]), level, path[-1], address),
                )
    return {way: found[way] for way in ways}


def _products(rng: Random, leaf_ids: dict[tuple[str, str, str], int]) -> Iterator[dict[str, object]]:
    taken: set[str] = set()
    number = 0
    lines = list(names()["line"])
    for leaf in leaves():
        brands = rng.sample(names()["brand"], 9)
        for position in range(rng.randint(*PER_LEAF)):
            number += 1
            yield _simple(rng, leaf, brands, taken) | {
                "id": number, "category_id": leaf_ids[leaf.path], "position": position,
            }  # fmt: skip
    for clothing in wardrobe():
        rng.shuffle(lines)
        for position in range(clothing.lines):
            rows = _configurable(rng, clothing, lines[position], taken)
            parent = number + 1
            for row in rows:
                number += 1
                row |= {"id": number, "category_id": leaf_ids[clothing.path], "position": position}
                row["parent_id"] = None if number == parent else parent
                yield row


def _price(rng: Random, prices: tuple[int, int]) -> int:
    return rng.randint(prices[0], prices[1]) * 100 + rng.choice((0, 49, 90, 95, 99))


def _simple(rng: Random, leaf: Leaf, brands: list[str], taken: set[str]) -> dict[str, object]:
    while True:
        brand, feature, noun = rng.choice(brands), rng.choice(leaf.features), rng.choice(leaf.nouns)
        color = rng.choice(COLORS_SHOWN) if rng.randrange(3) else ""
        name = f"{brand} {feature} {noun}"
        if leaf.amounts:
            name += f", {amount_text(leaf.unit, rng.choice(leaf.amounts))}"
        if color:
            name += f", {color}"
        if slug(name) not in taken:
            break
    taken.add(slug(name))
    out = rng.randrange(25) == 0
    return {
        "sku": _sku(rng, taken), "type": "simple", "parent_id": None, "attribute_set": "Default", "name": name,
        "slug": slug(name), "brand": brand, "price": _price(rng, leaf.prices), "qty": 0 if out else rng.randint(16, 500),
        "in_stock": int(not out), "status": 1, "visible": 1, "sale": int(rng.randrange(12) == 0), "color": color,
        "size": "", "description": _description(rng, noun, feature),
    }  # fmt: skip


def _configurable(rng: Random, kind: Clothing, line: str, taken: set[str]) -> list[dict[str, object]]:
    noun = rng.choice(kind.nouns)
    name = f"{line} {noun}"
    while slug(name) in taken:
        name = f"{line} {rng.choice(COLORS_SHOWN)} {rng.choice(kind.nouns)} {rng.randint(2, 9)}"
    taken.add(slug(name))
    sku = f"{kind.path[1][0]}{rng.choice('HJKST')}{rng.randint(10, 99)}"
    while sku in taken:
        sku = f"{kind.path[1][0]}{rng.choice('HJKST')}{rng.randint(100, 999)}"
    taken.add(sku)
    brand = rng.choice(names()["brand"])
    price = _price(rng, kind.prices)
    parent: dict[str, object] = {
        "sku": sku, "type": "configurable", "attribute_set": "Shoes" if kind.path[2] == "Shoes" else "Clothing",
        "name": name, "slug": slug(name), "brand": brand, "price": price, "qty": 0, "in_stock": 1, "status": 1,
        "visible": 1, "sale": int(rng.randrange(8) == 0), "color": "", "size": "",
        "description": _description(rng, noun, f"{brand}'s"),
    }  # fmt: skip
    rows = [parent]
    colors = sorted(rng.sample(names()["color"], 3))
    for size in kind.sizes:
        for color in colors:
            out = rng.randrange(12) == 0
            rows.append(
                parent | {
                    "sku": f"{sku}-{size}-{color}", "type": "simple", "name": f"{name}-{size}-{color}",
                    "slug": slug(f"{name}-{size}-{color}"), "visible": 0, "color": color, "size": size,
                    "qty": 0 if out else rng.randint(16, 200), "in_stock": int(not out),
                }
            )  # fmt: skip
    return rows


def _sku(rng: Random, taken: set[str]) -> str:
    while True:
        sku = "B0" + "".join(rng.choice("0123456789BCDFGHJKLMNPQRSTVWXYZ") for _ in range(8))
        if sku not in taken:
            taken.add(sku)
            return sku


def _description(rng: Random, noun: str, feature: str) -> str:
    first, second = rng.sample(_TRAITS, 2)
    return f"{rng.choice(_USES)}: this {feature.lower()} {noun.lower()} is {first} and {second}."


def _write_terms(connection: sqlite3.Connection, rng: Random) -> None:
    """Search terms with as many results as the search has, and numbers of uses that are all different."""
    nouns = [noun.lower() for leaf in leaves() for noun in leaf.nouns]
    words = rng.sample(nouns, 34) + [brand.lower() for brand in rng.sample(names()["brand"], 10)]
    for term, uses in zip(words, rng.sample(range(2, 900), len(words)), strict=True):
        like = " AND ".join("(' ' || lower(name)) LIKE ?" for _ in term.split())
        results = connection.execute(
            f"SELECT count(*) FROM product WHERE visible AND {like}", [f"% {word}%" for word in term.split()]
        ).fetchone()[0]
        connection.execute(
            "INSERT INTO search_term (term, results, uses) VALUES (?, ?, ?)", (term, results, uses)
        )

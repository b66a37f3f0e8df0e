"""Orders with their items, addresses, invoices, shipments and refunds."""

import sqlite3
from datetime import datetime, timedelta
from random import Random

ORDERS = 6_000
OWN = 48  # orders of the customer who is signed in
SHIPPING = (("Flat Rate - Fixed", 500), ("Free Shipping - Free", 0), ("Best Way - Table Rate", 900))
PAYMENTS = ("Check / Money order", "Check / Money order", "Bank Transfer Payment", "Cash On Delivery")
CARRIERS = ("United Parcel Service", "United States Postal Service", "Federal Express", "DHL")
_SETTLED = ("complete",) * 40 + ("canceled",) * 5 + ("closed",) * 3 + ("processing", "holded", "fraud")
_RECENT = ("pending",) * 5 + ("processing",) * 3 + ("complete",) * 2 + ("canceled",)
_RECENT_DAYS = 12
_MARKED = (
    "Gift wrapping, please",
    "Please leave it with the neighbour",
    "Invoice sent by mail",
    "Called the customer back",
)
Row = tuple[object, ...]


def write(connection: sqlite3.Connection, rng: Random, start: datetime, visitor: int) -> None:
    """Fill the tables of orders, oldest first. ``visitor`` is the customer with :data:`OWN` of them."""
    goods = _goods(connection)
    times = sorted(start - timedelta(minutes=rng.randint(90, 730 * 1440)) for _ in range(ORDERS - OWN))
    own = sorted(start - timedelta(minutes=rng.randint(3 * 1440, 700 * 1440)) for _ in range(OWN))
    customers = [row[0] for row in connection.execute("SELECT id FROM customer ORDER BY id")]
    regulars = [c for c in customers for _ in range(1 + c % 3) if c != visitor]
    entries = [(when, rng.choice(regulars)) for when in times] + [(when, visitor) for when in own]
    tables: dict[str, list[Row]] = {
        name: [] for name in ("sales_order", "order_item", "order_address", "invoice", "shipment", "track",
                              "creditmemo", "order_comment")
    }  # fmt: skip
    addresses = {row[1]: row for row in connection.execute("SELECT * FROM address ORDER BY id")}
    mine = iter(_own_statuses(rng))
    for number, (when, customer) in enumerate(sorted(entries), 1):
        recent = start - when < timedelta(days=_RECENT_DAYS)
        status = next(mine) if customer == visitor else rng.choice(_RECENT if recent else _SETTLED)
        _order(rng, tables, goods, number, when, customer, status, addresses[customer])
    for name, rows in tables.items():
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _own_statuses(rng: Random) -> list[str]:
    """Statuses of the visitor's orders, oldest first: each kind is there more than once, and not only at the end."""
    statuses = ["complete"] * 30 + ["canceled"] * 9 + ["closed"] * 2 + ["processing"] * 3 + ["pending"] * 2
    rng.shuffle(statuses)
    return [*statuses, *rng.sample(("pending", "canceled", "complete", "processing"), 2)]


def _goods(connection: sqlite3.Connection) -> list[Row]:
    """What can be ordered, popular things many times: id, name, sku, options, price."""
    rows = connection.execute(
        "SELECT child.id, coalesce(parent.name, child.name), child.sku, child.size, child.color, child.price, child.id % 97"
        " FROM product child LEFT JOIN product parent ON parent.id = child.parent_id"
        " WHERE child.type = 'simple' ORDER BY child.id"
    )
    goods: list[Row] = []
    for identity, name, sku, size, color, price, luck in rows:
        options = f"Size: {size}; Color: {color}" if size else ""
        goods += [(identity, name, sku, options, price)] * (40 if luck == 0 else 8 if luck < 6 else 1)
    return goods


def _order(
    rng: Random, tables: dict[str, list[Row]], goods: list[Row], number: int, when: datetime, customer: int,
    status: str, address: Row,
) -> None:  # fmt: skip
    stamp = when.isoformat(sep=" ", timespec="seconds")
    picked: dict[object, Row] = {}
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        item = rng.choice(goods)
        picked[item[0]] = item
    subtotal = 0
    for item in picked.values():
        quantity = rng.choice((1, 1, 1, 1, 2, 3))
        subtotal += int(str(item[4])) * quantity
        tables["order_item"].append((len(tables["order_item"]) + 1, number, *item[:4], item[4], quantity))
    method, fee = rng.choice(SHIPPING)
    shipping = fee * len(picked)
    coupon, discount = ("WELCOME15", subtotal * 15 // 100) if rng.randrange(30) == 0 else ("", 0)
    total = subtotal + shipping - discount
    tables["sales_order"].append(
        (number, f"{number:09}", customer, status, stamp, subtotal, shipping, discount, coupon, total, method,
         rng.choice(PAYMENTS))
    )  # fmt: skip
    for kind in ("billing", "shipping"):
        tables["order_address"].append((len(tables["order_address"]) + 1, number, kind, *address[2:]))
    _after(rng, tables, number, when, status, total)


def _after(
    rng: Random, tables: dict[str, list[Row]], number: int, when: datetime, status: str, total: int
) -> None:
    """The papers that follow an order."""

    def paper(table: str, minutes: int, *rest: object) -> None:
        identity = len(tables[table]) + 1
        moment = (when + timedelta(minutes=minutes)).isoformat(sep=" ", timespec="seconds")
        tables[table].append((identity, f"{identity:09}", number, moment, *rest))

    if status in ("complete", "closed", "processing"):
        paper("invoice", 20, total)
    if status in ("complete", "closed"):
        paper("shipment", 60)
        if rng.randrange(5) < 3:
            moment = (when + timedelta(minutes=60)).isoformat(sep=" ", timespec="seconds")
            track = f"{rng.randint(10**9, 10**10 - 1)}"
            tables["track"].append((len(tables["track"]) + 1, number, moment, rng.choice(CARRIERS), track))
    if status == "closed":
        paper("creditmemo", 75, total)
    if rng.randrange(25) == 0:
        moment = (when + timedelta(minutes=30)).isoformat(sep=" ", timespec="seconds")
        comments = tables["order_comment"]
        comments.append((len(comments) + 1, number, moment, status, rng.choice(_MARKED), 0))

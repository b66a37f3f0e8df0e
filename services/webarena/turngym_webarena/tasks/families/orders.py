"""Families of the customer's own orders: what was bought, when, for how much."""

from collections.abc import Generator, Iterator
from random import Random

from turngym_webarena.sites.shop.orders import STATUSES
from turngym_webarena.sites.web import long_date, short_date
from turngym_webarena.tasks.families import moves
from turngym_webarena.tasks.families.model import (
    NOT_DONE,
    SHOP,
    Book,
    Draft,
    Row,
    World,
    address,
    answer,
    exactly,
    impossible,
    money,
    month_of,
    some,
)  # fmt: skip
from turngym_webarena.tasks.families.moves import Move, months_since
from turngym_webarena.tasks.page import Lost, Node, Page, Params, Script, amount

BOOK = Book()
KINDS = ("pending", "processing", "complete", "canceled", "closed")
Rows = Generator[str, Page, list[dict[str, Node]]]


def _newest(params: Params, page: Page) -> Generator[str, Page, dict[str, Node]]:
    """The newest order of the status asked for, in the list of orders."""
    page = yield from moves.account(page, "My Orders")
    row = yield from moves.rows_until(
        page, "Order #", lambda row: row["Status"].text == STATUSES[params["status"]]
    )
    if row is None:
        raise Lost(f"no {params['status']} order")
    return row


def _by_status(world: World) -> Iterator[tuple[str, Row]]:
    for status in KINDS:
        rows = world.orders("status = ?", status)
        if rows:
            yield status, rows[0]


def _latest_drafts(world: World, rng: Random) -> Iterator[Draft]:
    newest = world.orders()[0]
    yield Draft({}, answer(newest["increment_id"], STATUSES[newest["status"]]))


def _latest(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    row = page.table("Order #")[0]
    return f"{row['Order #'].text}, {row['Status'].text}"


BOOK.add(
    201, "status of the latest order", [193], "train", SHOP, "Tell me the number and the status of my latest order",
    _latest_drafts, _latest,
)  # fmt: skip


def _number_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for status, row in _by_status(world):
        yield Draft({"status": status}, exactly(row["increment_id"]))


def _number(params: Params, page: Page) -> Script:
    row = yield from _newest(params, page)
    return row["Order #"].text


BOOK.add(
    202, "number of the latest order of a status", [213], "train", SHOP,
    "Get the order number of my most recent {{status}} order",
    _number_drafts, _number,
)  # fmt: skip


def _cost_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for status, row in _by_status(world):
        yield Draft({"status": status}, exactly(money(row["grand_total"])))


def _cost(params: Params, page: Page) -> Script:
    row = yield from _newest(params, page)
    return row["Order Total"].text


BOOK.add(
    203, "cost of the latest order of a status", [214, 160], "test", SHOP,
    "Tell me the total cost of my latest {{status}} order",
    _cost_drafts, _cost,
)  # fmt: skip


def _show_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for status, row in _by_status(world):
        yield Draft({"status": status}, address(f"__SHOPPING__/sales/order/view/order_id/{row['id']}/"))


def _show(params: Params, page: Page) -> Script:
    row = yield from _newest(params, page)
    yield moves.link(row, "Action", "View Order")
    return ""


BOOK.add(
    204, "show the latest order of a status", [180], "train", SHOP, "Show the page of my most recent {{status}} order",
    _show_drafts, _show,
)  # fmt: skip

INFO = ("shipping method", "payment method", "order date", "grand total")


def open_order(page: Page, number: str) -> Move:
    """Open the page of an order, by its number."""
    page = yield from moves.account(page, "My Orders")
    row = yield from moves.rows_until(page, "Order #", lambda row: row["Order #"].text == number)
    if row is None:
        raise Lost(f"no order {number}")
    return (yield moves.link(row, "Action", "View Order"))


def _info_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.orders(), 8):
        info = rng.choice(INFO)
        truths = {
            "shipping method": row["shipping_method"], "payment method": row["payment_method"],
            "order date": long_date(row["created_at"]), "grand total": money(row["grand_total"]),
        }  # fmt: skip
        yield Draft({"info": info, "order_number": row["increment_id"]}, exactly(truths[info]))


def _info(params: Params, page: Page) -> Script:
    page = yield from open_order(page, params["order_number"])
    info = params["info"]
    if info == "grand total":
        return page.fact("Grand Total")
    if info == "order date":
        return moves.after(page, "Order Date: ")
    return moves.after_heading(page, info.title())


BOOK.add(
    205, "something about an order", [206], "train", SHOP,
    "Show me the {{info}} for order number {{order_number}}", _info_drafts,
    _info,
)  # fmt: skip


def _months(world: World, rng: Random, condition: str = "1") -> list[tuple[str, list[Row]]]:
    """Months with the visitor's orders in them, shuffled."""
    months: dict[str, list[Row]] = {}
    for row in world.orders(condition):
        months.setdefault(month_of(row["created_at"]), []).append(row)
    listed = sorted(months.items())
    return some(rng, listed, len(listed))


def _month_rows(page: Page, month: str) -> Rows:
    """The rows of a month in the list of orders."""
    page = yield from moves.account(page, "My Orders")
    rows: list[dict[str, Node]] = []

    def past(row: dict[str, Node]) -> bool:
        passed = months_since(month, row["Date"].text)
        if passed == 0:
            rows.append(row)
        return passed < 0

    yield from moves.rows_until(page, "Order #", past)
    return rows


def _spent_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for month, rows in _months(world, rng, "status = 'complete'"):
        yield Draft({"time": month}, exactly(money(sum(row["grand_total"] for row in rows))))


def _spent(params: Params, page: Page) -> Script:
    rows = yield from _month_rows(page, params["time"])
    return money(sum(amount(row["Order Total"].text) for row in rows if row["Status"].text == "Complete"))


BOOK.add(
    206, "money spent in a month", [147, 162], "train", SHOP,
    "How much did I spend in {{time}}, counting complete orders only and their shipping too?", _spent_drafts, _spent,
)  # fmt: skip


def _fulfilled_drafts(world: World, rng: Random) -> Iterator[Draft]:
    by_year: dict[str, list[Row]] = {}
    for row in world.orders("status = 'complete'"):
        by_year.setdefault(row["created_at"][:4], []).append(row)
    for year, rows in sorted(by_year.items()):
        yield Draft({"period": year}, answer(str(len(rows)), money(sum(row["grand_total"] for row in rows))))


def _fulfilled(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    rows = yield from moves.every_row(page, "Order #")
    kept = [
        row for row in rows
        if row["Status"].text == "Complete" and row["Date"].text.endswith(f"/{params['period'][2:]}")
    ]  # fmt: skip
    return f"{len(kept)} orders, {money(sum(amount(row['Order Total'].text) for row in kept))}"


BOOK.add(
    207, "orders and money of a year", [197], "test", SHOP,
    "How many complete orders do I have from {{period}}, and how much did I spend on them in all?", _fulfilled_drafts,
    _fulfilled,
)  # fmt: skip


def _first_drafts(world: World, rng: Random) -> Iterator[Draft]:
    yield Draft({}, exactly(short_date(world.orders()[-1]["created_at"])))


def _first(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    rows = yield from moves.every_row(page, "Order #")
    return rows[-1]["Date"].text


BOOK.add(
    208, "date of the first order", [161], "validation", SHOP,
    "What is the date of my first order in this shop? Write it as in the list of my orders", _first_drafts, _first,
)  # fmt: skip


def _items(world: World, order: int) -> list[Row]:
    return world.all("SELECT * FROM order_item WHERE order_id = ? ORDER BY id", order)


def _when_drafts(world: World, rng: Random) -> Iterator[Draft]:
    seen: set[str] = set()
    for row in world.orders()[:5]:
        for item in _items(world, row["id"]):
            if item["name"] not in seen:
                seen.add(item["name"])
                yield Draft({"product": item["name"]}, exactly(long_date(row["created_at"])))


def _when(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    for place in range(len(page.table("Order #"))):
        page = yield moves.link(page.table("Order #")[place], "Action", "View Order")
        if any(params["product"] in row["Product Name"].text for row in page.table("Product Name")):
            return moves.after(page, "Order Date: ")
        page = yield "go_back"
    raise Lost("not among the newest orders")


BOOK.add(
    209, "when something was ordered last", [169], "train", SHOP,
    'When did I last order "{{product}}"? Write the date as on the page of the order', _when_drafts, _when, most=5,
)  # fmt: skip


def _option_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for month, rows in _months(world, rng):
        items = [item for row in rows for item in _items(world, row["id"]) if item["options"]]
        if len(rows) <= 3 and len(items) == 1:
            option = rng.choice(("size", "color"))
            held = dict(part.split(": ") for part in items[0]["options"].split("; "))
            params = {"option": option, "product": items[0]["name"], "time": month}
            yield Draft(params, exactly(held[option.title()]))


def _option(params: Params, page: Page) -> Script:
    rows = yield from _month_rows(page, params["time"])
    numbers = [row["Order #"].text for row in rows]
    for number in numbers:
        page = yield _goto_order(page, number)
        for row in page.table("Product Name"):
            text = " ".join(node.name for node in row["Product Name"].walk())
            if params["product"] in text and "Size: " in text:
                part = text.split(f"{params['option'].title()}: ", 1)[1]
                return part.split(";")[0].split()[0]
    raise Lost("not ordered in that month")


def _goto_order(page: Page, number: str) -> str:
    """The page of an order has its number in its address, and a row's link may be on an earlier page of the list."""
    return f"goto [{page.origin}/sales/order/view/order_id/{int(number)}/]"


BOOK.add(
    210, "option of something ordered", [155], "train", SHOP,
    "What is the {{option}} of the {{product}} I ordered in {{time}}?", _option_drafts, _option,
)  # fmt: skip


def _tracking_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all(
        "SELECT sales_order.increment_id, carrier, number FROM track JOIN sales_order ON sales_order.id = order_id"
        " WHERE customer_id = ? ORDER BY track.id",
        world.visitor["id"],
    )
    for row in some(rng, rows, 8):
        yield Draft({"order_number": row["increment_id"]}, answer(row["number"]))


def _tracking(params: Params, page: Page) -> Script:
    page = yield from open_order(page, params["order_number"])
    page = yield moves.press(page, "link", "Order Shipments")
    return moves.after(page, "Tracking Number(s): ").split()[-1]


BOOK.add(
    211, "tracking number of an order", [206], "test", SHOP, "What is the tracking number of my order {{order_number}}?",
    _tracking_drafts, _tracking,
)  # fmt: skip

# -- what can't be done ------------------------------------------------------------------------------------------------


def _delivery_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for place in some(
        rng, ("4000 Forbes Lane, Pittsburgh", "6726 McPherson Road, Dayton", "77 Harbor Way, Salem"), 3
    ):
        yield Draft({"address": place}, impossible("An order's address can't be changed once it is placed."))


def _delivery(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    yield moves.link(page.table("Order #")[0], "Action", "View Order")
    return NOT_DONE


BOOK.add(
    212, "change an order's address (impossible)", [191], "train", SHOP,
    "Change the delivery address of my most recent order to {{address}}", _delivery_drafts, _delivery, most=3,
)  # fmt: skip


def _telephone_drafts(world: World, rng: Random) -> Iterator[Draft]:
    yield Draft({}, impossible("The shop gives no telephone number."))


def _telephone(params: Params, page: Page) -> Script:
    page = yield moves.press(page, "link", "Customer Service")
    yield moves.press(page, "link", "Contact Us")
    return NOT_DONE


BOOK.add(
    213, "telephone of the service (impossible)", [134], "test", SHOP, "Which number do I call for the customer service?",
    _telephone_drafts, _telephone,
)  # fmt: skip

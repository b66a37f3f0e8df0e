"""Families of the back office that look something up: grids, reports, single records."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from turngym_webarena.sites.shop.orders import STATUSES
from turngym_webarena.sites.web import full_time
from turngym_webarena.tasks.families import moves
from turngym_webarena.tasks.families.model import (
    ADMIN,
    MONTHS,
    NOT_DONE,
    Book,
    Draft,
    World,
    address,
    answer,
    exactly,
    impossible,
    money,
    shows,
    some,
    stem_of,
    unique,
)  # fmt: skip
from turngym_webarena.tasks.page import Lost, Node, Page, Params, Script, amount

BOOK = Book()
FILTERS = 'document.querySelector("div.admin__data-grid-filters-current").outerText'
REVIEW_STATUSES = {"pending": 2, "approved": 1, "not approved": 3}


def _span(month: str) -> tuple[str, str]:
    """The first and last day of a month, as staff write dates."""
    year, number = (int(part) for part in stem_of(month).split("-"))
    last = datetime(year + number // 12, number % 12 + 1, 1) - timedelta(days=1)
    return f"{number}/1/{year}", f"{number}/{last.day}/{year}"


def _past_months(world: World, rng: Random, count: int) -> list[str]:
    """Whole months of the last year and a half."""
    months = []
    for back in range(1, 18):
        year, number = divmod(world.now.year * 12 + world.now.month - 1 - back, 12)
        months.append(f"{MONTHS[number]} {year}")
    return some(rng, months, count)


def narrow(page: Page, **filters: str) -> moves.Move:
    """Fill in filters of a grid (labels with "_" for blanks) and apply them. A list's filter is chosen, others written."""
    for label, text in filters.items():
        field = page.field(label.replace("_", " "))
        if field.role == "combobox":
            page = yield f"select [{field.number}] [{text}]"
        else:
            page = yield f"type [{field.number}] [{text}] [0]"
    return (yield moves.press(page, "button", "Apply Filters"))


def report(
    page: Page, entry: str, period: str, first: str, last: str, status: str | None = None
) -> moves.Move:
    """Show a report."""
    page = yield from moves.office(page, "Reports", entry)
    page = yield moves.choose(page, "Period", period)
    page = yield moves.write(page, "From", first)
    page = yield moves.write(page, "To", last)
    if status is not None:
        page = yield moves.choose(page, "Order Status", status)
    return (yield moves.press(page, "button", "Show Report"))


# -- reports -----------------------------------------------------------------------------------------------------------


def _sold(world: World, begin: str, end: str) -> list[tuple[str, int]]:
    rows = world.all(
        "SELECT product.name AS name, sum(order_item.qty) AS sold FROM order_item JOIN sales_order ON"
        " sales_order.id = order_id"
        " JOIN product ON product.id = product_id WHERE created_at >= ? AND created_at < ? AND"
        " sales_order.status <> 'canceled'"
        " GROUP BY product.id ORDER BY sold DESC, product.id LIMIT 6",
        begin, end,
    )  # fmt: skip
    return [(row["name"], row["sold"]) for row in rows]


def _distinct(ranked: list[tuple[str, int]], count: int) -> bool:
    """Whether the first ``count`` of a ranking are clear."""
    numbers = [number for _, number in ranked[: count + 1]]
    return len(numbers) == count + 1 and len(set(numbers)) == count + 1


def _best_drafts(world: World, rng: Random) -> Iterator[Draft]:
    years = sorted({str(world.now.year - back) for back in range(3)})
    for period in [*years, *_past_months(world, rng, 8)]:
        begin = period if period.isdigit() else stem_of(period)
        ranked = _sold(world, begin, begin + "~")
        count = rng.choice((1, 2, 3))
        if ranked and _distinct(ranked, count):
            yield Draft({"n": str(count), "period": period}, answer(*(name for name, _ in ranked[:count])))


def _best(params: Params, page: Page) -> Script:
    period = params["period"]
    ends = (f"1/1/{period}", f"12/31/{period}") if period.isdigit() else _span(period)
    page = yield from report(page, "Bestsellers", "Year" if period.isdigit() else "Month", *ends)
    return "; ".join(row["Product"].text for row in page.table("Order Quantity")[: int(params["n"])])


BOOK.add(
    401, "best-selling products", [279], "train", ADMIN,
    "What are the names of the top-{{n}} best-selling products in {{period}}?",
    _best_drafts, _best,
)  # fmt: skip


def _most_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for year in sorted({str(world.now.year - back) for back in range(3)}):
        rows = world.all(
            "SELECT firstname || ' ' || lastname AS name, count(*) AS n FROM sales_order JOIN customer ON"
            " customer.id = customer_id"
            " WHERE sales_order.created_at LIKE ? AND sales_order.status = 'complete' GROUP BY customer.id ORDER"
            " BY n DESC LIMIT 2",
            f"{year}%",
        )
        if len(rows) == 2 and rows[0]["n"] > rows[1]["n"]:
            yield Draft({"year": year}, exactly(rows[0]["name"]))


def _most(params: Params, page: Page) -> Script:
    year = params["year"]
    page = yield from report(page, "Order Count", "Year", f"1/1/{year}", f"12/31/{year}", "Complete")
    return page.table("Customer")[0]["Customer"].text


BOOK.add(
    402, "customer with most orders", [276], "test", ADMIN,
    "Which customer has the greatest number of complete orders in {{year}}?",
    _most_drafts, _most,
)  # fmt: skip


def _monthly_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for back in range(1, 3):
        year = world.now.year - back
        first = rng.randint(1, 9)
        last = first + rng.randint(1, 3)
        parts = []
        for number in range(first, last + 1):
            count = world.value(
                "SELECT count(*) FROM sales_order WHERE created_at LIKE ? AND status = 'complete'",
                f"{year}-{number:02}%",
            )
            parts.append(f"{number:02}:{count}")
            if not count:
                break
        else:
            params = {"first": MONTHS[first - 1], "last": MONTHS[last - 1], "year": str(year)}
            yield Draft(params, exactly(" ".join(parts)))


def _monthly(params: Params, page: Page) -> Script:
    begin, _ = _span(f"{params['first']} {params['year']}")
    _, end = _span(f"{params['last']} {params['year']}")
    sales = yield from report(page, "Orders", "Month", begin, end, "Complete")
    rows = sales.table("Interval")
    return " ".join(f"{int(row['Interval'].text.split('/')[0]):02}:{row['Orders'].text}" for row in rows)


BOOK.add(
    403, "orders by month", [270], "train", ADMIN,
    "Give the monthly count of complete orders from {{first}} to {{last}} {{year}} in MM:COUNT format, separated by blanks",
    _monthly_drafts, _monthly,
)  # fmt: skip

_REPORTS = {"orders": ("sales", "Orders"), "tax": ("tax", "Tax"), "shipping": ("shipping", "Shipping"),
            "refunds": ("refunded", "Refunds"), "coupons": ("coupons", "Coupons"), "invoiced":
            ("invoiced", "Invoiced")}  # fmt: skip


def _create_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for kind in some(rng, list(_REPORTS), 6):
        month = rng.choice(_past_months(world, rng, 5))
        begin, end = _span(month)
        checks = [
            shows("last", f"document.querySelector('[id=\"sales_report_{name}\"').value", exact=date)
            for name, date in (("from", begin), ("to", end))
        ]
        table = shows("last", "document.querySelector('main table') ? 'shown' : 'missing'", exact="shown")
        params = {"type": kind, "start_date": begin, "end_date": end}
        yield Draft(
            params, address(f"__SHOPPING_ADMIN__/reports/report_sales/{_REPORTS[kind][0]}/", *checks, table)
        )


def _create(params: Params, page: Page) -> Script:
    entry = _REPORTS[params["type"]][1]
    yield from report(page, entry, "Month", params["start_date"], params["end_date"])
    return ""


BOOK.add(
    404, "create a report", [268, 271], "train", ADMIN, "Create a report of {{type}} from {{start_date}} to {{end_date}}",
    _create_drafts, _create,
)  # fmt: skip

# -- search terms ------------------------------------------------------------------------------------------------------


def _terms_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all("SELECT term FROM search_term ORDER BY uses DESC")
    for count in range(1, 6):
        yield Draft({"n": str(count)}, answer(*(row["term"] for row in rows[:count])))


def _terms(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "Search Terms")
    page = yield moves.press(page, "link", "Uses")
    page = yield moves.press(page, "link", "Uses")
    return ", ".join(row["Search Query"].text for row in page.table("Search Query")[: int(params["n"])])


BOOK.add(
    405, "top search terms", [285, 1001], "train", ADMIN,
    "List the top {{n}} search terms in my store by their uses", _terms_drafts,
    _terms,
)  # fmt: skip


def _uses_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all("SELECT * FROM search_term ORDER BY id")
    for row in some(rng, rows, 8):
        if sum(row["term"] in other["term"] for other in rows) == 1:
            yield Draft({"term": row["term"]}, exactly(str(row["uses"])))


def _uses(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "Search Terms")
    page = yield moves.write(page, "Search by keyword", params["term"], enter=True)
    return page.table("Search Query")[0]["Uses"].text


BOOK.add(
    406,
    "uses of a search term",
    [285],
    "test",
    ADMIN,
    'How often have customers searched for "{{term}}"?',
    _uses_drafts,
    _uses,
)

# -- reviews -----------------------------------------------------------------------------------------------------------


def _status_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for name, status in REVIEW_STATUSES.items():
        yield Draft(
            {"status": name},
            exactly(str(world.value("SELECT count(*) FROM review WHERE status = ?", status))),
        )


def _status(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "All Reviews")
    page = yield from narrow(page, Status=params["status"].title())
    return str(moves.found(page))


BOOK.add(
    407, "reviews of a status", [277], "train", ADMIN,
    "What is the total count of {{status}} reviews amongst all the reviews?",
    _status_drafts, _status,
)  # fmt: skip

WORDS = ("disappointed", "smell", "wobbling", "too sweet", "irritation", "overheating", "shrinking", "rust", "hiss", "zipper",
         "cardboard", "smearing", "pilling", "aftertaste")  # fmt: skip


def _term_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for word in some(rng, WORDS, 8):
        count = world.value("SELECT count(*) FROM review WHERE detail LIKE ?", f"%{word}%")
        if count:
            yield Draft({"term": word}, exactly(str(count)))


def _term(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "All Reviews")
    page = yield from narrow(page, Review=params["term"])
    return str(moves.found(page))


BOOK.add(
    408, "reviews that mention a term", [288], "test", ADMIN,
    'Tell me the number of reviews that our store has received whose text mentions "{{term}}"', _term_drafts, _term,
)  # fmt: skip


def _received_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for month in _past_months(world, rng, 8):
        count = world.value("SELECT count(*) FROM review WHERE created_at LIKE ?", f"{stem_of(month)}%")
        yield Draft({"time": month}, exactly(str(count)))


def _received(params: Params, page: Page) -> Script:
    begin, end = _span(params["time"])
    page = yield from moves.office(page, "Marketing", "All Reviews")
    page = yield from narrow(page, Created_from=begin, Created_to=end)
    return str(moves.found(page))


BOOK.add(
    409, "reviews of a month", [248], "train", ADMIN, "How many reviews did our shop receive in {{time}}?", _received_drafts,
    _received,
)  # fmt: skip


def _unhappy_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 200):
        rows = world.all("SELECT nickname FROM review WHERE product_id = ? AND rating = 1", row["id"])
        if 1 <= len(rows) <= 4:
            yield Draft({"product": row["name"]}, answer(*(review["nickname"] for review in rows)))


def _unhappy(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "All Reviews")
    page = yield from narrow(page, Rating="1 star", Product=params["product"])
    return ", ".join(row["Nickname"].text for row in page.table("Nickname"))


BOOK.add(
    410, "unhappy customers", [245, 249], "train", ADMIN,
    'Who gave "{{product}}" one star, in reviews of any status? List the names',
    _unhappy_drafts, _unhappy,
)  # fmt: skip


def _mail_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 300):
        rows = world.all(
            "SELECT nickname, email FROM review JOIN customer ON customer.id = customer_id WHERE product_id = ?"
            " AND rating = 1",
            row["id"],
        )
        total = world.value("SELECT count(*) FROM review WHERE product_id = ? AND rating = 1", row["id"])
        if len(rows) == total == 1:
            yield Draft({"product": row["name"]}, exactly(rows[0]["email"]))


def _mail(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Marketing", "All Reviews")
    page = yield from narrow(page, Rating="1 star", Product=params["product"])
    name = page.table("Nickname")[0]["Nickname"].text
    page = yield from moves.office(page, "Customers", "All Customers")
    page = yield moves.write(page, "Search by keyword", name, enter=True)
    return page.table("Email")[0]["Email"].text


BOOK.add(
    411, "address of an unhappy customer", [244], "test", ADMIN,
    'Show me the email address of the customer who gave "{{product}}" one star', _mail_drafts, _mail,
)  # fmt: skip

# -- customers ---------------------------------------------------------------------------------------------------------


def _phone_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all(
        "SELECT customer.firstname || ' ' || customer.lastname AS name, email, telephone FROM customer JOIN address"
        " ON address.id = billing_id ORDER BY customer.id"
    )
    for row in some(rng, unique(rows, "telephone"), 8):
        yield Draft({"PhoneNum": row["telephone"]}, answer(row["name"], row["email"]))


def _phone(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Customers", "All Customers")
    page = yield moves.write(page, "Search by keyword", params["PhoneNum"], enter=True)
    row = page.table("Email")[0]
    return f"{row['Name'].text}, {row['Email'].text}"


BOOK.add(
    412, "customer by telephone", [364], "validation", ADMIN,
    "Find the customer name and email with phone number {{PhoneNum}}",
    _phone_drafts, _phone,
)  # fmt: skip

LISTS = {
    "all customers": ("customer/index/", "Customers", "All Customers"), "all invoices":
    ("sales/invoice/", "Sales", "Invoices"),
    "all credit memos": ("sales/creditmemo/", "Sales", "Credit Memos"), "all shipments":
    ("sales/shipment/", "Sales", "Shipments"),
    "all cart price rules": ("sales_rule/promo_quote/", "Marketing", "Cart Price Rules"),
    "all pending reviews": ("review/product/pending/", "Marketing", "Pending Reviews"),
}  # fmt: skip


def _list_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for name, (path, _, _) in LISTS.items():
        yield Draft({"list": name}, address(f"__SHOPPING_ADMIN__/{path}"))


def _list(params: Params, page: Page) -> Script:
    _, section, entry = LISTS[params["list"]]
    yield from moves.office(page, section, entry)
    return ""


BOOK.add(413, "show a list", [255], "train", ADMIN, "Show {{list}}", _list_drafts, _list)


def _theme_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in world.all("SELECT * FROM theme ORDER BY id"):
        yield Draft(
            {"name": row["title"]},
            address(f"__SHOPPING_ADMIN__/admin/system_design_theme/edit/id/{row['id']}/"),
        )


def _theme(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Content", "Themes")
    for row in page.table("Theme Title"):
        if row["Theme Title"].text == params["name"]:
            yield moves.link(row, "Action", "View")
            return ""
    raise Lost(f"no theme {params['name']}")


BOOK.add(
    414,
    "preview a theme",
    [266],
    "validation",
    ADMIN,
    "Preview the {{name}} theme for my shop",
    _theme_drafts,
    _theme,
    most=3,
)

# -- orders ------------------------------------------------------------------------------------------------------------


def _orders(page: Page, **filters: str) -> moves.Move:
    page = yield from moves.office(page, "Sales", "Orders")
    return (yield from narrow(page, **filters))


def _lookup_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for title in STATUSES.values():
        url = "__SHOPPING_ADMIN__/sales/order/"
        yield Draft({"status": title}, address(url, shows("last", FILTERS, f"Status: {title}")))


def _lookup(params: Params, page: Page) -> Script:
    yield from _orders(page, Status=params["status"])
    return ""


BOOK.add(
    415, "look up orders of a status", [253], "train", ADMIN,
    'Look up the orders whose status is "{{status}}"', _lookup_drafts,
    _lookup, most=7,
)  # fmt: skip

ATTRIBUTES = {
    "customer name": "Bill-to Name",
    "order ID": "ID",
    "purchase date": "Purchase Date",
    "grand total": "Grand Total",
}


def _attribute_drafts(world: World, rng: Random) -> Iterator[Draft]:
    pairs = [(attribute, status) for attribute in ATTRIBUTES for status in STATUSES]
    for attribute, status in some(rng, pairs, 8):
        row = world.one(
            "SELECT sales_order.*, firstname || ' ' || lastname AS name FROM sales_order JOIN order_address"
            " ON order_id = sales_order.id AND kind = 'billing' WHERE status = ? ORDER BY created_at DESC,"
            " sales_order.id DESC",
            status,
        )
        if row is not None:
            truths = {
                "customer name": row["name"], "order ID": row["increment_id"], "purchase date": full_time(row["created_at"]),
                "grand total": money(row["grand_total"]),
            }  # fmt: skip
            yield Draft({"attribute": attribute, "status": STATUSES[status]}, exactly(truths[attribute]))


def _attribute(params: Params, page: Page) -> Script:
    page = yield from _orders(page, Status=params["status"])
    return page.table("Purchase Date")[0][ATTRIBUTES[params["attribute"]]].text


BOOK.add(
    416, "something about the newest order of a status", [366], "train", ADMIN,
    'Get the {{attribute}} of the most recent order with status "{{status}}", as the list of orders shows it',
    _attribute_drafts,
    _attribute,
)  # fmt: skip


def _sum_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for status, title in STATUSES.items():
        count = rng.randint(2, 5)
        rows = world.all(
            "SELECT grand_total FROM sales_order WHERE status = ? ORDER BY created_at DESC, id DESC LIMIT ?",
            status,
            count,
        )
        if len(rows) == count:
            params = {"N": str(count), "status": title}
            yield Draft(params, exactly(money(sum(row["grand_total"] for row in rows))))


def _sum(params: Params, page: Page) -> Script:
    page = yield from _orders(page, Status=params["status"])
    rows = page.table("Grand Total")[: int(params["N"])]
    return money(sum(amount(row["Grand Total"].text) for row in rows))


BOOK.add(
    417, "sum of the newest orders of a status", [367], "test", ADMIN,
    'Get the total payment amount of the last {{N}} orders with status "{{status}}"', _sum_drafts, _sum, most=7,
)  # fmt: skip


def _sold_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for count in (2, 3, 4):
        total = world.value(
            "SELECT sum(qty) FROM order_item WHERE order_id IN (SELECT id FROM sales_order ORDER BY created_at"
            " DESC, id DESC LIMIT ?)",
            count,
        )
        yield Draft({"k": str(count)}, exactly(str(total)))


def _sold_items(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Sales", "Orders")
    total = 0
    for place in range(int(params["k"])):
        page = yield moves.link(page.table("Purchase Date")[place], "Action", "View")
        total += sum(int(row["Qty"].text.split()[-1]) for row in page.table("Product"))
        page = yield "go_back"
    return str(total)


BOOK.add(
    418, "items of the newest orders", [1002], "train", ADMIN,
    "What's the total number of items sold in the most recent {{k}} orders?",
    _sold_drafts, _sold_items,
)  # fmt: skip


def _canceled_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for month in _past_months(world, rng, 17):
        rows = world.all(
            "SELECT firstname || ' ' || lastname AS name, count(*) AS n FROM sales_order JOIN order_address ON order_id ="
            " sales_order.id AND kind = 'billing' WHERE status = 'canceled' AND created_at LIKE ? GROUP BY name"
            " ORDER BY n DESC",
            f"{stem_of(month)}%",
        )
        if len(rows) > 1 and rows[0]["n"] > rows[1]["n"]:
            yield Draft({"time": month}, exactly(rows[0]["name"]))


def _canceled(params: Params, page: Page) -> Script:
    begin, end = _span(params["time"])
    page = yield from _orders(page, Purchase_Date_from=begin, Purchase_Date_to=end, Status="Canceled")
    counts: dict[str, int] = {}
    rows: list[dict[str, Node]] = yield from moves.every_row(page, "Purchase Date")
    for row in rows:
        counts[row["Bill-to Name"].text] = counts.get(row["Bill-to Name"].text, 0) + 1
    return max(counts, key=lambda name: counts[name])


BOOK.add(
    419, "customer with most cancellations", [234], "train", ADMIN,
    "Tell me the name of the customer who has the most canceled orders among those purchased in {{time}}", _canceled_drafts,
    _canceled,
)  # fmt: skip


def _invoice_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.all("SELECT * FROM invoice ORDER BY id"), 8):
        yield Draft({"id": row["increment_id"]}, exactly(money(row["grand_total"])))


def _invoice(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Sales", "Invoices")
    page = yield from narrow(page, Invoice=params["id"])
    return page.table("Invoice")[0]["Amount"].text


BOOK.add(
    420,
    "total of an invoice",
    [274],
    "train",
    ADMIN,
    "Tell me the grand total of invoice {{id}}",
    _invoice_drafts,
    _invoice,
)

# -- products ----------------------------------------------------------------------------------------------------------


def _left_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for count in some(rng, range(1, 16), 12):
        attribute = rng.choice(("SKU", "name"))
        rows = world.all("SELECT sku, name FROM product WHERE qty = ? ORDER BY id", count)
        params = {"Attribute": attribute, "N": str(count)}
        if not rows:
            yield Draft(params, impossible(f"No product has {count} units left."))
        elif len(rows) <= 5:
            yield Draft(params, answer(*(row[attribute.lower()] for row in rows)))


def _left(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Catalog", "Products")
    page = yield from narrow(page, Quantity_from=params["N"], Quantity_to=params["N"])
    if not moves.found(page):
        return NOT_DONE
    return "; ".join(row[params["Attribute"].replace("name", "Name")].text for row in page.table("SKU"))


BOOK.add(
    421, "products with few units left", [368], "train", ADMIN,
    "Give me the {{Attribute}} of the products that have {{N}} units left",
    _left_drafts, _left,
)  # fmt: skip


def _day_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all("SELECT created_at FROM sales_order ORDER BY id")
    for row in some(rng, rows, 8):
        day = row["created_at"][:10]
        count = world.value("SELECT count(*) FROM sales_order WHERE created_at LIKE ?", f"{day}%")
        year, month, number = (int(part) for part in day.split("-"))
        yield Draft({"date": f"{month}/{number}/{year}"}, exactly(str(count)))


def _day(params: Params, page: Page) -> Script:
    page = yield from _orders(page, Purchase_Date_from=params["date"], Purchase_Date_to=params["date"])
    return str(moves.found(page))


BOOK.add(
    422,
    "orders of a day",
    [270],
    "validation",
    ADMIN,
    "How many orders were placed on {{date}}?",
    _day_drafts,
    _day,
)

"""Looking around in the shop: the front page, categories, search; lists of products with filters, orders and pages."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.shop import product
from turngym_webarena.sites.web import ERROR, Missing, Paging, Refused, Row, Visit, cents, like

LIMITS = (12, 24, 36)
ORDERS = {"position": "Position", "name": "Product Name", "price": "Price"}
_COLUMNS = {"position": "product.position, product.id", "name": "product.name COLLATE NOCASE, product.id",
            "price": "product.price, product.id", "relevance": "product.id"}  # fmt: skip
_BANDS = 6  # price ranges offered beside a list
SHOWN = "product.visible AND product.status = 1"
RATED = (
    "SELECT product.*, (SELECT count(*) FROM review WHERE product_id = product.id AND review.status = 1) AS reviews,"
    " (SELECT avg(rating) FROM review WHERE product_id = product.id AND review.status = 1) AS stars FROM product"
)


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list of products, with what the toolbar around it says."""

    products: list[Row]
    paging: Paging
    order: str
    orders: dict[str, str]
    descending: bool
    low: int | None
    high: int | None
    bands: list[tuple[int, int, int]]  # from and to in dollars, and how many


def home(visit: Visit) -> Response:
    """The front page: some products of the world, always the same."""
    rows = visit.all(f"{RATED} WHERE {SHOWN} AND product.position = 3 ORDER BY product.id LIMIT 12")
    return visit.page("shop/home.html", products=rows, **frame(visit))


def by_address(visit: Visit) -> Response:
    """A category's or a product's page: both end in .html."""
    address = str(visit.ids["address"])
    found = visit.one("SELECT * FROM category WHERE path = ?", address)
    if found is not None:
        return _category(visit, found)
    row = visit.one("SELECT * FROM product WHERE slug = ? AND visible AND status = 1", address)
    if row is None:
        raise Missing
    category = visit.one("SELECT * FROM category WHERE id = ?", row["category_id"])
    return product.show(visit, row, crumbs=crumbs(visit, category), **frame(visit))


def _category(visit: Visit, category: Row) -> Response:
    if "price_from" in visit.query or "price_to" in visit.query:
        return _price_form(visit)
    inside = "product.category_id IN (SELECT id FROM category WHERE path = ? OR path LIKE ? || '/%')"
    listing = _listing(visit, inside, [category["path"], category["path"]], "position", ORDERS)
    below = visit.all(
        "SELECT category.*, (SELECT count(*) FROM product WHERE visible AND status = 1 AND category_id IN"
        " (SELECT id FROM category inner_ WHERE inner_.path = category.path OR inner_.path LIKE category.path || '/%'))"
        " AS products FROM category WHERE parent_id = ? ORDER BY id",
        category["id"],
    )
    return visit.page(
        "shop/list.html", title=category["name"], heading=category["name"], listing=listing, below=below,
        crumbs=crumbs(visit, category), searched=None, **frame(visit),
    )  # fmt: skip


def search(visit: Visit) -> Response:
    """Products whose names, brands or numbers hold every word; if none does, those that hold any."""
    words = visit.query.get("q", "").split()[:12]
    if "price_from" in visit.query or "price_to" in visit.query:
        return _price_form(visit)
    if not words:
        return visit.go("/", "Enter something to search for.", ERROR)
    has = "(' ' || product.name || ' ' || product.sku) LIKE ? ESCAPE '\\'"
    values: list[Any] = [like(f" {word}").removesuffix("%") + "%" for word in words]
    joined = " AND "
    if not visit.value(f"SELECT 1 FROM product WHERE {SHOWN} AND {joined.join([has] * len(words))}", *values):
        joined = " OR "
    listing = _listing(
        visit,
        f"({joined.join([has] * len(words))})",
        values,
        "relevance",
        {"name": "Product Name", "price": "Price", "relevance": "Relevance"},
    )
    text = " ".join(words)
    return visit.page(
        "shop/list.html", title=f"Search results for: '{text}'", heading=f"Search results for: '{text}'", listing=listing,
        below=[], crumbs=[("Home", "/")], searched=text, **frame(visit),
    )  # fmt: skip


def advanced(visit: Visit) -> Response:
    """The form for a search by several fields."""
    return visit.page("shop/advanced.html", **frame(visit))


def advanced_result(visit: Visit) -> Response:
    """What that form finds."""
    name, sku, words = (visit.query.get(field, "").strip() for field in ("name", "sku", "description"))
    low, high = cents(visit.query.get("price_from", "")), cents(visit.query.get("price_to", ""))
    if not (name or sku or words) and low is None and high is None:
        raise Refused("Enter a search term and try again.", "/catalogsearch/advanced/")
    where = "product.name LIKE ? ESCAPE '\\' AND product.sku LIKE ? ESCAPE '\\' AND product.description LIKE ? ESCAPE '\\'"
    values: list[Any] = [like(name), like(sku), like(words)]
    where += " AND product.price BETWEEN ? AND ?"
    values += [low or 0, 10**12 if high is None else high]
    listing = _listing(visit, where, values, "name", {"name": "Product Name", "price": "Price"})
    return visit.page(
        "shop/list.html", title="Advanced Search Results", heading="Catalog Advanced Search", listing=listing, below=[],
        crumbs=[("Home", "/"), ("Catalog Advanced Search", "/catalogsearch/advanced/")], searched="", **frame(visit),
    )  # fmt: skip


def _listing(visit: Visit, where: str, values: list[Any], default: str, orders: dict[str, str]) -> Listing:
    order = visit.query.get("product_list_order", default)
    order = order if order in orders else default
    descending = visit.query.get("product_list_dir", "desc" if default == "relevance" else "asc") == "desc"
    where = f"{SHOWN} AND {where}"
    bands = _bands(visit, where, values)
    low, high = _price(visit.query.get("price"))
    if low is not None:
        where, values = f"{where} AND product.price >= ?", [*values, low]
    if high is not None:
        where, values = f"{where} AND product.price < ?", [*values, high]
    total = int(visit.value(f"SELECT count(*) FROM product WHERE {where}", *values))
    paging = visit.paging(total, LIMITS, "product_list_limit")
    column = _COLUMNS[order]
    if descending and order != "relevance":
        column = column.replace(", product.id", " DESC, product.id")
    rows = visit.all(
        f"{RATED} WHERE {where} ORDER BY {column} LIMIT ? OFFSET ?", *values, paging.limit, paging.offset
    )
    return Listing(rows, paging, order, orders, descending, low, high, bands)


def _bands(visit: Visit, where: str, values: list[Any]) -> list[tuple[int, int, int]]:
    """Ranges of equal width that hold at least one product."""
    most = int(visit.value(f"SELECT coalesce(max(price), 0) FROM product WHERE {where}", *values))
    width = next(step for step in (5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if most < step * 100 * _BANDS)
    rows = visit.all(
        f"SELECT price / {width * 100} AS band, count(*) AS n FROM product WHERE {where} GROUP BY band ORDER BY band",
        *values,
    )
    return [(row["band"] * width, (row["band"] + 1) * width, row["n"]) for row in rows]


def _price(text: str | None) -> tuple[int | None, int | None]:
    """ "10-25.5" in cents; either end may be left out; anything else is no filter."""
    if text is None or text.count("-") != 1:
        return None, None
    low, high = text.split("-")
    return cents(low), cents(high)


def _price_form(visit: Visit) -> Response:
    ends = [visit.query.get(name, "").strip().removeprefix("$") for name in ("price_from", "price_to")]
    if any(end and cents(end) is None for end in ends):
        raise Refused(
            "Prices are numbers, such as 25 or 19.99.",
            visit.with_query(price_from=None, price_to=None),
        )
    price = f"{ends[0] or 0}-{ends[1]}" if any(ends) else None
    return visit.go(visit.with_query(price_from=None, price_to=None, price=price, p=None))


def crumbs(visit: Visit, category: Row | None) -> list[tuple[str, str]]:
    """The way from the front page to a category, itself included: names and addresses."""
    way: list[tuple[str, str]] = []
    while category is not None:
        way.insert(0, (category["name"], f"/{category['path']}.html"))
        category = visit.one("SELECT * FROM category WHERE id = ?", category["parent_id"])
    return [("Home", "/"), *way]


def frame(visit: Visit) -> dict[str, Any]:
    """What every page of the shop shows around its content."""
    tops: dict[int, dict[str, Any]] = {}
    for row in visit.all("SELECT * FROM category WHERE level < 3 ORDER BY id"):
        if row["level"] == 1:
            tops[row["id"]] = {"name": row["name"], "path": row["path"], "below": []}
        else:
            tops[row["parent_id"]]["below"].append(row)
    held = visit.value(
        "SELECT coalesce(sum(qty), 0) FROM cart_item WHERE customer_id IS (SELECT customer_id FROM visitor)"
    )
    return {"menu": list(tops.values()), "cart_count": held, "q": visit.query.get("q", "")}

"""A product's page with its options and reviews, and writing a review."""

from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.seeding.reviews import WAITING
from turngym_webarena.sites.web import Refused, Row, Visit, whole

PER_PAGE = (10, 20, 50)


def show(visit: Visit, row: Row, **frame: Any) -> Response:
    """The page. Reviews are shown newest first, those that were approved."""
    total, stars = visit.need(
        "SELECT count(*), avg(rating) FROM review WHERE product_id = ? AND status = 1", row["id"]
    )
    paging = visit.paging(total, PER_PAGE)
    reviews = visit.all(
        "SELECT * FROM review WHERE product_id = ? AND status = 1 ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
        row["id"], paging.limit, paging.offset,
    )  # fmt: skip
    return visit.page(
        "shop/product.html", product=row, stars=stars, reviews=reviews, paging=paging, choices=choices(visit, row),
        available=available(visit, row), **frame,
    )  # fmt: skip


def choices(visit: Visit, row: Row) -> dict[str, list[str]]:
    """What must be chosen before a product of several kinds goes into the cart: "Size" and "Color" with their values."""
    if row["type"] != "configurable":
        return {}
    kinds = visit.all(
        "SELECT DISTINCT size, color FROM product WHERE parent_id = ? AND status = 1 AND in_stock ORDER BY id",
        row["id"],
    )
    sizes, colors = ([*dict.fromkeys(kind[name] for kind in kinds)] for name in ("size", "color"))
    return {"Size": sizes, "Color": sorted(colors)}


def available(visit: Visit, row: Row) -> bool:
    """Whether it can be bought: in stock itself, or one of its kinds."""
    if row["type"] == "configurable":
        return bool(
            row["in_stock"]
            and visit.value(
                "SELECT 1 FROM product WHERE parent_id = ? AND status = 1 AND in_stock", row["id"]
            )
        )
    return bool(row["in_stock"])


def address(row: Row) -> str:
    """The page's address."""
    return f"/{row['slug']}.html"


def post_review(visit: Visit) -> Response:
    """Keep a review until the back office approves it."""
    row = visit.need("SELECT * FROM product WHERE id = ? AND visible", visit.ids["id"])
    back = f"{address(row)}#review-form"
    rating = whole(visit.form.get("ratings"), 0, 1, 5)
    if not rating:
        raise Refused("Please select one of each of the ratings above.", back)
    nickname = visit.field("nickname", "Nickname", back)
    title = visit.field("title", "Summary", back)
    detail = visit.field("detail", "Review", back, most=5000)
    visit.run(
        "INSERT INTO review (product_id, customer_id, nickname, title, detail, rating, status, created_at)"
        " VALUES (?, (SELECT customer_id FROM visitor), ?, ?, ?, ?, ?, ?)",
        row["id"], nickname, title, detail, rating, WAITING, visit.stamp,
    )  # fmt: skip
    return visit.go(address(row), "You submitted your review for moderation.")

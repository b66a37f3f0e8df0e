"""The few calls of the shop's REST interface by which evaluators look at a world, in the form the real shop has them.

They need a token, which is given for the back office's password; pages never show one.
"""

import json
from hashlib import sha256

from starlette.responses import Response
from starlette.routing import BaseRoute

from turngym_webarena.sites.web import Missing, Visit, as_json, get
from turngym_webarena.sites.worlds import Worlds

ADMIN, PASSWORD = "admin", "admin1234"  # of the back office; a made-up shop has no secrets
_TOKEN = sha256(f"{ADMIN}:{PASSWORD}:rest".encode()).hexdigest()[:32]


def routes(worlds: Worlds) -> list[BaseRoute]:
    """The calls."""
    return [
        get("/rest/default/V1/integration/admin/token", _token, worlds, method="POST"),
        get("/rest/V1/orders", _orders, worlds),
        get("/rest/V1/products/{sku}/reviews", _reviews, worlds),
    ]


def _token(visit: Visit) -> Response:
    try:
        given = json.loads(visit.body)
    except ValueError:
        given = None
    if not isinstance(given, dict) or (given.get("username"), given.get("password")) != (ADMIN, PASSWORD):
        return as_json({"message": "The account sign-in was incorrect."}, 401)
    return as_json(_TOKEN)


def _allowed(visit: Visit) -> bool:
    return visit.headers.get("authorization") == f"Bearer {_TOKEN}"


def _orders(visit: Visit) -> Response:
    """The newest order of the customer who is signed in, whatever the search criteria."""
    if not _allowed(visit):
        return as_json({"message": "The consumer isn't authorized."}, 401)
    rows = visit.all(
        "SELECT id, increment_id, status, created_at, grand_total FROM sales_order"
        " WHERE customer_id = (SELECT customer_id FROM visitor) ORDER BY created_at DESC, id DESC LIMIT 1"
    )
    return as_json(
        {
            "items": [
                {
                    "entity_id": row["id"], "increment_id": row["increment_id"], "status": row["status"],
                    "created_at": row["created_at"], "grand_total": row["grand_total"] / 100,
                    "items": [{"order_id": row["id"]}],
                }
                for row in rows
            ]
        }
    )  # fmt: skip


def _reviews(visit: Visit) -> Response:
    """Every review of a product, oldest first."""
    if not _allowed(visit):
        return as_json({"message": "The consumer isn't authorized."}, 401)
    product = visit.value("SELECT id FROM product WHERE sku = ?", visit.ids["sku"])
    if product is None:
        raise Missing
    rows = visit.all("SELECT * FROM review WHERE product_id = ? ORDER BY created_at, id", product)
    return as_json(
        [
            {
                "id": row["id"], "title": row["title"], "detail": row["detail"], "nickname": row["nickname"],
                "ratings": [{"rating_name": "Rating", "percent": row["rating"] * 20, "value": row["rating"]}],
                "review_status": row["status"], "created_at": row["created_at"],
            }
            for row in rows
        ]
    )  # fmt: skip

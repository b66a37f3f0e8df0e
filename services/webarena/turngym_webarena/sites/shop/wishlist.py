"""The wish list."""

from starlette.responses import Response

from turngym_webarena.sites.shop.account import account_page, signed_in
from turngym_webarena.sites.shop.checkout import MOST, put
from turngym_webarena.sites.web import Refused, Row, Visit, whole

LIST = "/wishlist/"


def wishlist(visit: Visit) -> Response:
    """What is on it."""
    rows = visit.all(
        "SELECT wishlist_item.*, product.name, product.slug, product.price, product.type FROM wishlist_item JOIN product"
        " ON product.id = product_id WHERE customer_id = ? ORDER BY wishlist_item.id",
        signed_in(visit)["id"],
    )
    return account_page(visit, "wishlist.html", "My Wish List", items=rows)


def add(visit: Visit) -> Response:
    """Put a product on it; one that is there already counts once more."""
    customer = signed_in(visit)
    row = visit.need(
        "SELECT * FROM product WHERE id = ? AND visible AND status = 1",
        whole(visit.form.get("product"), 0, 1, 2**62),
    )
    held = visit.one(
        "SELECT id FROM wishlist_item WHERE customer_id = ? AND product_id = ?", customer["id"], row["id"]
    )
    if held:
        visit.run("UPDATE wishlist_item SET qty = qty + 1 WHERE id = ?", held["id"])
    else:
        visit.run(
            "INSERT INTO wishlist_item (customer_id, product_id, comment, qty, added_at) VALUES (?, ?, '', 1, ?)",
            customer["id"], row["id"], visit.stamp,
        )  # fmt: skip
    return visit.go(LIST, f"{row['name']} has been added to your Wish List.")


def _item(visit: Visit) -> Row:
    return visit.need(
        "SELECT * FROM wishlist_item WHERE id = ? AND customer_id = ?",
        whole(visit.form.get("item"), 0, 1, 2**62), signed_in(visit)["id"],
    )  # fmt: skip


def remove(visit: Visit) -> Response:
    """Take a product off it."""
    visit.run("DELETE FROM wishlist_item WHERE id = ?", _item(visit)["id"])
    return visit.go(LIST, "The product has been removed from your Wish List.")


def update(visit: Visit) -> Response:
    """Keep comment and quantity of an entry."""
    item, quantity = _item(visit), whole(visit.form.get("qty"), 0, 1, MOST)
    if not quantity:
        raise Refused(f"Please enter a quantity from 1 to {MOST}.", LIST)
    comment = visit.form.get("comment", "").strip()[:1000]
    visit.run("UPDATE wishlist_item SET comment = ?, qty = ? WHERE id = ?", comment, quantity, item["id"])
    return visit.go(LIST, "Your Wish List has been updated.")


def to_cart(visit: Visit) -> Response:
    """Move an entry into the cart."""
    item = _item(visit)
    row = visit.need("SELECT * FROM product WHERE id = ?", item["product_id"])
    put(visit, row, "", "", item["qty"])
    visit.run("DELETE FROM wishlist_item WHERE id = ?", item["id"])
    return visit.go(LIST, f"You added {row['name']} to your shopping cart.")

"""Customers and reviews in the back office."""

from starlette.responses import Response

from turngym_webarena.sites.admin.grids import GROUPS, REVIEW_STATUSES
from turngym_webarena.sites.admin.office import office, staff
from turngym_webarena.sites.shop.orders import STATUSES
from turngym_webarena.sites.web import Refused, Visit, is_email

REVIEWS = "/admin/review/product/"


def customer(visit: Visit) -> Response:
    """One customer: account, addresses, the newest orders."""
    row = visit.need("SELECT * FROM customer WHERE id = ?", visit.ids["id"])
    addresses = visit.all("SELECT * FROM address WHERE customer_id = ? ORDER BY id", row["id"])
    orders = visit.all(
        "SELECT * FROM sales_order WHERE customer_id = ? ORDER BY created_at DESC, id DESC LIMIT 20",
        row["id"],
    )
    return office(
        visit,
        "customer.html",
        "Customers",
        customer=row,
        addresses=addresses,
        orders=orders,
        statuses=STATUSES,
        groups=GROUPS,
    )


def save_customer(visit: Visit) -> Response:
    """Keep name, e-mail address and group."""
    staff(visit)
    row = visit.need("SELECT * FROM customer WHERE id = ?", visit.ids["id"])
    back = f"/admin/customer/index/edit/id/{row['id']}/"
    first, last = (
        visit.field(name, label, back)
        for name, label in (("firstname", "First Name"), ("lastname", "Last Name"))
    )
    email, group = visit.field("email", "Email", back).lower(), visit.form.get("customer_group", "")
    if not is_email(email) or group not in GROUPS:
        raise Refused("Please enter a valid email address, and choose a group.", back)
    if visit.value("SELECT 1 FROM customer WHERE email = ? AND id <> ?", email, row["id"]):
        raise Refused("A customer with the same email address already exists.", back)
    values = {"firstname": first, "lastname": last, "email": email, "customer_group": group}
    visit.update("customer", row["id"], values)
    return visit.go(back, "You saved the customer.")


def review(visit: Visit) -> Response:
    """One review. One that is gone leaves an empty form, as in the real back office."""
    row = visit.one(
        "SELECT review.*, product.name AS product FROM review JOIN product ON product.id = product_id WHERE review.id = ?",
        visit.ids["id"],
    )
    return office(
        visit, "review.html", "Marketing", review=row, statuses=REVIEW_STATUSES, identity=visit.ids["id"]
    )


def save_review(visit: Visit) -> Response:
    """Keep a review's status and text."""
    staff(visit)
    row = visit.need("SELECT * FROM review WHERE id = ?", visit.ids["id"])
    back = f"/admin/review/product/edit/id/{row['id']}"
    status = visit.form.get("status_id", "")
    if status not in REVIEW_STATUSES:
        raise Refused("Please choose a status.", back)
    visit.run(
        "UPDATE review SET status = ?, nickname = ?, title = ?, detail = ? WHERE id = ?",
        int(status), visit.field("nickname", "Nickname", back), visit.field("title", "Summary of Review", back),
        visit.field("detail", "Review", back, 5000), row["id"],
    )  # fmt: skip
    return visit.go(REVIEWS, "You saved the review.")


def delete_review(visit: Visit) -> Response:
    """Remove a review."""
    staff(visit)
    row = visit.need("SELECT id FROM review WHERE id = ?", visit.ids["id"])
    visit.run("DELETE FROM review WHERE id = ?", row["id"])
    return visit.go(REVIEWS, "The review has been deleted.")


def _marked(visit: Visit) -> list[int]:
    staff(visit)
    return visit.marked("Please select review(s).", REVIEWS)


def mass_status(visit: Visit) -> Response:
    """Approve or refuse the marked reviews."""
    marked = _marked(visit)
    if str(visit.ids["status"]) not in REVIEW_STATUSES:
        raise Refused("Please choose an action.", REVIEWS)
    for identity in marked:
        visit.run("UPDATE review SET status = ? WHERE id = ?", visit.ids["status"], identity)
    return visit.go(REVIEWS, f"A total of {len(marked)} record(s) have been updated.")


def mass_delete(visit: Visit) -> Response:
    """Delete the marked reviews."""
    marked = _marked(visit)
    for identity in marked:
        visit.run("DELETE FROM review WHERE id = ?", identity)
    return visit.go(REVIEWS, f"A total of {len(marked)} record(s) have been deleted.")

"""Orders in the back office: looking at one, comments, cancelling, holding, shipping, tracking numbers, addresses."""

from starlette.responses import Response

from turngym_webarena.sites.admin.office import office, staff
from turngym_webarena.sites.seeding.orders import CARRIERS
from turngym_webarena.sites.shop.orders import STATUSES
from turngym_webarena.sites.web import Refused, Row, Visit, full_time

_ADDRESS = (
    ("firstname", "First Name"), ("lastname", "Last Name"), ("street", "Street Address"), ("city", "City"),
    ("region", "State/Province"), ("postcode", "Zip/Postal Code"), ("country", "Country"), ("telephone", "Phone Number"),
)  # fmt: skip
OPEN = ("pending", "processing")
UNPAID = ("pending", "processing", "fraud")  # as far as there is no invoice


def _order(visit: Visit) -> Row:
    return visit.need(
        "SELECT sales_order.*, email, customer_group FROM sales_order JOIN customer ON customer.id = customer_id"
        " WHERE sales_order.id = ?",
        visit.ids["id"],
    )


def _address(row: Row) -> str:
    return f"/admin/sales/order/view/order_id/{row['id']}/"


def view(visit: Visit) -> Response:
    """One order with all that belongs to it."""
    order = _order(visit)
    parts = {
        table: visit.all(f"SELECT * FROM {table} WHERE order_id = ? ORDER BY id", order["id"])
        for table in ("order_item", "invoice", "shipment", "creditmemo", "track")
    }
    comments = visit.all(
        "SELECT * FROM order_comment WHERE order_id = ? ORDER BY created_at DESC, id DESC", order["id"]
    )
    addresses = {
        row["kind"]: row for row in visit.all("SELECT * FROM order_address WHERE order_id = ?", order["id"])
    }
    return office(
        visit, "order.html", "Sales", order=order, parts=parts, comments=comments, addresses=addresses, statuses=STATUSES,
        carriers=CARRIERS, may=_may(order, parts),
    )  # fmt: skip


def _may(order: Row, parts: dict[str, list[Row]]) -> dict[str, bool]:
    status = order["status"]
    return {
        "cancel": status in UNPAID and not parts["invoice"],
        "hold": status in OPEN, "unhold": status == "holded",
        "ship": status in OPEN and not parts["shipment"], "track": bool(parts["shipment"]),
    }  # fmt: skip


def cancel(visit: Visit) -> Response:
    """Cancel an order that isn't paid."""
    order = _change(visit, UNPAID, "You have not canceled the item.", "canceled")
    return visit.go(_address(order), "You canceled the order.")


def hold(visit: Visit) -> Response:
    """Put an order on hold."""
    return visit.go(
        _address(_change(visit, OPEN, "You have not put the order on hold.", "holded")),
        "You put the order on hold.",
    )


def unhold(visit: Visit) -> Response:
    """Let an order go on."""
    order = _change(visit, ("holded",), "The order is not on hold.", "pending")
    return visit.go(_address(order), "You released the order from holding status.")


def _change(visit: Visit, allowed: tuple[str, ...], refusal: str, status: str) -> Row:
    staff(visit)
    order = _order(visit)
    paid = status == "canceled" and visit.value("SELECT 1 FROM invoice WHERE order_id = ?", order["id"])
    if order["status"] not in allowed or paid:
        raise Refused(refusal, _address(order))
    visit.run("UPDATE sales_order SET status = ? WHERE id = ?", status, order["id"])
    return order


def comment(visit: Visit) -> Response:
    """Note something on an order; the customer sees it if notified."""
    staff(visit)
    order = _order(visit)
    text = visit.field("history[comment]", "Comment", _address(order), 2000)
    status = visit.form.get("history[status]", order["status"])
    if status != order["status"]:
        raise Refused("The status of an order changes by its buttons.", _address(order))
    visit.run(
        "INSERT INTO order_comment (order_id, created_at, status, comment, notified) VALUES (?, ?, ?, ?, ?)",
        order["id"], visit.stamp, order["status"], text, int("history[is_customer_notified]" in visit.form),
    )  # fmt: skip
    return visit.go(_address(order), "The comment has been added.")


def new_shipment(visit: Visit) -> Response:
    """The form that ships an order."""
    order = _order(visit)
    items = visit.all("SELECT * FROM order_item WHERE order_id = ? ORDER BY id", order["id"])
    return office(visit, "shipment.html", "Sales", order=order, items=items, carriers=CARRIERS)


def ship(visit: Visit) -> Response:
    """Ship an order, with a tracking number if one is given."""
    staff(visit)
    order = _order(visit)
    if order["status"] not in OPEN or visit.value("SELECT 1 FROM shipment WHERE order_id = ?", order["id"]):
        raise Refused("This order can't be shipped.", _address(order))
    number = int(visit.value("SELECT coalesce(max(id), 0) FROM shipment")) + 1
    visit.run("INSERT INTO shipment VALUES (?, ?, ?, ?)", number, f"{number:09}", order["id"], visit.stamp)
    if visit.form.get("tracking[number]", "").strip():
        _track(visit, order)
    paid = visit.value("SELECT 1 FROM invoice WHERE order_id = ?", order["id"])
    visit.run(
        "UPDATE sales_order SET status = ? WHERE id = ?", "complete" if paid else "processing", order["id"]
    )
    return visit.go(_address(order), "The shipment has been created.")


def track(visit: Visit) -> Response:
    """Add a tracking number to a shipped order."""
    staff(visit)
    order = _order(visit)
    if not visit.value("SELECT 1 FROM shipment WHERE order_id = ?", order["id"]):
        raise Refused("The order has not been shipped yet.", _address(order))
    _track(visit, order)
    return visit.go(_address(order), "You added a tracking number.")


def _track(visit: Visit, order: Row) -> None:
    carrier = visit.form.get("tracking[carrier]", "")
    if carrier not in CARRIERS:
        raise Refused("Please choose a carrier.", _address(order))
    number = visit.field("tracking[number]", "Number", _address(order), 60)
    visit.run(
        "INSERT INTO track (order_id, created_at, carrier, number) VALUES (?, ?, ?, ?)",
        order["id"], visit.stamp, carrier, number,
    )  # fmt: skip


def history(visit: Visit) -> Response:
    """Everything that happened to an order, newest first."""
    order = _order(visit)
    events: list[tuple[str, str]] = [
        (row["created_at"], f"{STATUSES[row['status']]}: {row['comment']}"
         + (" (Customer notified)" if row["notified"] else ""))
        for row in visit.all("SELECT * FROM order_comment WHERE order_id = ?", order["id"])
    ]  # fmt: skip
    for row in visit.all("SELECT * FROM track WHERE order_id = ?", order["id"]):
        events.append((row["created_at"], f"Tracking number {row['number']} for {row['carrier']} assigned"))
    for table, title in (("invoice", "Invoice"), ("shipment", "Shipment"), ("creditmemo", "Credit memo")):
        for row in visit.all(f"SELECT * FROM {table} WHERE order_id = ?", order["id"]):
            events.append((row["created_at"], f"{title} #{row['increment_id']} created"))
    shown = [(full_time(when), text) for when, text in sorted(events, reverse=True)]
    return office(visit, "history.html", "Sales", order=order, events=shown)


def edit_address(visit: Visit) -> Response:
    """The form of an order's billing or shipping address."""
    row = visit.need("SELECT * FROM order_address WHERE id = ?", visit.ids["id"])
    return office(visit, "order_address.html", "Sales", address=row)


def save_address(visit: Visit) -> Response:
    """Keep it. The customer's own address book stays as it is."""
    staff(visit)
    row = visit.need("SELECT * FROM order_address WHERE id = ?", visit.ids["id"])
    back = f"/admin/sales/order/address/address_id/{row['id']}/"
    values = {name: visit.field(name, label, back) for name, label in _ADDRESS}
    values["street2"] = visit.form.get("street2", "").strip()[:255]
    visit.update("order_address", row["id"], values)
    return visit.go(f"/admin/sales/order/view/order_id/{row['order_id']}/", "You updated the order address.")


def invoice(visit: Visit) -> Response:
    """One invoice."""
    row = visit.need(
        "SELECT invoice.*, sales_order.increment_id AS order_number, subtotal, shipping, discount, status FROM invoice"
        " JOIN sales_order ON sales_order.id = order_id WHERE invoice.id = ?",
        visit.ids["id"],
    )
    items = visit.all("SELECT * FROM order_item WHERE order_id = ? ORDER BY id", row["order_id"])
    return office(visit, "invoice.html", "Sales", invoice=row, items=items)

"""The customer's orders: the list, one order with its papers, ordering again."""

from starlette.responses import Response

from turngym_webarena.sites.shop.account import account_page, signed_in
from turngym_webarena.sites.shop.checkout import CART, put
from turngym_webarena.sites.web import ERROR, Refused, Row, Visit, whole

LIMITS = (10, 20, 50)
STATUSES = {
    "pending": "Pending", "processing": "Processing", "complete": "Complete", "canceled": "Canceled", "closed": "Closed",
    "holded": "On Hold", "fraud": "Suspected Fraud",
}  # fmt: skip
MENU = "My Orders"


def history(visit: Visit) -> Response:
    """Orders, newest first."""
    customer = signed_in(visit)
    total = visit.value("SELECT count(*) FROM sales_order WHERE customer_id = ?", customer["id"])
    paging = visit.paging(total, LIMITS)
    rows = visit.all(
        "SELECT sales_order.*, firstname || ' ' || lastname AS ship_to FROM sales_order JOIN order_address"
        " ON order_id = sales_order.id AND kind = 'shipping' WHERE customer_id = ?"
        " ORDER BY created_at DESC, sales_order.id DESC LIMIT ? OFFSET ?",
        customer["id"], paging.limit, paging.offset,
    )  # fmt: skip
    return account_page(visit, "orders.html", MENU, orders=rows, statuses=STATUSES, paging=paging)


def _own(visit: Visit) -> Row:
    customer = signed_in(visit)
    return visit.need(
        "SELECT * FROM sales_order WHERE id = ? AND customer_id = ?", visit.ids["id"], customer["id"]
    )


def _show(visit: Visit, tab: str) -> Response:
    order = _own(visit)
    addresses = {
        row["kind"]: row for row in visit.all("SELECT * FROM order_address WHERE order_id = ?", order["id"])
    }
    papers = {
        table: visit.all(f"SELECT * FROM {table} WHERE order_id = ? ORDER BY id", order["id"])
        for table in ("invoice", "shipment", "creditmemo", "track", "order_item")
    }
    comments = visit.all(
        "SELECT * FROM order_comment WHERE order_id = ? AND notified ORDER BY created_at, id", order["id"]
    )
    return account_page(
        visit, "order.html", MENU, order=order, tab=tab, addresses=addresses, statuses=STATUSES, papers=papers,
        comments=comments,
    )  # fmt: skip


def view(visit: Visit) -> Response:
    """One order: its items, sums, addresses, shipping and payment."""
    return _show(visit, "Items Ordered")


def invoices(visit: Visit) -> Response:
    """Its invoices."""
    return _show(visit, "Invoices")


def shipments(visit: Visit) -> Response:
    """Its shipments, with tracking numbers."""
    return _show(visit, "Order Shipments")


def refunds(visit: Visit) -> Response:
    """What was refunded."""
    return _show(visit, "Refunds")


def reorder(visit: Visit) -> Response:
    """Put everything of an order into the cart that can still be had."""
    customer, identity = signed_in(visit), whole(visit.form.get("order"), 0, 1, 2**62)
    order = visit.need("SELECT * FROM sales_order WHERE id = ? AND customer_id = ?", identity, customer["id"])
    for item in visit.all("SELECT * FROM order_item WHERE order_id = ? ORDER BY id", order["id"]):
        row = visit.one("SELECT * FROM product WHERE id = ? AND status = 1", item["product_id"])
        parent = (
            visit.one("SELECT * FROM product WHERE id = ? AND status = 1", row["parent_id"]) if row else None
        )
        try:
            if row is None or (row["parent_id"] and parent is None):
                raise Refused(f"{item['name']} is no longer sold.", CART)
            put(visit, parent or row, row["size"], row["color"], item["qty"])
        except Refused as refusal:
            visit.notice(str(refusal), ERROR)
    return visit.go(CART)

"""Reports: sums and rankings over a span of time, by day, month or year. Nothing is shown until a span is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.admin.grid import date_of
from turngym_webarena.sites.admin.office import office
from turngym_webarena.sites.shop.orders import STATUSES
from turngym_webarena.sites.web import Visit, long_date, money

PERIODS = {"day": "Day", "month": "Month", "year": "Year"}
_CUT = {"day": 10, "month": 7, "year": 4}
BEST = 5  # rows of an interval in a ranking


@dataclass(frozen=True, slots=True)
class Report:
    """A report. ``sql`` has places for ``{cut}`` (the length of an interval's stamp), ``{status}`` (a condition on orders)
    and the two ends of the span; its first column is the interval. ``best`` keeps only the first rows of each interval."""

    title: str
    columns: tuple[str, ...]
    sql: str
    money: tuple[int, ...] = ()
    by_status: bool = False
    best: int | None = None


_ITEMS = "(SELECT sum(qty) FROM order_item WHERE order_id = sales_order.id)"
_PAPER = (
    "SELECT substr(paper.created_at, 1, {{cut}}) AS span, count(*), sum(paper.grand_total) FROM {table} paper JOIN sales_order"
    " ON sales_order.id = order_id WHERE paper.created_at BETWEEN ? AND ? AND {{status}} GROUP BY span ORDER BY span"
)
_RANKED = (
    "SELECT substr(sales_order.created_at, 1, {{cut}}) AS span, customer.firstname || ' ' || customer.lastname, count(*) AS n,"
    " sum(grand_total) / count(*), sum(grand_total) AS total FROM sales_order JOIN customer ON customer.id = customer_id"
    " WHERE sales_order.created_at BETWEEN ? AND ? AND {{status}} GROUP BY span, customer.id ORDER BY"
    " span, {order}, customer.id"
)
_CUSTOMER_COLUMNS = ("Interval", "Customer", "Orders", "Average", "Total")

REPORTS: dict[str, Report] = {
    "sales": Report(
        "Orders Report", ("Interval", "Orders", "Sales Items", "Sales Total", "Shipping", "Discount"),
        f"SELECT substr(created_at, 1, {{cut}}) AS span, count(*), sum({_ITEMS}), sum(grand_total),"
        f" sum(shipping), sum(discount)"
        " FROM sales_order WHERE created_at BETWEEN ? AND ? AND {status} GROUP BY span ORDER BY span",
        (3, 4, 5), by_status=True,
    ),
    "tax": Report(
        "Tax Report", ("Interval", "Tax", "Rate", "Orders", "Tax Amount"),
        "SELECT substr(created_at, 1, {cut}) AS span, '', '', 0, 0 FROM sales_order WHERE created_at BETWEEN ? AND ?"
        " AND {status} AND 0",  # nothing is taxed here
        (4,), by_status=True,
    ),
    "invoiced": Report(
        "Invoice Report", ("Interval", "Invoices", "Total Invoiced"), _PAPER.format(table="invoice"), (2,), by_status=True
    ),
    "refunded": Report(
        "Refunds Report", ("Interval", "Refunded Orders", "Total Refunded"), _PAPER.format(table="creditmemo"), (2,),
        by_status=True,
    ),
    "shipping": Report(
        "Shipping Report", ("Interval", "Carrier/Method", "Orders", "Total Sales Shipping"),
        "SELECT substr(created_at, 1, {cut}) AS span, shipping_method, count(*), sum(shipping) FROM sales_order"
        " WHERE created_at BETWEEN ? AND ? AND {status} GROUP BY span, shipping_method ORDER BY span, shipping_method",
        (3,), by_status=True,
    ),
    "coupons": Report(
        "Coupons Report", ("Interval", "Coupon Code", "Uses", "Sales Subtotal", "Sales Discount", "Sales Total"),
        "SELECT substr(created_at, 1, {cut}) AS span, coupon, count(*), sum(subtotal), sum(discount), sum(grand_total)"
        " FROM sales_order WHERE created_at BETWEEN ? AND ? AND {status} AND coupon <> '' GROUP BY span, coupon"
        " ORDER BY span, coupon",
        (3, 4, 5), by_status=True,
    ),
    "bestsellers": Report(
        "Bestsellers Report", ("Interval", "Product", "Price", "Order Quantity"),
        "SELECT substr(created_at, 1, {cut}) AS span, product.name, product.price, sum(order_item.qty) AS sold FROM order_item"
        " JOIN sales_order ON sales_order.id = order_id JOIN product ON product.id = product_id"
        " WHERE created_at BETWEEN ? AND ? AND {status} AND sales_order.status <> 'canceled' GROUP BY span, product.id"
        " ORDER BY span, sold DESC, product.id",
        (2,), best=BEST,
    ),
    "viewed": Report(
        "Product Views Report", ("Interval", "Product", "Price", "Views"),
        "SELECT substr(month, 1, {cut}) AS span, product.name, product.price, sum(views) AS seen FROM product_view"
        " JOIN product ON product.id = product_id WHERE month || '-01 00:00:00' BETWEEN ? AND ?"
        " AND {status} GROUP BY span, product.id"
        " ORDER BY span, seen DESC, product.id",
        (2,), best=BEST,
    ),
    "orders": Report("Order Count Report", _CUSTOMER_COLUMNS, _RANKED.format(order="n DESC"), (3, 4), True, BEST),
    "totals": Report("Order Total Report", _CUSTOMER_COLUMNS, _RANKED.format(order="total DESC"), (3, 4), True, BEST),
}  # fmt: skip


def page(name: str) -> Callable[[Visit], Response]:
    """The page of a report."""

    def show(visit: Visit) -> Response:
        return _show(visit, REPORTS[name])

    return show


def _show(visit: Visit, report: Report) -> Response:
    period = visit.query.get("period_type", "day")
    period = period if period in PERIODS else "day"
    first, last = visit.query.get("from", ""), visit.query.get("to", "")
    asked, status = "from" in visit.query, visit.query.get("order_statuses", "")
    begin, end = date_of(first), date_of(last)
    problem, rows = "", []
    if asked and (begin is None or end is None):
        problem = "Please give both dates, as in 5/17/2023."
    elif begin is not None and end is not None:
        rows = _rows(visit, report, period, (begin, end), status)
    return office(
        visit, "report.html", "Reports", report=report, rows=rows, periods=PERIODS, period=period, first=first, last=last,
        asked=asked and not problem, problem=problem, statuses=STATUSES, status=status,
    )  # fmt: skip


def _rows(
    visit: Visit, report: Report, period: str, span: tuple[datetime, datetime], status: str
) -> list[list[str]]:
    begin, end = f"{span[0]:%Y-%m-%d} 00:00:00", f"{span[1]:%Y-%m-%d} 23:59:59"
    values: list[Any] = [begin, end]
    condition = "1"
    if report.by_status and status in STATUSES:
        condition = "sales_order.status = ?"
        values.append(status)
    sql = report.sql.format(cut=_CUT[period], status=condition)
    rows: list[list[str]] = []
    seen: dict[str, int] = {}
    for row in visit.all(sql, *values):
        seen[row[0]] = seen.get(row[0], 0) + 1
        if report.best is None or seen[row[0]] <= report.best:
            cells = [money(cell) if place in report.money else str(cell) for place, cell in enumerate(row)]
            rows.append([_interval(row[0]), *cells[1:]])
    return rows


def _interval(stamp: str) -> str:
    """ "2023-05" as "5/2023", a day in full, a year as it is."""
    if len(stamp) == 10:
        return long_date(stamp)
    if len(stamp) == 7:
        return f"{int(stamp[5:])}/{stamp[:4]}"
    return stamp

"""What every page of the back office has around it: who may see it, the menu, signing in and out, the dashboard."""

from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.web import Refused, Visit

ADMIN, PASSWORD = "admin", "admin1234"  # a made-up shop has no secrets
LOGIN = "/admin/auth/login/"
HOME = "/admin/admin/dashboard/"
MENU: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Sales", (("Orders", "/admin/sales/order/"), ("Invoices", "/admin/sales/invoice/"),
               ("Shipments", "/admin/sales/shipment/"), ("Credit Memos", "/admin/sales/creditmemo/"))),
    ("Catalog", (("Products", "/admin/catalog/product/"),)),
    ("Customers", (("All Customers", "/admin/customer/index/"),)),
    ("Marketing", (("Cart Price Rules", "/admin/sales_rule/promo_quote/"), ("Search Terms", "/admin/search/term/"),
                   ("All Reviews", "/admin/review/product/"), ("Pending Reviews", "/admin/review/product/pending/"))),
    ("Content", (("Pages", "/admin/cms/page/"), ("Themes", "/admin/admin/system_design_theme/"))),
    ("Reports", (
        ("Orders", "/admin/reports/report_sales/sales/"), ("Tax", "/admin/reports/report_sales/tax/"),
        ("Invoiced", "/admin/reports/report_sales/invoiced/"), ("Shipping", "/admin/reports/report_sales/shipping/"),
        ("Refunds", "/admin/reports/report_sales/refunded/"), ("Coupons", "/admin/reports/report_sales/coupons/"),
        ("Bestsellers", "/admin/reports/report_sales/bestsellers/"),
        ("Product Views", "/admin/reports/report_product/viewed/"),
        ("Search Terms", "/admin/search/term/report/"), ("Order Count", "/admin/reports/report_customer/orders/"),
        ("Order Total", "/admin/reports/report_customer/totals/"),
        ("Reviews by Customers", "/admin/reports/report_review/customer/"),
        ("Reviews by Products", "/admin/reports/report_review/product/"),
    )),
)  # fmt: skip


def office(visit: Visit, template: str, section: str, **content: Any) -> Response:
    """A page of the back office; ``section`` is the part of the menu that is open. Raises Refused without a sign-in."""
    staff(visit)
    return visit.page(f"admin/{template}", menu=MENU, section=section, **content)


def staff(visit: Visit) -> str:
    """Who is signed in. Raises Refused."""
    if visit.admin is None:
        raise Refused("Please sign in.", LOGIN)
    return visit.admin


def login(visit: Visit) -> Response:
    """The form for signing in."""
    return visit.go(HOME) if visit.admin else visit.page("admin/login.html")


def sign_in(visit: Visit) -> Response:
    """Sign in."""
    if (visit.form.get("username"), visit.form.get("password")) != (ADMIN, PASSWORD):
        raise Refused("The account sign-in was incorrect or your account is disabled temporarily.", LOGIN)
    visit.run("UPDATE visitor SET admin = ?", ADMIN)
    return visit.go(HOME)


def sign_out(visit: Visit) -> Response:
    """Sign out."""
    visit.run("UPDATE visitor SET admin = NULL")
    return visit.go(LOGIN, "You have logged out.")


def dashboard(visit: Visit) -> Response:
    """Sums over all orders, and what was looked at most this month."""
    sums = visit.need(
        "SELECT coalesce(sum(grand_total), 0) AS lifetime, coalesce(avg(grand_total), 0) AS mean, count(*) AS orders"
        " FROM sales_order WHERE status <> 'canceled'"
    )
    viewed = visit.all(
        "SELECT product.name, product.price, views FROM product_view JOIN product ON product.id = product_id WHERE month = ?"
        " ORDER BY views DESC LIMIT 5",
        f"{visit.now:%Y-%m}",
    )
    return office(visit, "dashboard.html", "Dashboard", sums=sums, viewed=viewed)

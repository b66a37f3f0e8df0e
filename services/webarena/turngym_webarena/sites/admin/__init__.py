"""The back office: what the shop's staff sees. Its pages, in the order in which addresses are tried."""

from collections.abc import Callable
from dataclasses import replace

from starlette.responses import Response
from starlette.routing import BaseRoute

from turngym_webarena.sites.admin import grids, marketing, office, orders, people, products, reports
from turngym_webarena.sites.admin.grid import Grid, show
from turngym_webarena.sites.seeding.reviews import WAITING
from turngym_webarena.sites.web import Visit, both, get, post
from turngym_webarena.sites.worlds import Worlds

PENDING = replace(grids.REVIEWS, title="Pending Reviews", where=f"review.status = {WAITING}")
TERM_REPORT = replace(grids.TERMS, title="Search Terms Report", section="Reports")


def routes(worlds: Worlds) -> list[BaseRoute]:
    """Every page of the back office."""
    pages = (
        ("", office.dashboard), ("/admin", office.dashboard), ("/admin/dashboard", office.dashboard),
        ("/auth/login", office.login),
        ("/sales/order", _grid(grids.ORDERS)), ("/sales/invoice", _grid(grids.INVOICES)),
        ("/sales/shipment", _grid(grids.SHIPMENTS)), ("/sales/creditmemo", _grid(grids.CREDITMEMOS)),
        ("/sales/order/view/order_id/{id:int}", orders.view),
        ("/sales/order/commentsHistory/order_id/{id:int}/active_tab/order_shipments", orders.history),
        ("/sales/order/commentsHistory/order_id/{id:int}", orders.history),
        ("/sales/order/address/address_id/{id:int}", orders.edit_address),
        ("/sales/invoice/view/invoice_id/{id:int}", orders.invoice),
        ("/admin/order_shipment/new/order_id/{id:int}", orders.new_shipment),
        ("/catalog/product", _grid(grids.PRODUCTS)), ("/catalog/product/index", _grid(grids.PRODUCTS)),
        ("/catalog/product/edit/id/{id:int}", products.edit), ("/catalog/product/new", products.new),
        ("/customer/index", _grid(grids.CUSTOMERS)), ("/customer/index/edit/id/{id:int}", people.customer),
        ("/review/product", _grid(grids.REVIEWS)), ("/review/product/index", _grid(grids.REVIEWS)),
        ("/review/product/pending", _grid(PENDING)), ("/review/product/edit/id/{id:int}", people.review),
        ("/sales_rule/promo_quote", _grid(grids.RULES)), ("/sales_rule/promo_quote/index", _grid(grids.RULES)),
        ("/sales_rule/promo_quote/new", marketing.new_rule), ("/sales_rule/promo_quote/edit/id/{id:int}", marketing.rule),
        ("/search/term", _grid(grids.TERMS)), ("/search/term/index", _grid(grids.TERMS)),
        ("/search/term/report", _grid(TERM_REPORT)),
        ("/cms/page", _grid(grids.PAGES)), ("/cms/page/edit/page_id/{id:int}", marketing.cms),
        ("/admin/system_design_theme", _grid(grids.THEMES)), ("/admin/system_design_theme/edit/id/{id:int}", marketing.theme),
        *((f"/reports/report_sales/{name}", reports.page(name))
          for name in ("sales", "tax", "invoiced", "refunded", "shipping", "coupons", "bestsellers")),
        ("/reports/report_product/viewed", reports.page("viewed")),
        ("/reports/report_customer/orders", reports.page("orders")),
        ("/reports/report_customer/totals", reports.page("totals")),
        ("/reports/report_review/customer", _grid(grids.BY_CUSTOMER)),
        ("/reports/report_review/product", _grid(grids.BY_PRODUCT)),
    )  # fmt: skip
    forms = (
        ("/auth/loginPost", office.sign_in), ("/auth/logout", office.sign_out),
        ("/sales/order/cancel/order_id/{id:int}", orders.cancel), ("/sales/order/hold/order_id/{id:int}", orders.hold),
        ("/sales/order/unhold/order_id/{id:int}", orders.unhold),
        ("/sales/order/addComment/order_id/{id:int}", orders.comment),
        ("/sales/order/addressSave/address_id/{id:int}", orders.save_address),
        ("/admin/order_shipment/save/order_id/{id:int}", orders.ship),
        ("/admin/order_shipment/addTrack/order_id/{id:int}", orders.track),
        ("/catalog/product/save/id/{id:int}", products.save), ("/catalog/product/save", products.create),
        ("/catalog/product/addConfiguration/id/{id:int}", products.add_kind),
        ("/catalog/product/massStatus/status/{status:int}", products.mass_status),
        ("/customer/index/save/id/{id:int}", people.save_customer),
        ("/review/product/save/id/{id:int}", people.save_review), ("/review/product/delete/id/{id:int}", people.delete_review),
        ("/review/product/massStatus/status/{status:int}", people.mass_status),
        ("/review/product/massDelete", people.mass_delete),
        ("/sales_rule/promo_quote/save", marketing.create_rule),
        ("/sales_rule/promo_quote/save/id/{id:int}", marketing.save_rule),
        ("/cms/page/save/page_id/{id:int}", marketing.save_cms),
    )  # fmt: skip
    return [
        *both(get, ((f"/admin{path}", page) for path, page in pages), worlds),
        *both(post, ((f"/admin{path}", page) for path, page in forms), worlds),
    ]


def _grid(grid: Grid) -> Callable[[Visit], Response]:
    return lambda visit: show(visit, grid)

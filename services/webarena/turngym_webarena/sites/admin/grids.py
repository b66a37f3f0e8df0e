"""The grids themselves."""

from turngym_webarena.sites.admin.grid import Column, Grid
from turngym_webarena.sites.shop.orders import STATUSES

REVIEW_STATUSES = {"1": "Approved", "2": "Pending", "3": "Not Approved"}
GROUPS = {name: name for name in ("General", "Wholesale", "Retailer")}
ACTIVE = {"1": "Active", "0": "Inactive"}
ACTIONS = {
    "by_percent": "Percent of product price discount", "by_fixed": "Fixed amount discount",
    "cart_fixed": "Fixed amount discount for whole cart", "buy_x_get_y": "Buy X get Y free",
}  # fmt: skip
_BILL = "(SELECT firstname || ' ' || lastname FROM order_address WHERE order_id = sales_order.id AND kind = 'billing')"
_SHIP = _BILL.replace("billing", "shipping")
_OF = "JOIN sales_order ON sales_order.id = order_id"

ORDERS = Grid(
    "Orders", "Sales", "sales_order",
    (
        Column("increment_id", "ID", "sales_order.increment_id", search=True),
        Column("created_at", "Purchase Date", "sales_order.created_at", "date"),
        Column("billing_name", "Bill-to Name", _BILL, search=True),
        Column("shipping_name", "Ship-to Name", _SHIP),
        Column("grand_total", "Grand Total", "sales_order.grand_total", "money"),
        Column("status", "Status", "sales_order.status", "choice", STATUSES),
    ),
    "sales_order.created_at DESC, sales_order.id DESC",
    lambda row: f"/admin/sales/order/view/order_id/{row['_key']}/",
)  # fmt: skip

INVOICES = Grid(
    "Invoices", "Sales", f"invoice {_OF}",
    (
        Column("invoice_number", "Invoice", "invoice.increment_id", search=True),
        Column("invoiced_at", "Invoice Date", "invoice.created_at", "date"),
        Column("order_number", "Order #", "sales_order.increment_id", search=True),
        Column("bill_to", "Bill-to Name", _BILL),
        Column("amount", "Amount", "invoice.grand_total", "money"),
    ),
    "invoice.id DESC",
    lambda row: f"/admin/sales/invoice/view/invoice_id/{row['_key']}/",
)  # fmt: skip

SHIPMENTS = Grid(
    "Shipments", "Sales", f"shipment {_OF}",
    (
        Column("shipment_number", "Shipment", "shipment.increment_id", search=True),
        Column("shipped_at", "Ship Date", "shipment.created_at", "date"),
        Column("order_number", "Order #", "sales_order.increment_id", search=True),
        Column("ship_to", "Ship-to Name", _SHIP),
        Column("order_id", "Order", "shipment.order_id", "number", narrow=False),
    ),
    "shipment.id DESC",
    lambda row: f"/admin/sales/order/view/order_id/{row['order_id']}/",
)  # fmt: skip

CREDITMEMOS = Grid(
    "Credit Memos", "Sales", f"creditmemo {_OF}",
    (
        Column("memo_number", "Credit Memo", "creditmemo.increment_id", search=True),
        Column("refunded_at", "Created", "creditmemo.created_at", "date"),
        Column("order_number", "Order #", "sales_order.increment_id", search=True),
        Column("bill_to", "Bill-to Name", _BILL),
        Column("amount", "Refunded", "creditmemo.grand_total", "money"),
        Column("order_id", "Order", "creditmemo.order_id", "number", narrow=False),
    ),
    "creditmemo.id DESC",
    lambda row: f"/admin/sales/order/view/order_id/{row['order_id']}/",
)  # fmt: skip

PRODUCTS = Grid(
    "Products", "Catalog", "product",
    (
        Column("id", "ID", "product.id", "number"),
        Column("name", "Name", "product.name", search=True),
        Column("type", "Type", "product.type", "choice",
               {"simple": "Simple Product", "configurable": "Configurable Product"}),
        Column("sku", "SKU", "product.sku", search=True),
        Column("price", "Price", "product.price", "money"),
        Column("qty", "Quantity", "product.qty", "number"),
        Column("visible", "Visibility", "product.visible", "choice",
               {"1": "Catalog, Search", "0": "Not Visible Individually"}),
        Column("status", "Status", "product.status", "choice", {"1": "Enabled", "2": "Disabled"}),
    ),
    "product.id",
    lambda row: f"/admin/catalog/product/edit/id/{row['_key']}/",
    action="Edit",
    mass=(("/admin/catalog/product/massStatus/status/1", "Enable"),
          ("/admin/catalog/product/massStatus/status/2", "Disable")),
    button=("Add Product", "/admin/catalog/product/new/"),
)  # fmt: skip

CUSTOMERS = Grid(
    "Customers", "Customers", "customer JOIN address ON address.id = customer.billing_id",
    (
        Column("id", "ID", "customer.id", "number"),
        Column("name", "Name", "customer.firstname || ' ' || customer.lastname", search=True),
        Column("email", "Email", "customer.email", search=True),
        Column("customer_group", "Group", "customer.customer_group", "choice", GROUPS),
        Column("telephone", "Phone", "address.telephone", search=True),
        Column("postcode", "ZIP", "address.postcode"),
        Column("region", "State/Province", "address.region"),
        Column("created_at", "Customer Since", "customer.created_at", "date"),
    ),
    "customer.id",
    lambda row: f"/admin/customer/index/edit/id/{row['_key']}/",
    action="Edit",
)  # fmt: skip

REVIEWS = Grid(
    "Reviews", "Marketing", "review JOIN product ON product.id = review.product_id",
    (
        Column("id", "ID", "review.id", "number"),
        Column("created_at", "Created", "review.created_at", "date"),
        Column("status", "Status", "review.status", "choice", REVIEW_STATUSES),
        Column("title", "Title", "review.title"),
        Column("nickname", "Nickname", "review.nickname"),
        Column("detail", "Review", "review.detail"),
        Column("rating", "Rating", "review.rating", "choice",
               {str(number): f"{number} star{'s' if number > 1 else ''}" for number in range(1, 6)}),
        Column("product", "Product", "product.name"),
        Column("sku", "SKU", "product.sku"),
    ),
    "review.id DESC",
    lambda row: f"/admin/review/product/edit/id/{row['_key']}",
    action="Edit",
    mass=(("/admin/review/product/massStatus/status/1", "Approve"),
          ("/admin/review/product/massStatus/status/3", "Refuse"), ("/admin/review/product/massDelete", "Delete")),
)  # fmt: skip

TERMS = Grid(
    "Search Terms", "Marketing", "search_term",
    (
        Column("term", "Search Query", "search_term.term", search=True),
        Column("results", "Results", "search_term.results", "number"),
        Column("uses", "Uses", "search_term.uses", "number"),
    ),
    "search_term.id",
)  # fmt: skip

RULES = Grid(
    "Cart Price Rules", "Marketing", "price_rule",
    (
        Column("id", "ID", "price_rule.id", "number"),
        Column("name", "Rule", "price_rule.name", search=True),
        Column("coupon", "Coupon Code", "price_rule.coupon"),
        Column("active", "Status", "price_rule.active", "choice", ACTIVE),
        Column("website", "Website", "price_rule.website", narrow=False),
    ),
    "price_rule.id",
    lambda row: f"/admin/sales_rule/promo_quote/edit/id/{row['_key']}/",
    action="Edit",
    button=("Add New Rule", "/admin/sales_rule/promo_quote/new/"),
)  # fmt: skip

PAGES = Grid(
    "Pages", "Content", "cms_page",
    (
        Column("id", "ID", "cms_page.id", "number"),
        Column("title", "Title", "cms_page.title", search=True),
        Column("identifier", "URL Key", "cms_page.identifier"),
        Column("active", "Status", "cms_page.active", "choice", {"1": "Enabled", "0": "Disabled"}),
    ),
    "cms_page.id",
    lambda row: f"/admin/cms/page/edit/page_id/{row['_key']}/",
    action="Edit",
)  # fmt: skip

THEMES = Grid(
    "Themes", "Content", "theme",
    (
        Column("title", "Theme Title", "theme.title", search=True),
        Column("parent", "Parent Theme", "theme.parent"),
        Column("path", "Theme Path", "theme.path"),
    ),
    "theme.id",
    lambda row: f"/admin/admin/system_design_theme/edit/id/{row['_key']}/",
)  # fmt: skip

_TALLY = "(SELECT {what} FROM review WHERE review.{of} = {table}.id)"
BY_CUSTOMER = Grid(
    "Customer Reviews Report", "Reports", "customer",
    (
        Column("name", "Customer", "customer.firstname || ' ' || customer.lastname", search=True),
        Column("reviews", "Reviews", _TALLY.format(what="count(*)", of="customer_id", table="customer"), "number"),
    ),
    "reviews DESC, customer.id",
)  # fmt: skip

BY_PRODUCT = Grid(
    "Product Reviews Report", "Reports", "product",
    (
        Column("id", "ID", "product.id", "number"),
        Column("product", "Product", "product.name", search=True),
        Column("reviews", "Reviews", _TALLY.format(what="count(*)", of="product_id", table="product"), "number"),
        Column("average", "Average", _TALLY.format(what="round(avg(rating), 2)", of="product_id", table="product"),
               narrow=False),
        Column("last", "Last Review", _TALLY.format(what="max(created_at)", of="product_id", table="product"), "date",
               narrow=False),
    ),
    "product.id",
    where="product.visible",
)  # fmt: skip

"""The cart, and its way to an order: address and shipping, payment, the order's number."""

from starlette.responses import Response

from turngym_webarena.sites.shop import product
from turngym_webarena.sites.shop.browse import frame
from turngym_webarena.sites.web import Refused, Row, Visit, whole

SHIPPING = {"flatrate": ("Flat Rate", "Fixed", 500), "bestway": ("Best Way", "Table Rate", 900)}
PAYMENTS = {
    "checkmo": "Check / Money order",
    "banktransfer": "Bank Transfer Payment",
    "cashondelivery": "Cash On Delivery",
}
MOST = 100  # pieces of one thing
CART, CHECKOUT = "/checkout/cart/", "/checkout/"
OWN = "customer_id IS (SELECT customer_id FROM visitor)"


def items(visit: Visit) -> list[Row]:
    """What is in the visitor's cart, oldest first; each row with its ``slug`` (the page it was bought on) and ``total``."""
    return visit.all(
        "SELECT cart_item.id, cart_item.options, cart_item.qty, product.name AS child, product.sku, product.price,"
        " product.id AS product_id, product.price * cart_item.qty AS total, coalesce(parent.name, product.name) AS name,"
        " coalesce(parent.slug, product.slug) AS slug, product.qty AS stock"
        f" FROM cart_item JOIN product ON product.id = cart_item.product_id"
        f" LEFT JOIN product parent ON parent.id = product.parent_id WHERE {OWN} ORDER BY cart_item.id"
    )


def put(visit: Visit, row: Row, size: str, color: str, quantity: int) -> None:
    """Put pieces of a product into the cart. Raises Refused, with the product's page as the way on."""
    back = product.address(row)
    options = ""
    if row["type"] == "configurable":
        if not size or not color:
            raise Refused("You need to choose options for your item.", back)
        child = visit.one(
            "SELECT * FROM product WHERE parent_id = ? AND size = ? AND color = ? AND status = 1",
            row["id"],
            size,
            color,
        )
        if child is None or not child["in_stock"]:
            raise Refused(f"{row['name']} is not available in size {size} and color {color}.", back)
        options, row = f"Size: {size}; Color: {color}", child
    if not row["in_stock"] or row["status"] != 1:  # a wish list may hold what is no longer sold
        raise Refused("This product is out of stock.", back)
    held = visit.one(f"SELECT * FROM cart_item WHERE product_id = ? AND {OWN}", row["id"])
    wanted = quantity + (held["qty"] if held else 0)
    _check_stock(wanted, row["qty"], back)
    if held:
        visit.run("UPDATE cart_item SET qty = ? WHERE id = ?", wanted, held["id"])
    else:
        visit.run(
            "INSERT INTO cart_item (customer_id, product_id, options, qty) VALUES ((SELECT customer_id FROM"
            " visitor), ?, ?, ?)",
            row["id"], options, quantity,
        )  # fmt: skip


def add(visit: Visit) -> Response:
    """The button on a product's page, or in a list, where products of several kinds send the visitor to their page."""
    row = visit.need(
        "SELECT * FROM product WHERE id = ? AND visible AND status = 1",
        whole(visit.form.get("product"), 0, 1, 2**62),
    )
    back = product.address(row)
    quantity = whole(visit.form.get("qty", "1"), 0, 1, MOST)
    if not quantity:
        raise Refused(f"Please enter a quantity from 1 to {MOST}.", back)
    put(visit, row, visit.form.get("size", ""), visit.form.get("color", ""), quantity)
    return visit.go(back, f"You added {row['name']} to your shopping cart.")


def cart(visit: Visit) -> Response:
    """What is in the cart."""
    return visit.page("shop/cart.html", items=items(visit), **frame(visit))


def update(visit: Visit) -> Response:
    """New quantities; 0 takes a thing out."""
    for item in items(visit):
        text = visit.form.get(f"qty-{item['id']}")
        if text is None:
            continue
        quantity = whole(text, -1, 0, MOST)
        if quantity < 0:
            raise Refused(f"Please enter a quantity from 0 to {MOST}.", CART)
        _check_stock(quantity, item["stock"], CART)
        if quantity:
            visit.run("UPDATE cart_item SET qty = ? WHERE id = ?", quantity, item["id"])
        else:
            visit.run("DELETE FROM cart_item WHERE id = ?", item["id"])
    return visit.go(CART)


def delete(visit: Visit) -> Response:
    """Take a thing out."""
    visit.run(f"DELETE FROM cart_item WHERE id = ? AND {OWN}", whole(visit.form.get("id"), 0, 1, 2**62))
    return visit.go(CART)


def _check_stock(wanted: int, stock: int, back: str) -> None:
    if wanted > stock:
        raise Refused("The requested qty is not available.", back)


def _ready(visit: Visit) -> Row:
    """The customer, who has something in the cart. Raises Refused."""
    if visit.customer is None:
        raise Refused("Please sign in to check out.", "/customer/account/login/")
    if not items(visit):
        raise Refused("You have no items in your shopping cart.", CART)
    return visit.customer


def _state(visit: Visit) -> Row | None:
    return visit.one(f"SELECT * FROM checkout WHERE {OWN}")


def shipping(visit: Visit) -> Response:
    """First step: where to, and how."""
    customer = _ready(visit)
    found = visit.all("SELECT * FROM address WHERE customer_id = ? ORDER BY id", customer["id"])
    state = _state(visit)
    return visit.page(
        "shop/shipping.html", items=items(visit), addresses=found, methods=SHIPPING,
        chosen=state["address_id"] if state else customer["shipping_id"], method=state["shipping_method"] if state else "",
        **frame(visit),
    )  # fmt: skip


def save_shipping(visit: Visit) -> Response:
    """Keep the first step's choices."""
    customer = _ready(visit)
    method = visit.form.get("shipping_method", "")
    if method not in SHIPPING:
        raise Refused("The shipping method is missing. Select the shipping method and try again.", CHECKOUT)
    found = visit.one(
        "SELECT id FROM address WHERE id = ? AND customer_id = ?",
        whole(visit.form.get("address"), 0, 1, 2**62),
        customer["id"],
    )
    if found is None:
        raise Refused("Please choose a shipping address.", CHECKOUT)
    visit.run(f"DELETE FROM checkout WHERE {OWN}")
    visit.run("INSERT INTO checkout VALUES (?, ?, ?)", customer["id"], found["id"], method)
    return visit.go("/checkout/payment/")


def payment(visit: Visit) -> Response:
    """Second step: how to pay, and the sum."""
    _ready(visit)
    state = _state(visit)
    if state is None:
        raise Refused("Please choose how to ship first.", CHECKOUT)
    found = items(visit)
    title, detail, fee = SHIPPING[state["shipping_method"]]
    ship_to = visit.need("SELECT * FROM address WHERE id = ?", state["address_id"])
    return visit.page(
        "shop/payment.html", items=found, payments=PAYMENTS, method=f"{title} - {detail}", ship_to=ship_to,
        subtotal=sum(item["total"] for item in found), shipping=fee * len(found), **frame(visit),
    )  # fmt: skip


def place(visit: Visit) -> Response:
    """Make the order."""
    customer, state = _ready(visit), _state(visit)
    if state is None:
        raise Refused("Please choose how to ship first.", CHECKOUT)
    method = visit.form.get("payment_method", "")
    if method not in PAYMENTS:
        raise Refused("Please choose a payment method.", "/checkout/payment/")
    found = items(visit)
    for item in found:
        _check_stock(item["qty"], item["stock"], CART)
    title, detail, fee = SHIPPING[state["shipping_method"]]
    subtotal, shipping_fee = sum(item["total"] for item in found), fee * len(found)
    number = int(visit.value("SELECT max(id) FROM sales_order")) + 1
    visit.run(
        "INSERT INTO sales_order VALUES (?, ?, ?, 'pending', ?, ?, ?, 0, '', ?, ?, ?)",
        number, f"{number:09}", customer["id"], visit.stamp, subtotal, shipping_fee, subtotal + shipping_fee,
        f"{title} - {detail}", PAYMENTS[method],
    )  # fmt: skip
    for item in found:
        visit.run(
            "INSERT INTO order_item (order_id, product_id, name, sku, options, price, qty) VALUES (?, ?, ?, ?, ?, ?, ?)",
            number, item["product_id"], item["name"], item["sku"], item["options"], item["price"], item["qty"],
        )  # fmt: skip
        visit.run("UPDATE product SET qty = qty - ? WHERE id = ?", item["qty"], item["product_id"])
    for kind, identity in (("billing", customer["billing_id"]), ("shipping", state["address_id"])):
        visit.run(
            "INSERT INTO order_address (order_id, kind, firstname, lastname, street, street2, city, region, postcode,"
            " country, telephone) SELECT ?, ?, firstname, lastname, street, street2, city, region, postcode, country,"
            " telephone FROM address WHERE id = ?",
            number, kind, identity,
        )  # fmt: skip
    visit.run(f"DELETE FROM cart_item WHERE {OWN}")
    visit.run(f"DELETE FROM checkout WHERE {OWN}")
    return visit.go("/checkout/onepage/success/")


def success(visit: Visit) -> Response:
    """The number of the customer's newest order."""
    row = visit.one(f"SELECT * FROM sales_order WHERE {OWN} ORDER BY id DESC LIMIT 1")
    if row is None:
        raise Refused("You have not placed an order.", CART)
    return visit.page("shop/success.html", order=row, **frame(visit))

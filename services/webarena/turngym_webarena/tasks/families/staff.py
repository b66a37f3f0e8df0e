"""Families of the back office that change something: orders, products, reviews, price rules, pages."""

import re
from collections.abc import Iterator
from random import Random

from turngym_webarena.sites.seeding.orders import CARRIERS
from turngym_webarena.sites.seeding.people import place
from turngym_webarena.sites.web import plain_money
from turngym_webarena.tasks.families import moves
from turngym_webarena.tasks.families.model import (
    ADMIN,
    Book,
    Draft,
    Row,
    World,
    pages,
    product_url,
    shows,
    some,
    text_of,
    value_of,
)  # fmt: skip
from turngym_webarena.tasks.families.office import narrow
from turngym_webarena.tasks.page import Lost, Page, Params, Script, amount

BOOK = Book()
STATUS = text_of("#order_status")
NOTE = (
    'document.querySelector("#order_history_block").querySelector(".note-list").firstElementChild'
    '.querySelector(".note-list-comment").outerText'
)
PRICE = value_of("product[price]")
QTY = value_of("product[quantity_and_stock_status][qty]")
IN_STOCK = value_of("product[quantity_and_stock_status][is_in_stock]")
MESSAGES = (
    "the order is ready to be shipped soon", "we will call you tomorrow", "sorry, we ran out of boxes for today",
    "your parcel leaves on Monday", "thank you for your patience",
)  # fmt: skip


def _edit_url(row: Row) -> str:
    return f"__SHOPPING_ADMIN__/catalog/product/edit/id/{row['id']}/"


def _order_url(order: int) -> str:
    return f"__SHOPPING_ADMIN__/sales/order/view/order_id/{order}/"


def order(page: Page, number: str) -> moves.Move:
    """Open an order's page."""
    page = yield from moves.office(page, "Sales", "Orders")
    page = yield from narrow(page, ID=number)
    return (yield moves.link(page.table("Purchase Date")[0], "Action", "View"))


def product(page: Page, name: str) -> moves.Move:
    """Open a product's form."""
    page = yield from moves.office(page, "Catalog", "Products")
    page = yield from narrow(page, Name=name)
    row = next((row for row in page.table("SKU") if row["Name"].text == name), None)
    if row is None:
        raise Lost(f"no product {name!r} among those found")
    return (yield moves.link(row, "Action", "Edit"))


# -- orders ------------------------------------------------------------------------------------------------------------


def _cancel_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all(
        "SELECT * FROM sales_order WHERE status IN ('pending', 'fraud') AND id NOT IN (SELECT order_id FROM"
        " invoice) ORDER BY id"
    )
    for row in some(rng, rows, 8):
        yield Draft(
            {"id": f"#{row['increment_id']}"}, pages(shows(_order_url(row["id"]), STATUS, exact="Canceled"))
        )


def _cancel(params: Params, page: Page) -> Script:
    page = yield from order(page, params["id"].removeprefix("#"))
    yield moves.press(page, "button", "Cancel")
    return ""


BOOK.add(
    501,
    "cancel an order",
    [257],
    "train",
    ADMIN,
    "Cancel order {{id}}",
    _cancel_drafts,
    _cancel,
    touches=["sales_order"],
)


def _notify_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all(
        "SELECT sales_order.id, firstname || ' ' || lastname AS name, max(created_at)"
        " FROM sales_order JOIN order_address ON order_id ="
        " sales_order.id AND kind = 'billing' WHERE status = 'pending' GROUP BY customer_id"
        " ORDER BY name"
    )
    for row in some(rng, rows, 6):
        message = rng.choice(MESSAGES)
        check = shows(_order_url(row["id"]), NOTE, exact=message)
        told = shows(
            _order_url(row["id"]), text_of("#order_history_block .note-list li"), "Customer Notified"
        )
        yield Draft({"name": row["name"], "message": message}, pages(check, told))


def _notify(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Sales", "Orders")
    page = yield from narrow(page, **{"Bill-to_Name": params["name"]}, Status="Pending")
    page = yield moves.link(page.table("Purchase Date")[0], "Action", "View")
    page = yield moves.write(page, "Comment", params["message"])
    page = yield moves.press(page, "checkbox", re.compile("Notify Customer"))
    yield moves.press(page, "button", "Submit Comment")
    return ""


BOOK.add(
    502, "notify a customer", [280], "train", ADMIN,
    'Notify {{name}} by email, in their most recent pending order, with the message "{{message}}"', _notify_drafts, _notify,
    touches=["order_comment"],
)  # fmt: skip


def _track_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all(
        "SELECT * FROM sales_order WHERE status = 'complete' AND id NOT IN (SELECT order_id FROM track) ORDER BY id"
    )
    for row in some(rng, rows, 8):
        carrier, number = rng.choice(CARRIERS), str(rng.randint(10**8, 10**9 - 1))
        url = (
            f"__SHOPPING_ADMIN__/sales/order/commentsHistory/order_id/{row['id']}/active_tab/order_shipments/"
        )
        check = shows(url, "", f"Tracking number {number} for {carrier} assigned")
        yield Draft(
            {"order": f"#{row['increment_id']}", "service": carrier, "tracking": number}, pages(check)
        )


def _track(params: Params, page: Page) -> Script:
    page = yield from order(page, params["order"].removeprefix("#"))
    page = yield moves.choose(page, "Carrier", params["service"])
    page = yield moves.write(page, "Number", params["tracking"])
    yield moves.press(page, "button", "Add Tracking Number")
    return ""


BOOK.add(
    503, "add a tracking number", [284], "test", ADMIN,
    "Update order {{order}} with the {{service}} tracking number {{tracking}}", _track_drafts, _track, touches=["track"],
)  # fmt: skip


def _address_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all("SELECT * FROM sales_order WHERE status IN ('pending', 'processing') ORDER BY id")
    for row in some(rng, rows, 8):
        street, _, city, region, postcode = place(rng)
        params = {
            "order_id": f"#{row['increment_id']}",
            "street": street,
            "city": city,
            "region": region,
            "postcode": postcode,
        }
        check = shows(_order_url(row["id"]), text_of("main"), street, f"{city}, {region}, {postcode}")
        yield Draft(params, pages(check))


def _address(params: Params, page: Page) -> Script:
    page = yield from order(page, params["order_id"].removeprefix("#"))
    page = yield moves.press(page, "link", "Edit Shipping Address")
    labels = {
        "street": "Street Address",
        "city": "City",
        "region": "State/Province",
        "postcode": "Zip/Postal Code",
    }
    for key, label in labels.items():
        page = yield from moves.fill(page, label, params[key])
    yield moves.press(page, "button", "Save Order Address")
    return ""


BOOK.add(
    504, "change an order's address", [240], "train", ADMIN,
    "Change the shipping address of order {{order_id}} to {{street}}, {{city}}, {{region}}, {{postcode}}", _address_drafts,
    _address, touches=["order_address"],
)  # fmt: skip

# -- products ----------------------------------------------------------------------------------------------------------


def _disable_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 8):
        check = shows(_edit_url(row), value_of("product[status]"), exact="2")
        yield Draft({"product": row["name"]}, pages(check))


def _disable(params: Params, page: Page) -> Script:
    page = yield from product(page, params["product"])
    page = yield moves.choose(page, "Enable Product", "No")
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    505, "disable a product", [242], "validation", ADMIN,
    'Disable the product "{{product}}" in the site, it is facing some quality issues', _disable_drafts, _disable,
    touches=["product"],
)  # fmt: skip


def _variants(world: World, rng: Random, condition: str = "1") -> list[Row]:
    rows = world.all(
        f"SELECT product.*, parent.name AS line FROM product JOIN product parent ON parent.id = product.parent_id"
        f" WHERE {condition} ORDER BY product.id"
    )
    return some(rng, rows, 8)


def _stock_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _variants(world, rng, "product.in_stock = 0"):
        count = str(rng.randint(3, 90))
        params = {"quantity": count, "color": row["color"], "product": row["line"], "size": row["size"]}
        checks = (shows(_edit_url(row), QTY, exact=count), shows(_edit_url(row), IN_STOCK, exact="1"))
        yield Draft(params, pages(*checks))


def _stock(params: Params, page: Page) -> Script:
    page = yield from product(page, f"{params['product']}-{params['size']}-{params['color']}")
    page = yield from moves.fill(page, "Quantity", params["quantity"])
    page = yield moves.choose(page, "Stock Status", "In Stock")
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    506, "update the stock", [241], "train", ADMIN,
    "{{quantity}} pieces of the {{product}} in {{color}}, size {{size}}, arrived: it was out of stock. Update the stock",
    _stock_drafts, _stock, touches=["product"],
)  # fmt: skip


def _out_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _variants(world, rng):
        rows = world.all(
            "SELECT * FROM product WHERE parent_id = ? AND size = ? ORDER BY id",
            row["parent_id"],
            row["size"],
        )
        if all(kind["in_stock"] for kind in rows):
            checks = [shows(_edit_url(kind), IN_STOCK, exact="0") for kind in rows]
            yield Draft({"product": row["line"], "size": row["size"]}, pages(*checks))


def _out(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Catalog", "Products")
    wanted = f"{params['product']}-{params['size']}-"
    page = yield from narrow(page, Name=wanted)
    count = len(page.table("SKU"))
    for place_ in range(count):
        page = yield moves.link(page.table("SKU")[place_], "Action", "Edit")
        page = yield moves.choose(page, "Stock Status", "Out of Stock")
        page = yield moves.press(page, "button", "Save")
        if place_ < count - 1:
            page = yield from moves.office(page, "Catalog", "Products")
            page = yield from narrow(page, Name=wanted)
    return ""


BOOK.add(
    507, "make products out of stock", [287], "train", ADMIN,
    "Make all the {{product}} of size {{size}} out of stock, in every color", _out_drafts, _out, touches=["product"], most=4,
)  # fmt: skip


def _price_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named("type = 'simple' AND price > 1500"), 8):
        dollars = rng.randint(2, 12)
        action = rng.choice(("Increase", "Reduce"))
        price = row["price"] + dollars * 100 * (1 if action == "Increase" else -1)
        params = {"action": action, "amount": f"${dollars}"}
        yield Draft(params, pages(shows(_edit_url(row), PRICE, exact=plain_money(price))), _edit_url(row))


def _price(params: Params, page: Page) -> Script:
    change = amount(params["amount"]) * (1 if params["action"] == "Increase" else -1)
    page = yield from moves.fill(page, "Price", plain_money(amount(page.value("Price")) + change))
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    508, "change this product's price", [247], "train", ADMIN, "{{action}} the price of this product by {{amount}}",
    _price_drafts, _price, touches=["product"],
)  # fmt: skip


def _prices_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _variants(world, rng):
        rows = world.all(
            "SELECT * FROM product WHERE parent_id = ? AND color = ? ORDER BY id",
            row["parent_id"],
            row["color"],
        )
        first, second = sorted(rng.sample(range(len(rows)), 2))
        percent = rng.choice((10, 20, 25, 50))
        price = row["price"] - row["price"] * percent // 100
        if row["price"] * percent % 100 == 0:
            params = {
                "product": row["line"], "color": row["color"], "size": rows[first]["size"],
                "other_size": rows[second]["size"], "amount": f"{percent}%",
            }  # fmt: skip
            checks = (
                shows(_edit_url(rows[place_]), PRICE, exact=plain_money(price)) for place_ in (first, second)
            )
            yield Draft(params, pages(*checks))


def _prices(params: Params, page: Page) -> Script:
    percent = int(params["amount"].rstrip("%"))
    for size in (params["size"], params["other_size"]):
        page = yield from product(page, f"{params['product']}-{size}-{params['color']}")
        old = amount(page.value("Price"))
        page = yield from moves.fill(page, "Price", plain_money(old - old * percent // 100))
        page = yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    509, "change prices of a color", [742], "test", ADMIN,
    "Reduce the price of the {{product}} in {{color}}, in the sizes {{size}} and {{other_size}}, by {{amount}}",
    _prices_drafts, _prices, touches=["product"], most=5,
)  # fmt: skip

NEW = (
    "Energy-Bulk Shirt",
    "Swaatch Watch Strap",
    "Cozy Reading Socks",
    "Harbor Rain Hat",
    "Pocket Sundial",
    "Alpine Scarf",
)


def _new_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for name in some(rng, NEW, 6):
        sku = f"NEW-{rng.randint(1000, 9999)}"
        values = {"product": name, "sku": sku, "price": str(rng.randint(9, 120)), "stock": str(rng.randint(5, 99)),
                  "color": rng.choice(("Red", "Blue", "Green")), "size": rng.choice(("S", "M", "L"))}  # fmt: skip
        url = "__SHOPPING__/catalogsearch/result/?q=" + sku
        checks = [
            shows("last", value_of("product[name]"), exact=name), shows("last", value_of("product[sku]"), exact=sku),
            shows("last", PRICE, exact=f"{values['price']}.00"), shows("last", QTY, exact=values["stock"]),
            shows("last", value_of("product[color]"), exact=values["color"]),
            shows("last", value_of("product[size]"), exact=values["size"]), shows(url, text_of("main"), name),
        ]  # fmt: skip
        yield Draft(values, pages(*checks))


def _new(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Catalog", "Products")
    page = yield moves.press(page, "link", "Add Product")
    written = {"Product Name": params["product"], "SKU": params["sku"], "Price": params["price"], "Quantity": params["stock"],
               "Categories": "Clothing & Shoes / Women / Tees"}  # fmt: skip
    for label, text in written.items():
        page = yield moves.write(page, label, text)
    page = yield moves.choose(page, "Color", params["color"])
    page = yield moves.choose(page, "Size", params["size"])
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    510, "add a product", [256], "train", ADMIN,
    "Add a simple product named {{product}} with SKU {{sku}} and {{stock}} in stock, in size {{size}}"
    " and color {{color}}, priced"
    " at ${{price}}, in the category Clothing & Shoes / Women / Tees", _new_drafts, _new, touches=["product"], most=5,
)  # fmt: skip


def _kind_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _variants(world, rng):
        held = {
            kind["color"]
            for kind in world.all("SELECT color FROM product WHERE parent_id = ?", row["parent_id"])
        }
        color = rng.choice(
            [name for name in ("Black", "Brown", "Gray", "Yellow", "Red", "White") if name not in held]
        )
        url = f"__SHOPPING_ADMIN__/catalog/product/edit/id/{row['parent_id']}/"
        check = shows(
            url,
            "document.querySelector('[data-index=\"configurable\"').outerText",
            f"{row['line']}-{row['size']}-{color}",
        )
        yield Draft({"value": color, "size": row["size"], "product": row["line"]}, pages(check))


def _kind(params: Params, page: Page) -> Script:
    page = yield from product(page, params["product"])
    page = yield moves.choose(page, "New size", params["size"])
    page = yield moves.choose(page, "New color", params["value"])
    yield moves.press(page, "button", "Add Configuration")
    return ""


BOOK.add(
    511, "add a color to a size", [252], "train", ADMIN, "Add the color {{value}} to the size {{size}} of the {{product}}",
    _kind_drafts, _kind, touches=["product"],
)  # fmt: skip


def _text_drafts(world: World, rng: Random) -> Iterator[Draft]:
    sentences = (
        "Now with a longer warranty.",
        "Loved by our customers.",
        "Ships in recycled boxes.",
        "Limited spring edition.",
    )
    for row in some(rng, world.named("type = 'configurable'"), 8):
        sentence = rng.choice(sentences)
        check = shows(product_url(row), text_of(".data.item.content"), sentence, row["description"])
        yield Draft({"product": row["name"], "sentence": sentence}, pages(check))


def _text(params: Params, page: Page) -> Script:
    page = yield from product(page, params["product"])
    page = yield moves.write(page, "Description", f" {params['sentence']}")
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    512, "update a description", [251], "test", ADMIN,
    'Add the sentence "{{sentence}}" at the end of the description of the {{product}}, and keep what stands there',
    _text_drafts,
    _text, touches=["product"],
)  # fmt: skip


def _sale_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named("type = 'configurable' AND NOT sale"), 8):
        yield Draft(
            {"product": row["name"]}, pages(shows(_edit_url(row), value_of("product[sale]"), exact="1"))
        )


def _sale(params: Params, page: Page) -> Script:
    page = yield from product(page, params["product"])
    page = yield moves.choose(page, "On Sale", "Yes")
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    513, "mark a product on sale", [237], "validation", ADMIN, "Mark the {{product}} on sale", _sale_drafts, _sale,
    touches=["product"],
)  # fmt: skip

# -- reviews -----------------------------------------------------------------------------------------------------------


def _review_url(identity: int) -> str:
    return f"__SHOPPING_ADMIN__/review/product/edit/id/{identity}"


def _pending(world: World) -> dict[str, list[Row]]:
    """Reviews that wait, by their product's name."""
    waiting: dict[str, list[Row]] = {}
    for row in world.all(
        "SELECT review.*, product.name AS name FROM review JOIN product ON product.id = product_id WHERE review.status = 2"
        " ORDER BY review.id"
    ):
        waiting.setdefault(row["name"], []).append(row)
    return waiting


def _approve_drafts(world: World, rng: Random) -> Iterator[Draft]:
    waiting = sorted(_pending(world).items())
    for name, rows in some(rng, waiting, 8):
        checks = [shows(_review_url(row["id"]), value_of("status_id"), exact="1") for row in rows]
        yield Draft({"product": name}, pages(*checks))


def mark(page: Page, product_name: str, button: str) -> Script:
    """Mark the pending reviews of a product and act on them."""
    page = yield from moves.office(page, "Marketing", "Pending Reviews")
    page = yield from narrow(page, Product=product_name)
    for place_ in range(len(page.table("Nickname"))):
        box = page.table("Nickname")[place_]["Mark"].find("checkbox")
        if box is None:
            raise Lost("no box in this row")
        page = yield moves.on(box)
    yield moves.press(page, "button", button)
    return ""


def _approve(params: Params, page: Page) -> Script:
    return (yield from mark(page, params["product"], "Approve"))


BOOK.add(
    514, "approve reviews", [243], "train", ADMIN, 'Approve the pending reviews of "{{product}}"', _approve_drafts, _approve,
    touches=["review"],
)  # fmt: skip


def _delete_drafts(world: World, rng: Random) -> Iterator[Draft]:
    waiting = sorted(_pending(world).items())
    for name, rows in some(rng, waiting, 8):
        checks = [shows(_review_url(row["id"]), "", "Rating isn't Available") for row in rows]
        yield Draft({"product": name}, pages(*checks))


def _delete(params: Params, page: Page) -> Script:
    return (yield from mark(page, params["product"], "Delete"))


BOOK.add(
    515, "delete reviews", [246], "test", ADMIN, 'Delete all pending reviews of "{{product}}"', _delete_drafts, _delete,
    touches=["review"],
)  # fmt: skip

# -- pages and price rules ---------------------------------------------------------------------------------------------

HEADINGS = ("Bruh bro you clicked the wrong page", "Make yourself at home", "All about our shop", "We are here for you",
            "Your data and us", "Nothing to see here")  # fmt: skip


def _title_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in world.all("SELECT * FROM cms_page ORDER BY id"):
        url = f"__SHOPPING_ADMIN__/cms/page/edit/page_id/{row['id']}/"
        heading = rng.choice(HEADINGS)
        check = shows(url, "document.querySelector('input[name=\"title\"').value", exact=heading)
        yield Draft({"old-heading": row["title"], "heading": heading}, pages(check))


def _title(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Content", "Pages")
    row = next((row for row in page.table("Title") if row["Title"].text == params["old-heading"]), None)
    if row is None:
        raise Lost("no such page")
    page = yield moves.link(row, "Action", "Edit")
    page = yield from moves.fill(page, "Page Title", params["heading"])
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    516, "change a page's title", [275], "train", ADMIN,
    'Change the page title of the "{{old-heading}}" page on my site to "{{heading}}"', _title_drafts, _title,
    touches=["cms_page"],
)  # fmt: skip

RULES = (
    ("by_percent", "{n} percent discount on products", "Percent of product price discount"),
    ("cart_fixed", "${n} discount on checkout, for the whole cart", "Fixed amount discount for whole cart"),
    ("by_fixed", "${n} discount on each product", "Fixed amount discount"),
)
TOPICS = (
    "spring sale",
    "fall discount",
    "Mother's day sale",
    "Pride Month",
    "Thanksgiving sale",
    "birthday of the shop",
)


def _rule_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for topic in some(rng, TOPICS, 6):
        action, words, _ = rng.choice(RULES)
        number = str(rng.randint(5, 60))
        checks = [
            shows("last", value_of("name"), exact=topic), shows("last", value_of("website_ids"), exact="Main Website"),
            shows("last", value_of("customer_group_ids"), exact="ALL GROUPS"),
            shows("last", value_of("simple_action"), exact=action),
            shows("last", value_of("discount_amount"), exact=number),
            shows("__SHOPPING_ADMIN__/sales_rule/promo_quote/", text_of("table.grid"), topic),
        ]  # fmt: skip
        yield Draft({"topic": topic, "rule": words.format(n=number)}, pages(*checks))


def _rule(params: Params, page: Page) -> Script:
    title = next(title for _, words, title in RULES if params["rule"].endswith(words.partition("{n}")[2]))
    page = yield from moves.office(page, "Marketing", "Cart Price Rules")
    page = yield moves.press(page, "link", "Add New Rule")
    page = yield moves.write(page, "Rule Name", params["topic"])
    page = yield moves.choose(page, "Websites", "Main Website")
    page = yield moves.choose(page, "Customer Groups", "ALL GROUPS")
    page = yield moves.choose(page, "Apply", title)
    page = yield from moves.fill(page, "Discount Amount", re.findall(r"\d+", params["rule"])[0])
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    517, "a new price rule", [258], "train", ADMIN,
    'Make a new cart price rule named "{{topic}}" that offers a {{rule}} for all customer groups', _rule_drafts, _rule,
    touches=["price_rule"],
)  # fmt: skip


def _group_drafts(world: World, rng: Random) -> Iterator[Draft]:
    rows = world.all("SELECT * FROM customer WHERE customer_group = 'General' ORDER BY id")
    for row in some(rng, rows, 8):
        group = rng.choice(("Wholesale", "Retailer"))
        url = f"__SHOPPING_ADMIN__/customer/index/edit/id/{row['id']}/"
        check = shows(url, value_of("customer_group"), exact=group)
        yield Draft({"name": f"{row['firstname']} {row['lastname']}", "group": group}, pages(check))


def _group(params: Params, page: Page) -> Script:
    page = yield from moves.office(page, "Customers", "All Customers")
    page = yield moves.write(page, "Search by keyword", params["name"], enter=True)
    page = yield moves.link(page.table("Email")[0], "Action", "Edit")
    page = yield moves.choose(page, "Group", params["group"])
    yield moves.press(page, "button", "Save Customer")
    return ""


BOOK.add(
    518, "move a customer to a group", [], "test", ADMIN, "Put the customer {{name}} into the group {{group}}", _group_drafts,
    _group, touches=["customer"],
)  # fmt: skip

"""Families of the shop that change something: cart, orders, wish list, reviews, account, contact form."""

import re
from collections.abc import Iterator
from random import Random

from turngym_webarena.sites.seeding.people import place
from turngym_webarena.tasks.families import moves
from turngym_webarena.tasks.families.model import (
    SHOP,
    Book,
    Draft,
    World,
    address,
    money,
    nouns,
    pages,
    product_url,
    shows,
    some,
    text_of,
    value_of,
)  # fmt: skip
from turngym_webarena.tasks.families.orders import open_order
from turngym_webarena.tasks.families.shopping import items
from turngym_webarena.tasks.page import Lost, Page, Params, Script, amount

BOOK = Book()
WISHES = text_of(".products-grid.wishlist")
CART = text_of("table.cart")
MESSAGE = "document.querySelector('[title=\"What’s on your mind?\"').value"
IN_CART = "document.querySelector('table.cart input[type=\"number\"]').value"
ORDERED = text_of(".order-details-items.ordered")
REASONS = ("I am a loyal customer", "my birthday is next week", "I am a teacher", "I bought a lot this year",
           "it is our anniversary", "I am moving into a new flat")  # fmt: skip
NICKNAMES = ("Emma Lopez", "ShoppingEmma", "GardenFan", "Sam the Reader", "NightOwl", "TeaDrinker")


def _wish_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 8):
        yield Draft({}, pages(shows("__SHOPPING__/wishlist/", WISHES, row["name"])), product_url(row))


def _wish(params: Params, page: Page) -> Script:
    yield moves.press(page, "button", "Add to Wish List")
    return ""


BOOK.add(
    301, "this product to the wish list", [196], "train", SHOP, "Add this product to my wish list", _wish_drafts, _wish,
    touches=["wishlist_item"],
)  # fmt: skip


def _wish_named_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 8):
        yield Draft({"product": row["name"]}, pages(shows("__SHOPPING__/wishlist/", WISHES, row["name"])))


def _wish_named(params: Params, page: Page) -> Script:
    page = yield from moves.product(page, params["product"])
    yield moves.press(page, "button", "Add to Wish List")
    return ""


BOOK.add(
    302, "a product to the wish list", [186, 189], "test", SHOP, 'Add "{{product}}" to my wish list', _wish_named_drafts,
    _wish_named, touches=["wishlist_item"],
)  # fmt: skip


def _cart_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named("type = 'simple' AND in_stock AND qty > 20"), 8):
        count = rng.randint(1, 9)
        checks = (
            shows("__SHOPPING__/checkout/cart/", CART, row["name"]),
            shows("__SHOPPING__/checkout/cart/", IN_CART, exact=str(count)),
        )
        yield Draft({"count": str(count)}, pages(*checks), product_url(row))


def _cart(params: Params, page: Page) -> Script:
    page = yield from moves.fill(page, "Qty", params["count"])
    yield moves.press(page, "button", "Add to Cart")
    return ""


BOOK.add(
    303, "some of this product to the cart", [], "validation", SHOP,
    "Put this product into my cart, {{count}} of it", _cart_drafts,
    _cart, touches=["cart_item"],
)  # fmt: skip


def _kind_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named("type = 'configurable'"), 12):
        kinds = world.all("SELECT * FROM product WHERE parent_id = ? AND in_stock ORDER BY id", row["id"])
        if kinds:
            kind = rng.choice(kinds)
            check = shows(
                "__SHOPPING__/checkout/cart/",
                CART,
                row["name"],
                f"Size: {kind['size']}; Color: {kind['color']}",
            )
            yield Draft({"product": row["name"], "size": kind["size"], "color": kind["color"]}, pages(check))


def _kind(params: Params, page: Page) -> Script:
    page = yield from moves.product(page, params["product"])
    page = yield moves.choose(page, "Size", params["size"])
    page = yield moves.choose(page, "Color", params["color"])
    yield moves.press(page, "button", "Add to Cart")
    return ""


BOOK.add(
    304, "size and color to the cart", [], "train", SHOP,
    "Add the {{product}} in size {{size}} and color {{color}} to my cart", _kind_drafts, _kind, touches=["cart_item"],
)  # fmt: skip


def _tabs_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for identity, _, _ in some(rng, world.categories(), 12):
        able = [row for row in world.products(identity) if row["type"] == "simple" and row["in_stock"]]
        rows = some(rng, able, rng.choice((2, 3)))
        if len(rows) < 2:
            continue
        cheapest = min(rows, key=lambda row: row["price"])
        others = [row["sku"] for row in rows if row is not cheapest]
        if len({row["price"] for row in rows}) == len(rows) > 1:
            check = shows("__SHOPPING__/checkout/cart/", CART, cheapest["sku"], without=others)
            yield Draft({}, pages(check), " |AND| ".join(product_url(row) for row in rows))


def _tabs(params: Params, page: Page) -> Script:
    count = page.text.count("Tab ")
    prices = []
    for tab in range(count):
        if tab:
            page = yield f"tab_focus [{tab}]"
        prices.append(_price(page))
    cheapest = prices.index(min(prices))
    if cheapest != count - 1:
        page = yield f"tab_focus [{cheapest}]"
    yield moves.press(page, "button", "Add to Cart")
    return ""


def _price(page: Page) -> int:
    for node in page.walk():
        if node.role == "StaticText" and node.name.startswith("$"):
            return amount(node.name)
    raise Lost("no price on this page")


BOOK.add(
    305, "cheapest of the open tabs", [145], "test", SHOP,
    "Add the product with the lowest price from my open tabs to the shopping cart", _tabs_drafts, _tabs, touches=["cart_item"],
)  # fmt: skip


def check_out(page: Page) -> moves.Move:
    """From a product's page, with the product in the cart, to an order."""
    page = yield moves.press(page, "link", re.compile(r"My Cart"))
    page = yield moves.press(page, "link", "Proceed to Checkout")
    page = yield moves.press(page, "radio", re.compile("Flat Rate"))
    page = yield moves.press(page, "button", "Next")
    return (yield moves.press(page, "button", "Place Order"))


BOUGHT = ["sales_order", "order_item", "order_address", "product", "cart_item", "checkout"]


def _cheapest_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for identity, way, _ in some(rng, world.categories(), 20):
        rows = sorted(world.products(identity), key=lambda row: row["price"])
        if rows[0]["price"] < rows[1]["price"] and rows[0]["type"] == "simple" and rows[0]["in_stock"]:
            yield Draft(
                {"product_category": way},
                pages(shows("func:shopping_get_latest_order_url()", ORDERED, rows[0]["sku"])),
            )


def _cheapest(params: Params, page: Page) -> Script:
    page = yield from moves.into(page, params["product_category"])
    page = yield moves.choose(page, "Sort By", "Price")
    page = yield moves.on(items(page)[0][0])
    page = yield moves.press(page, "button", "Add to Cart")
    yield from check_out(page)
    return ""


BOOK.add(
    306, "buy the cheapest of a category", [216], "train", SHOP,
    "Buy the least expensive product of the category {{product_category}}",
    _cheapest_drafts, _cheapest, touches=BOUGHT,
)  # fmt: skip


def _best_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for term in some(rng, [noun for noun in nouns() if 6 <= len(world.found(noun)) <= 30], 40):
        scored = []
        for row in world.found(term):
            stars = world.one(
                "SELECT count(*) AS n, sum(rating) AS s FROM review WHERE product_id = ? AND status = 1",
                row["id"],
            )
            assert stars is not None
            if stars["n"] >= 5:
                scored.append((round(stars["s"] / stars["n"] * 20), row))
        scored.sort(key=lambda pair: -pair[0])
        if (
            len(scored) > 1
            and scored[0][0] > scored[1][0]
            and scored[0][1]["in_stock"]
            and scored[0][1]["type"] == "simple"
        ):
            check = shows("func:shopping_get_latest_order_url()", ORDERED, scored[0][1]["sku"])
            yield Draft({"product": term}, pages(check))


def _best(params: Params, page: Page) -> Script:
    page = yield moves.search(page, params["product"])
    best: tuple[int, str] = (-1, "")
    while True:
        best = max([best, *_rated(page)])
        if not page.has("link", "Next"):
            break
        page = yield moves.press(page, "link", "Next")
    page = yield from moves.product(page, best[1])
    page = yield moves.press(page, "button", "Add to Cart")
    yield from check_out(page)
    return ""


def _rated(page: Page) -> Iterator[tuple[int, str]]:
    """Percent and name of the products of a list that have five reviews or more."""
    name, percent = "", 0
    for node in page.walk():
        if match := re.fullmatch(r"Rating: (\d+)%", node.name):
            percent = int(match[1])
        elif match := re.fullmatch(r"(\d+) Reviews?", node.name):
            if node.role == "link" and int(match[1]) >= 5:
                yield percent, name
        elif node.role == "link":
            name = node.name


BOOK.add(
    307, "buy the best rated", [172, 216], "test", SHOP,
    'Buy the product with the highest rating among those that a search for "{{product}}" finds and that'
    ' have at least 5 reviews',
    _best_drafts, _best, touches=BOUGHT,
)  # fmt: skip


def _reorder_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for status in ("canceled", "complete"):
        row = world.orders("status = ?", status)[0]
        rows = world.all(
            "SELECT order_item.*, product.in_stock, product.qty AS stock FROM order_item JOIN product ON"
            " product.id = product_id"
            " WHERE order_id = ?",
            row["id"],
        )
        if all(item["in_stock"] and item["stock"] >= item["qty"] for item in rows):
            check = shows("__SHOPPING__/checkout/cart/", CART, *(item["sku"] for item in rows))
            yield Draft({"status": status}, pages(check))


def _reorder(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "My Orders")
    row = yield from moves.rows_until(
        page, "Order #", lambda row: row["Status"].text == params["status"].title()
    )
    button = row["Action"].find("button", "Reorder") if row else None
    if button is None:
        raise Lost("no such order")
    yield moves.on(button)
    return ""


BOOK.add(
    308, "order something again", [156], "train", SHOP,
    "Put everything from my most recent {{status}} order into the cart again, without checking out", _reorder_drafts, _reorder,
    touches=["cart_item"],
)  # fmt: skip


def _letter_drafts(world: World, rng: Random) -> Iterator[Draft]:
    yield Draft(
        {},
        pages(
            shows(
                "__SHOPPING__/newsletter/manage/",
                "document.querySelector('[title=\"General Subscription\"').checked.toString()",
                exact="true",
            )
        ),
    )


def _letter(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "Newsletter Subscriptions")
    page = yield moves.press(page, "checkbox", re.compile("General Subscription"))
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    309, "subscribe to the newsletter", [199], "train", SHOP, "Subscribe me to the newsletter of this shop", _letter_drafts,
    _letter, touches=["customer"],
)  # fmt: skip


def _coupon_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for reason in some(rng, REASONS, 6):
        yield Draft(
            {"reason": reason}, address("__SHOPPING__/contact/", shows("last", MESSAGE, "coupon", reason))
        )


def _coupon(params: Params, page: Page) -> Script:
    page = yield moves.press(page, "link", "Contact Us")
    yield moves.write(
        page, "What’s on your mind?", f"Could you send me a coupon? The reason is: {params['reason']}."
    )
    return ""


BOOK.add(
    310, "ask for a coupon", [163], "train", SHOP,
    "Draft a message to the shop by its contact form that asks for a coupon and says: {{reason}}. Don't submit it",
    _coupon_drafts, _coupon,
)  # fmt: skip


def _refund_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.orders("status = 'complete'"), 8):
        sku = world.value("SELECT sku FROM order_item WHERE order_id = ? ORDER BY id", row["id"])
        one = world.value("SELECT count(*) FROM order_item WHERE order_id = ?", row["id"]) == 1
        if one:
            wanted = (
                "refund",
                "it broke after three days of use",
                row["increment_id"],
                sku,
                money(row["grand_total"]),
            )
            check = shows("last", MESSAGE, *wanted)
            yield Draft({"order_number": row["increment_id"]}, address("__SHOPPING__/contact/", check))


def _refund(params: Params, page: Page) -> Script:
    number = params["order_number"]
    page = yield from open_order(page, number)
    sku, total = page.table("Product Name")[0]["SKU"].text, page.fact("Grand Total")
    page = yield moves.press(page, "link", "Contact Us")
    text = f"I ask for a refund of {total} for order {number}, SKU {sku}: it broke after three days of use."
    yield moves.write(page, "What’s on your mind?", text)
    return ""


BOOK.add(
    311, "ask for a refund", [153, 154], "test", SHOP,
    "Draft a message by the contact form that asks for a refund of what I bought with order"
    " {{order_number}}, stating that it broke"
    " after three days of use. Include the order number, the product's SKU and the order's grand total. Don't submit it",
    _refund_drafts, _refund,
)  # fmt: skip


def _address_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for _ in range(8):
        street, _second, city, region, postcode = place(rng)
        second = f"Suite {rng.randint(100, 999)}"
        checks = [
            shows(
                "__SHOPPING__/customer/address/", text_of(f".box.box-address-{kind} > .box-content"), street, second,
                f"{city}, {region}, {postcode}",
            )
            for kind in ("billing", "shipping")
        ]  # fmt: skip
        params = {"street": street, "second": second, "city": city, "region": region, "postcode": postcode}
        yield Draft(params, pages(*checks))


def _address(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "Address Book")
    page = yield moves.press(page, "link", "Change Billing Address")
    labels = {"street": "Street Address", "second": "Street Address 2", "city": "City", "region": "State/Province",
              "postcode": "Zip/Postal Code"}  # fmt: skip
    for key, label in labels.items():
        page = yield from moves.fill(page, label, params[key])
    yield moves.press(page, "button", "Save Address")
    return ""


BOOK.add(
    312, "change my address", [165], "train", SHOP,
    "I moved to {{street}}, {{second}}, {{city}}, {{region}}, {{postcode}}. Update my address in the shop accordingly",
    _address_drafts, _address, touches=["address"],
)  # fmt: skip


def _review_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named(), 8):
        stars, nickname = rng.randint(1, 5), rng.choice(NICKNAMES)
        check = shows(
            "__SHOPPING__/review/customer/", text_of("main tbody tr"), row["name"], f"{stars * 20}%"
        )
        word = "1 star" if stars == 1 else f"{stars} stars"
        nick = shows(
            "__SHOPPING__/review/customer/",
            "document.querySelector('main tbody tr').dataset.nickname",
            exact=nickname,
        )
        yield Draft({"num_star": word, "nickname": nickname}, pages(check, nick), product_url(row))


def _review(params: Params, page: Page) -> Script:
    page = yield moves.press(page, "radio", params["num_star"])
    page = yield from moves.fill(page, "Nickname", params["nickname"])
    page = yield moves.write(page, "Summary", "My opinion")
    page = yield moves.write(page, "Review", "I have used it for a while now.")
    yield moves.press(page, "button", "Submit Review")
    return ""


BOOK.add(
    313, "rate a product", [194], "train", SHOP,
    "Write a review of this product with {{num_star}}, using my nickname {{nickname}}; summary and text are up to you",
    _review_drafts, _review, touches=["review"],
)  # fmt: skip


def _name_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for name in some(rng, ("Hawthorne", "Lindgren", "Okonkwo", "Delacroix", "Yamada", "Petersen"), 6):
        yield Draft(
            {"name": name},
            pages(shows("__SHOPPING__/customer/account/edit/", value_of("lastname"), exact=name)),
        )


def _name(params: Params, page: Page) -> Script:
    page = yield from moves.account(page, "Account Information")
    page = yield from moves.fill(page, "Last Name", params["name"])
    yield moves.press(page, "button", "Save")
    return ""


BOOK.add(
    314, "change my name", [], "validation", SHOP, "I have married: change my last name in the shop to {{name}}", _name_drafts,
    _name, touches=["customer"],
)  # fmt: skip

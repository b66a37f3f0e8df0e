"""Families of the shop that look around: search, lists, prices, reviews of products."""

import re
from collections.abc import Generator, Iterator
from random import Random
from urllib.parse import quote_plus

from turngym_webarena.sites.seeding.vocabulary import amount_text, leaves
from turngym_webarena.tasks.families import moves
from turngym_webarena.tasks.families.model import (
    SHOP,
    Book,
    Draft,
    Row,
    World,
    address,
    answer,
    aspects,
    exactly,
    money,
    nouns,
    product_url,
    shows,
    some,
    text_of,
)  # fmt: skip
from turngym_webarena.tasks.page import Lost, Node, Page, Params, Script, amount

BOOK = Book()
FIRST = text_of(".product-item-link")
_COUNT = 8
_ON_A_PAGE = 10  # reviews that a product's page shows at first


def _terms(world: World, rng: Random, low: int, high: int) -> list[str]:
    """Search terms that find between ``low`` and ``high`` products."""
    terms = [noun for noun in nouns() if low <= len(world.found(noun)) <= high]
    return some(rng, terms, len(terms))


def _leaf(world: World, rng: Random) -> list[tuple[int, str, str]]:
    categories = world.categories()
    return some(rng, categories, len(categories))


def items(page: Page) -> list[tuple[Node, int]]:
    """The products of a list: the link of each, and its price in cents."""
    listed = []
    current: Node | None = None
    for node in page.walk():
        if node.role == "link" and node.name and not re.fullmatch(r"\d+ Reviews?", node.name):
            current = node
        elif current is not None and re.fullmatch(r"\$[\d,]+\.\d\d", node.name.strip()):
            listed.append((current, amount(node.name)))
            current = None
    return listed


# -- search and lists --------------------------------------------------------------------------------------------------


def _search_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for term in _terms(world, rng, 2, 200)[:_COUNT]:
        yield Draft({"keyword": term}, address(f"__SHOPPING__/catalogsearch/result/?q={quote_plus(term)}"))


def _search(params: Params, page: Page) -> Script:
    yield moves.search(page, params["keyword"])
    return ""


BOOK.add(101, "search", [212], "train", SHOP, 'Search for "{{keyword}}"', _search_drafts, _search)


def _browse_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for _, way, path in _leaf(world, rng)[:_COUNT]:
        yield Draft({"category": way}, address(f"__SHOPPING__/{path}.html"))


def _browse(params: Params, page: Page) -> Script:
    yield from moves.into(page, params["category"])
    return ""


BOOK.add(
    102, "browse a category", [211], "train", SHOP, "I want to browse the products in the category {{category}}",
    _browse_drafts, _browse,
)  # fmt: skip


def _price_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for identity, way, path in _leaf(world, rng)[:_COUNT]:
        prices = sorted(row["price"] for row in world.products(identity))
        limit = prices[len(prices) // 3] // 100 + 1
        yield Draft(
            {"category": way, "price": str(limit)}, address(f"__SHOPPING__/{path}.html?price=0-{limit}")
        )


def _price(params: Params, page: Page) -> Script:
    page = yield from moves.into(page, params["category"])
    page = yield moves.write(page, "Price to", params["price"])
    yield moves.press(page, "button", "Apply price")
    return ""


BOOK.add(
    103, "products below a price", [139], "test", SHOP, "Show me products under ${{price}} in the category {{category}}",
    _price_drafts, _price,
)  # fmt: skip


def _sorted_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for identity, way, path in _leaf(world, rng)[:_COUNT]:
        order = rng.choice(("ascending", "descending"))
        rows = sorted(world.products(identity), key=lambda row: row["price"], reverse=order == "descending")
        if rows[0]["price"] != rows[1]["price"]:
            url = f"__SHOPPING__/{path}.html?product_list_order=price"
            yield Draft(
                {"category": way, "order": order}, address(url, shows("last", FIRST, exact=rows[0]["name"]))
            )


def _sorted(params: Params, page: Page) -> Script:
    page = yield from moves.into(page, params["category"])
    page = yield moves.choose(page, "Sort By", "Price")
    if params["order"] == "descending":
        yield moves.press(page, "link", "Set Descending Direction")
    return ""


BOOK.add(
    104, "sort a category by price", [137], "train", SHOP, "List products from the category {{category}} by {{order}} price",
    _sorted_drafts, _sorted,
)  # fmt: skip


def _dearest_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for identity, way, _ in _leaf(world, rng)[:_COUNT]:
        kind = rng.choice(("most expensive", "least expensive"))
        rows = sorted(
            world.products(identity), key=lambda row: row["price"], reverse=kind == "most expensive"
        )
        if rows[0]["price"] != rows[1]["price"]:
            yield Draft({"kind": kind, "category": way}, address(product_url(rows[0])))


def _dearest(params: Params, page: Page) -> Script:
    page = yield from moves.into(page, params["category"])
    page = yield moves.choose(page, "Sort By", "Price")
    if params["kind"] == "most expensive":
        page = yield moves.press(page, "link", "Set Descending Direction")
    yield moves.on(items(page)[0][0])
    return ""


BOOK.add(
    105, "dearest product of a category", [138], "train", SHOP,
    "Show me the {{kind}} product of the category {{category}}: open its page", _dearest_drafts, _dearest,
)  # fmt: skip


def _listing_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for term in _terms(world, rng, 4, 100)[:_COUNT]:
        order = rng.choice(("price", "product name"))
        key = "price" if order == "price" else "name"
        rows = sorted(world.found(term), key=lambda row: row[key] if key == "price" else row[key].lower())
        if rows[0][key] != rows[1][key]:
            url = f"__SHOPPING__/catalogsearch/result/?q={quote_plus(term)}&product_list_order={key}"
            check = shows("last", FIRST, exact=rows[0]["name"])
            yield Draft({"product": term, "order": order}, address(url, check))


def _listing(params: Params, page: Page) -> Script:
    page = yield moves.search(page, params["product"])
    page = yield moves.choose(page, "Sort By", "Price" if params["order"] == "price" else "Product Name")
    if page.has("link", "Set Ascending Direction"):
        yield moves.press(page, "link", "Set Ascending Direction")
    return ""


BOOK.add(
    106, "sort what a search finds", [208], "test", SHOP, 'Show me the "{{product}}" listings in ascending order of {{order}}',
    _listing_drafts, _listing,
)  # fmt: skip


def _range_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for term in _terms(world, rng, 5, 100)[:_COUNT]:
        prices = [row["price"] for row in world.found(term)]
        yield Draft({"product": term}, answer(money(min(prices)), money(max(prices))))


def _range(params: Params, page: Page) -> Script:
    page = yield moves.search(page, params["product"])
    page = yield moves.choose(page, "Sort By", "Price")
    first = items(page)[0][1]
    turn = "Ascending" if page.has("link", "Set Ascending Direction") else "Descending"
    page = yield moves.press(page, "link", f"Set {turn} Direction")
    ends = sorted((first, items(page)[0][1]))
    return f"{money(ends[0])} - {money(ends[1])}"


BOOK.add(
    107, "price range of a product", [159, 370], "train", SHOP, "What is the price range of {{product}} in this shop?",
    _range_drafts, _range,
)  # fmt: skip


def _brand_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for term in _terms(world, rng, 10, 60):
        brands = unique_brands(world.found(term))
        if brands:
            brand = rng.choice(brands)
            rows = world.found(f"{brand} {term}")
            yield Draft({"brand": brand, "product": term}, answer(*(row["name"] for row in rows)))


def unique_brands(rows: list[Row]) -> list[str]:
    """Brands with two to four of the products."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["brand"]] = counts.get(row["brand"], 0) + 1
    return sorted(brand for brand, count in counts.items() if 2 <= count <= 4)


def _brand(params: Params, page: Page) -> Script:
    page = yield moves.search(page, f"{params['brand']} {params['product']}")
    return "; ".join(node.name for node, _ in items(page))


BOOK.add(
    108, "products of a brand", [204], "train", SHOP, "Give me the complete names of every {{product}} from {{brand}}",
    _brand_drafts, _brand,
)  # fmt: skip


def _size_drafts(world: World, rng: Random) -> Iterator[Draft]:
    ways = {way: identity for identity, way, _ in world.categories()}
    for leaf in some(rng, [leaf for leaf in leaves() if leaf.amounts], 40):
        way = " > ".join(leaf.path)
        least = rng.choice(leaf.amounts[1:])
        rows = [
            row for row in world.products(ways[way])
            if (held := _amount_in(row["name"], leaf.unit)) is not None and held >= least
        ]  # fmt: skip
        rows.sort(key=lambda row: row["price"])
        every = sorted(world.products(ways[way]), key=lambda row: row["price"])
        # The right one must not simply be the cheapest, and must be on the first pages.
        if len(rows) > 1 and rows[0]["price"] < rows[1]["price"] and 0 < every.index(rows[0]) < 30:
            params = {"category": way, "size": amount_text(leaf.unit, least)}
            yield Draft(params, address(product_url(rows[0])))


def _amount_in(name: str, unit: str) -> int | None:
    """The size that a name tells."""
    for part in name.split(", ")[1:]:
        numbers = re.findall(r"\d+", part)
        if len(numbers) == 1 and part == amount_text(unit, int(numbers[0])):
            return int(numbers[0])
    return None


def _shape(text: str) -> tuple[str, int]:
    """A size without its number, and the number: "for 24 Cards" and "for 60 Cards" are alike."""
    number = re.findall(r"\d+", text)[0]
    return text.replace(number, "#", 1).removesuffix("s"), int(number)


def _size(params: Params, page: Page) -> Script:
    shape, least = _shape(params["size"])
    page = yield from moves.into(page, params["category"])
    page = yield moves.choose(page, "Sort By", "Price")
    while True:
        for node, _ in items(page):
            for part in node.name.split(", ")[1:]:
                if re.search(r"\d", part) and _shape(part)[0] == shape and _shape(part)[1] >= least:
                    yield moves.on(node)
                    return ""
        page = yield moves.press(page, "link", "Next")


BOOK.add(
    109, "cheapest product of a size", [207, 171], "train", SHOP,
    'Open the page of the least expensive product of the category {{category}} that is "{{size}}" or larger',
    _size_drafts, _size,
)  # fmt: skip

# -- one product -------------------------------------------------------------------------------------------------------


def _reviewed(world: World, rng: Random, low: int, high: int) -> list[Row]:
    rows = world.named(
        f"(SELECT count(*) FROM review WHERE product_id = product.id AND review.status = 1) BETWEEN {low} AND {high}"
    )
    return some(rng, rows, 60)


def _approved(world: World, product: int) -> list[Row]:
    return world.all(
        "SELECT * FROM review WHERE product_id = ? AND status = 1 ORDER BY created_at DESC, id DESC", product
    )


def reviews(page: Page) -> list[tuple[str, str, int]]:
    """The reviews on a product's page: author, text with its title, stars."""
    nodes = [
        node.name.strip()
        for node in page.walk()
        if node.role in ("heading", "StaticText") and node.name.strip()
    ]
    if "Customer Reviews" not in nodes:
        raise Lost("no reviews on this page")
    listed: list[tuple[str, str, int]] = []
    words: list[str] = []
    stars = 0
    names = iter(nodes[nodes.index("Customer Reviews") + 1 :])
    for name in names:
        if name == "Review by":
            listed.append((next(names, ""), " ".join(words), stars))
            words = []
        elif match := re.fullmatch(r"(\d+)%", name):
            stars = int(match[1]) // 20
        elif name != "Rating" and not name.startswith("Posted on"):
            words.append(name)
    return listed


def every_review(page: Page) -> Generator[str, Page, list[tuple[str, str, int]]]:
    """All reviews of a product, from page to page."""
    listed = reviews(page)
    while page.has("link", "Next"):
        page = yield moves.press(page, "link", "Next")
        listed += reviews(page)
    return listed


def _rating_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _reviewed(world, rng, 3, 40)[:_COUNT]:
        stars = [review["rating"] for review in _approved(world, row["id"])]
        yield Draft({"product": row["name"]}, exactly(f"{round(sum(stars) / len(stars) * 20)}%"))


def _rating(params: Params, page: Page) -> Script:
    page = yield from moves.product(page, params["product"])
    for node in page.walk():
        if match := re.fullmatch(r"Rating: (\d+%)", node.name):
            return match[1]
    raise Lost("no rating on this page")


BOOK.add(
    110, "rating of a product", [1355], "train", SHOP, 'What is the rating of "{{product}}", in percent?', _rating_drafts,
    _rating,
)  # fmt: skip


def _sku_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in some(rng, world.named("type = 'simple'"), _COUNT):
        yield Draft({"product": row["name"]}, exactly(row["sku"]))


def _sku(params: Params, page: Page) -> Script:
    page = yield from moves.product(page, params["product"])
    for node in page.walk():
        if match := re.search(r"\b(B0[0-9A-Z]{8})\b", node.name):
            return match[1]
    raise Lost("no SKU on this page")


BOOK.add(
    111, "number of a product", [], "train", SHOP, 'What is the SKU of "{{product}}"?', _sku_drafts, _sku
)


def _stars_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _reviewed(world, rng, _ON_A_PAGE + 1, 40):
        stars = rng.choice((1, 2, 3))
        listed = _approved(world, row["id"])
        names = [review["nickname"] for review in listed if review["rating"] == stars]
        if len(names) <= 4 and any(review["rating"] == stars for review in listed[_ON_A_PAGE:]):
            word = "1 star" if stars == 1 else f"{stars} stars"
            yield Draft({"stars": word}, answer(*names), product_url(row))


def _stars(params: Params, page: Page) -> Script:
    listed = yield from every_review(page)
    return ", ".join(author for author, _, stars in listed if stars == int(params["stars"].split()[0]))


BOOK.add(
    112, "who gave how many stars", [1356, 666], "train", SHOP, "Who gave this product {{stars}}? List the reviewers' names",
    _stars_drafts, _stars,
)  # fmt: skip


def _mention_drafts(world: World, rng: Random) -> Iterator[Draft]:
    known = aspects()
    for row in _reviewed(world, rng, _ON_A_PAGE + 1, 40):
        held: dict[str, list[tuple[int, str]]] = {}
        for place, review in enumerate(_approved(world, row["id"])):
            for name, phrases in known.items():
                if any(phrase.lower() in review["detail"].lower() for phrase in phrases):
                    held.setdefault(name, []).append((place, review["nickname"]))
        able = sorted(name for name, by in held.items() if len(by) <= 4 and by[-1][0] >= _ON_A_PAGE)
        if able:
            name = rng.choice(able)
            authors = [author for _, author in held[name]]
            yield Draft({"description": name}, answer(*authors), product_url(row))


def _mention(params: Params, page: Page) -> Script:
    phrases = [phrase.lower() for phrase in aspects()[params["description"]]]
    listed = yield from every_review(page)
    return ", ".join(
        author for author, text, _ in listed if any(phrase in text.lower() for phrase in phrases)
    )


BOOK.add(
    113, "who mentions what", [222], "test", SHOP, "List the reviewers of this product who mention {{description}}",
    _mention_drafts, _mention,
)  # fmt: skip


def _critic_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _reviewed(world, rng, _ON_A_PAGE + 1, 60):
        listed = _approved(world, row["id"])
        worst = [review for review in listed if review["rating"] == 1]
        if len(worst) == 1 and worst[0] not in listed[:_ON_A_PAGE]:
            yield Draft({}, answer(worst[0]["detail"].rstrip(".")), product_url(row))


def _critic(params: Params, page: Page) -> Script:
    listed = yield from every_review(page)
    worst = next((text for _, text, stars in listed if stars == 1), None)
    if worst is None:
        raise Lost("nobody gave one star")
    return worst


BOOK.add(
    114, "the worst review", [136, 135], "validation", SHOP,
    "What does the review say that gave this product one star? Quote its text", _critic_drafts, _critic,
)  # fmt: skip


def _count_drafts(world: World, rng: Random) -> Iterator[Draft]:
    for row in _reviewed(world, rng, 1, 60)[:_COUNT]:
        yield Draft({"product": row["name"]}, exactly(str(len(_approved(world, row["id"])))))


def _count(params: Params, page: Page) -> Script:
    page = yield from moves.product(page, params["product"])
    for node in page.walk():
        if match := re.fullmatch(r"(\d+) Reviews?", node.name):
            return match[1]
    raise Lost("no reviews on this page")


BOOK.add(
    115, "reviews of a product", [182], "test", SHOP, 'How many customer reviews does "{{product}}" have?', _count_drafts,
    _count,
)  # fmt: skip

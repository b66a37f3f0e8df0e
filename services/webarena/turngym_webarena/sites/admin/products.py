"""Products in the back office: the form, new products, new kinds of a product that comes in sizes and colours."""

from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.admin.office import office, staff
from turngym_webarena.sites.seeding.catalogue import slug
from turngym_webarena.sites.seeding.vocabulary import names
from turngym_webarena.sites.web import Refused, Row, Visit, cents, whole

GRID = "/admin/catalog/product/"
SETS = ("Default", "Clothing", "Shoes")
COLORS = ("", *sorted(names()["color"]))
SIZES = (
    "",
    "XS",
    "S",
    "M",
    "L",
    "XL",
    "6",
    "7",
    "8",
    "9",
    "10",
    "11",
    "28",
    "29",
    "30",
    "31",
    "32",
    "33",
    "34",
    "36",
)
MOST = 999_999
_CATEGORIES = (
    "SELECT top.name || ' / ' || middle.name || ' / ' || leaf.name, leaf.id FROM category leaf JOIN category middle"
    " ON middle.id = leaf.parent_id AND leaf.level = 3 JOIN category top ON top.id = middle.parent_id"
)


def edit(visit: Visit) -> Response:
    """The form of a product that is there."""
    row = visit.need("SELECT * FROM product WHERE id = ?", visit.ids["id"])
    kinds = visit.all("SELECT * FROM product WHERE parent_id = ? ORDER BY id", row["id"])
    return _form(visit, row, kinds, f"/admin/catalog/product/save/id/{row['id']}/", row["name"])


def new(visit: Visit) -> Response:
    """The form of a product that isn't there yet."""
    blank: dict[str, Any] = dict.fromkeys(("name", "sku", "color", "size", "description"), "")
    blank |= {
        "id": 0,
        "type": "simple",
        "status": 1,
        "price": None,
        "qty": "",
        "in_stock": 1,
        "sale": 0,
    }
    blank |= {"attribute_set": "Default", "category_id": 0, "slug": ""}
    return _form(visit, blank, [], "/admin/catalog/product/save/", "New Product")


def _form(visit: Visit, product: Row | dict[str, Any], kinds: list[Row], target: str, title: str) -> Response:
    category = visit.value(f"{_CATEGORIES} WHERE leaf.id = ?", product["category_id"]) or ""
    return office(
        visit, "product.html", "Catalog", product=product, kinds=kinds, target=target, title=title, category=category,
        sets=SETS, colors=COLORS, sizes=SIZES,
    )  # fmt: skip


def _values(visit: Visit, back: str) -> dict[str, Any]:
    """What the form holds. Raises Refused with what is wrong."""
    price = cents(visit.field("product[price]", "Price", back))
    if price is None:
        raise Refused("Please enter a number 0 or greater in the field Price.", back)
    quantity = whole(visit.form.get("product[quantity_and_stock_status][qty]", "0") or "0", -1, 0, MOST)
    if quantity < 0:
        raise Refused("Please enter a whole number 0 or greater in the field Quantity.", back)
    wanted = visit.field("product[category]", "Categories", back)
    found = visit.all(
        f"{_CATEGORIES} WHERE ? IN (leaf.name, top.name || ' / ' || middle.name || ' / ' || leaf.name)",
        wanted,
    )
    if len(found) != 1:
        raise Refused(
            f"{wanted} is not one of the categories: write a third-level one, such as Women / Tees in full:"
            " Clothing & Shoes / Women / Tees.",
            back,
        )
    size, color = visit.form.get("product[size]", ""), visit.form.get("product[color]", "")
    if size not in SIZES or color not in COLORS:
        raise Refused("Please choose size and color from the lists.", back)
    attribute_set = visit.form.get("product[attribute_set]", SETS[0])
    return {
        "name": visit.field("product[name]", "Product Name", back), "sku": visit.field("product[sku]", "SKU", back, 64),
        "price": price, "qty": quantity,
        "in_stock": int(visit.form.get("product[quantity_and_stock_status][is_in_stock]") == "1"),
        "status": 2 if visit.form.get("product[status]") == "2" else 1, "sale": int(visit.form.get("product[sale]") == "1"),
        "category_id": found[0]["id"], "attribute_set": attribute_set if attribute_set in SETS else SETS[0], "size": size,
        "color": color, "description": visit.form.get("product[description]", "").strip(),
    }  # fmt: skip


def save(visit: Visit) -> Response:
    """Keep the form of a product that is there."""
    staff(visit)
    identity = visit.need("SELECT id FROM product WHERE id = ?", visit.ids["id"])["id"]
    back = f"/admin/catalog/product/edit/id/{identity}/"
    values = _values(visit, back)
    _check_sku(visit, values["sku"], identity, back)
    visit.update("product", identity, values)
    return visit.go(back, "You saved the product.")


def create(visit: Visit) -> Response:
    """Keep a new simple product; its page in the shop is there at once."""
    staff(visit)
    back = "/admin/catalog/product/new/"
    values = _values(visit, back)
    _check_sku(visit, values["sku"], 0, back)
    identity = _insert(visit, values, parent=None, visible=1, brand="")
    return visit.go(f"/admin/catalog/product/edit/id/{identity}/", "You saved the product.")


def add_kind(visit: Visit) -> Response:
    """One more size and colour of a product."""
    staff(visit)
    row = visit.need("SELECT * FROM product WHERE id = ? AND type = 'configurable'", visit.ids["id"])
    back = f"/admin/catalog/product/edit/id/{row['id']}/"
    size, color = visit.form.get("size", ""), visit.form.get("color", "")
    if not size or not color or size not in SIZES or color not in COLORS:
        raise Refused("Please choose a size and a color.", back)
    if visit.value(
        "SELECT 1 FROM product WHERE parent_id = ? AND size = ? AND color = ?", row["id"], size, color
    ):
        raise Refused(f"{row['name']} is there in size {size} and color {color} already.", back)
    quantity = whole(visit.form.get("qty", "0") or "0", -1, 0, MOST)
    if quantity < 0:
        raise Refused("Please enter a whole number 0 or greater in the field Quantity.", back)
    values = {
        name: row[name] for name in ("price", "status", "sale", "category_id", "attribute_set", "description")
    }
    values |= {
        "name": f"{row['name']}-{size}-{color}",
        "sku": f"{row['sku']}-{size}-{color}",
        "qty": quantity,
    }
    values |= {"in_stock": int(quantity > 0), "size": size, "color": color}
    _check_sku(visit, values["sku"], 0, back)
    _insert(visit, values, parent=row["id"], visible=0, brand=row["brand"])
    return visit.go(back, f"You added {values['name']}.")


def mass_status(visit: Visit) -> Response:
    """Enable or disable the marked products."""
    staff(visit)
    status = visit.ids["status"]
    if status not in (1, 2):
        raise Refused("Please choose an action.", GRID)
    marked = visit.marked("You haven't selected any items!", GRID)
    for identity in marked:
        visit.run("UPDATE product SET status = ? WHERE id = ?", status, identity)
    return visit.go(GRID, f"A total of {len(marked)} record(s) have been updated.")


def _check_sku(visit: Visit, sku: str, identity: int, back: str) -> None:
    if visit.value("SELECT 1 FROM product WHERE sku = ? AND id <> ?", sku, identity):
        raise Refused('The value of attribute "SKU" must be unique.', back)


def _insert(visit: Visit, values: dict[str, Any], *, parent: int | None, visible: int, brand: str) -> int:
    stem = slug(values["name"]) or "product"
    address, count = stem, 1
    while visit.value("SELECT 1 FROM product WHERE slug = ?", address):
        count += 1
        address = f"{stem}-{count}"
    rest = {
        "type": "simple",
        "parent_id": parent,
        "slug": address,
        "brand": brand,
        "visible": visible,
        "position": 9999,
    }
    return visit.insert("product", values | rest)

"""The back office by hand: what staff change shows in the shop, grids find what they should, forms refuse what is wrong."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from visitors import Visitor, said

from turngym_webarena.sites.admin.grid import date_of
from turngym_webarena.sites.web import cents, money, whole


def found(page: str) -> int:
    """How many records a grid has found."""
    return int(re.findall(r"(\d+) records found", page)[0])


def product_form(visitor: Visitor, identity: int, **changes: Any) -> dict[str, Any]:
    """A product's form as it stands, with changes."""
    page = visitor.get(f"/admin/catalog/product/edit/id/{identity}/")
    form = dict(re.findall(r'<input[^>]*name="(product[^"]*)" value="([^"]*)"', page))
    for name, options in re.findall(r'<select[^>]*name="(product[^"]*)">(.*?)</select>', page):
        chosen = re.findall(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        form[name] = chosen[0][0] or chosen[0][1] if chosen else ""
    form["product[description]"] = re.findall(
        r'name="product\[description\]"[^>]*>(.*?)</textarea>', page, re.DOTALL
    )[0]
    return {name: value.replace("&amp;", "&").replace("&#39;", "'") for name, value in form.items()} | changes


def test_an_edit_shows_in_the_shop(visit: Callable[..., Visitor]) -> None:
    visitor, other = visit(), visit()
    identity = visitor.value("SELECT id FROM product WHERE visible AND type = 'simple' AND in_stock")
    slug = visitor.value("SELECT slug FROM product WHERE id = ?", identity)
    changes = {"product[price]": "12.34", "product[description]": "Fresh <b>words</b>", "product[sale]": "1"}
    page = visitor.post(
        f"/admin/catalog/product/save/id/{identity}/", product_form(visitor, identity, **changes)
    )
    assert said(page) == ["You saved the product."]
    shown = visitor.get(f"/{slug}.html")
    assert "$12.34" in shown
    assert "Fresh &lt;b&gt;words" in shown
    assert visitor.changes == {"product": (1, 1)}
    assert "$12.34" not in other.get(f"/{slug}.html")
    visitor.post(
        f"/admin/catalog/product/save/id/{identity}/",
        product_form(visitor, identity, **{"product[status]": "2"}),
    )
    assert visitor.ask("GET", f"/{slug}.html").status_code == 404


def test_saving_a_form_as_it_stands_changes_nothing(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    for condition in ("type = 'configurable'", "parent_id", "type = 'simple' AND visible"):
        identity = visitor.value(f"SELECT id FROM product WHERE {condition}")
        visitor.post(f"/admin/catalog/product/save/id/{identity}/", product_form(visitor, identity))
    assert visitor.changes == {}


def test_a_new_product_is_in_the_shop_at_once(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    form = {
        "product[name]": "Brand New Thing", "product[sku]": "NEW-1", "product[price]": "$1,000.5",
        "product[quantity_and_stock_status][qty]": "3", "product[quantity_and_stock_status][is_in_stock]": "1",
        "product[status]": "1", "product[category]": "Earbuds", "product[attribute_set]": "Default",
    }  # fmt: skip
    response = visitor.ask("POST", "/admin/catalog/product/save/", form)
    assert re.fullmatch(r"/admin/catalog/product/edit/id/\d+/", response.url.path)
    assert "$1,000.50" in visitor.get("/brand-new-thing.html")
    assert "Brand New Thing" in visitor.get("/catalogsearch/result/?q=brand+new+thing")
    again = visitor.post("/admin/catalog/product/save/", form)
    assert said(again) == ['The value of attribute "SKU" must be unique.']


@pytest.mark.parametrize(
    ("field", "value", "answer"),
    [
        ("product[price]", "cheap", "Please enter a number 0 or greater in the field Price."),
        ("product[price]", "", "Price is a required value."),
        ("product[name]", " ", "Product Name is a required value."),
        (
            "product[quantity_and_stock_status][qty]",
            "-3",
            "Please enter a whole number 0 or greater in the field Quantity.",
        ),
        ("product[color]", "Mauve", "Please choose size and color from the lists."),
    ],
)
def test_a_wrong_form_is_refused_whole(
    visit: Callable[..., Visitor], field: str, value: str, answer: str
) -> None:
    visitor = visit()
    page = visitor.post("/admin/catalog/product/save/id/5/", product_form(visitor, 5, **{field: value}))
    assert said(page) == [answer]
    assert visitor.changes == {}


def test_an_order_is_canceled_once_and_paid_ones_are_not(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    pending = visitor.value("SELECT id FROM sales_order WHERE status = 'pending'")
    paid = visitor.value("SELECT id FROM sales_order WHERE status = 'complete'")
    assert said(visitor.post(f"/admin/sales/order/cancel/order_id/{pending}/")) == ["You canceled the order."]
    for order in (pending, paid):
        page = visitor.post(f"/admin/sales/order/cancel/order_id/{order}/")
        assert said(page) == ["You have not canceled the item."]
    assert visitor.changes == {"sales_order": (1, 1)}


def test_shipping_tracking_comments_and_addresses(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    order = visitor.value("SELECT id FROM sales_order WHERE status = 'pending'")
    page = visitor.post(
        f"/admin/admin/order_shipment/addTrack/order_id/{order}/", {"tracking[carrier]": "DHL"}
    )
    assert said(page) == ["The order has not been shipped yet."]
    form = {"tracking[carrier]": "DHL", "tracking[number]": "4711"}
    visitor.post(f"/admin/admin/order_shipment/save/order_id/{order}/", form)
    visitor.post(
        f"/admin/sales/order/addComment/order_id/{order}/",
        {
            "history[comment]": "On its way",
            "history[status]": "processing",
            "history[is_customer_notified]": "1",
        },
    )
    history = visitor.get(f"/admin/sales/order/commentsHistory/order_id/{order}/active_tab/order_shipments/")
    assert "Tracking number 4711 for DHL assigned" in history
    assert "On its way (Customer notified)" in history
    address = visitor.value("SELECT id FROM order_address WHERE order_id = ? AND kind = 'shipping'", order)
    fields = dict.fromkeys(
        ("firstname", "lastname", "street", "city", "region", "postcode", "country", "telephone"), "Here"
    )
    visitor.post(f"/admin/sales/order/addressSave/address_id/{address}/", fields)
    assert "Here, Here, Here" in visitor.get(f"/admin/sales/order/view/order_id/{order}/")
    assert set(visitor.changes) == {"order_address", "order_comment", "sales_order", "shipment", "track"}


def test_reviews_are_approved_and_deleted(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    waiting = visitor.value("SELECT count(*) FROM review WHERE status = 2")
    assert found(visitor.get("/admin/review/product/pending/")) == waiting
    first, second = (
        visitor.value("SELECT id FROM review WHERE status = 2 ORDER BY id LIMIT 1 OFFSET ?", n)
        for n in (0, 1)
    )
    visitor.post("/admin/review/product/massStatus/status/1", [("selected", first)])
    visitor.post("/admin/review/product/massDelete", [("selected", second)])
    assert found(visitor.get("/admin/review/product/pending/")) == waiting - 2
    assert "Rating isn&#39;t Available" in visitor.get(f"/admin/review/product/edit/id/{second}").replace(
        "isn't", "isn&#39;t"
    )
    assert visitor.changes == {"review": (1, 2)}


@pytest.mark.parametrize(
    ("address", "sql"),
    [
        ("/admin/sales/order/?status=fraud", "SELECT count(*) FROM sales_order WHERE status = 'fraud'"),
        ("/admin/sales/order/?grand_total_from=100&grand_total_to=200.50",
         "SELECT count(*) FROM sales_order WHERE grand_total BETWEEN 10000 AND 20050"),
        ("/admin/sales/order/?created_at_from=3/1/23&created_at_to=2023-03-31",
         "SELECT count(*) FROM sales_order WHERE created_at LIKE '2023-03%'"),
        ("/admin/review/product/?detail=Disappointed&rating=1",
         "SELECT count(*) FROM review WHERE detail LIKE '%disappointed%' AND rating = 1"),
        ("/admin/catalog/product/?qty_from=1&qty_to=15", "SELECT count(*) FROM product WHERE qty BETWEEN 1 AND 15"),
        ("/admin/customer/index/?keyword=.example", "SELECT count(*) FROM customer"),
        ("/admin/customer/index/?keyword=%25", "SELECT 0"),
        ("/admin/sales/invoice/?order_number=000000017", "SELECT count(*) FROM invoice WHERE order_id = 17"),
    ],
)  # fmt: skip
def test_grids_find_what_they_should(visit: Callable[..., Visitor], address: str, sql: str) -> None:
    visitor = visit()
    assert found(visitor.get(address)) == visitor.value(sql)


def test_a_filter_that_isn_t_understood_is_said(visit: Callable[..., Visitor]) -> None:
    assert "Purchase Date from: soon (not understood)" in visit().get(
        "/admin/sales/order/?created_at_from=soon"
    )


def test_reports_sum_up_the_orders(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.get(
        "/admin/reports/report_sales/sales/?period_type=year&from=1/1/2022&to=12/31/2022&order_statuses=complete"
    )
    count, total = (
        visitor.value(f"SELECT {what} FROM sales_order WHERE created_at LIKE '2022%' AND status = 'complete'")
        for what in ("count(*)", "sum(grand_total)")
    )
    assert f"<td>2022</td><td>{count}</td>" in page
    assert f"<td>{money(total)}</td>" in page
    assert "Please give both dates" in visitor.get("/admin/reports/report_sales/sales/?from=x&to=")


def test_a_price_rule_and_a_page_are_kept(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    rule = {"name": "Spring", "website_ids": "Main Website", "customer_group_ids": "ALL GROUPS", "is_active": "1",
            "simple_action": "by_percent", "discount_amount": "20"}  # fmt: skip
    assert said(visitor.post("/admin/sales_rule/promo_quote/save/", rule | {"website_ids": ""})) == [
        "Please choose a website, a customer group and an action."
    ]
    assert said(visitor.post("/admin/sales_rule/promo_quote/save/", rule)) == ["You saved the rule."]
    page = {"title": "Who we are", "identifier": "about-us", "content": "Us.", "is_active": "1"}
    assert said(visitor.post("/admin/cms/page/save/page_id/5/", page)) == ["You saved the page."]
    assert "<title>Who we are</title>" in visitor.get("/about-us")
    assert set(visitor.changes) == {"cms_page", "price_rule"}


def test_without_a_sign_in_nothing_is_shown_or_done(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.post("/admin/auth/logout")
    for address in (
        "/admin/",
        "/admin/sales/order/",
        "/admin/catalog/product/edit/id/5/",
        "/admin/reports/report_sales/tax/",
    ):
        assert "please sign in" in visitor.get(address), address
    before = visitor.changes
    for address in ("/admin/sales/order/cancel/order_id/6000/", "/admin/review/product/massDelete",
                    "/admin/catalog/product/save/id/5/", "/admin/cms/page/save/page_id/5/"):  # fmt: skip
        visitor.post(address, [("selected", "5")])
    assert visitor.changes == before
    assert "Dashboard" in visitor.post(
        "/admin/auth/loginPost", {"username": "admin", "password": "admin1234"}
    )


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12", 1200),
        ("$1,234.5", 123450),
        ("0.999", 99),
        ("", None),
        ("-1", None),
        ("1e3", None),
        ("१", None),
        (".5", None),
    ],
)
def test_money_as_it_is_typed(text: str, amount: int | None) -> None:
    assert cents(text) == amount


@pytest.mark.parametrize("text", ["5/7/23", "05/07/2023", "2023-05-07"])
def test_dates_as_they_are_typed(text: str) -> None:
    when = date_of(text)
    assert when is not None
    assert f"{when:%Y-%m-%d}" == "2023-05-07"


@pytest.mark.parametrize("text", [None, "", "x", "9" * 400, "-5", "1.5", "٣"])
def test_numbers_that_are_none_are_the_default(text: str | None) -> None:
    assert whole(text, 7, 0, 100) == 7

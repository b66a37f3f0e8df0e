"""The shop by hand: every way through it, and what visitors must not be able to do to it."""

import re
from collections.abc import Callable

import httpx
import pytest
from visitors import Visitor, said

NASTY = (
    "'; DROP TABLE product; --", '" OR 1=1 --', "%_%", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "{{ 7 * 191 }}", "{% include 'shop/home.html' %}", "${7*191}", "\x00", "😀" * 50, "../../etc/passwd", "a" * 5000,
)  # fmt: skip


def simple(visitor: Visitor, condition: str = "1") -> tuple[int, str, str]:
    """Id, name and address of a product that can be bought."""
    where = f"visible AND type = 'simple' AND in_stock AND qty > 20 AND {condition}"
    identity, name, slug = (
        visitor.value(f"SELECT {column} FROM product WHERE {where} ORDER BY id")
        for column in ("id", "name", "slug")
    )
    return identity, name, f"/{slug}.html"


def names(page: str) -> list[str]:
    """The products of a list."""
    return re.findall(r'class="product-item-link" href="[^"]*">(.*?)</a>', page)


def prices(page: str) -> list[int]:
    """Their prices, in cents."""
    found = re.findall(r'class="price">\$([\d,.]+)', page)
    return [int(price.replace(",", "").replace(".", "")) for price in found]


def test_from_the_front_page_to_an_order(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    identity, name, address = simple(visitor)
    assert name in visitor.get(address)
    page = visitor.post("/checkout/cart/add", {"product": identity, "qty": "2"})
    assert said(page) == [f"You added {name} to your shopping cart."]
    assert name in visitor.get("/checkout/cart/")
    place = re.findall(r'name="address" value="(\d+)"', visitor.get("/checkout/"))[0]
    page = visitor.post("/checkout/shipping/save", {"address": place, "shipping_method": "flatrate"})
    assert "Payment Method" in page
    page = visitor.post("/checkout/payment/place", {"payment_method": "checkmo"})
    assert "Thank you for your purchase!" in page
    assert "000006001" in page
    assert name in visitor.get("/sales/order/view/order_id/6001/")
    assert visitor.get("/sales/order/history/").index("000006001") > 0
    assert "no items in your shopping cart" in visitor.get("/checkout/cart/")
    assert set(visitor.changes) == {"sales_order", "order_item", "order_address", "product"}


def test_an_address_chosen_in_a_checkout_can_be_deleted(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    identity, _, _ = simple(visitor)
    visitor.post("/checkout/cart/add", {"product": identity, "qty": "1"})
    fields = ("firstname", "lastname", "street", "city", "region", "postcode", "country", "telephone")
    visitor.post("/customer/address/formPost", dict.fromkeys(fields, "Here"))
    place = visitor.value("SELECT max(id) FROM address")
    visitor.post("/checkout/shipping/save", {"address": place, "shipping_method": "flatrate"})
    visitor.post("/customer/address/delete", {"id": place})
    for page in (visitor.get("/checkout/payment/"), visitor.post("/checkout/payment/place")):
        assert said(page) == ["Please choose how to ship first."]


def test_what_is_no_longer_sold_can_t_be_bought_from_the_wish_list(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    identity, _, _ = simple(visitor)
    visitor.post("/wishlist/index/add", {"product": identity})
    visitor.post("/admin/catalog/product/massStatus/status/2", [("selected", identity)])
    item = visitor.value("SELECT id FROM wishlist_item")
    answer = visitor.ask("POST", "/wishlist/index/cart", {"item": item})
    assert answer.status_code == 404  # its page is gone, too
    assert said(answer.text) == ["This product is out of stock."]
    assert visitor.value("SELECT count(*) FROM cart_item") == 0


@pytest.mark.parametrize(
    ("path", "form", "answer"),
    [
        ("/checkout/cart/add", {"product": "1", "qty": "0"}, "Please enter a quantity from 1 to 100."),
        ("/checkout/cart/add", {"product": "1", "qty": "1e3"}, "Please enter a quantity from 1 to 100."),
        ("/checkout/payment/place", {}, "You have no items in your shopping cart."),
        ("/newsletter/subscriber/new", {"email": "x"}, "Please enter a valid email address (Ex: johndoe@domain.com)."),
        ("/customer/address/formPost", {"firstname": "A"}, "Last Name is a required value."),
        ("/customer/account/loginPost", {"email": "a", "password": "b"},
         "The account sign-in was incorrect. Please check your e-mail address and password."),
    ],
)  # fmt: skip
def test_what_can_t_be_done_is_said(
    visit: Callable[..., Visitor], path: str, form: dict[str, str], answer: str
) -> None:
    visitor = visit()
    page = visitor.post(path, form)
    if path.endswith("loginPost"):  # the visitor is signed in, and the form leads on to the account
        assert "My Account" in page
    assert answer in said(page)
    assert visitor.changes == {}


def test_kinds_must_be_chosen_and_be_there(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    parent = visitor.value("SELECT parent_id FROM product WHERE NOT visible AND NOT in_stock")
    size, color = (
        visitor.value(f"SELECT {column} FROM product WHERE parent_id = ? AND NOT in_stock", parent)
        for column in ("size", "color")
    )
    form = {"product": parent, "qty": "1"}
    assert said(visitor.post("/checkout/cart/add", form)) == ["You need to choose options for your item."]
    page = visitor.post("/checkout/cart/add", form | {"size": size, "color": color})
    assert "is not available in size" in said(page)[0]
    assert visitor.changes == {}


def test_a_list_can_be_sorted_narrowed_and_paged(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    base = "/electronics/headphones/earbuds.html"
    cheap = prices(visitor.get(f"{base}?product_list_order=price&product_list_limit=36"))
    assert cheap == sorted(cheap)
    dear = prices(visitor.get(f"{base}?product_list_order=price&product_list_dir=desc"))
    assert dear == sorted(dear, reverse=True)
    assert max(prices(visitor.get(f"{base}?price=0-40"))) < 4000
    seen: list[str] = []
    page, number = visitor.get(base), 1
    while True:
        seen += names(page)
        number += 1
        if f"p={number}" not in page:
            break
        page = visitor.get(f"{base}?p={number}")
    total = visitor.value(
        "SELECT count(*) FROM product JOIN category ON category.id = category_id WHERE path = ? AND visible",
        base[1:-5],
    )
    assert len(seen) == len(set(seen)) == total
    for odd in (
        "?p=0",
        "?p=999",
        "?p=x",
        "?p=--5",
        "?price=x",
        "?price=--",
        "?product_list_order=id;",
        "?product_list_limit=1",
    ):
        assert names(visitor.get(base + odd)), odd


def test_a_price_form_leads_to_the_shop_s_own_address(visit: Callable[..., Visitor]) -> None:
    response = visit().ask("GET", "/electronics.html?price_from=&price_to=25&product_list_order=price")
    assert response.url.path == "/electronics.html"
    assert dict(response.url.params) == {"product_list_order": "price", "price": "0-25"}


def test_a_search_finds_all_words_else_any(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    found = names(visitor.get("/catalogsearch/result/?q=usb+stick"))
    assert found
    assert all("usb" in name.lower() and "stick" in name.lower() for name in found)
    assert names(visitor.get("/catalogsearch/result/?q=stick+xylophone"))
    assert "Your search returned no results." in visitor.get("/catalogsearch/result/?q=xylophone")


def test_a_review_waits_and_is_then_shown(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    identity, name, address = simple(visitor)
    form = {"ratings": "4", "nickname": "Nick", "title": "A title of mine", "detail": "Some words of mine"}
    page = visitor.post(f"/review/product/post/id/{identity}/", form)
    assert said(page) == ["You submitted your review for moderation."]
    assert "Some words of mine" not in visitor.get(address)
    assert name in visitor.get("/review/customer/")
    number = visitor.value("SELECT max(id) FROM review")
    visitor.post("/admin/review/product/massStatus/status/1", [("selected", number)])
    assert "Some words of mine" in visitor.get(address)
    assert set(visitor.changes) == {"review"}


def test_signing_out_and_in(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    email = visitor.value("SELECT email FROM customer JOIN visitor ON customer_id = id")
    visitor.post("/customer/account/logoutPost")
    assert said(visitor.get("/sales/order/history/")) == ["Please sign in to see this page."]
    page = visitor.post("/customer/account/loginPost", {"email": email, "password": "Password.123"})
    assert "Contact Information" in page


def test_another_customer_s_order_isn_t_shown(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    other = visitor.value("SELECT id FROM sales_order WHERE customer_id <> (SELECT customer_id FROM visitor)")
    for part in ("view", "invoice", "shipment", "creditmemo"):
        assert visitor.ask("GET", f"/sales/order/{part}/order_id/{other}/").status_code == 404
    assert visitor.ask("POST", "/sales/order/reorder", {"order": other}).status_code == 404


@pytest.mark.parametrize("text", NASTY)
def test_what_a_visitor_writes_is_text(visit: Callable[..., Visitor], text: str) -> None:
    visitor = visit()
    identity, _, _ = simple(visitor)
    before = visitor.value("SELECT count(*) FROM product")
    response = visitor.ask("GET", "/catalogsearch/result/?" + str(httpx.QueryParams({"q": text})))
    assert response.status_code in (200, 404)
    form = {"ratings": "3", "nickname": text[:200] or "x", "title": "t", "detail": text}
    visitor.post(f"/review/product/post/id/{identity}/", form)
    visitor.post("/wishlist/index/add", {"product": identity})
    item = visitor.value("SELECT id FROM wishlist_item")
    visitor.post("/wishlist/index/update", {"item": item, "qty": "1", "comment": text})
    pages = [response.text, visitor.get("/review/customer/"), visitor.get("/wishlist/"),
             visitor.get("/admin/review/product/?limit=20")]  # fmt: skip
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "1337" not in page
    assert visitor.value("SELECT count(*) FROM product") == before


def test_every_link_of_the_first_pages_leads_somewhere(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    seen, waiting = {"/"}, ["/", "/customer/account/", "/sales/order/history/"]
    while waiting and len(seen) < 140:
        page = visitor.get(waiting.pop(0))
        for link in re.findall(r'href="(/[^"#]*)', page):
            link = link.replace("&amp;", "&")
            if link not in seen and not link.startswith("/static"):
                seen.add(link)
                waiting.append(link)
    assert len(seen) > 100


def test_pages_forbid_scripts_from_elsewhere(visit: Callable[..., Visitor]) -> None:
    headers = visit().ask("GET", "/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_a_form_that_is_too_large_is_refused(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    assert visitor.ask("POST", "/contact/index/post", {"comment": "x" * 300_000}).status_code == 413
    assert visitor.changes == {}

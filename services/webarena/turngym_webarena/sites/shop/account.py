"""The customer's account: signing in and out, name and address, newsletter, own reviews."""

from typing import Any

from starlette.responses import Response

from turngym_webarena.sites.shop.browse import frame
from turngym_webarena.sites.web import Missing, Refused, Row, Visit, is_email, whole

LOGIN = "/customer/account/login/"
ADDRESSES = "/customer/address/"
ACCOUNT = "/customer/account/"
_ADDRESS = (
    ("firstname", "First Name"), ("lastname", "Last Name"), ("telephone", "Phone Number"), ("street", "Street Address"),
    ("city", "City"), ("region", "State/Province"), ("postcode", "Zip/Postal Code"), ("country", "Country"),
)  # fmt: skip
PER_PAGE = 10


def signed_in(visit: Visit) -> Row:
    """The customer. Raises Refused where nobody is signed in."""
    if visit.customer is None:
        raise Refused("Please sign in to see this page.", LOGIN)
    return visit.customer


def account_page(visit: Visit, template: str, here: str, **content: Any) -> Response:
    """A page with the account's own menu beside it; ``here`` is the menu's entry."""
    return visit.page(f"shop/{template}", here=here, **content, **frame(visit))


def addresses_of(visit: Visit, customer: Row) -> tuple[Row | None, Row | None, list[Row]]:
    """The default billing address, the default shipping address, and the others."""
    rows = {
        row["id"]: row
        for row in visit.all("SELECT * FROM address WHERE customer_id = ? ORDER BY id", customer["id"])
    }
    billing, shipping = rows.get(customer["billing_id"]), rows.get(customer["shipping_id"])
    others = [
        row for row in rows.values() if row["id"] not in (customer["billing_id"], customer["shipping_id"])
    ]
    return billing, shipping, others


def dashboard(visit: Visit) -> Response:
    """Contact information and default addresses."""
    customer = signed_in(visit)
    billing, shipping, _ = addresses_of(visit, customer)
    return account_page(
        visit, "account.html", "My Account", customer=customer, billing=billing, shipping=shipping
    )


def login(visit: Visit) -> Response:
    """The form for signing in."""
    if visit.customer is not None:
        return visit.go(ACCOUNT)
    return visit.page("shop/login.html", **frame(visit))


def sign_in(visit: Visit) -> Response:
    """Sign in with e-mail and password."""
    found = visit.one(
        "SELECT id FROM customer WHERE email = ? AND password = ?",
        visit.form.get("email", "").strip().lower(), visit.form.get("password", ""),
    )  # fmt: skip
    if found is None:
        raise Refused(
            "The account sign-in was incorrect. Please check your e-mail address and password.", LOGIN
        )
    visit.run("UPDATE cart_item SET customer_id = ? WHERE customer_id IS NULL", found["id"])
    visit.run("UPDATE visitor SET customer_id = ?", found["id"])
    return visit.go(ACCOUNT)


def logout_page(visit: Visit) -> Response:
    """Asks once more; signing out is a form, as everything that writes."""
    return visit.page("shop/logout.html", **frame(visit))


def sign_out(visit: Visit) -> Response:
    """Sign out."""
    visit.run("UPDATE visitor SET customer_id = NULL")
    return visit.go("/", "You are signed out.")


def edit(visit: Visit) -> Response:
    """The form for name and e-mail address."""
    return account_page(visit, "account_edit.html", "Account Information", customer=signed_in(visit))


def save(visit: Visit) -> Response:
    """Keep name and e-mail address."""
    customer, back = signed_in(visit), "/customer/account/edit/"
    first, last = visit.field("firstname", "First Name", back), visit.field("lastname", "Last Name", back)
    email = visit.field("email", "Email", back).lower()
    if not is_email(email):
        raise Refused("Please enter a valid email address.", back)
    if visit.value("SELECT 1 FROM customer WHERE email = ? AND id <> ?", email, customer["id"]):
        raise Refused("A customer with the same email address already exists.", back)
    visit.update("customer", customer["id"], {"firstname": first, "lastname": last, "email": email})
    return visit.go(ACCOUNT, "You saved the account information.")


def addresses(visit: Visit) -> Response:
    """The address book."""
    billing, shipping, others = addresses_of(visit, signed_in(visit))
    return account_page(
        visit, "addresses.html", "Address Book", billing=billing, shipping=shipping, others=others
    )


def new_address(visit: Visit) -> Response:
    """The form for another address."""
    customer = signed_in(visit)
    blank = dict.fromkeys(("id", "street", "street2", "city", "region", "postcode", "telephone"), "")
    address = {
        **blank,
        "firstname": customer["firstname"],
        "lastname": customer["lastname"],
        "country": "United States",
    }
    return account_page(
        visit,
        "address_edit.html",
        "Address Book",
        title="Add New Address",
        address=address,
        is_billing=False,
        is_shipping=False,
    )


def edit_address(visit: Visit) -> Response:
    """The form for an address that is there."""
    customer = signed_in(visit)
    row = visit.need(
        "SELECT * FROM address WHERE id = ? AND customer_id = ?", visit.ids["id"], customer["id"]
    )
    return account_page(
        visit, "address_edit.html", "Address Book", title="Edit Address", address=row,
        is_billing=row["id"] == customer["billing_id"], is_shipping=row["id"] == customer["shipping_id"],
    )  # fmt: skip


def save_address(visit: Visit) -> Response:
    """Keep an address, old or new."""
    customer = signed_in(visit)
    identity = whole(visit.form.get("id"), 0, 1, 2**62)
    back = f"/customer/address/edit/id/{identity}/" if identity else "/customer/address/new/"
    values = {name: visit.field(name, label, back) for name, label in _ADDRESS}
    values["street2"] = visit.form.get("street2", "").strip()[:255]
    if identity:
        if not visit.value(
            "SELECT 1 FROM address WHERE id = ? AND customer_id = ?", identity, customer["id"]
        ):
            raise Missing
        visit.update("address", identity, values)
    else:
        identity = visit.insert("address", values | {"customer_id": customer["id"]})
    for kind in ("billing", "shipping"):
        if visit.form.get(f"default_{kind}"):
            visit.run(f"UPDATE customer SET {kind}_id = ? WHERE id = ?", identity, customer["id"])
    return visit.go(ADDRESSES, "You saved the address.")


def delete_address(visit: Visit) -> Response:
    """Remove an address that isn't a default one. A checkout that has chosen it begins anew."""
    customer, identity = signed_in(visit), whole(visit.form.get("id"), 0, 1, 2**62)
    if identity in (customer["billing_id"], customer["shipping_id"]):
        raise Refused("A default address can't be deleted.", ADDRESSES)
    visit.run("DELETE FROM checkout WHERE address_id = ? AND customer_id = ?", identity, customer["id"])
    visit.run("DELETE FROM address WHERE id = ? AND customer_id = ?", identity, customer["id"])
    return visit.go(ADDRESSES, "You deleted the address.")


def newsletter(visit: Visit) -> Response:
    """The box that subscribes to the newsletter."""
    return account_page(visit, "newsletter.html", "Newsletter Subscriptions", customer=signed_in(visit))


def save_newsletter(visit: Visit) -> Response:
    """Keep that box."""
    customer, wanted = signed_in(visit), int("is_subscribed" in visit.form)
    visit.run("UPDATE customer SET newsletter = ? WHERE id = ?", wanted, customer["id"])
    message = (
        "We have saved your subscription." if wanted else "We have removed your newsletter subscription."
    )
    return visit.go(ACCOUNT, message)


def subscribe(visit: Visit) -> Response:
    """The field at the foot of every page; the customer's own address subscribes the customer."""
    email = visit.field("email", "Email", "/").lower()
    if not is_email(email) or " " in email:
        raise Refused("Please enter a valid email address (Ex: johndoe@domain.com).", "/")
    if visit.customer is not None and visit.customer["email"] == email:
        visit.run("UPDATE customer SET newsletter = 1 WHERE id = ?", visit.customer["id"])
    elif visit.value("SELECT 1 FROM subscriber WHERE email = ?", email):
        raise Refused("This email address is already subscribed.", "/")
    else:
        visit.run("INSERT INTO subscriber (email) VALUES (?)", email)
    return visit.go("/", "Thank you for your subscription.")


def reviews(visit: Visit) -> Response:
    """The customer's own reviews, newest first."""
    customer = signed_in(visit)
    total = visit.value("SELECT count(*) FROM review WHERE customer_id = ?", customer["id"])
    paging = visit.paging(total, (PER_PAGE,))
    rows = visit.all(
        "SELECT review.*, product.name, product.slug FROM review JOIN product ON product.id = review.product_id"
        " WHERE review.customer_id = ? ORDER BY review.created_at DESC, review.id DESC LIMIT ? OFFSET ?",
        customer["id"], paging.limit, paging.offset,
    )  # fmt: skip
    return account_page(visit, "my_reviews.html", "My Product Reviews", reviews=rows, paging=paging)

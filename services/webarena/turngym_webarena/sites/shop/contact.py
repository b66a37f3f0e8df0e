"""Writing to the shop, and the pages that the back office writes."""

from starlette.responses import Response

from turngym_webarena.sites.shop.browse import frame
from turngym_webarena.sites.web import Refused, Visit, is_email

CONTACT = "/contact/"


def contact(visit: Visit) -> Response:
    """The contact form, with the customer's name filled in."""
    return visit.page("shop/contact.html", customer=visit.customer, **frame(visit))


def send(visit: Visit) -> Response:
    """Keep a message."""
    name, email = visit.field("name", "Name", CONTACT), visit.field("email", "Email", CONTACT)
    message = visit.field("comment", "What’s on your mind?", CONTACT, most=10_000)
    if not is_email(email):
        raise Refused("Please enter a valid email address.", CONTACT)
    visit.run(
        "INSERT INTO contact_message (created_at, name, email, telephone, message) VALUES (?, ?, ?, ?, ?)",
        visit.stamp, name, email, visit.form.get("telephone", "").strip()[:40], message,
    )  # fmt: skip
    return visit.go(
        CONTACT, "Thanks for contacting us with your comments and questions. We'll respond to you very soon."
    )


def cms(visit: Visit) -> Response:
    """A page that the back office writes."""
    row = visit.need("SELECT * FROM cms_page WHERE identifier = ? AND active", visit.ids["identifier"])
    return visit.page("shop/cms.html", cms=row, **frame(visit))

"""The shop: what customers see. Its pages, in the order in which addresses are tried."""

from starlette.responses import Response
from starlette.routing import BaseRoute

from turngym_webarena.sites.shop import account, browse, checkout, contact, orders, product, wishlist
from turngym_webarena.sites.web import Missing, Visit, both, get, post
from turngym_webarena.sites.worlds import Worlds


def routes(worlds: Worlds) -> list[BaseRoute]:
    """Every page of the shop."""
    pages = (
        ("/", browse.home), ("/catalogsearch/result", browse.search), ("/catalogsearch/result/index", browse.search),
        ("/catalogsearch/advanced", browse.advanced), ("/catalogsearch/advanced/result", browse.advanced_result),
        ("/checkout/cart", checkout.cart), ("/checkout", checkout.shipping), ("/checkout/payment", checkout.payment),
        ("/checkout/onepage/success", checkout.success),
        ("/customer/account", account.dashboard), ("/customer/account/login", account.login),
        ("/customer/account/logout", account.logout_page), ("/customer/account/edit", account.edit),
        ("/customer/address", account.addresses), ("/customer/address/index", account.addresses),
        ("/customer/address/new", account.new_address), ("/customer/address/edit/id/{id:int}", account.edit_address),
        ("/newsletter/manage", account.newsletter), ("/review/customer", account.reviews),
        ("/sales/order/history", orders.history), ("/sales/order/view/order_id/{id:int}", orders.view),
        ("/sales/order/invoice/order_id/{id:int}", orders.invoices),
        ("/sales/order/shipment/order_id/{id:int}", orders.shipments),
        ("/sales/order/creditmemo/order_id/{id:int}", orders.refunds),
        ("/wishlist", wishlist.wishlist), ("/wishlist/index/index", wishlist.wishlist),
        ("/contact", contact.contact), ("/contact/index", contact.contact),
    )  # fmt: skip
    forms = (
        ("/checkout/cart/add", checkout.add), ("/checkout/cart/updatePost", checkout.update),
        ("/checkout/cart/delete", checkout.delete), ("/checkout/shipping/save", checkout.save_shipping),
        ("/checkout/payment/place", checkout.place), ("/customer/account/loginPost", account.sign_in),
        ("/customer/account/logoutPost", account.sign_out), ("/customer/account/editPost", account.save),
        ("/customer/address/formPost", account.save_address), ("/customer/address/delete", account.delete_address),
        ("/newsletter/manage/save", account.save_newsletter), ("/newsletter/subscriber/new", account.subscribe),
        ("/sales/order/reorder", orders.reorder), ("/wishlist/index/add", wishlist.add),
        ("/wishlist/index/remove", wishlist.remove), ("/wishlist/index/cart", wishlist.to_cart),
        ("/wishlist/index/update", wishlist.update), ("/review/product/post/id/{id:int}", product.post_review),
        ("/contact/index/post", contact.send),
    )  # fmt: skip
    return [
        *both(get, pages, worlds),
        *both(post, forms, worlds),
        get("/{address:path}.html", browse.by_address, worlds),
        get("/{identifier}", contact.cms, worlds),
        get("/{rest:path}", _missing, worlds),
    ]


def _missing(visit: Visit) -> Response:
    raise Missing

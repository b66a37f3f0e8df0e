"""Looking at pages for a verdict, and the helpers that task files name: they read the sites' own pages, in a tab of their own.

The published helpers ask the shop's programming interface as its administrator, and so see every customer's latest order and
not the session's own; reading the pages that the session's user sees needs no other access and can't make that mistake.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

from playwright.async_api import Error as PlaywrightError

from turngym_webarena.evaluation.checks import LAST_URL, HelperCall
from turngym_webarena.tabs import Tab, Tabs

_GOTO_MS = 20_000
_WHOLE = "() => [document.body ? document.body.innerText : '', document.documentElement.outerHTML]"
_LATEST_ORDER = """() => {
  const link = document.querySelector('#my-orders-table tbody tr a.view, .table-order-items tbody tr a.view');
  return link ? link.href : '';
}"""
_PRODUCT = """() => {
  const link = document.querySelector('.products .product-item a.product-item-link, a.product-item-link');
  return link ? link.href : '';
}"""
_REVIEW = """what => {
  const review = document.querySelector('.review-items .review-item, .review-item');
  if (!review) return '';
  if (what === 'rating') {
    const bar = review.querySelector('.rating-result');
    const title = bar ? bar.getAttribute('title') || bar.innerText : '';
    return String(parseInt(title) || '');
  }
  const part = review.querySelector(what === 'author' ? '.review-details-value' : '.review-content');
  return part ? part.innerText.trim() : '';
}"""
_ROLE = """account => {
  const rows = [...document.querySelectorAll('tr, li')];
  const row = rows.find(one => [...one.querySelectorAll('a, span')].some(
    part => part.innerText.trim() === account || part.innerText.trim() === '@' + account));
  const cell = row && row.querySelector('[data-label="Max role"], [data-testid="max-role"], .col-max-role');
  return cell ? cell.innerText.trim() : '';
}"""


class Reader:
    """Opens and reads pages for a verdict. ``sites`` maps placeholders such as ``__SHOPPING__`` to base addresses."""

    def __init__(self, tabs: Tabs, tab: Tab, sites: Mapping[str, str], last_url: str) -> None:
        self._tabs = tabs
        self._tab = tab
        self._sites = sites
        self._last_url = last_url

    async def open(self, url: str) -> Tab:
        """The reader's own tab, at that address and at rest."""
        await self._tab.page.goto(url, wait_until="commit", timeout=_GOTO_MS)
        self._tabs.current = self._tab
        await self._tabs.settle()
        return self._tab

    async def call(self, helper: HelperCall, tab: Tab) -> str:
        """What a helper says; "" where there is no such thing. ``tab`` is the page that the check is at."""
        arguments = [self._last_url if argument == LAST_URL else argument for argument in helper.arguments]
        match helper.name:
            case "shopping_get_latest_order_url":
                page = (await self.open(f"{self._sites['__SHOPPING__']}/sales/order/history/")).page
                return str(await page.evaluate(_LATEST_ORDER))
            case "reddit_get_post_url":
                return post_url(arguments[0])
            case "gitlab_get_project_memeber_role":
                return str(await tab.page.evaluate(_ROLE, arguments[0]))
            case _:
                what = helper.name.rsplit("_", 1)[1]
                return await self._review(arguments[0], what)

    async def _review(self, sku: str, what: str) -> str:
        """The latest review of the product with that number: its author, rating (1 to 5) or text."""
        base = self._sites["__SHOPPING__"]
        found = await (await self.open(f"{base}/catalogsearch/result/?q={quote_plus(sku)}")).page.evaluate(
            _PRODUCT
        )
        if not found:
            return ""
        return str(await (await self.open(found)).page.evaluate(_REVIEW, what))


async def read(tab: Tab, locator: str) -> str:
    """What a JavaScript locator says on the page; "" where the page has no such part.

    With no locator, the page's text and, after it, its source.
    """
    if not locator:
        text, source = await tab.page.evaluate(_WHOLE)
        return f"{text}\n{source}"
    try:
        found: Any = await tab.page.evaluate(f"() => {locator}")
    except PlaywrightError as error:
        if any(
            kind in error.message for kind in ("TypeError", "ReferenceError", "SyntaxError", "DOMException")
        ):
            return ""
        raise
    return "" if found is None else _as_text(found)


async def prepare(tab: Tab, script: str) -> None:
    """Run a task's preparing script on the page; a page without what it wants stays as it is."""
    await read(tab, script)


def post_url(url: str) -> str:
    """The address of the forum post that an address belongs to (``…/f/forum/123/…``); "" for any other."""
    split = urlsplit(url)
    parts = [part for part in split.path.split("/") if part]
    if len(parts) < 3 or parts[0] != "f" or not parts[2].isdigit():
        return ""
    return f"{split.scheme}://{split.netloc}/f/{parts[1]}/{parts[2]}/"


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)

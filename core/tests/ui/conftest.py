"""The fixtures of a page's tests."""

from browser import browser, page

__all__ = ["browser", "page"]

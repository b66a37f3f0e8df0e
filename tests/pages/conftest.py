"""The fixture of a page's tests."""

from browser import browser

__all__ = ["browser"]

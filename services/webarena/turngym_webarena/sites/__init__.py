"""The embedded sites: a shop and its back office over one seeded world, served by one ASGI application.

A browser context says which session it belongs to by the header :data:`HEADER` on every request; each session has a world
of its own that starts from a seed and is copied on its first write (see :mod:`.worlds`). A request without the header is a
person's, by hand, in a world of its own. Both sites live on one host: the shop at ``/``, the back office at ``/admin``, so
what is edited there shows here. Addresses and DOM hooks are those of the WebArena task files' locators.

What this package doesn't do: choose ports, start servers, restrict the network. The service does.
"""

from dataclasses import dataclass

from turngym_webarena.sites.app import create_app
from turngym_webarena.sites.worlds import HEADER, UnknownWorld, Worlds


@dataclass(frozen=True, slots=True)
class Site:
    """A site by its name in task files. ``host`` is a name that the service maps to a loopback port."""

    name: str
    placeholder: str
    host: str
    path: str
    title: str

    @property
    def url(self) -> str:
        """The base address, without a slash at its end; what ``placeholder`` in a task stands for."""
        return f"http://{self.host}{self.path}"


SITES: dict[str, Site] = {
    "shopping": Site("shopping", "__SHOPPING__", "market.test", "", "the shop"),
    "shopping_admin": Site(
        "shopping_admin", "__SHOPPING_ADMIN__", "market.test", "/admin", "its back office"
    ),
}

__all__ = ["HEADER", "SITES", "Site", "UnknownWorld", "Worlds", "create_app"]

"""The back office: what the shop's staff sees."""

from starlette.routing import BaseRoute

from turngym_webarena.sites.worlds import Worlds


def routes(worlds: Worlds) -> list[BaseRoute]:
    """Every page of the back office."""
    return []

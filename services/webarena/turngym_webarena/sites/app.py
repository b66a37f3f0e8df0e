"""The ASGI application of all embedded sites."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from turngym_webarena.sites import admin, shop
from turngym_webarena.sites.worlds import Worlds


def create_app(worlds: Worlds) -> Starlette:
    """The shop at ``/``, the back office at ``/admin``.

    Pages are computed in worker threads; requests of one session take turns.
    """
    routes: list[BaseRoute] = [
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        *admin.routes(worlds),
        *shop.routes(worlds),  # last: it takes any address, and says of both sites what isn't there
    ]
    return Starlette(routes=routes)

"""The playground at ``/ui``: its static files, which need no token, and what this server can do beyond the protocol.

The page itself speaks the protocol as any other client does; nothing here knows a session.
"""

from turngym.server.http import Call, Handler, Reply, asset_handler, json_reply
from turngym.server.settings import Settings
from turngym.ui import BASE, PLAYGROUND, assets

ROOT = "/ui"
ABILITIES = f"{ROOT}/abilities"
_PAGE = "playground.html"


class Pages:
    """The handlers of the playground's files, read once when the server starts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = assets(BASE, PLAYGROUND)

    @property
    def static_paths(self) -> frozenset[str]:
        """The paths that need no token: they are the same for everybody."""
        return frozenset({ROOT, *(f"{ROOT}/{name}" for name in self._files)})

    def table(self) -> list[tuple[str, Handler]]:
        """Every path with its handler."""
        files = [(f"{ROOT}/{name}", asset_handler(file)) for name, file in self._files.items()]
        return [(ROOT, asset_handler(self._files[_PAGE])), (ABILITIES, self.abilities), *files]

    async def abilities(self, call: Call) -> Reply:
        """Whether the expert may be asked, and the name of the language model that may play, or null."""
        return json_reply({"expert": self._settings.experts, "model": self._settings.model})

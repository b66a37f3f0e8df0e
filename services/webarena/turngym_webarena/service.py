"""WebArena as a service: what ``turngym serve webarena`` serves. Owns the sites, the browser and their life together."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from turngym.environment import Environment, Mode, Progress, Service, Spec
from turngym.schema import TaskInfo
from turngym.server.settings import load_settings, read_settings
from turngym_webarena import __version__, sites
from turngym_webarena.actions import GRAMMAR
from turngym_webarena.browser import Chromium
from turngym_webarena.catalogue import Catalogue
from turngym_webarena.env import INSTRUCTION, Place, WebArena, WebArenaOptions
from turngym_webarena.evaluation import Judge
from turngym_webarena.serving import SiteServer
from turngym_webarena.settings import WebArenaSettings

logger = logging.getLogger("turngym.webarena")

MAX_TURNS = 30  # as in WebArena
_MOST_TURNS = 100


class WebArenaService(Service):
    """Browser episodes over the embedded sites: one Chromium, a context a session, everything in one event loop."""

    Options: ClassVar = WebArenaOptions
    tasks: Catalogue
    defaults: ClassVar = {"port": 8001, "max_sessions": 32, "step_timeout_s": 60}

    def __init__(self) -> None:
        """Raises SettingsError where a setting of the service has a wrong value."""
        self._settings = read_settings(WebArenaSettings)
        self.tasks = Catalogue()
        self._place: Place | None = None
        self._server: SiteServer | None = None
        self._worlds: sites.Worlds | None = None
        self.spec = Spec(
            name="webarena",
            version=__version__,
            description="Use a web browser on a shop and its back office to reach an objective",
            instruction=INSTRUCTION,
            grammar=GRAMMAR,
            default_max_turns=MAX_TURNS,
            max_turns=_MOST_TURNS,
            data_hash=self.tasks.data_hash,
            mode=Mode.ASYNC,
            risky=True,
            invalid_limit=3,
        )

    async def load(self, progress: Progress) -> None:
        """Build the worlds that aren't there yet, serve the sites, launch the browser."""
        folder = load_settings(self.defaults).data_dir / "webarena"
        worlds = sites.Worlds(folder)
        await asyncio.to_thread(worlds.build, lambda what, part: progress(what, 0.9 * part))
        progress("the sites", 0.9)
        self._worlds = worlds
        self._server = SiteServer(sites.create_app(worlds), self._settings.sites_port)
        self._server.start()
        progress("the browser", 0.95)
        at = f"127.0.0.1:{self._server.port}"
        chromium = Chromium(self._settings, {site.host: at for site in sites.SITES.values()})
        self._place = Place(
            chromium,
            worlds,
            self._settings,
            {site.placeholder: site.url for site in sites.SITES.values()},
            sites.HEADER,
            self._judge(),
        )
        await chromium.start()
        listed = ", ".join(f"{site.title} http://{at}{site.path}" for site in sites.SITES.values())
        logger.info("Chromium %s; by hand: %s", chromium.version, listed)

    def _judge(self) -> Judge | None:
        settings = self._settings
        if settings.judge_url is None:
            return None
        key = settings.judge_key.get_secret_value() if settings.judge_key is not None else None
        return Judge(settings.judge_url, settings.judge_model, key)

    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task. Nothing in it is drawn by the seed."""
        return WebArena(self.tasks.goal(task), self.place, options, self.tasks.oracle(task))

    @property
    def place(self) -> Place:
        """What all episodes share, once the service is loaded."""
        assert self._place is not None, "the service is not loaded"
        return self._place

    @property
    def worlds(self) -> sites.Worlds:
        """The sites' state, once the service is loaded."""
        assert self._worlds is not None, "the service is not loaded"
        return self._worlds

    @property
    def browser(self) -> Chromium:
        """The browser, once the service is loaded."""
        return self.place.chromium

    def gauges(self) -> Mapping[str, float]:
        """The browser's contexts, launches and memory."""
        if self._place is None:
            return {}
        chromium = self._place.chromium
        return {
            "browser_contexts": chromium.contexts,
            "browser_launches": chromium.launches,
            "browser_memory_bytes": chromium.memory_bytes,
        }

    async def close(self) -> None:
        """Close the browser, then the sites, and drop what is left of the sessions' worlds."""
        if self._place is not None:
            await self._place.chromium.stop()
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)
        if self._worlds is not None:
            await asyncio.to_thread(self._worlds.shutdown)

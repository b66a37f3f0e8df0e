"""The viewer as an ASGI application: its pages, and what they ask for as JSON.

Questions run in threads, since they read files and SQLite. Every error is a problem document, as with a service.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.routing import Route

from turngym.problems import ProblemError
from turngym.server.http import (
    ASSET_HEADERS,
    App,
    Call,
    Endpoint,
    Handler,
    Reply,
    asset_handler,
    guarded,
    json_reply,
    query,
)
from turngym.ui import BASE, assets
from turngym_viewer import __version__, queries
from turngym_viewer.export import indented, markdown
from turngym_viewer.indexer import Indexer
from turngym_viewer.runs import Run, details, find_run, find_runs, headline, metrics
from turngym_viewer.settings import PORTS, Settings

STATIC = Path(__file__).parent / "static"
_PAGE = "viewer.html"
_MAX_BODY = 1024  # no call has a body

Question = Callable[[Call], Any]


class Viewer:
    """The handlers over a folder of runs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.indexer = Indexer(settings)

    def questions(self) -> list[tuple[str, Question]]:
        """Every path of the API with the function that answers it."""
        run = "/api/runs/{run}"
        return [
            ("/api/viewer", self.about),
            ("/api/runs", self.runs),
            (run, self.run),
            (f"{run}/metrics", self.metrics),
            (f"{run}/trajectories", self.trajectories),
            (f"{run}/trajectories/{{file}}/{{line:int}}", self.trajectory),
            (f"{run}/trajectories/{{file}}/{{line:int}}/{{form}}", self.exported),
            (f"{run}/groups/{{partition}}/{{step:int}}/{{group:path}}", self.group),
        ]

    def about(self, call: Call) -> Any:
        """The viewer itself: its version, and where services are."""
        return {"version": __version__, "playgrounds": self._settings.playgrounds, "ports": PORTS}

    def runs(self, call: Call) -> Any:
        """All runs, the latest first."""
        found = [headline(run) for run in find_runs(self._settings.runs)]
        return {"runs": sorted(found, key=lambda one: -one["changed"])}

    def run(self, call: Call) -> Any:
        """One run: its files' facts, and how far its index is."""
        run = self._run(call)
        self.indexer.look(run)
        state, problem = self.indexer.state(run)
        return {**details(run), "index": {**asdict(state), "problem": problem}}

    def metrics(self, call: Call) -> Any:
        """The run's metrics by step."""
        return metrics(self._run(call))

    def trajectories(self, call: Call) -> Any:
        """A page of the run's trajectories, what filters may be set to, and how far the index is."""
        wanted = query(call, queries.Filter)
        index = self.indexer.look(self._run(call))
        with _asking():
            page = queries.page(index, wanted)
            return {**page, "choices": queries.choices(index), "index": asdict(index.state())}

    def trajectory(self, call: Call) -> Any:
        """One trajectory whole."""
        return self._trajectory(call)

    def exported(self, call: Call) -> Any:
        """One trajectory as a file: ``markdown`` or ``json``."""
        found, form = self._trajectory(call)["trajectory"], call.path("form")
        if form not in ("markdown", "json"):
            raise ProblemError("not_found", f"a trajectory is exported as markdown or json, not as {form!r}")
        name = f"{found['run']}-{found['step']}-{found['task_id']}-{found['sample']}.{'md' if form == 'markdown' else 'json'}"
        disposition = f"attachment; filename*=UTF-8''{quote(name.replace('/', '-'), safe='')}".encode()
        body = markdown(found).encode(errors="replace") if form == "markdown" else indented(found)
        media_type = b"text/markdown; charset=utf-8" if form == "markdown" else b"application/json"
        return Reply(200, body, media_type, ((b"content-disposition", disposition), *ASSET_HEADERS))

    def group(self, call: Call) -> Any:
        """The trajectories of one prompt in one step."""
        index = self.indexer.look(self._run(call))
        with _asking():
            return queries.group(index, call.path("partition"), int(call.path("step")), call.path("group"))

    def _trajectory(self, call: Call) -> dict[str, Any]:
        index = self.indexer.look(self._run(call))
        with _asking():
            return queries.trajectory(index, call.path("file"), int(call.path("line")))

    def _run(self, call: Call) -> Run:
        return find_run(self._settings.runs, call.path("run"))


def create_app(settings: Settings) -> Starlette:
    """The application over the folder of runs that the settings name."""
    viewer = Viewer(settings)
    files = assets(BASE, STATIC)
    static = {"/": files[_PAGE], **{f"/static/{name}": file for name, file in files.items()}}

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        viewer.indexer.start()
        try:
            yield
        finally:
            await asyncio.to_thread(viewer.indexer.stop)

    class Application(Starlette):
        front: App

        def build_middleware_stack(self) -> App:
            return self.front

    app = Application(lifespan=lifespan)
    app.router.redirect_slashes = False
    for path, file in static.items():
        app.router.routes.append(
            Route(path, Endpoint(asset_handler(file), _MAX_BODY, _ignore), methods=["GET"])
        )
    app.router.routes.append(Route("/health", Endpoint(_health, _MAX_BODY, _ignore), methods=["GET"]))
    for path, question in viewer.questions():
        app.router.routes.append(Route(path, Endpoint(_asked(question), _MAX_BODY, _ignore), methods=["GET"]))
    open_paths = frozenset({"/health", *static})
    app.front = guarded(app.router, settings.token, open_paths, "GET /api/runs lists the runs", _ignore)
    return app


@contextmanager
def _asking() -> Iterator[None]:
    """A question to an index: one that is not built yet is ``not_ready``, a number beyond SQLite's is ``not_found``."""
    try:
        yield
    except OverflowError as error:
        raise ProblemError("not_found", f"the run's index has nothing at such a number ({error})") from None
    except sqlite3.OperationalError as error:
        raise ProblemError("not_ready", f"the run is being indexed ({error})", retry_after=1) from None


def _asked(question: Question) -> Handler:
    async def answer(call: Call) -> Reply:
        found = await asyncio.to_thread(question, call)
        return found if isinstance(found, Reply) else json_reply(found)

    return answer


async def _health(call: Call) -> Reply:
    return json_reply({"status": "ok"})


def _ignore(code: str) -> None:
    """Problems are not counted here: the viewer has no metrics page."""

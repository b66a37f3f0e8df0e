"""A service as an ASGI application, and as a process.

``create_app`` wires settings, journal, backend, sessions and routes; ``serve`` runs it in the foreground. The application is
FastAPI's for its documentation pages; the routes themselves are plain ASGI endpoints, because a step's cost is mostly what
lies between the socket and the environment.
"""

import asyncio
import errno
import gc
import json
import logging
import logging.config
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.routing import Route

from turngym.environment import Service
from turngym.server import document
from turngym.server.episode import settled
from turngym.server.execution import WorkerThread, make_backend
from turngym.server.http import App, Endpoint, guarded
from turngym.server.journal import Journal, JournalError
from turngym.server.metrics import Metrics
from turngym.server.openings import Openings
from turngym.server.pages import Pages
from turngym.server.routes import Live, Routes
from turngym.server.sessions import Sessions
from turngym.server.settings import Settings
from turngym.server.steps import Steps

logger = logging.getLogger("turngym.server")

OPEN_PATHS = frozenset({"/health", "/ready"})  # and the playground's static files
# Longer than clients and gateways keep idle connections, so that none breaks under a request.
KEEP_ALIVE_S = 75
_SWEEP_S = 1.0


class ServeError(Exception):
    """The service can't be served. The message is one line that says why and what to do."""


class Application(FastAPI):
    """FastAPI without the layers that only its own kind of route needs; between the socket and a route lies ``front``."""

    front: App

    def build_middleware_stack(self) -> App:
        return self.front


def create_app(
    service: Service,
    settings: Settings,
    *,
    journal: Journal | None = None,
    on_load_error: Callable[[str], None] | None = None,
) -> FastAPI:
    """The application that serves ``service``.

    :param journal: an open journal; without one it is opened when the application starts.
    :param on_load_error: called with one line if the service can't be loaded; the application then stays "not ready".
    :raises JournalError: when the application starts, if its journal can't be used.
    """
    spec = service.spec
    metrics = Metrics(service.gauges)
    routes = Routes(service, settings, metrics)
    table = [*routes.table(), *service.routes()]
    routes.schemas = document.schemas(table)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            opened = journal or Journal(settings.journal_path(spec.name), spec.name, settings.journal_max_mb)
            stack.callback(opened.close)
            work = asyncio.create_task(
                _work(service, settings, routes, metrics, opened, stack, on_load_error)
            )
            try:
                yield
            finally:
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work

    title = f"TurnGym: {spec.name}"
    app = Application(title=title, version=spec.version, lifespan=lifespan, docs_url=None, redoc_url=None)
    # Its link to the document is relative: behind a gateway the service lies under a path that it doesn't know.
    page = get_swagger_ui_html(openapi_url="openapi.json", title=title)
    app.router.routes.append(Route("/docs", lambda request: page, methods=["GET"]))
    for doc in table:
        endpoint = Endpoint(doc.handler, settings.max_body_bytes, metrics.problem)
        app.router.routes.append(Route(doc.path, endpoint, methods=[doc.method]))
    pages = Pages(settings)
    for path, handler in pages.table():
        endpoint = Endpoint(handler, settings.max_body_bytes, metrics.problem)
        app.router.routes.append(Route(path, endpoint, methods=["GET"]))
    app.router.redirect_slashes = False
    description = document.openapi(spec, table, settings.token is not None)
    app.openapi = lambda: description  # type: ignore[method-assign]
    open_paths = OPEN_PATHS | pages.static_paths
    app.front = guarded(app.router, settings.token, open_paths, "GET / lists the resources", metrics.problem)
    return app


async def _work(
    service: Service,
    settings: Settings,
    routes: Routes,
    metrics: Metrics,
    journal: Journal,
    stack: AsyncExitStack,
    on_load_error: Callable[[str], None] | None,
) -> None:
    """Load the service, take over the journal's open sessions, and sweep until cancelled."""

    def progress(what: str, part: float) -> None:
        routes.loading = (what, part)

    try:
        loader = WorkerThread("turngym-load")  # a thread that a stop need not wait for
        loading = loader.submit(lambda: service.load(progress))
        loader.retire()
        await settled(await loading)
        backend = make_backend(service, settings.workers)
        await backend.start()
        sessions = Sessions(service, settings, backend, journal, metrics)
        found = sessions.recover()
    except Exception as error:
        line = f"{service.spec.name} can't be loaded: {type(error).__name__}: {error}"
        routes.loading = (line, 0.0)
        if on_load_error is not None:
            logger.debug("the error in full", exc_info=error)
            on_load_error(line)
        else:
            logger.error(line, exc_info=error)
        return
    if found:
        logger.info("took over %d open sessions from the journal", found)
    metrics.watch("sessions_open", "Open sessions", lambda: sessions.open_count)
    metrics.watch(
        "session_slots_used",
        "Slots taken, by open sessions and those that still close",
        lambda: sessions.slots.used,
    )
    metrics.watch("session_slots", "Slots there are", lambda: sessions.slots.limit)
    metrics.watch("sessions_busy", "Open sessions with a call in progress", lambda: sessions.busy_count)
    metrics.watch("create_queue", "Creates that wait for a slot", lambda: sessions.slots.waiting)
    metrics.watch("workers_quarantined", "Workers that hang in a call past its deadline", backend.quarantined)
    metrics.watch("journal_bytes", "Size of the journal's pages in use", journal.bytes_used)
    steps = Steps(sessions)
    routes.live = Live(sessions, Openings(sessions, steps), steps)
    try:
        while True:
            await asyncio.sleep(min(_SWEEP_S, settings.session_ttl_s / 4))
            try:
                await sessions.sweep()
            except Exception:
                logger.exception("the sweep failed; it is tried again")
    finally:
        routes.live = None
        await sessions.stop()
        await backend.stop()
        await settled(await asyncio.to_thread(service.close))


def serve(service: Service, settings: Settings, *, ready: Callable[[str], None] | None = None) -> None:
    """Run the service in the foreground until SIGTERM or SIGINT; open sessions stay in the journal.

    :param ready: called with the address once the socket listens.
    :raises SystemExit: with one line on stderr and status 1, if the port, the journal or the service can't be used.
    """
    try:
        _serve(service, settings, ready)
    except (ServeError, JournalError) as error:
        print(f"turngym: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _serve(service: Service, settings: Settings, ready: Callable[[str], None] | None) -> None:
    logging.config.dictConfig(_logging(settings))
    listener = _listen(settings)
    failures: list[str] = []

    def failed(line: str) -> None:
        failures.append(line)
        server.should_exit = True

    with listener:
        journal = Journal(
            settings.journal_path(service.spec.name), service.spec.name, settings.journal_max_mb
        )
        app = create_app(service, settings, journal=journal, on_load_error=failed)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            loop="uvloop",
            http="httptools",
            ws="none",
            backlog=4096,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=int(min(settings.step_timeout_s, 25)) + 1,
        )
        server = uvicorn.Server(config)
        if ready is not None:
            host, port = listener.getsockname()[:2]
            ready(f"http://{host}:{port}")
        gc.collect()
        gc.freeze()  # what is loaded by now stays: the collector need not walk it again and again
        server.run(sockets=[listener])
    if failures:
        raise ServeError(failures[0])


def _listen(settings: Settings) -> socket.socket:
    """A listening socket, so that a port in use is known before anything is loaded."""
    where = f"{settings.host}:{settings.port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(4096)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServeError(
                f"port {settings.port} is in use; stop what uses it or set TURNGYM_PORT"
            ) from None
        raise ServeError(
            f"can't listen on {where}: {error.strerror or error}; set TURNGYM_HOST or TURNGYM_PORT"
        ) from None
    listener.setblocking(False)
    return listener


class JsonFormatter(logging.Formatter):
    """One JSON object a line, with the session's id where the line concerns one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if session_id := getattr(record, "session_id", None):
            line["session_id"] = session_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _logging(settings: Settings) -> dict[str, Any]:
    text = {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    formatter = {"()": JsonFormatter} if settings.log_format == "json" else text
    level = settings.log_level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {"uvicorn": {"level": "WARNING" if level == "INFO" else level}},
    }

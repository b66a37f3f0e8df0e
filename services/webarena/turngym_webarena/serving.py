"""Serves the embedded sites on a port of the loopback interface, in a thread beside the runtime's own event loop."""

import socket
import threading
from typing import Any

import uvicorn

_STOP_S = 5.0


class SitesError(RuntimeError):
    """The sites can't be served. The message is one line."""


class SiteServer:
    """A web server for one ASGI application, started and stopped once."""

    def __init__(self, app: Any, port: int) -> None:
        """``port`` 0 takes a free one."""
        self._wanted = port
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                timeout_keep_alive=60,
                timeout_graceful_shutdown=3,
            )
        )
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that is listened on."""
        assert self._listener is not None, "the sites are not served yet"
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Listen, and serve in a thread. Raises SitesError."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", self._wanted))
        except OSError as error:
            listener.close()
            raise SitesError(
                f"the sites can't listen on 127.0.0.1:{self._wanted}: {error.strerror}; set TURNGYM_SITES_PORT"
            ) from error
        listener.listen(256)
        self._listener = listener
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="turngym-sites", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the server; requests that still run are cut off after a moment."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_STOP_S)
        if self._listener is not None:
            self._listener.close()

"""Toy servers in processes of their own: started, killed and started again by the tests that need real ones.

They are forked from a clean process that has the server's modules loaded: an interpreter that starts from nothing would take
most of the tests' time.
"""

import multiprocessing
import os
import resource
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import httpx

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["turngym.server.app", "toy"])


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_toy(
    toy: dict[str, Any],
    settings: dict[str, str],
    log: str,
    environ: dict[str, str],
    file_limit: int,
    clock: Path | None,
) -> None:
    """The life of a server process. ``file_limit`` is the greatest size of a file that it may write, in bytes.

    Where there is a ``clock``, that file says by how many seconds the process's wall clock is wrong.
    """
    from toy import main

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    for name in [name for name in os.environ if name.startswith("TURNGYM_")]:
        del os.environ[name]
    os.environ.update(environ)
    if file_limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))
    if clock is not None:
        right = time.time
        time.time = lambda: right() + float(clock.read_text())
    main(toy, settings)


@dataclass
class Served:
    """A toy server in a process of its own; ``kill`` is SIGKILL, ``start`` starts it again on its port and journal."""

    toy: dict[str, Any]
    settings: dict[str, Any]
    log: Path
    environ: dict[str, str] = field(default_factory=dict)
    file_limit: int = 0
    clock: Path | None = None
    process: ForkServerProcess | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.settings['port']}"

    def spawn(self) -> ForkServerProcess:
        """Start the process without waiting for it."""
        given = {name: str(value) for name, value in self.settings.items()}
        arguments = (self.toy, given, str(self.log), self.environ, self.file_limit, self.clock)
        self.process = _CONTEXT.Process(target=run_toy, args=arguments)
        self.process.start()
        return self.process

    def wait(self) -> int | None:
        """Wait until the process has ended; its exit status."""
        assert self.process is not None
        self.process.join(30)
        return self.process.exitcode

    def allow_files(self) -> None:
        """Lift the limit on the size of files, as if the disk had room again."""
        assert self.process is not None and self.process.pid is not None
        resource.prlimit(
            self.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )

    def start(self, ready: bool = True) -> "Served":
        """Start the process and wait until it answers."""
        process = self.spawn()
        path = "/ready" if ready else "/health"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if process.exitcode is not None:
                raise RuntimeError(f"the server ended with {process.exitcode}: {self.log.read_text()}")
            try:
                if httpx.get(self.url + path, timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"the server is not ready: {self.log.read_text()}")

    def kill(self) -> None:
        """SIGKILL, as a machine that runs out of memory does it."""
        assert self.process is not None
        self.process.kill()
        self.process.join()

    def stop(self) -> int | None:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.wait()

    def client(self) -> httpx.Client:
        """A client of it."""
        return httpx.Client(base_url=self.url, timeout=30)


ServerFactory = Callable[..., Served]


def factory(folder: Path, started: list[Served]) -> ServerFactory:
    """A function that starts toy servers with their files in ``folder`` and notes them in ``started``."""

    def make(
        toy: dict[str, Any] | None = None,
        start: bool = True,
        environ: dict[str, str] | None = None,
        file_limit: int = 0,
        clock: Path | None = None,
        **settings: Any,
    ) -> Served:
        number = len(started)
        known = {
            "port": free_port(),
            "journal": folder / f"journal-{number}",
            "log_level": "warning",
        } | settings
        served = Served(toy or {}, known, folder / f"log-{number}", environ or {}, file_limit, clock)
        started.append(served)
        return served.start() if start else served

    return make


def end(started: list[Served]) -> None:
    """Kill what still runs."""
    for served in started:
        if served.process is not None and served.process.is_alive():
            served.kill()

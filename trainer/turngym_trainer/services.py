"""The environment that a run trains on: one that answers already, or one that the run starts and looks after itself.

A service of the run's own listens on a free port of this machine, keeps its journal in the run's folder, and is started
again if it dies: the journal gives every open session back. It ends with the run.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket

from turngym.client.aio import AsyncClient
from turngym.client.errors import ConnectionLost, UnexpectedAnswer
from turngym.problems import ProblemError
from turngym.schema import Metadata
from turngym_trainer import children

_READY_S = 300.0  # of a service of the run's own; the slowest loads an index or a browser
_CONTACT_S = 5.0
_PAUSE_S = 0.5


class ServiceError(RuntimeError):
    """No environment to train on. The message is one line that says what to do."""


async def look(address: str) -> Metadata:
    """The metadata of a ready service. Raises ServiceError."""
    async with AsyncClient(
        address, token=os.environ.get("TURNGYM_TOKEN"), timeout_s=10, patience_s=_CONTACT_S
    ) as client:
        try:
            state = await client.ready()
            if not state.ready:
                raise ServiceError(
                    f"{address} is still loading {', '.join(state.missing)} ({100 * state.progress:.0f} %)"
                )
            return await client.metadata()
        except ConnectionLost as error:
            raise ServiceError(
                f"no environment answers at {address}; start one: make serve TASK=…"
            ) from error
        except (UnexpectedAnswer, ProblemError) as error:
            raise ServiceError(f"{address}: {error}") from error


def command_turngym() -> str:
    """The command ``turngym`` of the Python environment that holds the services. Raises ServiceError."""
    named = os.environ.get("TURNGYM_COMMAND", "turngym")
    found = shutil.which(named)
    if found is None:
        raise ServiceError(
            f"no command {named}: TURNGYM_COMMAND must name the turngym of the services' environment"
        )
    return found


@contextmanager
def serving(name: str, folder: Path) -> Iterator[str]:
    """Serve ``name`` while the block runs; yields the address. Raises ServiceError if it does not start.

    :param folder: for the journal and the log.
    """
    port = _free_port()
    environment = {
        **os.environ,
        "TURNGYM_HOST": "127.0.0.1",
        "TURNGYM_PORT": str(port),
        "TURNGYM_JOURNAL": str(folder / "service.journal"),
    }
    command = [command_turngym(), "serve", name]
    log = folder / "service.log"
    keeper = _Keeper(command, environment, log)
    try:
        keeper.wait_ready(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        keeper.end()
        for left in folder.glob("service.journal*"):
            left.unlink()


def describe(name: str) -> Metadata:
    """What an installed service says of itself, asked of one that is started for it. Raises ServiceError."""
    with tempfile.TemporaryDirectory(prefix="turngym-") as folder, serving(name, Path(folder)) as address:
        return asyncio.run(look(address))


class _Keeper:
    """A child process that is started again when it dies."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._command, self._environment, self._log = command, environment, log
        self._over = threading.Event()
        self._process = self._start()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def _start(self) -> "subprocess.Popen[str]":
        with self._log.open("a") as log:
            return children.start(self._command, log=log, environment=self._environment)

    def wait_ready(self, address: str) -> None:
        deadline = time.monotonic() + _READY_S
        while True:
            if self._process.poll() is not None:
                said = self._log.read_text(errors="replace").strip().splitlines()
                raise ServiceError(f"the service did not start: {said[-1] if said else 'it said nothing'}")
            try:
                asyncio.run(look(address))
                break
            except ServiceError as error:
                if time.monotonic() > deadline:
                    raise ServiceError(f"the service is not ready after {_READY_S:.0f} s: {error}") from error
        self._thread.start()

    def _keep(self) -> None:
        while not self._over.wait(_PAUSE_S):
            if self._process.poll() is not None:
                self._process = self._start()

    def end(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port

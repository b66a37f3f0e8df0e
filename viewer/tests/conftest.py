"""What the viewer's tests share: runs made up in the trainer's formats, a real viewer on a real port, a real browser."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from browser import browser, page
from made import finish, write_run
from served import free_port
from viewing import Starter, indexed

from turngym.server.settings import read_settings
from turngym_viewer.app import create_app
from turngym_viewer.settings import Settings

__all__ = ["browser", "page"]


@pytest.fixture(scope="session")
def start_viewer() -> Iterator[Starter]:
    """``start_viewer(folder, token="x")``: a viewer on a port of its own, in a thread; its address."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(folder: Path, **given: object) -> str:
        settings = read_settings(Settings, **{"runs": folder, "port": free_port(), "poll_s": 0.3, **given})
        config = uvicorn.Config(create_app(settings), port=settings.port, log_level="warning", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        servers.append((server, thread))
        while not server.started:
            assert thread.is_alive(), "the viewer did not start"
            time.sleep(0.02)
        return f"http://127.0.0.1:{settings.port}"

    yield start
    for server, _ in servers:
        server.should_exit = True
    for _, thread in servers:
        thread.join(60)


@pytest.fixture(scope="session")
def recorded() -> Path:
    """A folder with a run that the trainer wrote, ``textcraft-smoke``: two steps of 16 episodes."""
    return Path(__file__).parent / "recorded"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run and one that goes on."""
    home = tmp_path_factory.mktemp("runs")
    finish(write_run(home / "textcraft-1"))
    write_run(home / "textcraft-2", steps=5, seed=3)
    return home


@pytest.fixture(scope="session")
def viewer(folder: Path, start_viewer: Starter) -> str:
    """The address of a viewer over the folder, its indexes built."""
    address = start_viewer(folder)
    for run in ("textcraft-1", "textcraft-2"):
        indexed(address, run)
    return address

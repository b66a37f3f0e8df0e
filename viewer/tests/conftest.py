"""What the viewer's tests share: runs made up in the trainer's formats, a real viewer on a real port, a real browser."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from browser import opened, running
from made import finish, write_run
from playwright.sync_api import Browser, Page
from served import free_port
from viewing import Starter, indexed


@pytest.fixture(scope="session")
def start_viewer() -> Iterator[Starter]:
    """``start_viewer(folder, TURNGYM_TOKEN="x")``: a viewer in a process of its own; its address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(folder: Path, **environ: str) -> str:
        port = free_port()
        command = [sys.executable, "-m", "turngym_viewer.serve", "serve", str(folder), "--port", str(port)]
        process = subprocess.Popen(command, env={"PATH": "", "TURNGYM_POLL_S": "0.3"} | environ)
        processes.append(process)
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if httpx.get(f"{address}/health").status_code == 200:
                    return address
            except httpx.TransportError:
                time.sleep(0.1)
        raise RuntimeError("the viewer did not start")

    yield start
    for process in processes:
        process.terminate()
        process.wait(30)


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with running() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose console stays clean."""
    with opened(browser) as found:
        yield found

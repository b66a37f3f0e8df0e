"""What the service's tests share: the real service in a process of its own, its browser's processes, and players over HTTP."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Any

import httpx
import pytest

READY_S = 240


@dataclass
class Service:
    """``turngym serve webarena``; ``kill`` is SIGKILL, ``start`` starts it again on its port and journal."""

    folder: Path
    data: Path
    settings: dict[str, Any] = field(default_factory=dict)
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has said."""
        return (self.folder / "log").read_text()

    def start(self) -> "Service":
        """Start it and wait until it is ready."""
        if not self.port:
            with socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        given = {"port": self.port, "journal": self.folder / "journal", "data_dir": self.data, "experts": 1}
        given |= {"log_level": "warning", "step_timeout_s": 120, "settle_s": 60} | self.settings
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("TURNGYM_") or name == "TURNGYM_CHROMIUM"
        }
        environ = own | {f"TURNGYM_{name.upper()}": str(value) for name, value in given.items()}
        program = str(Path(sys.executable).parent / "turngym")
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "serve", "webarena"], env=environ, stdout=log, stderr=log
            )
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass  # it doesn't listen yet
            time.sleep(0.1)
        raise AssertionError(f"not ready after {READY_S} s: {self.log}")

    def kill(self) -> None:
        """SIGKILL, as a machine that runs out of memory does it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(60)

    def client(self) -> httpx.Client:
        """A client of it."""
        return httpx.Client(base_url=self.url, timeout=180)

    def below(self) -> dict[int, str]:
        """The command lines of all processes below it."""
        assert self.process is not None
        return descendants(self.process.pid)

    def browsers(self) -> list[int]:
        """Its browser's main processes."""
        return [
            pid
            for pid, line in self.below().items()
            if "--host-resolver-rules" in line and "--type=" not in line
        ]

    def renderers(self) -> list[int]:
        """Its browser's renderers."""
        return [pid for pid, line in self.below().items() if "--type=renderer" in line]


def descendants(root: int) -> dict[int, str]:
    """Every process below ``root`` with its command line."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, wave = {}, [root]
    while wave:
        wave = [pid for pid, parent in parents.items() if parent in wave]
        for pid in wave:
            try:
                found[pid] = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
    return found


def is_gone(pids: list[int], within_s: float = 20) -> bool:
    """Whether these processes end in that time; one that its adoptive parent has not yet taken in counts as ended."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not any(runs(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def played(
    client: httpx.Client, index: int, after: Callable[[int], None] = lambda turn: None
) -> dict[str, Any]:
    """The expert plays a test task: the texts it saw, and how it ended: a stop reason or a problem's code.

    ``after`` is called with the number of each turn that was played.
    """
    opened = client.post("/sessions", json={"split": "test", "index": index})
    assert opened.status_code == 201, opened.text
    result = opened.json()
    name, texts, actions = result["session_id"], [result["observation"]["text"]], []
    while result["stop_reason"] is None:
        asked = client.get(f"/sessions/{name}/expert")
        if asked.status_code != 200:
            return {
                "name": name,
                "texts": texts,
                "actions": actions,
                "end": asked.json()["code"],
                "score": None,
            }
        actions.append(asked.json()["action"])
        body = {"action": actions[-1], "turn": len(actions)}
        answer = client.post(f"/sessions/{name}/step", json=body)
        if answer.status_code != 200:
            return {
                "name": name,
                "texts": texts,
                "actions": actions,
                "end": answer.json()["code"],
                "score": None,
            }
        result = answer.json()
        texts.append(result["observation"]["text"])
        after(len(actions))
    return {
        "name": name,
        "texts": texts,
        "actions": actions,
        "end": result["stop_reason"],
        "score": result["score"],
    }


Factory = Callable[..., Service]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sites' data is built, once for all tests."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Factory]:
    """Starts services: ``serve(max_sessions=4)``. They end with the test, and their browsers with them."""
    started: list[Service] = []

    def factory(**settings: Any) -> Service:
        service = Service(tmp_path_factory.mktemp("service"), data, settings)
        started.append(service)
        return service.start()

    yield factory
    for service in started:
        end(service)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Service]:
    """A service with experts on, for tests that leave it healthy."""
    service = Service(tmp_path_factory.mktemp("shared"), data)
    service.start()
    yield service
    end(service)


@pytest.fixture
def http(shared: Service) -> Iterator[httpx.Client]:
    """A client of the shared service."""
    with shared.client() as client:
        yield client


def end(service: Service) -> None:
    """Stop a service and see that its browser went with it."""
    if service.process is not None and service.process.poll() is None:
        below = list(service.below())
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
        assert is_gone(below), "the browser outlived its service"


@pytest.fixture(scope="session")
def play() -> Callable[..., dict[str, Any]]:
    """:func:`played`."""
    return played


@pytest.fixture(scope="session")
def gone() -> Callable[..., bool]:
    """:func:`is_gone`."""
    return is_gone

"""Servers of sciworld in processes of their own, playing to the end, and a sample of its variations."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from turngym.client.sync import Client
from turngym.environment import Outcome
from turngym.parsing import read_action
from turngym_sciworld.env import GRAMMAR, SciWorld
from turngym_sciworld.tasks import KINDS, official_split

Opener = Callable[..., SciWorld]


def play(env: SciWorld, player: Callable[[SciWorld], str], turns: int = 400) -> list[Outcome]:
    """The outcomes up to the end or the horizon, read by the grammar as the server does."""
    outcomes: list[Outcome] = []
    while len(outcomes) < turns and not (outcomes and outcomes[-1].stop):
        outcomes.append(env.step(read_action(player(env), GRAMMAR)))
    return outcomes


@dataclass
class Server:
    """``turngym serve sciworld`` in a process of its own; ``kill`` is SIGKILL, ``start`` starts it again."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    def spawn(self) -> "Server":
        """Start it without waiting."""
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TURNGYM_")}
        environ |= {
            "TURNGYM_PORT": str(self.port),
            "TURNGYM_JOURNAL": str(self.folder / "journal"),
            "TURNGYM_EXPERTS": "1",
            "TURNGYM_STEP_TIMEOUT_S": "120",  # solutions of genetics are long in the making on a busy machine
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("turngym"), "serve", "sciworld"],
                env=environ | self.environ,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self

    def start(self) -> "Server":
        """Start it and wait until it is ready."""
        self.spawn()
        deadline = time.monotonic() + 300  # a JVM beside much other work
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log()}")
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"the server is not ready: {self.log()}")

    def log(self) -> str:
        """What it has written."""
        return (self.folder / "log").read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(60)

    def jvms(self) -> list[int]:
        """The process ids of its JVMs."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for file in children for pid in file.read_text().split()]
        return [pid for pid in pids if "GatewayServer" in command_line(pid)]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        """A client of it, which takes each answer as it comes: no call is tried again."""
        return Client(self.url, timeout_s=180, patience_s=0)


def command_line(pid: int) -> str:
    """The command line of a process; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def sample() -> list[tuple[str, str, int]]:
    """The first variation of each kind and split, in turn: (split, kind, variation)."""
    return [
        (str(split), kind.name, numbers[0])
        for kind in KINDS
        for split, numbers in official_split(kind.variations).items()
    ]

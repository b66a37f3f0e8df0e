"""A composition of this repository under a project name and ports of its own, for tests and measurements.

It builds and starts the services that it is told of with ``docker compose``, asks the engine about their containers, and
harms them. It takes everything down at the end, volumes too. It knows nothing of episodes.
"""

import json
import os
import re
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import httpx

ROOT = Path(__file__).resolve().parents[1]
# The environments that the gateway knows by default, with their ports.
ENVIRONMENTS = {
    name: int(port)
    for route in re.findall(r"GATEWAY_ROUTES:=([^}]*)", (ROOT / "deploy/haproxy/gateway").read_text())
    for name, port in re.findall(r"(\S+)=(\d+)", route)
}
# Routes that tests give the gateway besides: to nothing, and to containers that single tests start.
SPARE = {"empty": 8081, "guarded": 8082, "cramped": 8083}
PORT_NAMES = re.findall(r"\$\{([A-Z]+)_PORT:-", (ROOT / "docker-compose.yml").read_text())
UP_S = 300

# Run in a container: SIGKILL for the server, which is not the container's first process (that is tini).
KILL = """
import os, signal
for pid in filter(str.isdigit, os.listdir('/proc')):
    words = open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\\0')
    if int(pid) not in (1, os.getpid()) and any(word.endswith(b'/turngym') for word in words):
        os.kill(int(pid), signal.SIGKILL)
"""


@dataclass(frozen=True)
class Composition:
    """A started composition. ``ports`` are those of this machine, by the names of the compose file's variables."""

    project: str
    ports: dict[str, int]
    environ: dict[str, str]

    @property
    def gateway(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.ports['GATEWAY']}"

    @property
    def url(self) -> str:
        """Where textcraft answers on a port of its own."""
        return f"http://127.0.0.1:{self.ports['TEXTCRAFT']}"

    def compose(self, *arguments: str) -> str:
        """What ``docker compose ARGUMENTS`` prints; fails the test with its messages where it fails."""
        return said(["docker", "compose", *arguments], self.environ)

    def up(self, *arguments: str) -> None:
        """Start what ARGUMENTS say, and wait until all of it is healthy."""
        self.compose("up", "--detach", "--wait", "--wait-timeout", str(UP_S), *arguments)

    def left(self) -> list[str]:
        """What the engine still has of this composition: containers, networks, volumes."""
        kinds = (["ps", "--all"], ["network", "ls"], ["volume", "ls"])
        of_it = f"--filter=label=com.docker.compose.project={self.project}"
        return [name for kind in kinds for name in docker(*kind, "--quiet", of_it).split()]

    def container(self, number: int, service: str = "textcraft") -> str:
        """The name of a replica's container; Compose counts from 1."""
        return f"{self.project}-{service}-{number}"

    def kill_server(self, number: int) -> None:
        """SIGKILL for the server in a container of textcraft; the engine starts the container again."""
        docker("exec", self.container(number), "python", "-c", KILL)

    def address(self, number: int, service: str = "textcraft") -> str:
        """The address of a replica on the composition's own network, past the gateway."""
        return f"http://{self.host(number, service)}:{ENVIRONMENTS[service]}"

    def host(self, number: int, service: str) -> str:
        """The IP address of a container on the composition's own network."""
        (found,) = json.loads(docker("inspect", self.container(number, service)))
        (network,) = found["NetworkSettings"]["Networks"].values()
        return str(network["IPAddress"])

    def ready(self, service: str = "textcraft") -> bool:
        """Whether a replica of ``service`` says through the gateway that it is ready."""
        return answers(f"{self.gateway}/{service}/ready")

    def gateway_metric(self, sample: str) -> float:
        """A sample of the gateway's own metrics, by its name and labels as on the page."""
        page = docker(
            "exec", self.container(1, "gateway"), "bash", "-c",
            r"exec 3<>/dev/tcp/127.0.0.1/8404; printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3; cat <&3",
        )  # fmt: skip
        return next(float(line.split()[-1]) for line in page.splitlines() if line.startswith(sample))

    def is_up(self, number: int) -> bool:
        """Whether the gateway finds a replica of textcraft healthy."""
        state = f'{{proxy="textcraft",server="textcraft-{number}",state="UP"}}'
        return self.gateway_metric(f"haproxy_server_status{state}") == 1

    def replicas_up(self) -> int:
        """How many replicas of textcraft the gateway finds healthy."""
        return int(self.gateway_metric('haproxy_backend_active_servers{proxy="textcraft"}'))

    def restarted(self, number: int) -> None:
        """Wait until a replica that was killed answers again, and the gateway knows."""
        wait(lambda: answers(f"{self.address(number)}/ready"), f"an answer of {self.container(number)}")
        wait(lambda: self.is_up(number), f"replica {number}, as the gateway sees it")

    def wait_replicas(self, count: int) -> None:
        """Wait until the gateway finds ``count`` replicas of textcraft healthy."""
        wait(lambda: self.replicas_up() == count, f"{count} replicas, as the gateway sees it")


@contextmanager
def composition(project: str, *services: str, **environ: str) -> Iterator[Composition]:
    """Build and start ``services`` (with options of ``docker compose up``) under free ports, and take everything down
    afterwards."""
    ports = dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
    named = {f"{name}_PORT": str(port) for name, port in ports.items()}
    started = Composition(project, ports, {**os.environ, "COMPOSE_PROJECT_NAME": project, **named, **environ})
    try:
        started.compose("build", *(service for service in services if not service.startswith("--")))
        started.up(*services)
        yield started
    finally:
        started.compose("down", "--volumes", "--timeout", "5")
    assert started.left() == [], "`docker compose down --volumes` left something"


@contextmanager
def running(image: str, name: str, *options: str) -> Iterator[None]:
    """A container of ``image``, with options of ``docker run``, for the time of the block."""
    docker("run", "--detach", "--rm", f"--name={name}", *options, image)
    try:
        yield
    finally:
        docker("rm", "--force", name)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    probes = [socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def docker(*arguments: str) -> str:
    """What ``docker ARGUMENTS`` prints; fails the test with its messages where it fails."""
    return said(["docker", *arguments], dict(os.environ))


def said(command: list[str], environ: dict[str, str]) -> str:
    """What a command prints. Raises AssertionError with its messages where it fails."""
    run = subprocess.run(command, cwd=ROOT, env=environ, text=True, capture_output=True)
    assert run.returncode == 0, f"{' '.join(command)}:\n{run.stdout}{run.stderr}"
    return run.stdout


def wait(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Wait until ``holds()``, asked again and again. Raises AssertionError when it takes too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"after {seconds:g} s there still aren't: {what}"
        time.sleep(0.2)


def answers(url: str, trust: ssl.SSLContext | bool = True) -> bool:
    """Whether there is a server at ``url``, and it answers 200."""
    try:
        return httpx.get(url, verify=trust, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def replica_of(url: str, session_id: str) -> str:
    """The replica that a gateway sends a session to, by the name that the gateway has for it."""
    return httpx.get(f"{url}/sessions/{session_id}").headers["X-Replica"]

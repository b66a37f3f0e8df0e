"""What a user of ``make up`` gets: containers that are healthy, play, conform, and outlive a kill with their sessions."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import pytest

from turngym.client.sync import Client
from turngym.schema import SessionRequest, StopReason

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "turngym-test"
SERVICES = ("textcraft", "babyai", "search", "webarena")

pytestmark = [pytest.mark.compose, pytest.mark.slow]

KILL = """
import os, signal
for pid in filter(str.isdigit, os.listdir('/proc')):
    words = open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\\0')
    if int(pid) not in (1, os.getpid()) and any(word.endswith(b'/turngym') for word in words):
        os.kill(int(pid), signal.SIGKILL)
"""

KILL_BROWSER = """
import os, signal
for pid in filter(str.isdigit, os.listdir('/proc')):
    line = open(f'/proc/{pid}/cmdline', 'rb').read()
    if b'--host-resolver-rules' in line and b'--type=' not in line and int(pid) != os.getpid():
        os.kill(int(pid), signal.SIGKILL)
"""
ZOMBIES = """
import os, time
def zombies():
    states = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            states.append(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0])
        except OSError:
            pass
    return states.count('Z')
for _ in range(100):
    if not zombies():
        break
    time.sleep(0.1)
print(zombies())
"""


@dataclass(frozen=True)
class Composition:
    """A started composition: where each service answers, and ``docker compose`` on it."""

    urls: dict[str, str]
    environ: dict[str, str]

    def compose(self, *arguments: str) -> str:
        """What ``docker compose ARGUMENTS`` prints; fails the test with its messages where it fails."""
        run = subprocess.run(
            ["docker", "compose", *arguments], cwd=ROOT, env=self.environ, text=True, capture_output=True
        )
        assert run.returncode == 0, f"docker compose {' '.join(arguments)}:\n{run.stdout}{run.stderr}"
        return run.stdout


@pytest.fixture(scope="session")
def composition() -> Iterator[Composition]:
    """Builds the images, starts everything, waits until it is healthy; takes all of it down afterwards, volumes too."""
    with ExitStack() as held:
        sockets = {name: held.enter_context(socket()) for name in SERVICES}
        for free in sockets.values():
            free.bind(("127.0.0.1", 0))
        ports = {name: free.getsockname()[1] for name, free in sockets.items()}
    environ = {
        **os.environ,
        "COMPOSE_PROJECT_NAME": PROJECT,
        **{f"{name.upper()}_PORT": str(port) for name, port in ports.items()},
        "TURNGYM_EXPERTS": "1",
    }
    started = Composition({name: f"http://127.0.0.1:{port}" for name, port in ports.items()}, environ)
    try:
        started.compose("build")
        started.compose("up", "--detach", "--wait", "--wait-timeout", "240")
        yield started
    finally:
        started.compose("down", "--volumes", "--timeout", "5")


@pytest.fixture
def client(composition: Composition) -> Iterator[Client]:
    with Client(composition.urls["textcraft"]) as found:
        found.wait_ready()
        yield found


def test_every_container_is_healthy(composition: Composition) -> None:
    listed = [json.loads(line) for line in composition.compose("ps", "--format", "json").splitlines()]
    assert {entry["Service"]: entry["Health"] for entry in listed} == dict.fromkeys(SERVICES, "healthy")


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_has_a_user_and_no_tools(composition: Composition, service: str) -> None:
    assert composition.compose("exec", "-T", service, "id", "-u").strip() != "0"
    frozen = composition.compose("exec", "-T", service, "pip", "list")
    assert "pytest" not in frozen
    assert "torch" not in frozen


def test_textcraft_s_image_holds_one_release_of_the_data(composition: Composition) -> None:
    code = "import minecraft_data as m, os; print(sorted(os.listdir(m.__path__[0] + '/data/data/pc')))"
    assert (
        composition.compose("exec", "-T", "textcraft", "python", "-c", code).strip() == "['1.19', 'common']"
    )


@pytest.mark.parametrize("service", SERVICES)
def test_an_episode_is_played_to_success(composition: Composition, service: str) -> None:
    with Client(composition.urls[service]) as client:
        options = {"reward": "goal"} if service == "babyai" else {}  # its own pays less for more steps
        result = client.create(SessionRequest(split="test", index=0, options=options))
        while not result.terminated:
            action = client.expert(result.session_id).action
            result = client.step(result.session_id, action, result.turn + 1)
        assert result.stop_reason in (
            StopReason.SUCCESS,
            StopReason.AGENT_STOP,
        )  # the agent ends webarena's itself
        assert result.score == 1
        assert client.close(result.session_id).success


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_conforms(composition: Composition, service: str) -> None:
    turngym = Path(sys.executable).parent / "turngym"
    check = subprocess.run([turngym, "check", composition.urls[service]], text=True, capture_output=True)
    assert check.returncode == 0, check.stdout + check.stderr


def test_a_session_goes_on_after_its_server_was_killed(composition: Composition, client: Client) -> None:
    opened = client.create(SessionRequest(split="test", index=0))
    first = client.step(opened.session_id, client.expert(opened.session_id).action, 1)
    before = started_at(composition)
    composition.compose("exec", "-T", "textcraft", "python", "-c", KILL)
    deadline = time.monotonic() + 60
    while started_at(composition) == before:
        assert time.monotonic() < deadline, composition.compose("logs", "textcraft")
        time.sleep(0.2)
    again = client.get(opened.session_id)
    assert (again.turn, again.observation) == (1, first.observation)
    result = client.step(opened.session_id, client.expert(opened.session_id).action, 2)
    while not result.terminated:
        result = client.step(opened.session_id, client.expert(opened.session_id).action, result.turn + 1)
    assert result.stop_reason == StopReason.SUCCESS
    transcript = client.transcript(opened.session_id)
    assert [turn.turn for turn in transcript.turns] == list(range(1, result.turn + 1))


def test_a_browser_plays_in_its_container_and_leaves_nothing_behind(composition: Composition) -> None:
    with Client(composition.urls["webarena"]) as client:
        client.wait_ready()
        for index in range(2):
            result = client.create(SessionRequest(split="test", index=index))
            while not result.terminated:
                result = client.step(
                    result.session_id, client.expert(result.session_id).action, result.turn + 1
                )
            assert (result.stop_reason, result.score) == (StopReason.AGENT_STOP, 1)
            composition.compose("exec", "-T", "webarena", "python", "-c", KILL_BROWSER)
    zombies = composition.compose("exec", "-T", "webarena", "python", "-c", ZOMBIES)
    assert zombies.strip() == "0"


def started_at(composition: Composition) -> str:
    """When the container last started."""
    (container,) = composition.compose("ps", "--all", "--quiet", "textcraft").split()
    inspect = ["docker", "inspect", "--format", "{{.State.StartedAt}}", container]
    return subprocess.run(inspect, text=True, capture_output=True, check=True).stdout.strip()

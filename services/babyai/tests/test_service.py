"""The service over HTTP: it keeps the protocol, and its sessions outlive the server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import free_port

from turngym.check import Verdict, run_checks


class Server:
    """``turngym serve babyai`` in a process of its own."""

    def __init__(self, journal: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.journal = journal
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("TURNGYM_")},
            "TURNGYM_PORT": str(self.port),
            "TURNGYM_JOURNAL": str(self.journal),
            "TURNGYM_EXPERTS": "1",
            "TURNGYM_LOG_LEVEL": "warning",
        }
        turngym = str(Path(sys.executable).with_name("turngym"))
        self.process = subprocess.Popen([turngym, "serve", "babyai"], env=environ)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if httpx.get(f"{self.url}/ready").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        pytest.fail("the service does not get ready")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("babyai") / "journal")
    found.start()
    yield found
    found.kill()


def test_it_keeps_the_protocol(server: Server) -> None:
    report = run_checks(server.url)
    assert report.passed, [outcome for outcome in report.outcomes if outcome.verdict is Verdict.FAILED]


def test_an_episode_by_hand_and_its_picture(server: Server) -> None:
    with httpx.Client(base_url=server.url) as client:
        body = {"task_id": "babyai/item/41", "options": {"image": True}}
        first = client.post("/sessions", json=body).json()
        assert first["observation"]["image"]
        assert first["observation"]["data"]["limit"] > 0
        path = f"/sessions/{first['session_id']}"
        result = first
        while result["stop_reason"] is None:
            action = client.get(f"{path}/expert").json()["action"]
            result = client.post(f"{path}/step", json={"action": f"Thought: on\nAction: {action}"}).json()
        assert result["success"] is True
        assert 0 < result["score"] < 1
        assert result["reward"] == result["score"]


def test_sessions_go_on_after_kill_9_with_the_same_text(server: Server) -> None:
    bodies = [{"split": "test", "index": index} for index in (5, 300, 700)]
    actions = ["turn left", "move forward", "turn right"]
    told: list[list[str]] = []
    with httpx.Client(base_url=server.url, timeout=60) as client:
        sessions = [client.post("/sessions", json=body).json()["session_id"] for body in bodies]
        for session in sessions:
            for action in actions[:2]:
                client.post(f"/sessions/{session}/step", json={"action": action}).raise_for_status()
        server.kill()
        server.start()
        for session, body in zip(sessions, bodies, strict=True):
            after = client.post(f"/sessions/{session}/step", json={"action": actions[2], "turn": 3}).json()
            twin = client.post("/sessions", json={**body, "actions": actions}).json()
            told.append([after["observation"]["text"], twin["observation"]["text"]])
            assert after["turn"] == 3
    assert all(mine == anew for mine, anew in told)

"""kill -9 of the browser, of its renderers and of the service, while eight sessions work: each goes on with the same texts by
replay, or ends with a typed problem; nothing hangs, and nothing is left behind."""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

Play = Callable[..., dict[str, Any]]
SESSIONS = 8
TYPED = ("environment_failure", "step_timeout")


@pytest.fixture(scope="module")
def calm(shared: Any, play: Play) -> list[dict[str, Any]]:
    """The sessions' episodes as they go when nothing is killed."""
    with shared.client() as client:
        return [play(client, index) for index in range(SESSIONS)]


class Once:
    """Calls something when so many turns have been played by all sessions together."""

    def __init__(self, turns: int, act: Callable[[], None]) -> None:
        self._left = turns
        self._act = act
        self._lock = threading.Lock()

    def __call__(self, turn: int) -> None:
        """A turn was played."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._act()


def compare(disturbed: dict[str, Any], calm: dict[str, Any]) -> bool:
    """A disturbed episode equals the calm one, or ended with a typed problem. True if it was played to its end."""
    if disturbed["score"] is None:
        assert disturbed["end"] in TYPED
        assert disturbed["texts"] == calm["texts"][: len(disturbed["texts"])]
        return False
    assert (disturbed["end"], disturbed["score"]) == (calm["end"], calm["score"])
    assert disturbed["texts"] == calm["texts"]
    return True


@pytest.mark.parametrize("victim", ["browser", "renderer"])
def test_sessions_go_on_when_the_browser_is_killed_under_them(
    serve: Callable[..., Any], play: Play, gone: Callable[..., bool], calm: list[dict[str, Any]], victim: str
) -> None:
    service = serve()
    killed: list[int] = []

    def kill() -> None:
        for pid in service.browsers() if victim == "browser" else service.renderers():
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    once, begun = Once(SESSIONS, kill), time.monotonic()

    def one(index: int) -> dict[str, Any]:
        with service.client() as client:
            return play(client, index, once)

    with ThreadPoolExecutor(SESSIONS) as pool:
        disturbed = list(pool.map(one, range(SESSIONS)))
    assert killed, "no process was killed"
    ended = [compare(one, other) for one, other in zip(disturbed, calm, strict=True)]
    assert sum(ended) >= SESSIONS - 1, disturbed
    assert time.monotonic() - begun < 300, "a session hung"
    assert gone(killed)
    assert not [line for line in service.log.splitlines() if "Traceback" in line], service.log


def test_sessions_go_on_when_the_service_is_killed(
    serve: Callable[..., Any], gone: Callable[..., bool], calm: list[dict[str, Any]]
) -> None:
    service = serve()
    with service.client() as client:
        names = [client.post("/sessions", json={"split": "test", "index": index}).json()["session_id"]
                 for index in range(SESSIONS)]  # fmt: skip
        for name, played in zip(names, calm, strict=True):
            if len(played["actions"]) > 1:
                body = {"action": played["actions"][0], "turn": 1}
                assert client.post(f"/sessions/{name}/step", json=body).status_code == 200
    below = list(service.below())
    assert service.browsers()
    service.kill()
    assert gone(below), "the browser outlived its service"
    service.start()

    def finish(number: int) -> float:
        name, actions = names[number], calm[number]["actions"]
        with service.client() as client:
            for turn in range(min(2, len(actions)), len(actions) + 1):
                answer = client.post(
                    f"/sessions/{name}/step", json={"action": actions[turn - 1], "turn": turn}
                )
                assert answer.status_code == 200, answer.text
                assert answer.json()["observation"]["text"] == calm[number]["texts"][turn]
            return float(answer.json()["score"])

    with ThreadPoolExecutor(SESSIONS) as pool:
        assert list(pool.map(finish, range(SESSIONS))) == [played["score"] for played in calm]


def test_a_stop_leaves_no_process_behind(serve: Callable[..., Any], gone: Callable[..., bool]) -> None:
    service = serve()
    with service.client() as client:
        assert client.post("/sessions", json={"split": "test", "index": 0}).status_code == 201
    below = list(service.below())
    assert len(below) > 3
    assert service.stop() in (0, -signal.SIGTERM)
    assert gone(below)


def test_a_full_service_asks_to_come_again(serve: Callable[..., Any]) -> None:
    service = serve(max_sessions=2, queue=0)
    with service.client() as client:
        for _ in range(2):
            assert client.post("/sessions", json={"split": "test", "index": 0}).status_code == 201
        refused = client.post("/sessions", json={"split": "test", "index": 0})
        assert (refused.status_code, refused.json()["code"]) == (503, "at_capacity")
        assert httpx.get(f"{service.url}/ready").json()["ready"] is True

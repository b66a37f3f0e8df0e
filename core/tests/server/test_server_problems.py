"""Every row of the problem table is reached by its code, and leaves the session as the table says."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from completions import endpoint
from served import ServerFactory
from talk import create, new_id, played, problem, step

from turngym.problems import PROBLEMS


def raw(url: str, request: bytes) -> bytes:
    """What a server answers to bytes that no client library would send."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(65536)


@pytest.mark.parametrize(
    "change",
    [
        {"split": None},
        {"task_id": "toy/test/1"},
        {"index": -1},
        {"index": "1"},
        {"max_turns": 0},
        {"max_turns": 51},
        {"seed": -1},
        {"session_id": "short"},
        {"session_id": "no spaces in ids"},
        {"options": {"imgae": True}},
        {"options": {"image": "perhaps"}},
        {"actions": [1]},
        {"unknown": 1},
    ],
)
def test_invalid_request_on_create(http: httpx.Client, change: dict[str, Any]) -> None:
    body = {"session_id": new_id(), "split": "test", "index": 0} | change
    problem(http.post("/sessions", json=body), "invalid_request")


@pytest.mark.parametrize(
    "body", [{}, {"action": 1}, {"action": "x", "turn": 0}, {"action": "x", "trun": 1}, []]
)
def test_invalid_request_on_step(http: httpx.Client, body: Any) -> None:
    session = create(http)
    problem(http.post(f"/sessions/{session['session_id']}/step", json=body), "invalid_request")
    assert http.get(f"/sessions/{session['session_id']}").json()["turn"] == 0


@pytest.mark.parametrize("query", ["offset=-1", "limit=0", "limit=1001", "limit=x", "split=dev", "ofset=1"])
def test_invalid_request_in_a_query(http: httpx.Client, query: str) -> None:
    problem(http.get(f"/tasks?{query}"), "invalid_request")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"action": "\\ud800"}', b"[" * 10000])
def test_bad_json(http: httpx.Client, body: bytes) -> None:
    session = create(http)
    problem(http.post(f"/sessions/{session['session_id']}/step", content=body), "bad_json")


def test_too_large(http: httpx.Client) -> None:
    session = create(http)
    body = json.dumps({"action": "x" * (2**20)}).encode()
    problem(http.post(f"/sessions/{session['session_id']}/step", content=body), "too_large")
    assert http.get(f"/sessions/{session['session_id']}").json()["turn"] == 0


def test_too_large_in_chunks(http: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 2**16

    with pytest.MonkeyPatch.context():
        try:
            answer = http.post("/sessions", content=chunks())
        except httpx.WriteError:
            return  # the server has closed the connection while the client was still sending
    problem(answer, "too_large")


def test_not_found(http: httpx.Client) -> None:
    for path in ("/nothing", "/sessions/", "/sessions/a/b/c"):
        problem(http.get(path), "not_found")


def test_method_not_allowed_names_the_methods(http: httpx.Client) -> None:
    answer = http.put("/sessions", json={})
    problem(answer, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, POST"


def test_not_supported(serve: ServerFactory) -> None:
    with serve({"mute": True}).client() as http:
        session = create(http)
        problem(http.get(f"/sessions/{session['session_id']}/actions"), "not_supported")
        problem(http.get(f"/sessions/{session['session_id']}/expert"), "not_supported")
        assert played(http, session, "add 1", 1)["turn"] == 1


def test_unknown_task(http: httpx.Client) -> None:
    problem(http.post("/sessions", json={"task_id": "toy/test/99"}), "unknown_task")
    problem(http.post("/sessions", json={"split": "test", "index": 20}), "unknown_task")
    problem(http.post("/sessions", json={"split": "test", "index": 10**18}), "unknown_task")
    problem(http.get("/tasks/toy/test/99"), "unknown_task")
    problem(http.get("/tasks/../../etc/passwd"), "not_found")


def test_session_finished(http: httpx.Client) -> None:
    session = create(http)
    last = step(http, session, "add 3", 1)
    problem(step(http, session, "add 1", 2), "session_finished")
    problem(http.post(f"/sessions/{session['session_id']}/fork"), "session_finished")
    assert step(http, session, "add 3", 1).content == last.content
    assert http.delete(f"/sessions/{session['session_id']}").json()["stop_reason"] == "success"


def test_session_closed(http: httpx.Client) -> None:
    session = create(http)
    last = step(http, session, "add 1", 1)
    http.delete(f"/sessions/{session['session_id']}")
    problem(step(http, session, "add 1", 2), "session_closed")
    problem(http.post(f"/sessions/{session['session_id']}/fork"), "session_closed")
    assert step(http, session, "add 1", 1).content == last.content


def test_unknown_session(http: httpx.Client) -> None:
    name = new_id()
    problem(step(http, name, "add 1", 1), "unknown_session")
    for path in ("", "/transcript", "/actions", "/expert"):
        problem(http.get(f"/sessions/{name}{path}"), "unknown_session")
    problem(http.post(f"/sessions/{name}/fork"), "unknown_session")
    problem(http.delete(f"/sessions/{name}"), "unknown_session")


@pytest.mark.parametrize("action", ["crash", "bad score", "bad data"])
def test_environment_failure_is_terminal(http: httpx.Client, action: str) -> None:
    body = {"session_id": new_id(), "split": "test", "index": 0}
    session = http.post("/sessions", json=body).json()
    last = step(http, session, "add 1", 1)
    stored = problem(step(http, session, action, 2), "environment_failure")
    name = session["session_id"]
    later = [
        step(http, session, "add 1", 2),
        http.get(f"/sessions/{name}"),
        http.get(f"/sessions/{name}/transcript"),
        http.delete(f"/sessions/{name}"),
        http.post(f"/sessions/{name}/fork"),
        http.post("/sessions", json=body),
    ]
    assert [problem(answer, "environment_failure") for answer in later] == [stored] * len(later)
    assert step(http, session, "add 1", 1).content == last.content


@pytest.mark.parametrize("mode", ["inline", "thread", "async", "process"])
def test_backend_unavailable_leaves_the_session_as_it_was(serve: ServerFactory, mode: str) -> None:
    with serve({"mode": mode, "refusals": 3}, workers=1).client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
        for _ in range(3):
            problem(step(http, session, "consult", 2), "backend_unavailable")
        assert http.get(f"/sessions/{session['session_id']}").json()["turn"] == 1
        assert played(http, session, "consult", 2)["observation"]["text"] == "the oracle has spoken"


def test_a_log_line_names_its_session_in_a_field(serve: ServerFactory) -> None:
    served = serve(log_format="json")
    with served.client() as http:
        session = create(http)
        problem(step(http, session, "crash", 1), "environment_failure")
    lines = [json.loads(line) for line in served.log.read_text().splitlines() if line.startswith("{")]
    assert [line["session_id"] for line in lines if "the toy crashed" in line.get("exception", "")] == [
        session["session_id"]
    ]


def test_backend_unavailable_while_a_session_is_rebuilt_is_no_end(serve: ServerFactory) -> None:
    served = serve({"refusals": 1})
    with served.client() as http:
        session = create(http)
        problem(step(http, session, "consult", 1), "backend_unavailable")
        played(http, session, "consult", 1)
    served.kill()
    with served.start().client() as http:  # the new process refuses once more, in the replay of turn 1
        problem(step(http, session, "add 1", 2), "backend_unavailable")
        assert played(http, session, "add 1", 2)["turn"] == 2
        problem(
            http.post("/sessions", json={"split": "test", "index": 0, "actions": ["lose"]}),
            "environment_failure",
        )


def test_backend_unavailable_opens_no_session(serve: ServerFactory) -> None:
    with serve({"refusals": 1}, max_sessions=1).client() as http:
        body = {"session_id": new_id(), "split": "test", "index": 0, "actions": ["consult"]}
        problem(http.post("/sessions", json=body), "backend_unavailable")
        assert http.post("/sessions", json=body).json()["turn"] == 1


def test_at_capacity_after_a_wait(serve: ServerFactory) -> None:
    with serve(max_sessions=1, queue_timeout_s=0.2).client() as http:
        create(http)
        name = new_id()
        body = {"session_id": name, "split": "test", "index": 0}
        problem(http.post("/sessions", json=body), "at_capacity")
        problem(http.get(f"/sessions/{name}"), "unknown_session")
        assert http.get("/ready").status_code == 200


def test_not_ready_while_loading(serve: ServerFactory) -> None:
    served = serve({"load_s": 3}, start=False).start(ready=False)
    with served.client() as http:
        answer = http.get("/ready")
        assert answer.status_code == 503
        assert answer.json() == {"ready": False, "missing": ["the toy's parts"], "progress": 0.5}
        problem(http.post("/sessions", json={"split": "test", "index": 0}), "not_ready")
        problem(http.get("/metadata"), "not_ready")
        assert http.get("/health").status_code == 200


def test_unauthorized_but_for_the_probes(serve: ServerFactory) -> None:
    with serve(token="s3cret").client() as http:
        for path in ("/metadata", "/nothing", "/metrics", "/docs", "/"):
            answer = http.get(path)
            problem(answer, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        wrong = {"Authorization": "Bearer s3cre"}
        problem(http.post("/sessions", json={"split": "test", "index": 0}, headers=wrong), "unauthorized")
        assert http.get("/health").status_code == http.get("/ready").status_code == 200
        assert http.get("/metadata", headers={"Authorization": "Bearer s3cret"}).status_code == 200


def test_internal_leaves_the_session_as_it_was(serve: ServerFactory) -> None:
    with serve({"broken_gauges": True}).client() as http:
        session = create(http)
        problem(http.get("/metrics"), "internal")
        assert played(http, session, "add 1", 1)["turn"] == 1


def test_the_header_must_agree_with_path_and_body(http: httpx.Client) -> None:
    session = create(http)
    name, other = session["session_id"], new_id()
    problem(http.get(f"/sessions/{name}", headers={"X-Session-Id": other}), "invalid_request")
    problem(http.get(f"/sessions/{name}", headers={"X-Session-Id": "?"}), "invalid_request")
    assert http.get(f"/sessions/{name}", headers={"X-Session-Id": name}).status_code == 200
    body = {"session_id": new_id(), "split": "test", "index": 0}
    problem(http.post("/sessions", json=body, headers={"X-Session-Id": other}), "invalid_request")
    taken = http.post("/sessions", json={"split": "test", "index": 0}, headers={"X-Session-Id": other})
    assert taken.json()["session_id"] == other


def test_malformed_http_is_refused(http: httpx.Client) -> None:
    assert raw(str(http.base_url), b"NONSENSE\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert http.get("/health").status_code == 200


def test_model_failure_leaves_the_episode_as_it_was(serve: ServerFactory) -> None:
    with (
        endpoint([(401, {"error": "no such key"})]) as (url, _),
        serve(model="m", model_url=url, model_key="sk-secret").client() as client,
    ):
        session = create(client)
        document = problem(client.post(f"/sessions/{session['session_id']}/model"), "model_failure")
        assert "no such key" in document["detail"] and "sk-secret" not in str(document)
        assert client.get(f"/sessions/{session['session_id']}").json()["turn"] == 0
        played(client, session, "add 3", 1)
        problem(client.post(f"/sessions/{session['session_id']}/model"), "session_finished")


def test_not_supported_where_there_is_no_language_model(http: httpx.Client) -> None:
    session = create(http)
    document = problem(http.post(f"/sessions/{session['session_id']}/model"), "not_supported")
    assert "TURNGYM_MODEL" in document["detail"]


def test_every_problem_has_a_test_here() -> None:
    elsewhere = {"turn_conflict", "session_conflict", "session_expired", "step_timeout", "storage_failure"}
    here = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    missing = [
        code for code in PROBLEMS if code not in elsewhere and not any(name.startswith(code) for name in here)
    ]
    assert missing == []

"""Short words for the calls that the server's tests make all the time."""

import itertools
from typing import Any

import httpx

from turngym.problems import MEDIA_TYPE, PROBLEMS

_numbers = itertools.count()


def new_id() -> str:
    """An id that no other test has."""
    return f"test-{next(_numbers):08d}"


def create(client: httpx.Client, index: int = 0, **more: Any) -> dict[str, Any]:
    """Open a session on the test task ``index`` (its target is ``3 + index``)."""
    body = {"session_id": new_id(), "split": "test", "index": index} | more
    answer = client.post("/sessions", json=body)
    assert answer.status_code == 201, answer.text
    result: dict[str, Any] = answer.json()
    return result


def step(
    client: httpx.Client, session: dict[str, Any] | str, action: str, turn: int | None = None
) -> httpx.Response:
    """Act."""
    name = session if isinstance(session, str) else session["session_id"]
    body = {"action": action} | ({"turn": turn} if turn is not None else {})
    return client.post(f"/sessions/{name}/step", json=body)


def played(
    client: httpx.Client, session: dict[str, Any] | str, action: str, turn: int | None = None
) -> dict[str, Any]:
    """Act, and expect a StepResult."""
    answer = step(client, session, action, turn)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


def problem(answer: httpx.Response, code: str) -> dict[str, Any]:
    """The problem document of an answer, which must be that one and complete."""
    assert answer.headers["content-type"] == MEDIA_TYPE, answer.text
    document: dict[str, Any] = answer.json()
    kind = PROBLEMS[code]
    assert (document["code"], document["status"], answer.status_code) == (code, kind.status, kind.status), (
        document
    )
    assert document["retryable"] == kind.retryable
    assert document["title"] == kind.title and document["type"].endswith(code) and document["detail"]
    if kind.status == 503:
        assert int(answer.headers["retry-after"]) >= 1
    return document

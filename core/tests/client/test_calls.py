"""What calls send and how answers read, without a server."""

import json

import pytest
from tenacity import RetryCallState

from turngym.client import calls
from turngym.client.errors import ConnectionLost, UnexpectedAnswer
from turngym.client.patience import Patience
from turngym.client.transport import base_address, takes_proxy
from turngym.problems import MEDIA_TYPE, ProblemError
from turngym.schema import SessionRequest

PROBLEM = {
    "type": "urn:x",
    "title": "Too hot",
    "status": 418,
    "detail": "cool down",
    "code": "too_hot",
    "retryable": True,
}


def test_every_session_call_says_which_session_in_a_header() -> None:
    name = calls.new_session_id()
    made = [
        calls.step(name, "x", 1), calls.get(name), calls.transcript(name), calls.actions(name), calls.expert(name),
        calls.fork(name, None, None), calls.close(name), calls.create(SessionRequest(session_id=name, task_id="a/b")),
    ]  # fmt: skip
    assert {call.headers["X-Session-Id"] for call in made} == {name}
    assert "X-Session-Id" not in calls.metadata().headers


def test_a_create_without_an_id_gets_one_that_every_try_carries() -> None:
    call = calls.create(SessionRequest(task_id="a/b"))
    assert call.body is not None and json.loads(call.body)["session_id"] == call.session_id


def test_a_fork_keeps_its_parents_routing_key() -> None:
    call = calls.fork("parent-00000", 2, None)
    assert call.body is not None and json.loads(call.body)["session_id"].startswith("parent-0")


def test_a_problem_that_this_client_does_not_know_is_raised_with_its_code() -> None:
    body = json.dumps(PROBLEM | {"session_id": "s" * 12, "more": 1}).encode()
    with pytest.raises(ProblemError, match="too_hot: cool down") as caught:
        calls.get("s" * 12).read(418, {"content-type": MEDIA_TYPE, "Retry-After": "7"}, body)
    error = caught.value
    assert (error.code, error.kind.status, error.kind.retryable, error.retry_after) == (
        "too_hot",
        418,
        True,
        7.0,
    )


@pytest.mark.parametrize(
    ("status", "kind"), [(502, ConnectionLost), (504, ConnectionLost), (404, UnexpectedAnswer)]
)
def test_an_answer_without_a_problem_document_is_a_gateways_or_a_strangers(
    status: int, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        calls.get("s" * 12).read(status, {}, b"<html>")


def test_an_answer_of_another_shape_names_the_field() -> None:
    with pytest.raises(UnexpectedAnswer, match="name does not fit"):
        calls.metadata().read(200, {}, b"{}")


def outcome(error: Exception, sleep: float = 0.0) -> RetryCallState:
    """The state of a call whose try failed."""
    state = RetryCallState(None, None, (), {})  # type: ignore[arg-type]
    state.set_exception((type(error), error, None))
    state.upcoming_sleep = sleep
    return state


def test_patience_ends_for_trouble_and_not_for_a_full_server() -> None:
    terms = Patience(10)._terms()
    full, lost = ProblemError("at_capacity", "full"), ConnectionLost("gone")
    assert terms["retry"](outcome(full)) and terms["retry"](outcome(lost))
    assert not terms["stop"](outcome(full, sleep=1e9))
    assert not terms["stop"](outcome(lost, sleep=5))
    assert terms["stop"](outcome(lost, sleep=11))
    for code in ("turn_conflict", "internal", "step_timeout", "unknown_session"):
        assert not terms["retry"](outcome(ProblemError(code, "no")))


def test_retry_after_is_the_least_wait() -> None:
    terms = Patience(10)._terms()
    assert 3 <= terms["wait"](outcome(ProblemError("at_capacity", "full", retry_after=3))) <= 3.2


@pytest.mark.parametrize(
    ("given", "address"),
    [("localhost:8003", "http://localhost:8003"), ("https://gate/textcraft/", "https://gate/textcraft")],
)
def test_addresses(given: str, address: str) -> None:
    assert base_address(given) == address


@pytest.mark.parametrize(
    "given", ["", "http://", "ftp://host", "http://host:port", "http://host?x=1", "http://host:0"]
)
def test_wrong_addresses_are_named(given: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a service"):
        base_address(given)


def test_loopback_takes_no_proxy() -> None:
    assert [takes_proxy(f"http://{host}:1") for host in ("localhost", "127.0.0.1", "[::1]", "gpu")] == [
        False
    ] * 3 + [True]


def test_a_gateways_problem_in_place_of_readiness_is_a_problem() -> None:
    body = json.dumps(PROBLEM | {"status": 503}).encode()
    with pytest.raises(ProblemError, match="too_hot"):
        calls.ready().read(503, {"Content-Type": MEDIA_TYPE}, body)
    loading = json.dumps({"ready": False, "missing": ["index"], "progress": 0.5}).encode()
    assert not calls.ready().read(503, {"Content-Type": "application/json"}, loading).ready

"""The conformance checks: a healthy server passes them all, and each can fail."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from broken import MISTAKES
from served import Served, ServerFactory, free_port

from turngym.check import CHECKS, Check, Probe, Verdict, run_checks
from turngym.check.report import run_check

BROKEN = Path(__file__).parents[1] / "broken.py"


@pytest.fixture(scope="module")
def broken() -> Iterator[str]:
    """The address of the server with the mistakes."""
    port = free_port()
    with subprocess.Popen([sys.executable, str(BROKEN), str(port)]) as server:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{url}/ready").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        yield url
        server.terminate()


def test_every_check_has_a_broken_server_and_no_broken_server_lacks_its_check() -> None:
    assert {check.name for check in CHECKS} == set(MISTAKES)
    assert len({check.name for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_server_that_breaks_the_rule_fails_its_check(check: Check, broken: str) -> None:
    with Probe(f"{broken}/broken/{check.name}") as probe:
        outcome = run_check(check, probe)
    assert outcome.verdict is Verdict.FAILED, f"{check.name} does not see that: {check.rule}"
    assert outcome.reason


def test_the_server_with_the_mistakes_is_healthy_but_for_them(broken: str) -> None:
    report = run_checks(broken)
    assert [outcome for outcome in report.outcomes if outcome.verdict is not Verdict.PASSED] == []


@pytest.mark.parametrize("mode", ["inline", "thread", "async", "process"])
def test_the_toy_conforms_in_every_mode(mode: str, serve: ServerFactory) -> None:
    report = run_checks(serve({"mode": mode}, max_sessions=64).url)
    assert report.passed, [outcome for outcome in report.outcomes if outcome.verdict is Verdict.FAILED]


def test_a_check_is_skipped_where_its_rule_does_not_bind(serve: ServerFactory) -> None:
    server = serve({"deterministic": False, "mute": True}, max_sessions=1)
    report = run_checks(server.url)
    skipped = {outcome.check.name for outcome in report.outcomes if outcome.verdict is Verdict.SKIPPED}
    assert report.passed, [outcome for outcome in report.outcomes if outcome.verdict is Verdict.FAILED]
    assert {"determinism", "rebuild", "fork", "batch-step"} <= skipped


def test_the_checks_leave_no_session_open(serve: ServerFactory) -> None:
    server = serve()
    run_checks(server.url)
    assert httpx.get(f"{server.url}/sessions").json()["total"] == 0


def test_a_dead_server_fails_the_checks_and_does_not_break_them(shared: Served) -> None:
    report = run_checks(f"http://127.0.0.1:{free_port()}", only=["health", "step"])
    assert report.failed() == ["health", "step"]
    assert "no answer" in report.outcomes[0].reason


def test_a_check_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="no check 'stpe'"):
        run_checks("http://127.0.0.1:1", only=["stpe"])

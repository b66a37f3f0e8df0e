"""The four modes: same answers, deadlines kept, late results discarded, hung workers set apart or killed."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from served import ServerFactory
from talk import create, played, problem, step
from toy import Toy, ToyOptions

from turngym.schema import StopReason
from turngym.server.episode import EnvironmentBroken, Episode

MODES = ["inline", "thread", "async", "process"]


def metric(http: httpx.Client, name: str) -> float:
    """The value of a metric without labels."""
    line = next(
        line for line in http.get("/metrics").text.splitlines() if line.startswith(f"turngym_{name} ")
    )
    return float(line.split()[1])


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_answers_alike(serve: ServerFactory, mode: str) -> None:
    with serve({"mode": mode, "forkable": True}, workers=2, experts=1).client() as http:
        session = create(http, index=9, actions=["add 1"], options={"image": True})
        assert session["observation"]["text"] == "The count is 1." and session["observation"]["image"]
        assert played(http, session, "add 2", 2)["observation"]["data"] == {"count": 3}
        assert played(http, session, "", 3)["info"]["invalid_action"]
        name = session["session_id"]
        fork = http.post(f"/sessions/{name}/fork").json()
        assert played(http, fork, "add 1", 4)["observation"]["data"] == {"count": 4}
        assert played(http, session, "add 2", 4)["observation"]["data"] == {"count": 5}
        assert http.get(f"/sessions/{name}/actions").json()["actions"][-1] == "add 7"
        assert http.get(f"/sessions/{name}/expert").json() == {"action": "add 1"}
        problem(step(http, session, "crash", 5), "environment_failure")
        assert http.delete(f"/sessions/{fork['session_id']}").json()["stop_reason"] == "closed"


@pytest.mark.parametrize("mode", MODES)
def test_step_timeout_fails_the_session_and_discards_the_late_result(serve: ServerFactory, mode: str) -> None:
    with serve({"mode": mode}, step_timeout_s=0.3, workers=1).client() as http:
        session, other = create(http), create(http)
        last = step(http, session, "add 1", 1)
        played(http, other, "add 1", 1)
        stored = problem(step(http, session, "sleep 1", 2), "step_timeout")
        assert played(http, other, "add 1", 2)["observation"]["data"] == {"count": 2}, "others go on"
        time.sleep(0.9)
        assert problem(http.get(f"/sessions/{session['session_id']}"), "step_timeout") == stored
        assert step(http, session, "add 1", 1).content == last.content
        assert metric(http, "workers_quarantined") == 0, "the worker came back, or was killed"


def test_a_hung_thread_is_quarantined_and_counted(serve: ServerFactory) -> None:
    with serve({"mode": "thread"}, step_timeout_s=0.2, workers=1).client() as http:
        session = create(http)
        problem(step(http, session, "sleep 2", 1), "step_timeout")
        assert metric(http, "workers_quarantined") == 1
        assert played(http, create(http), "add 1", 1)["turn"] == 1


def test_the_deadline_starts_when_the_step_has_its_worker(serve: ServerFactory) -> None:
    with serve({"mode": "thread"}, step_timeout_s=1.5, workers=1).client() as http:
        sessions = [create(http) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda session: step(http, session, "sleep 0.6", 1), sessions))
        assert [answer.status_code for answer in answers] == [200] * 4


def test_a_step_does_not_hold_up_other_sessions(serve: ServerFactory) -> None:
    with serve({"mode": "thread"}, workers=2).client() as http:
        slow, quick = create(http), create(http)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(step, http, slow, "sleep 1.5", 1)
            while metric(http, "sessions_busy") == 0:
                time.sleep(0.01)
            assert played(http, quick, "add 1", 1)["turn"] == 1
            assert http.get(f"/sessions/{slow['session_id']}").json()["turn"] == 0
            assert not waiting.done()
            assert http.delete(f"/sessions/{slow['session_id']}").json()["turn"] == 1, (
                "closing waits for the step"
            )
            assert waiting.result().status_code == 200


def test_a_worker_process_that_dies_takes_no_other_session_along(serve: ServerFactory) -> None:
    with serve({"mode": "process"}, workers=1).client() as http:
        victim, other = create(http), create(http)
        played(http, other, "add 1", 1)
        problem(step(http, victim, "die", 1), "environment_failure")
        assert played(http, other, "add 1", 2)["observation"]["data"] == {"count": 2}
        assert metric(http, "rebuilds_total") >= 1


def episode(max_turns: int = 8, **toy: object) -> Episode:
    """An episode of the toy to count to 3."""
    service = Toy(**toy)  # type: ignore[arg-type]
    return Episode(service.open(service.tasks.at("test", 0), 0, ToyOptions()), service.spec, max_turns)


def test_an_episode_needs_no_server() -> None:
    played_out = episode()
    assert played_out.begin().messages[-1].role == "user"
    turns = played_out.replay(["add 1", "add 1", "add 1"])
    assert [turn.stop for turn in turns] == [None, None, StopReason.SUCCESS]


def test_an_episode_refuses_an_environment_that_breaks_its_contract() -> None:
    with pytest.raises(EnvironmentBroken, match=r"score 7\.0"):
        episode().play("bad score")

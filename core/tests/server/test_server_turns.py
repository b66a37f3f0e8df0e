"""Turns are played exactly once, and every way an episode can end is told as the protocol says."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from served import Served, ServerFactory
from talk import create, new_id, played, problem, step


def test_a_repeat_of_the_last_turn_returns_the_stored_result(http: httpx.Client) -> None:
    session = create(http)
    first = step(http, session, "add 1", 1)
    again = step(http, session, "add 1", 1)
    assert again.content == first.content
    assert played(http, session, "add 1", 2)["observation"]["data"] == {"count": 2}


def test_the_same_turn_with_another_action_is_a_conflict_and_changes_nothing(http: httpx.Client) -> None:
    session = create(http)
    played(http, session, "add 1", 1)
    assert problem(step(http, session, "add 2", 1), "turn_conflict")["session_id"] == session["session_id"]
    assert http.get(f"/sessions/{session['session_id']}").json()["observation"]["data"] == {"count": 1}


@pytest.mark.parametrize("turn", [2, 7, 10**6])
def test_a_gap_is_a_conflict(http: httpx.Client, turn: int) -> None:
    session = create(http)
    problem(step(http, session, "add 1", turn), "turn_conflict")
    assert played(http, session, "add 1", 1)["turn"] == 1


def test_an_earlier_turn_is_out_of_order(http: httpx.Client) -> None:
    session = create(http, index=5)
    played(http, session, "add 1", 1)
    played(http, session, "add 1", 2)
    problem(step(http, session, "add 1", 1), "turn_conflict")


def test_without_a_turn_number_a_repeat_acts_again(http: httpx.Client) -> None:
    session = create(http, index=5)
    played(http, session, "add 1")
    assert played(http, session, "add 1")["turn"] == 2


def test_concurrent_duplicates_act_once(http: httpx.Client, shared: Served) -> None:
    session = create(http, index=9)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: step(http, session, "add 1", 1), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert http.get(f"/sessions/{session['session_id']}").json()["observation"]["data"] == {"count": 1}


def test_of_concurrent_rivals_for_a_turn_one_wins(http: httpx.Client) -> None:
    session = create(http, index=9)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: step(http, session, f"add {number}", 1), range(1, 9)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7


def test_a_client_that_disconnects_does_not_cancel_its_step(serve: ServerFactory) -> None:
    served = serve({"mode": "thread"})
    with served.client() as http:
        session = create(http)
        body = json.dumps({"action": "sleep 0.5", "turn": 1}).encode()
        head = f"POST /sessions/{session['session_id']}/step HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", served.settings["port"])) as connection:
            connection.sendall(head.encode() + body)
            while "\nturngym_sessions_busy 1" not in http.get("/metrics").text:
                time.sleep(0.02)
        assert played(http, session, "sleep 0.5", 1)["turn"] == 1
        assert len(http.get(f"/sessions/{session['session_id']}/transcript").json()["turns"]) == 1


def test_success_is_terminated(http: httpx.Client) -> None:
    result = played(http, create(http), "add 3", 1)
    assert (result["stop_reason"], result["terminated"], result["truncated"], result["success"]) == (
        "success",
        True,
        False,
        True,
    )
    assert result["score"] == 1.0


def test_failure_is_terminated_without_success(http: httpx.Client) -> None:
    result = played(http, create(http), "give up", 1)
    assert (result["stop_reason"], result["terminated"], result["success"]) == ("failure", True, False)


@pytest.mark.parametrize(("before", "success"), [("add 2", True), ("add 1", False)])
def test_the_agents_stop_is_judged_by_the_environment(http: httpx.Client, before: str, success: bool) -> None:
    session = create(http)
    played(http, session, before, 1)
    result = played(http, session, "stop", 2)
    assert (result["stop_reason"], result["terminated"], result["success"]) == ("agent_stop", True, success)


def test_the_horizon_truncates(http: httpx.Client) -> None:
    session = create(http, max_turns=2)
    assert played(http, session, "add 1", 1)["truncated"] is False
    result = played(http, session, "add 1", 2)
    assert (result["stop_reason"], result["terminated"], result["truncated"], result["success"]) == (
        "max_turns",
        False,
        True,
        False,
    )


def test_an_end_on_the_last_turn_is_the_environments(http: httpx.Client) -> None:
    assert played(http, create(http, max_turns=1), "add 3", 1)["stop_reason"] == "success"


def test_three_unreadable_turns_in_a_row_end_the_episode(http: httpx.Client) -> None:
    session = create(http)
    played(http, session, "", 1)
    played(http, session, "", 2)
    played(http, session, "add 1", 3)
    for turn in (4, 5):
        assert played(http, session, "", turn)["stop_reason"] is None
    result = played(http, session, "", 6)
    assert (result["stop_reason"], result["truncated"], result["success"]) == ("invalid_limit", True, False)


def test_what_only_the_environment_finds_unreadable_counts_too(http: httpx.Client) -> None:
    session = create(http)
    played(http, session, "mumble", 1)
    played(http, session, "", 2)
    result = played(http, session, "mumble", 3)
    assert (result["stop_reason"], result["info"]["invalid_action"]) == ("invalid_limit", True)


def test_closing_truncates(http: httpx.Client) -> None:
    session = create(http)
    played(http, session, "add 1", 1)
    summary = http.delete(f"/sessions/{session['session_id']}")
    assert summary.json() == {
        "session_id": session["session_id"],
        "task_id": "toy/test/0",
        "turn": 1,
        "score": pytest.approx(1 / 3),
        "success": False,
        "terminated": False,
        "truncated": True,
        "stop_reason": "closed",
    }
    assert http.delete(f"/sessions/{session['session_id']}").content == summary.content
    state = http.get(f"/sessions/{session['session_id']}").json()
    assert (state["stop_reason"], state["truncated"], state["success"]) == ("closed", True, False)


def test_the_ttl_expires_a_session(serve: ServerFactory) -> None:
    with serve(session_ttl_s=0.3).client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
        time.sleep(0.6)
        problem(step(http, session, "add 1", 2), "session_expired")
        state = http.get(f"/sessions/{session['session_id']}").json()
        assert (state["stop_reason"], state["truncated"], state["success"]) == ("expired", True, False)
        assert step(http, session, "add 1", 1).status_code == 200
        assert http.get("/sessions").json()["total"] == 0


def test_an_unreadable_action_costs_a_turn_and_says_why(http: httpx.Client) -> None:
    session = create(http)
    result = played(http, session, "Thought: hm", 1)
    assert result["turn"] == 1 and "no action found" in result["observation"]["text"]
    assert result["info"]["invalid_action"] is True and result["info"]["parsed_action"] is None


def test_an_impossible_action_costs_a_turn(http: httpx.Client) -> None:
    result = played(http, create(http), "dance", 1)
    assert result["info"]["invalid_action"] is True and result["info"]["parsed_action"] == "dance"
    assert result["info"]["step_ms"] >= 0


def test_the_first_observation_is_the_last_message(http: httpx.Client) -> None:
    session = create(http)
    assert session["messages"][-1] == {"role": "user", "content": session["observation"]["text"]}
    assert session["turn"] == 0 and session["success"] is None


def test_create_again_answers_with_the_session_as_it_stands(http: httpx.Client) -> None:
    body = {"session_id": new_id(), "task_id": "toy/test/4"}
    first = http.post("/sessions", json=body)
    played(http, body["session_id"], "add 1", 1)
    again = http.post("/sessions", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["turn"] == 1 and again.json()["messages"] == first.json()["messages"]
    problem(http.post("/sessions", json=body | {"seed": 1}), "session_conflict")


def test_concurrent_creates_of_one_id_open_one_session(http: httpx.Client) -> None:
    body = {"session_id": new_id(), "task_id": "toy/test/4"}
    with ThreadPoolExecutor(8) as pool:
        statuses = [
            answer.status_code for answer in pool.map(lambda _: http.post("/sessions", json=body), range(8))
        ]
    assert sorted(statuses) == [200] * 7 + [201]


def test_the_transcript_holds_every_turn(http: httpx.Client) -> None:
    session = create(http, seed=5, options={"step": 2})
    results = [played(http, session, "Action: add", 1), played(http, session, "echo ü", 2)]
    transcript = http.get(f"/sessions/{session['session_id']}/transcript").json()
    assert transcript["messages"] == session["messages"] and transcript["seed"] == 5
    assert transcript["options"] == {"image": False, "step": 2}
    assert [turn["action"] for turn in transcript["turns"]] == ["Action: add", "echo ü"]
    assert [turn["observation"] for turn in transcript["turns"]] == [
        result["observation"] for result in results
    ]
    assert all(turn["time"] > 1e9 for turn in transcript["turns"])


def test_pictures_come_where_they_are_asked_for_and_are_not_kept(http: httpx.Client) -> None:
    session = create(http, options={"image": True})
    assert session["observation"]["image"].startswith("iVBOR")
    assert played(http, session, "add 1", 1)["observation"]["image"].startswith("iVBOR")
    assert step(http, session, "add 1", 1).json()["observation"]["image"].startswith("iVBOR")
    turns = http.get(f"/sessions/{session['session_id']}/transcript").json()["turns"]
    assert turns[0]["observation"]["image"] is None
    assert create(http)["observation"]["image"] is None

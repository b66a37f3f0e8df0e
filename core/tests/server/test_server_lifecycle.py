"""How sessions come and go: rebuild by actions, forks and their routing key, batches, slots, the list."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from served import ServerFactory
from talk import create, new_id, played, problem, step


def test_a_session_is_rebuilt_elsewhere_by_its_actions(http: httpx.Client) -> None:
    session = create(http, index=9, seed=4)
    actions = ["add 1", "Thought: hm", "Action: add 2"]
    results = [played(http, session, action) for action in actions]
    again = create(http, index=9, seed=4, actions=actions)
    assert again["turn"] == 3 and again["messages"] == session["messages"]
    assert again["observation"] == results[-1]["observation"] and again["reward"] == results[-1]["reward"]
    turns = http.get(f"/sessions/{again['session_id']}/transcript").json()["turns"]
    assert [turn["action"] for turn in turns] == actions
    assert step(http, again, "Action: add 2", 3).json()["turn"] == 3, (
        "the last of them is a turn like any other"
    )
    assert played(http, again, "add 1", 4)["observation"]["data"] == {"count": 4}


def test_actions_may_end_the_episode_but_not_go_on_after_it(http: httpx.Client) -> None:
    assert create(http, actions=["add 3"])["stop_reason"] == "success"
    assert create(http, max_turns=1, actions=["add 1"])["stop_reason"] == "max_turns"
    body = {"split": "test", "index": 0, "actions": ["add 3", "add 1"]}
    assert "ended at turn 1" in problem(http.post("/sessions", json=body), "invalid_request")["detail"]


@pytest.mark.parametrize("forkable", [True, False])
def test_a_fork_goes_its_own_way(serve: ServerFactory, forkable: bool) -> None:
    served = serve({"forkable": forkable})
    with served.client() as http:
        parent = create(http, index=9)
        results = [played(http, parent, "add 1", turn) for turn in (1, 2)]
        answer = http.post(f"/sessions/{parent['session_id']}/fork")
        child = answer.json()
        assert answer.status_code == 201 and child["messages"] == parent["messages"]
        assert (
            child["session_id"][:8] == parent["session_id"][:8]
            and child["session_id"] != parent["session_id"]
        )
        assert child["observation"] == results[-1]["observation"] and child["turn"] == 2
        earlier = http.post(f"/sessions/{parent['session_id']}/fork", json={"turn": 1}).json()
        start = http.post(f"/sessions/{parent['session_id']}/fork", json={"turn": 0}).json()
        assert (earlier["turn"], start["turn"]) == (1, 0)
        assert start["observation"] == parent["observation"]
        for session, turn, count in ((child, 3, 7), (earlier, 2, 6), (start, 1, 5)):
            assert played(http, session, "add 5", turn)["observation"]["data"] == {"count": count}
        assert played(http, parent, "add 1", 3)["observation"]["data"] == {"count": 3}
    served.kill()
    served.start()
    with served.client() as http:
        assert played(http, child, "add 1", 4)["observation"]["data"] == {"count": 8}


def test_a_forks_id_keeps_its_parents_routing_key(http: httpx.Client) -> None:
    parent = create(http)
    path = f"/sessions/{parent['session_id']}/fork"
    problem(http.post(path, json={"session_id": "elsewhere-0001"}), "invalid_request")
    wanted = parent["session_id"][:8] + "-forked-" + parent["session_id"][-4:]
    assert http.post(path, json={"session_id": wanted}).status_code == 201
    played(http, wanted, "add 1", 1)
    again = http.post(path, json={"session_id": wanted})
    assert again.status_code == 200 and again.json()["turn"] == 1
    problem(http.post(path, json={"session_id": wanted, "turn": 0}), "session_conflict")


def test_a_fork_of_a_turn_not_played_is_a_conflict(http: httpx.Client) -> None:
    parent = create(http)
    problem(http.post(f"/sessions/{parent['session_id']}/fork", json={"turn": 1}), "turn_conflict")


def entries(answer: httpx.Response) -> list[dict[str, Any]]:
    """The results of a batch."""
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def test_batches_answer_in_order(http: httpx.Client) -> None:
    names = [new_id() for _ in range(5)]
    wanted = [{"session_id": name, "split": "test", "index": number} for number, name in enumerate(names)]
    opened = entries(http.post("/batch/sessions", json={"entries": [*wanted, {"task_id": "toy/none/1"}]}))
    assert [entry["status"] for entry in opened] == [201] * 5 + [404]
    assert [entry["result"]["session_id"] for entry in opened[:5]] == names
    assert opened[5]["problem"]["code"] == "unknown_task"
    steps = [{"session_id": name, "action": "add 3", "turn": 1} for name in names]
    steps += [{"session_id": new_id(), "action": "add 3", "turn": 1}, dict(steps[1], action="add 1")]
    results = entries(http.post("/batch/step", json={"entries": steps}))
    assert [entry["status"] for entry in results] == [200] * 5 + [404, 422]
    assert [entry["result"]["score"] for entry in results[:5]] == [
        pytest.approx(3 / (3 + n)) for n in range(5)
    ]
    assert entries(http.post("/batch/step", json={"entries": steps[:5]})) == results[:5], (
        "a repeat is a repeat"
    )
    closed = entries(http.post("/batch/close", json={"session_ids": [*names, names[0], new_id()]}))
    assert [entry["status"] for entry in closed] == [200] * 5 + [422, 404]
    assert closed[0]["result"]["stop_reason"] == "success" and closed[1]["result"]["stop_reason"] == "closed"


def test_a_batch_holds_at_most_256_entries(http: httpx.Client) -> None:
    entry = {"session_id": new_id(), "action": "x"}
    problem(http.post("/batch/step", json={"entries": [entry] * 257}), "invalid_request")
    problem(http.post("/batch/step", json={"entries": []}), "invalid_request")


def test_a_batch_and_single_steps_of_the_same_turn_act_once(http: httpx.Client) -> None:
    names = [create(http, index=9)["session_id"] for _ in range(8)]
    batch = {"entries": [{"session_id": name, "action": "add 1", "turn": 1} for name in names]}
    with ThreadPoolExecutor(12) as pool:
        jobs = [pool.submit(http.post, "/batch/step", json=batch) for _ in range(4)]
        jobs += [pool.submit(step, http, name, "add 1", 1) for name in names]
        assert {job.result().status_code for job in jobs} == {200}
    counts = [http.get(f"/sessions/{name}").json()["observation"]["data"]["count"] for name in names]
    assert counts == [1] * 8


def test_a_failing_entry_leaves_its_batch_alone(http: httpx.Client) -> None:
    good, bad = create(http), create(http)
    body = [
        {"session_id": bad["session_id"], "action": "crash"},
        {"session_id": good["session_id"], "action": "add 1"},
    ]
    results = entries(http.post("/batch/step", json={"entries": body}))
    assert [entry["status"] for entry in results] == [500, 200]


def test_creates_wait_for_a_slot_first_come_first_served(serve: ServerFactory) -> None:
    with serve(max_sessions=1, queue=1, queue_timeout_s=20).client() as http:
        holder = create(http)
        waiter = threading.Thread(target=create, args=(http, 1))
        waiter.start()
        while "\nturngym_create_queue 1.0" not in http.get("/metrics").text:
            time.sleep(0.02)
        problem(http.post("/sessions", json={"split": "test", "index": 2}), "at_capacity")
        assert played(http, holder, "add 3", 1)["stop_reason"] == "success"
        waiter.join(10)
        assert [entry["task"]["index"] for entry in http.get("/sessions").json()["sessions"]] == [1]


def test_an_ended_episode_holds_no_slot(serve: ServerFactory) -> None:
    with serve(max_sessions=2, queue=0).client() as http:
        for action in ("add 3", "give up", "crash", "stop"):
            step(http, create(http), action, 1)
        assert http.get("/sessions").json()["total"] == 0
        create(http)
        create(http)
        problem(http.post("/sessions", json={"split": "test", "index": 2}), "at_capacity")


def test_a_create_that_fails_gives_its_slot_back(serve: ServerFactory) -> None:
    with serve(max_sessions=1, queue=0).client() as http:
        for _ in range(3):
            body = {"split": "test", "index": 0, "actions": ["crash"]}
            problem(http.post("/sessions", json=body), "environment_failure")
        create(http)


def test_open_sessions_are_listed_oldest_first(serve: ServerFactory) -> None:
    with serve().client() as http:
        names = [create(http)["session_id"] for _ in range(5)]
        http.delete(f"/sessions/{names[1]}")
        page = http.get("/sessions?offset=1&limit=2").json()
        assert [entry["session_id"] for entry in page["sessions"]] == names[2:4]
        assert (page["total"], page["offset"], page["limit"]) == (4, 1, 2)


def test_ids_that_the_server_mints_are_its_own_pattern(http: httpx.Client) -> None:
    names = {
        http.post("/sessions", json={"split": "test", "index": 0}).json()["session_id"] for _ in range(20)
    }
    assert len(names) == 20 and all(12 <= len(name) <= 64 for name in names)

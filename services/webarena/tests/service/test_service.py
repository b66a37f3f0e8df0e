"""The service over HTTP: episodes, pictures, the protocol, equal texts, and what the agent may not see."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

Play = Callable[..., dict[str, Any]]
TURNGYM = Path(sys.executable).parent / "turngym"


def test_the_expert_reaches_the_objective_and_a_bare_stop_does_not(http: httpx.Client, play: Play) -> None:
    played = play(http, 0)
    assert (played["end"], played["score"]) == ("agent_stop", 1.0), played["texts"][-1]
    opened = http.post("/sessions", json={"split": "test", "index": 0}).json()
    stopped = http.post(
        f"/sessions/{opened['session_id']}/step", json={"action": "stop []", "turn": 1}
    ).json()
    assert (stopped["stop_reason"], stopped["score"], stopped["success"]) == ("agent_stop", 0.0, False)


def test_the_opening_says_what_to_do_and_shows_the_page(http: httpx.Client) -> None:
    opened = http.post("/sessions", json={"split": "test", "index": 0}).json()
    system, first = opened["messages"]
    assert system["role"] == "system" and "click [id]" in system["content"]
    assert first["content"].startswith(f"Objective: {opened['task']['goal']}\n\nTab 0 (current): ")
    assert "[1] RootWebArea" in first["content"]
    assert opened["observation"]["data"]["url"].startswith("http://market.test")
    plain = http.post(
        "/sessions", json={"split": "test", "index": 0, "options": {"instructions": "none"}}
    ).json()
    assert plain["messages"] == [first]


def test_many_experts_at_once_see_and_do_what_each_does_alone(http: httpx.Client, play: Play) -> None:
    alone = [play(http, index) for index in range(4)]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda number: play(http, number % 4), range(16)))
    for number, played in enumerate(together):
        expected = alone[number % 4]
        assert (played["end"], played["score"]) == (expected["end"], expected["score"])
        assert played["texts"] == expected["texts"]


def test_a_session_opens_with_actions_played_and_forks(http: httpx.Client, play: Play) -> None:
    played = play(http, 0)
    upto = played["actions"][:-1]
    again = http.post("/sessions", json={"split": "test", "index": 0, "actions": upto}).json()
    assert again["observation"]["text"] == played["texts"][-2]
    forked = http.post(f"/sessions/{again['session_id']}/fork", json={}).json()
    assert (forked["turn"], forked["observation"]) == (len(upto), again["observation"])
    for name in (again["session_id"], forked["session_id"]):
        answer = http.post(f"/sessions/{name}/step", json={"action": played["actions"][-1]})
        assert answer.json()["score"] == played["score"] == 1.0


def test_pictures_come_where_they_are_asked_for(http: httpx.Client) -> None:
    opened = http.post("/sessions", json={"split": "test", "index": 0, "options": {"image": True}}).json()
    picture = base64.b64decode(opened["observation"]["image"])
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (1280, 720)


def test_three_unreadable_actions_end_the_episode(http: httpx.Client) -> None:
    opened = http.post("/sessions", json={"split": "test", "index": 0}).json()
    for turn, action in enumerate(("klick [1]", "Thought: hm", "click [mug]"), 1):
        result = http.post(
            f"/sessions/{opened['session_id']}/step", json={"action": action, "turn": turn}
        ).json()
        assert result["info"]["invalid_action"] is True
    assert (result["stop_reason"], result["truncated"], result["score"]) == ("invalid_limit", True, 0.0)


def test_the_agent_cannot_ask_the_service_itself(http: httpx.Client, shared: Any) -> None:
    opened = http.post("/sessions", json={"split": "test", "index": 0}).json()
    name = opened["session_id"]
    for turn, host in enumerate(("127.0.0.1", "localhost", "market.test"), 1):
        action = f"goto [http://{host}:{shared.port}/sessions/{name}/expert]"
        text = http.post(f"/sessions/{name}/step", json={"action": action, "turn": turn}).json()[
            "observation"
        ]["text"]
        assert '"action"' not in text
        assert "can't be reached" in text or "404" in text or "not found" in text.lower(), text


def test_the_service_conforms(shared: Any) -> None:
    check = subprocess.run([TURNGYM, "check", shared.url], text=True, capture_output=True)
    assert check.returncode == 0, check.stdout + check.stderr


def test_gauges_tell_of_the_browser(http: httpx.Client) -> None:
    page = http.get("/metrics").text
    for gauge in ("browser_contexts", "browser_launches", "browser_memory_bytes"):
        assert gauge in page


def test_episodes_are_collected_without_a_server(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    environ = {**os.environ, "TURNGYM_DATA_DIR": str(data)}
    command = [TURNGYM, "collect", "webarena", "--policy", "expert", "--n", "2", "--out", out]
    run = subprocess.run(command, env=environ, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["score"] for row in rows] == [1.0, 1.0]
    assert rows[0]["messages"][0]["role"] == "system"

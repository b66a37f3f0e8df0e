"""Through HTTP, in real processes: episodes that the expert wins, the deaths of JVM and service, a start that can't be."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from sciworlds import Server, command_line, sample

from turngym.client.sync import Client
from turngym.schema import SessionRequest, StopReason
from turngym_sciworld.tasks import KINDS

Serve = Callable[..., Server]


def texts(client: Client, session_id: str) -> list[str]:
    """What was answered in each turn."""
    return [turn.observation.text for turn in client.transcript(session_id).turns]


DEAR = {
    "grow-fruit",
    "mendelian-genetics-known-plant",
    "mendelian-genetics-unknown-plant",
}  # half a minute each


@pytest.mark.parametrize("part", range(6))
def test_the_expert_reaches_the_full_score_through_http(
    shared: Server, task_of: Callable[[str, int], Any], part: int
) -> None:
    """A variation of each kind, the splits in turn; ``make eval TASK=sciworld POLICY=expert`` plays more and the dear ones."""
    turning = [sample()[3 * number + number % 3] for number in range(len(KINDS))]
    with shared.client() as client:
        for split, kind, variation in [item for item in turning if item[1] not in DEAR][part::6]:
            task = task_of(kind, variation)
            assert task.split == split
            last = client.create(SessionRequest(task_id=task.task_id, max_turns=400))
            while not last.terminated:
                last = client.step(last.session_id, client.expert(last.session_id).action, last.turn + 1)
            assert (last.score, last.success, last.stop_reason) == (1.0, True, StopReason.SUCCESS), task
            assert last.turn == task.info["expert_turns"]


def test_the_valid_actions_come_only_when_asked_for(shared: Server) -> None:
    with shared.client() as client:
        opened = client.create(SessionRequest(task_id="sciworld/item/0"))
        assert "look around" in client.actions(opened.session_id).actions
        assert opened.observation.data is None
        client.close(opened.session_id)


def test_an_option_that_rules_the_task_out_is_an_invalid_request(
    shared: Server, task_of: Callable[[str, int], Any]
) -> None:
    task = task_of("power-component", 0)
    body = {"task_id": task.task_id, "options": {"simplifications": ["noElectricalAction"]}}
    answer = httpx.post(f"{shared.url}/sessions", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def undisturbed(client: Client, indexes: range, turns: int) -> dict[int, tuple[list[str], list[str]]]:
    """The expert's actions and their answers, by task index."""
    found = {}
    for index in indexes:
        session_id = client.create(SessionRequest(split="train", index=index)).session_id
        actions = []
        for turn in range(1, turns + 1):
            actions.append(client.expert(session_id).action)
            if client.step(session_id, actions[-1], turn).terminated:
                break
        found[index] = (actions, texts(client, session_id))
        client.close(session_id)
    return found


def sessions_of(client: Client, indexes: Iterable[int]) -> dict[int, str]:
    """A new session of each training task, by its index."""
    return {index: client.create(SessionRequest(split="train", index=index)).session_id for index in indexes}


def test_episodes_go_on_with_the_same_text_when_the_jvm_is_killed(shared: Server, serve: Serve) -> None:
    with shared.client() as client:
        expected = undisturbed(client, range(0, 30, 4), 12)
    server = serve().start()
    (first,) = server.jvms()
    with server.client() as client:
        sessions = sessions_of(client, expected)

        def play(index: int) -> list[str]:
            for turn, action in enumerate(expected[index][0], 1):
                client.step(sessions[index], action, turn)
            return texts(client, sessions[index])

        with ThreadPoolExecutor(len(sessions)) as threads:
            playing = {index: threads.submit(play, index) for index in sessions}
            while not any(client.get(session_id).turn > 2 for session_id in sessions.values()):
                time.sleep(0.02)
            os.kill(first, signal.SIGKILL)
            assert {index: future.result() for index, future in playing.items()} == {
                index: said for index, (_, said) in expected.items()
            }
        (second,) = server.jvms()
        assert second != first
        assert "turngym_environment_jvms_replaced 1" in httpx.get(f"{server.url}/metrics").text


def test_episodes_go_on_with_the_same_text_when_the_service_is_killed(shared: Server, serve: Serve) -> None:
    with shared.client() as client:
        expected = undisturbed(client, range(1, 30, 9), 8)
    server = serve().start()
    orphans = server.jvms()
    with server.client() as client:
        sessions = sessions_of(client, expected)
        for index, (actions, _) in expected.items():
            for turn, action in enumerate(actions[:4], 1):
                client.step(sessions[index], action, turn)
    server.kill()
    gone_by = time.monotonic() + 30
    while any(command_line(pid) for pid in orphans):
        assert time.monotonic() < gone_by, "the JVM outlives its service"
        time.sleep(0.05)
    server.start()
    with server.client() as client:
        for index, (actions, said) in expected.items():
            for turn, action in enumerate(actions[4:], 5):
                client.step(sessions[index], action, turn)
            assert texts(client, sessions[index]) == said


def test_two_services_have_a_jvm_each_and_take_it_with_them(shared: Server, serve: Serve) -> None:
    server = serve().start()
    (mine,), (theirs,) = server.jvms(), shared.jvms()
    assert mine != theirs
    assert server.stop() == -signal.SIGTERM  # uvicorn passes it on when all is closed
    assert not command_line(mine)
    assert command_line(theirs)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"TURNGYM_JAVA": "/nowhere/java"}, "there is no Java at /nowhere/java"),
        ({"TURNGYM_JAVA": "OLD"}, "is Java 8; 11 or later is needed"),
        ({"TURNGYM_JAVA": "SILENT"}, "does not say its version"),
        ({"TURNGYM_JVM_HEAP_MB": "lots"}, "TURNGYM_JVM_HEAP_MB"),
    ],
)
def test_what_is_missing_is_said_in_one_line_at_the_start(
    serve: Serve, tmp_path: Path, environ: dict[str, str], said: str
) -> None:
    for name, line in (("OLD", "echo 'openjdk version \"1.8.0_402\"' >&2"), ("SILENT", "true")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    environ = {name: str(tmp_path / value) if value.isupper() else value for name, value in environ.items()}
    server = serve(**environ).spawn()
    assert server.process is not None
    assert server.process.wait(60) != 0
    assert said in server.log()
    assert "Traceback" not in server.log()

"""Rules about batches: entries are answered in order, each as its own call would be."""

from typing import Any

import httpx

from turngym.check.probe import Probe, check
from turngym.client.calls import new_session_id
from turngym.schema import MAX_BATCH, BatchEntry, BatchResult, SessionSummary, StepResult


def _batch(probe: Probe, path: str, body: dict[str, Any]) -> list[BatchEntry]:
    answer: httpx.Response = probe.http.post(f"/batch/{path}", json=body)
    return probe.fits(BatchResult, answer, 200).results


def _three(probe: Probe) -> list[str]:
    """Three sessions opened by a batch."""
    probe.needs(3)
    orders = [probe.order(seed=seed) for seed in range(3)]
    entries = _batch(probe, "sessions", {"entries": orders})
    for entry in entries:
        if isinstance(entry.result, StepResult):
            probe.closing(entry.result)
    probe.same([entry.status for entry in entries], [201] * 3, "the statuses of three creates")
    return [order["session_id"] for order in orders]


def _named(entries: list[BatchEntry]) -> list[str | None]:
    return [entry.result.session_id if entry.result is not None else None for entry in entries]


@check("POST /batch/sessions opens each session, answered in the order of the entries")
def batch_create(probe: Probe) -> None:
    probe.needs(3)
    orders = [probe.order(seed=seed) for seed in (2, 0, 1)]
    entries = _batch(probe, "sessions", {"entries": orders})
    for entry in entries:
        if isinstance(entry.result, StepResult):
            probe.closing(entry.result)
            probe.holds(bool(entry.result.messages), "a create in a batch has no messages")
    probe.same([entry.status for entry in entries], [201] * 3, "statuses")
    probe.same(_named(entries), [order["session_id"] for order in orders], "the order of the answers")


@check("POST /batch/step plays one turn of each session, answered in the order of the entries")
def batch_step(probe: Probe) -> None:
    names = _three(probe)[::-1]
    steps = [{"session_id": name, "action": probe.action, "turn": 1} for name in names]
    entries = _batch(probe, "step", {"entries": steps})
    probe.same([entry.status for entry in entries], [200] * 3, "statuses")
    probe.same(_named(entries), names, "the order of the answers")
    turns = [entry.result.turn for entry in entries if entry.result is not None]
    probe.same(turns, [1] * 3, "turns")


@check("POST /batch/close ends each session, answered in the order of the entries")
def batch_close(probe: Probe) -> None:
    names = _three(probe)[::-1]
    entries = _batch(probe, "close", {"session_ids": names})
    probe.same([entry.status for entry in entries], [200] * 3, "statuses")
    probe.same(_named(entries), names, "the order of the answers")
    probe.holds(all(isinstance(entry.result, SessionSummary) for entry in entries), "an answer is no summary")


@check("the same session twice in a batch is 422 invalid_request for the second entry alone")
def batch_twice(probe: Probe) -> None:
    session = probe.open()
    steps = [{"session_id": session.session_id, "action": probe.action, "turn": turn} for turn in (1, 2)]
    first, second = _batch(probe, "step", {"entries": steps})
    probe.same((first.status, second.status), (200, 422), "statuses")
    probe.holds(
        second.problem is not None and second.problem.code == "invalid_request",
        "the second has no such problem",
    )
    probe.same(probe.get(session).turn, 1, "the turn after the batch")


@check("an entry that fails carries its problem, and the others are done")
def batch_problem(probe: Probe) -> None:
    session = probe.open()
    steps = [
        {"session_id": name, "action": probe.action, "turn": 1}
        for name in (new_session_id(), session.session_id)
    ]
    lost, done = _batch(probe, "step", {"entries": steps})
    probe.same((lost.status, done.status), (404, 200), "statuses")
    probe.holds(
        lost.problem is not None and lost.problem.code == "unknown_session", "the first has no such problem"
    )


@check("a batch of no entry, or of more than 256, is 422 invalid_request")
def batch_size(probe: Probe) -> None:
    names = [new_session_id() for _ in range(MAX_BATCH + 1)]
    for many in ([], names):
        answer = probe.http.post("/batch/close", json={"session_ids": many})
        probe.problem(answer, "invalid_request")

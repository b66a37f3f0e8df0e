"""Rules about a session's life: create, repeats, conflicts, reading, ending, forks."""

import re

from turngym.check.probe import NotApplicable, Probe, check
from turngym.client.calls import ROUTING_KEY, new_session_id
from turngym.schema import (
    SESSION_ID_PATTERN,
    ActionList,
    ExpertAction,
    SessionPage,
    StepResult,
    StopReason,
    Transcript,
)


def _state(result: StepResult) -> StepResult:
    """A result without what may differ between two answers about one state."""
    return result.model_copy(update={"messages": None, "info": {}})


@check(
    "POST /sessions answers 201 with turn 0, an open episode and the chat, whose last message is the observation"
)
def create(probe: Probe) -> None:
    order = probe.order(max_turns=3)
    result = probe.fits(StepResult, probe.create(order), 201)
    got = (result.session_id, result.turn, result.max_turns, result.reward, result.stop_reason)
    probe.same(got, (order["session_id"], 0, 3, 0.0, None), "id, turn, max_turns, reward, stop_reason")
    probe.holds(bool(result.messages), "a create has no messages")
    last = (result.messages or [])[-1]
    probe.same((last.role, last.content), ("user", result.observation.text), "the last message")


@check("the horizon is the metadata's default_max_turns where none is asked for")
def default_horizon(probe: Probe) -> None:
    probe.same(probe.open().max_turns, probe.metadata.default_max_turns, "max_turns")


@check("the same create again answers 200 with the session as it stands")
def create_repeat(probe: Probe) -> None:
    order = probe.order()
    first = probe.fits(StepResult, probe.create(order), 201)
    probe.same(probe.fits(StepResult, probe.create(order), 200), first, "the repeat")
    played = probe.step(first, turn=1)
    again = probe.fits(StepResult, probe.create(order), 200)
    probe.same(
        (again.turn, again.observation.text), (1, played.observation.text), "turn and text after a step"
    )
    probe.same(again.messages, first.messages, "messages after a step")


@check("a create under a taken id with another request is 409 session_conflict")
def create_conflict(probe: Probe) -> None:
    order = probe.order()
    probe.status(probe.create(order), 201)
    probe.problem(probe.create(order | {"seed": 1}), "session_conflict")


@check("the id is the header's X-Session-Id where the body has none, and else is minted")
def create_id(probe: Probe) -> None:
    name = new_session_id()
    answer = probe.create(probe.order(session_id=None), headers={"X-Session-Id": name})
    named = probe.fits(StepResult, answer, 201)
    probe.same(named.session_id, name, "session_id with the header")
    probe.close(named)
    minted = probe.open(session_id=None).session_id
    probe.holds(
        re.fullmatch(SESSION_ID_PATTERN, minted) is not None, f"the minted id {minted!r} lacks the form"
    )


@check("GET /sessions/{id} gives the latest result")
def get_latest(probe: Probe) -> None:
    session = probe.open()
    probe.same(_state(probe.get(session)), _state(session), "GET after create")
    played = probe.step(session, turn=1)
    probe.same(_state(probe.get(session)), _state(played), "GET after a step")


@check("GET /sessions lists open sessions, with total, offset and limit, and none that has ended")
def list_open(probe: Probe) -> None:
    session = probe.open()

    def listed() -> bool:
        offset = 0
        while True:
            page = probe.fits(
                SessionPage, probe.http.get("/sessions", params={"offset": offset, "limit": 200}), 200
            )
            probe.same((page.offset, page.limit), (offset, 200), "offset, limit")
            if any(other.session_id == session.session_id for other in page.sessions):
                probe.holds(page.total >= 1, f"total is {page.total} with a session open")
                return True
            offset += len(page.sessions)
            if not page.sessions or offset >= page.total:
                return False

    probe.holds(listed(), "GET /sessions does not list an open session")
    probe.close(session)
    probe.holds(not listed(), "GET /sessions lists a session that has ended")


@check(
    "GET …/transcript has the opening, and each turn's action, observation and reward as they were answered"
)
def transcript(probe: Probe) -> None:
    session = probe.open(seed=5)
    played = [probe.step(session, turn=1), probe.step(session, turn=2)]
    record = probe.fits(Transcript, probe.http.get(f"/sessions/{session.session_id}/transcript"), 200)
    probe.same(record.messages, session.messages, "messages")
    probe.same(
        (record.task, record.seed, record.max_turns),
        (session.task, 5, session.max_turns),
        "task, seed, max_turns",
    )
    got = [(turn.turn, turn.action, turn.observation.text, turn.reward) for turn in record.turns]
    answered = [(result.turn, probe.action, result.observation.text, result.reward) for result in played]
    probe.same(got, answered, "turns")
    probe.same((record.score, record.stop_reason), (played[-1].score, None), "score, stop_reason")


@check("GET …/actions lists actions, or is 404 not_supported")
def actions(probe: Probe) -> None:
    answer = probe.http.get(f"/sessions/{probe.open().session_id}/actions")
    if answer.status_code == 200:
        listed = probe.fits(ActionList, answer).actions
        probe.holds(all(action.strip() for action in listed), "an empty action is listed")
    else:
        probe.problem(answer, "not_supported")


@check("GET …/expert gives an action, or is 404 not_supported")
def expert(probe: Probe) -> None:
    answer = probe.http.get(f"/sessions/{probe.open().session_id}/expert")
    if answer.status_code == 200:
        probe.holds(bool(probe.fits(ExpertAction, answer).action.strip()), "the expert's action is empty")
    else:
        probe.problem(answer, "not_supported")


@check("DELETE ends the session: 200 with the summary, stop_reason closed, success false")
def close(probe: Probe) -> None:
    session = probe.open()
    probe.step(session, turn=1)
    summary = probe.close(session)
    got = (summary.session_id, summary.task_id, summary.turn, summary.stop_reason)
    expected = (session.session_id, session.task.task_id, 1, StopReason.CLOSED)
    probe.same(got, expected, "id, task, turn, stop_reason")
    probe.same(
        (summary.success, summary.terminated, summary.truncated), (False, False, True), "success and end"
    )


@check("DELETE again answers 200 with the same summary")
def close_repeat(probe: Probe) -> None:
    session = probe.open()
    first = probe.close(session)
    probe.same(probe.close(session), first, "the summary")


@check("a closed session takes no step: 410 session_closed; it can still be read")
def closed(probe: Probe) -> None:
    session = probe.open()
    probe.close(session)
    probe.problem(probe.act(session, probe.action, 1), "session_closed")
    result = probe.get(session)
    probe.same(
        (result.stop_reason, result.success), (StopReason.CLOSED, False), "stop_reason, success of a GET"
    )


def _parent(probe: Probe) -> StepResult:
    """A session with two turns played. The check is skipped where there are no forks."""
    if not probe.metadata.forkable:
        raise NotApplicable("the environment is not forkable")
    probe.needs(2)
    session = probe.open()
    probe.step(session, turn=1)
    return probe.step(session, turn=2)


def _fork(probe: Probe, parent: StepResult, **body: object) -> StepResult:
    """A child, to be closed afterwards."""
    answer = probe.http.post(f"/sessions/{parent.session_id}/fork", json=body)
    child = probe.fits(StepResult, answer, 201)
    probe.closing(child)
    return child


@check("POST …/fork makes a session of its own in the present state: 201, with messages")
def fork(probe: Probe) -> None:
    parent = _parent(probe)
    child = _fork(probe, parent)
    got = (child.task, child.turn, child.observation.text, child.score)
    probe.same(
        got, (parent.task, 2, parent.observation.text, parent.score), "task, turn, text, score of the child"
    )
    probe.holds(child.session_id != parent.session_id, "the child has its parent's id")
    probe.holds(bool(child.messages), "a fork has no messages")
    probe.step(child, turn=3)
    probe.same(probe.get(parent).turn, 2, "the parent's turn after the child's step")


@check("POST …/fork with a turn gives the state after that turn")
def fork_turn(probe: Probe) -> None:
    parent = _parent(probe)
    if not probe.metadata.deterministic:
        raise NotApplicable("the environment can't be replayed")
    child = _fork(probe, parent, turn=1)
    record = probe.fits(Transcript, probe.http.get(f"/sessions/{parent.session_id}/transcript"), 200)
    probe.same(
        (child.turn, child.observation.text), (1, record.turns[0].observation.text), "turn, text of the child"
    )


@check("a fork's id starts with its parent's first 8 characters, so that a gateway finds it")
def fork_routing_key(probe: Probe) -> None:
    parent = _parent(probe)
    child = _fork(probe, parent)
    probe.same(child.session_id[:ROUTING_KEY], parent.session_id[:ROUTING_KEY], "the child's routing key")


@check("the same fork again answers 200 with the same child")
def fork_repeat(probe: Probe) -> None:
    parent = _parent(probe)
    name = new_session_id(parent.session_id)
    child = _fork(probe, parent, session_id=name)
    again = probe.http.post(f"/sessions/{parent.session_id}/fork", json={"session_id": name})
    probe.same(_state(probe.fits(StepResult, again, 200)), _state(child), "the repeat")

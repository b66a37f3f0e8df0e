"""Rules about requests that can't be done: each is refused with its own problem, and nothing happens."""

from turngym.check.probe import Probe, check
from turngym.client.calls import new_session_id


@check("a problem is application/problem+json with type, title, status, detail, code, retryable")
def problem_document(probe: Probe) -> None:
    probe.document(probe.http.get(f"/sessions/{new_session_id()}"), "unknown_session")


@check("a problem about a session says which")
def problem_session(probe: Probe) -> None:
    session = probe.open()
    problem = probe.problem(probe.act(session, probe.action, 7), "turn_conflict")
    probe.same(problem.session_id, session.session_id, "session_id in the problem")


@check("a body that is not JSON is 400 bad_json")
def bad_json(probe: Probe) -> None:
    headers = {"Content-Type": "application/json"}
    probe.problem(probe.http.post("/sessions", content=b'{"split": ', headers=headers), "bad_json")
    session = probe.open()
    step = f"/sessions/{session.session_id}/step"
    probe.problem(probe.http.post(step, content=b"look", headers=headers), "bad_json")


@check("an unknown field is 422 invalid_request, in a create and in a step")
def unknown_field(probe: Probe) -> None:
    probe.problem(probe.create(probe.order(sede=1)), "invalid_request")
    session = probe.open()
    body = {"action": probe.action, "trun": 1}
    probe.problem(probe.http.post(f"/sessions/{session.session_id}/step", json=body), "invalid_request")


@check("a value of the wrong type or out of range is 422 invalid_request")
def wrong_value(probe: Probe) -> None:
    for more in ({"index": -1}, {"index": "x"}, {"seed": -1}, {"max_turns": 0}, {"actions": "look"}):
        probe.problem(probe.create(probe.order(**more)), "invalid_request")


@check("a create without a selector, or with both, is 422 invalid_request")
def one_selector(probe: Probe) -> None:
    probe.problem(probe.create(probe.order(split=None, index=None)), "invalid_request")
    probe.problem(probe.create(probe.order(task_id=probe.task.task_id)), "invalid_request")
    probe.problem(probe.create(probe.order(index=None)), "invalid_request")


@check("a session id that does not have the form is 422 invalid_request")
def session_id_form(probe: Probe) -> None:
    for name in ("short", "with space in it", "x" * 65):
        probe.problem(probe.create(probe.order(session_id=name)), "invalid_request")


@check("an X-Session-Id that differs from the body's or the path's id is 422 invalid_request")
def header_mismatch(probe: Probe) -> None:
    other = {"X-Session-Id": new_session_id()}
    probe.problem(probe.create(probe.order(), headers=other), "invalid_request")
    session = probe.open()
    answer = probe.http.get(f"/sessions/{session.session_id}", headers=other)
    probe.problem(answer, "invalid_request")


@check("an option that the environment does not have is 422 invalid_request")
def unknown_option(probe: Probe) -> None:
    probe.problem(probe.create(probe.order(options={"no_such_option": 1})), "invalid_request")


@check("max_turns above the metadata's ceiling is 422 invalid_request; the ceiling itself is taken")
def horizon_ceiling(probe: Probe) -> None:
    ceiling = probe.metadata.max_turns
    probe.problem(probe.create(probe.order(max_turns=ceiling + 1)), "invalid_request")
    probe.same(probe.open(max_turns=ceiling).max_turns, ceiling, "max_turns")


@check("a path that does not exist is 404 not_found")
def not_found(probe: Probe) -> None:
    probe.problem(probe.http.get("/no-such-resource"), "not_found")


@check("a method that a path does not take is 405 method_not_allowed, with the header Allow")
def method_not_allowed(probe: Probe) -> None:
    answer = probe.http.put("/sessions", json={})
    probe.problem(answer, "method_not_allowed")
    probe.holds("POST" in answer.headers.get("allow", ""), "405 without an Allow header that names POST")


@check("a session that the server does not know is 404 unknown_session, for every call")
def unknown_session(probe: Probe) -> None:
    name = new_session_id()
    for path in ("", "/transcript", "/actions"):
        probe.problem(probe.http.get(f"/sessions/{name}{path}"), "unknown_session")
    probe.problem(probe.act(name, probe.action, 1), "unknown_session")
    probe.problem(probe.http.post(f"/sessions/{name}/fork", json={}), "unknown_session")
    probe.problem(probe.http.delete(f"/sessions/{name}"), "unknown_session")

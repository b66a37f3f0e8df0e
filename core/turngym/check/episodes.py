"""Rules about turns: what a step changes, what a repeat doesn't, and how an episode ends."""

import math

from turngym.check.probe import UNREADABLE, NotApplicable, Probe, check
from turngym.schema import StepResult, StopReason


@check("a step plays one turn: the turn counts up, and the result says what was read")
def step(probe: Probe) -> None:
    session = probe.open()
    for turn in (1, 2):
        result = probe.step(session, turn=turn)
        got = (result.session_id, result.turn, result.max_turns, result.task)
        expected = (session.session_id, turn, session.max_turns, session.task)
        probe.same(got, expected, "id, turn, max_turns, task")
        for name in ("parsed_action", "invalid_action"):
            probe.holds(name in result.info, f"info lacks {name}")


@check("rewards are finite numbers, and the score is within 0..1")
def reward(probe: Probe) -> None:
    session = probe.open()
    for turn in (1, 2, 3):
        answer = probe.act(session, probe.action, turn)
        probe.status(answer, 200)
        body = probe.json(answer)
        probe.holds(math.isfinite(body["reward"]), f"the reward is {body['reward']}")
        probe.holds(0 <= body["score"] <= 1, f"the score is {body['score']}")


@check("while the episode is open, success and stop_reason are null, terminated and truncated false")
def open_episode(probe: Probe) -> None:
    session = probe.open()
    for result in (session, probe.step(session, turn=1)):
        got = (result.success, result.stop_reason, result.terminated, result.truncated)
        probe.same(got, (None, None, False, False), "success, stop_reason, terminated, truncated")


@check("a step without a turn acts, too")
def step_without_turn(probe: Probe) -> None:
    session = probe.open()
    probe.same([probe.step(session).turn, probe.step(session).turn], [1, 2], "turns")


@check("the same step again (turn and action) answers the stored result and does not act")
def step_repeat(probe: Probe) -> None:
    session = probe.open()
    first = probe.step(session, turn=1)
    probe.same(probe.step(session, turn=1), first, "the repeat")
    probe.same(probe.get(session).turn, 1, "the turn after the repeat")


@check("a repeat of the last step answers the stored result even after the session was closed")
def step_repeat_closed(probe: Probe) -> None:
    session = probe.open()
    first = probe.step(session, turn=1)
    probe.close(session)
    probe.same(probe.step(session, turn=1), first, "the repeat after DELETE")


@check("a played turn with another action is 409 turn_conflict, and nothing changes")
def turn_conflict(probe: Probe) -> None:
    session = probe.open()
    first = probe.step(session, turn=1)
    probe.problem(probe.act(session, probe.action + " ", 1), "turn_conflict")
    now = probe.get(session)
    probe.same((now.turn, now.observation.text), (1, first.observation.text), "turn, text after the conflict")


@check("a turn out of order is 409 turn_conflict, and nothing changes")
def turn_gap(probe: Probe) -> None:
    session = probe.open()
    probe.problem(probe.act(session, probe.action, 2), "turn_conflict")
    probe.same(probe.get(session).turn, 0, "the turn after the gap")


@check(
    "a text without an action costs a turn and is no problem: invalid_action, parsed_action null, words on what is wrong"
)
def unreadable_action(probe: Probe) -> None:
    session = probe.open()
    result = probe.step(session, UNREADABLE, 1)
    probe.same(result.turn, 1, "the turn after an unreadable text")
    got = (result.info.get("invalid_action"), result.info.get("parsed_action", ""))
    probe.same(got, (True, None), "invalid_action, parsed_action")
    probe.holds(bool(result.observation.text.strip()), "the observation does not say what is wrong")


def _finished(probe: Probe) -> StepResult:
    """An episode that used up a horizon of two."""
    session = probe.open(max_turns=2)
    probe.step(session, turn=1)
    return probe.step(session, turn=2)


@check("at max_turns the episode is truncated with stop_reason max_turns and a verdict on success")
def horizon(probe: Probe) -> None:
    result = _finished(probe)
    got = (result.terminated, result.truncated, result.stop_reason)
    probe.same(got, (False, True, StopReason.MAX_TURNS), "terminated, truncated, stop_reason")
    probe.holds(isinstance(result.success, bool), f"success is {result.success} at the end")


@check("a finished episode takes no step: 409 session_finished; a repeat of its last step is answered")
def finished(probe: Probe) -> None:
    result = _finished(probe)
    probe.problem(probe.act(result, probe.action, 3), "session_finished")
    probe.same(probe.step(result, turn=2), result, "the repeat of the last step")


@check("the same task, seed, options and actions give the same texts, rewards and scores")
def determinism(probe: Probe) -> None:
    if not probe.metadata.deterministic:
        raise NotApplicable("the environment is not deterministic")
    runs = []
    for _ in range(2):
        session = probe.open(seed=11)
        played = [session, *(probe.step(session, turn=turn) for turn in (1, 2, 3))]
        probe.close(session)
        runs.append([(result.observation.text, result.reward, result.score) for result in played])
    probe.same(runs[1], runs[0], "the second run")


@check(
    "a create with actions starts in the state after them: same turn, text and score, the same chat before it"
)
def rebuild(probe: Probe) -> None:
    if not probe.metadata.deterministic:
        raise NotApplicable("the environment is not deterministic")
    session = probe.open(seed=3)
    probe.step(session, turn=1)
    played = probe.step(session, turn=2)
    probe.close(session)
    again = probe.open(seed=3, actions=[probe.action] * 2)
    got = (again.turn, again.observation.text, again.score, again.messages)
    probe.same(
        got, (2, played.observation.text, played.score, session.messages), "turn, text, score, messages"
    )
    probe.same(probe.step(again, turn=3).turn, 3, "the turn after the next step")

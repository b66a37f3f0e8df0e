"""One session in memory, and the JSON of its answers. What a session may do, and when, is ``sessions``' business."""

import asyncio
import base64
from typing import Any, Literal

import orjson

from turngym.problems import ProblemError
from turngym.schema import Problem, StopReason, TaskInfo
from turngym.server.episode import EnvironmentBroken, Opening, Turn
from turngym.server.execution import Order
from turngym.server.journal import Record, TurnRecord

Status = Literal["open", "ended", "failed"]


class Session:
    """The state of a session as of its last committed turn.

    ``handle`` stands for its environment, None where it must be rebuilt first. ``latest`` is the JSON of the last StepResult
    as journaled, ``shown`` the same with its picture. ``touched`` is the monotonic time at which the last call ended.
    """

    __slots__ = (
        "attempts", "created", "data_hash", "handle", "held", "id", "key", "last_action", "latest", "lock", "order", "problem",
        "request", "score", "shown", "status", "stop_reason", "success", "task_json", "touched", "turn", "version",
    )  # fmt: skip

    def __init__(self, record: Record, order: Order, last: TurnRecord | None, now: float) -> None:
        self.key = record.key
        self.id = record.id
        self.request = record.request
        self.version = record.version
        self.data_hash = record.data_hash
        self.created = record.created
        self.order = order
        self.task_json = orjson.Fragment(record.task)
        self.status: str = record.status
        self.problem = record.problem
        self.handle: Any = None
        self.held: Held | None = None
        self.lock = asyncio.Lock()
        self.touched = now
        self.turn = 0
        self.last_action = ""
        self.latest = record.opening
        if last is not None:
            self.turn, self.last_action, self.latest = last.turn, last.action, last.result
        self.shown = self.latest
        self.attempts = record.intents if record.intent_turn == self.turn + 1 else 0
        state = orjson.loads(self.latest)
        self.score: float = state["score"]
        self.success: bool | None = state["success"]
        self.stop_reason: StopReason | None = (
            StopReason(state["stop_reason"]) if state["stop_reason"] else None
        )
        if record.stop_reason is not None and self.stop_reason is None:
            self.stop_reason, self.success = StopReason(record.stop_reason), False

    def advance(self, turn: Turn, result: bytes, shown: bytes) -> None:
        """Take over a committed turn."""
        self.turn, self.last_action, self.latest, self.shown = turn.number, turn.action, result, shown
        self.score, self.success, self.stop_reason = turn.score, turn.success, turn.stop
        self.attempts = 0
        self.held = None
        if turn.stop is not None:
            self.status = "ended"

    def standing(self) -> bytes:
        """The JSON of the latest StepResult, with the end of a session that was closed or has expired."""
        if self.stop_reason in (StopReason.CLOSED, StopReason.EXPIRED):
            return orjson.dumps({**orjson.loads(self.shown), **self.outcome()})
        return self.shown

    def outcome(self) -> dict[str, Any]:
        """How the session stands: the fields that say whether and why it is over."""
        stop = self.stop_reason
        return {
            "success": self.success,
            "terminated": stop is not None and stop.terminated,
            "truncated": stop is not None and not stop.terminated,
            "stop_reason": stop,
        }

    def summary(self) -> bytes:
        """The JSON of the SessionSummary of a session that has ended."""
        rest = {
            "session_id": self.id,
            "task_id": self.order.task.task_id,
            "turn": self.turn,
            "score": self.score,
        }
        return orjson.dumps(rest | self.outcome())

    def refusal(self) -> ProblemError | None:
        """Why the session takes no more turns; None while it is open."""
        if self.status == "failed" and self.problem is not None:
            stored = Problem.model_validate_json(self.problem)
            return ProblemError(stored.code, stored.detail, session_id=self.id)
        if self.status == "open":
            return None
        if self.stop_reason is StopReason.CLOSED:
            return ProblemError(
                "session_closed", f"the session was closed after turn {self.turn}", session_id=self.id
            )
        if self.stop_reason is StopReason.EXPIRED:
            return ProblemError(
                "session_expired", f"nobody called after turn {self.turn}", session_id=self.id
            )
        detail = f"the episode ended at turn {self.turn} with {self.stop_reason}"
        return ProblemError("session_finished", detail, session_id=self.id)


class Held:
    """A turn that was acted and could not be journaled, in an environment that can't be replayed."""

    __slots__ = ("result", "shown", "turn")

    def __init__(self, turn: Turn, result: bytes, shown: bytes) -> None:
        self.turn = turn
        self.result = result
        self.shown = shown


def opening_json(session_id: str, task_json: orjson.Fragment, order: Order, opening: Opening) -> bytes:
    """The JSON of the first StepResult, without its picture and messages."""
    return _dump(
        {
            "session_id": session_id,
            "task": task_json,
            "turn": 0,
            "max_turns": order.max_turns,
            "observation": {"text": opening.messages[-1].content, "data": opening.data, "image": None},
            "messages": None,
            "reward": 0.0,
            "score": opening.score,
            "success": None,
            "terminated": False,
            "truncated": False,
            "stop_reason": None,
            "info": {},
        }
    )


def turn_json(session_id: str, task_json: orjson.Fragment, order: Order, turn: Turn, step_ms: float) -> bytes:
    """The JSON of a turn's StepResult, without its picture."""
    stop = turn.stop
    terminated = stop is not None and stop.terminated
    return _dump(
        {
            "session_id": session_id,
            "task": task_json,
            "turn": turn.number,
            "max_turns": order.max_turns,
            "observation": {"text": turn.text, "data": turn.data, "image": None},
            "messages": None,
            "reward": turn.reward,
            "score": turn.score,
            "success": turn.success,
            "terminated": terminated,
            "truncated": stop is not None and not terminated,
            "stop_reason": stop,
            "info": {
                **turn.info,
                "parsed_action": turn.parsed,
                "invalid_action": turn.invalid,
                "step_ms": round(step_ms, 3),
            },
        }
    )


def with_image(result: bytes, image: bytes | None) -> bytes:
    """``result`` with a PNG in its observation."""
    if image is None:
        return result
    state = orjson.loads(result)
    state["observation"]["image"] = base64.b64encode(image).decode()
    return orjson.dumps(state)


def with_messages(result: bytes, messages: bytes) -> bytes:
    """``result`` with the chat that opens the episode."""
    return orjson.dumps({**orjson.loads(result), "messages": orjson.Fragment(messages)})


def renamed(result: bytes, session_id: str) -> bytes:
    """``result`` as another session's."""
    return orjson.dumps({**orjson.loads(result), "session_id": session_id})


def fingerprint(result: bytes) -> Any:
    """What must be equal when a turn is replayed: everything but the timing and the environment's extras."""
    state = orjson.loads(result)
    info = state["info"]
    return {name: value for name, value in state.items() if name != "info"} | {
        "parsed_action": info.get("parsed_action"),
        "invalid_action": info.get("invalid_action"),
    }


def transcript_json(session: Session, record: Record, turns: list[TurnRecord]) -> bytes:
    """The JSON of the session's Transcript."""
    played = []
    for turn in turns:
        state = orjson.loads(turn.result)
        fields = {name: state[name] for name in ("observation", "reward", "info")}
        played.append({"turn": turn.turn, "action": turn.action, "time": turn.time, **fields})
    return orjson.dumps(
        {
            "session_id": session.id,
            "task": session.task_json,
            "seed": session.order.seed,
            "options": orjson.Fragment(record.options),
            "messages": orjson.Fragment(record.messages),
            "turns": played,
            "max_turns": session.order.max_turns,
            "score": session.score,
            **session.outcome(),
        }
    )


def task_bytes(task: TaskInfo) -> bytes:
    """The JSON of a task."""
    return task.model_dump_json().encode()


def messages_json(opening: Opening) -> bytes:
    """The JSON of the chat that opens an episode."""
    return orjson.dumps([{"role": message.role, "content": message.content} for message in opening.messages])


def _dump(state: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(state)
    except TypeError as error:
        raise EnvironmentBroken(f"the environment's data can't be written as JSON: {error}") from error

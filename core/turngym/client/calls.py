"""Each call of the protocol as data: what it sends, and how its answer is read. No sockets, no retries.

A :class:`Call` is safe to repeat: every create and fork carries an id minted here, every step its turn.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ValidationError

from turngym.client.errors import ConnectionLost, UnexpectedAnswer
from turngym.problems import MEDIA_TYPE, PROBLEMS, ProblemError, ProblemKind
from turngym.schema import (
    ActionList,
    BatchClose,
    BatchCreate,
    BatchResult,
    BatchStep,
    BatchStepEntry,
    ExpertAction,
    ForkRequest,
    Metadata,
    Problem,
    Readiness,
    SessionRequest,
    SessionSummary,
    Split,
    StepRequest,
    StepResult,
    TaskInfo,
    TaskPage,
    Transcript,
)

ROUTING_KEY = 8  # characters of a session id that a gateway hashes; a fork's child starts with its parent's
_GATEWAY_STATUSES = frozenset({502, 503, 504})  # without a problem document: a proxy whose server is away
_JSON = {"Content-Type": "application/json"}

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One request. ``path`` is encoded, with its query. ``also`` is an error status that yet carries ``answer``."""

    method: str
    path: str
    answer: type[Answer]
    body: bytes | None = None
    session_id: str | None = None
    also: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the request; ``X-Session-Id`` lets a gateway find the replica."""
        headers = dict(_JSON) if self.body is not None else {}
        if self.session_id is not None:
            headers["X-Session-Id"] = self.session_id
        return headers

    def read(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer as its model.

        :raises ProblemError: what the server says went wrong.
        :raises ConnectionLost: if a gateway answers in place of its server.
        :raises UnexpectedAnswer: if the answer is none of the protocol.
        """
        if status >= 400 and (status != self.also or _is_problem(headers)):
            raise _failure(self, status, headers, body)
        try:
            return self.answer.model_validate_json(body)
        except ValidationError as error:
            raise UnexpectedAnswer(
                f"{self.method} {self.path} answered {status}, but {_first(error)}"
            ) from None


def _is_problem(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Type", "").startswith(MEDIA_TYPE)


def _failure(call: Call[Answer], status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        if status in _GATEWAY_STATUSES:
            return ConnectionLost(f"{call.method} {call.path} was answered {status} by a gateway")
        return UnexpectedAnswer(
            f"{call.method} {call.path} was answered {status} without a problem document; is this a TurnGym service?"
        )
    known = PROBLEMS.get(problem.code)
    fails = known is not None and known.fails_session
    kind = ProblemKind(problem.code, problem.status, problem.title, problem.retryable, fails)
    after = headers.get("Retry-After", "")
    return ProblemError(
        kind,
        problem.detail,
        session_id=problem.session_id,
        retry_after=float(after) if after.isdecimal() else None,
    )


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"])) or "the body"
    return f"{place} does not fit: {first['msg']}"


def new_session_id(parent: str | None = None) -> str:
    """A fresh session id; a fork's child gets its parent's routing key."""
    return secrets.token_urlsafe(15) if parent is None else parent[:ROUTING_KEY] + secrets.token_urlsafe(12)


def ready() -> Call[Readiness]:
    """Whether the service has loaded; 503 carries the same model."""
    return Call("GET", "/ready", Readiness, also=503)


def metadata() -> Call[Metadata]:
    """What a client must know."""
    return Call("GET", "/metadata", Metadata)


def tasks(split: Split, offset: int, limit: int) -> Call[TaskPage]:
    """A page of a split's tasks."""
    query = urlencode({"split": split, "offset": offset, "limit": limit})
    return Call("GET", f"/tasks?{query}", TaskPage)


def task(task_id: str) -> Call[TaskInfo]:
    """One task."""
    return Call("GET", f"/tasks/{quote(task_id)}", TaskInfo)


def create(request: SessionRequest) -> Call[StepResult]:
    """Starts an episode, under an id of its own if ``request`` has none."""
    named = _named(request)
    return Call("POST", "/sessions", StepResult, _dump(named), session_id=named.session_id)


def step(session_id: str, action: str, turn: int) -> Call[StepResult]:
    """Acts. ``turn`` is the number this step will have."""
    return _on(session_id, "POST", "/step", StepResult, _dump(StepRequest(action=action, turn=turn)))


def get(session_id: str) -> Call[StepResult]:
    """The latest StepResult."""
    return _on(session_id, "GET", "", StepResult)


def transcript(session_id: str) -> Call[Transcript]:
    """The episode so far."""
    return _on(session_id, "GET", "/transcript", Transcript)


def actions(session_id: str) -> Call[ActionList]:
    """The valid actions now."""
    return _on(session_id, "GET", "/actions", ActionList)


def expert(session_id: str) -> Call[ExpertAction]:
    """What the expert would do now."""
    return _on(session_id, "GET", "/expert", ExpertAction)


def fork(session_id: str, turn: int | None, child_id: str | None) -> Call[StepResult]:
    """A copy of the session in the state after ``turn`` (default: now)."""
    request = ForkRequest(session_id=child_id or new_session_id(session_id), turn=turn)
    return _on(session_id, "POST", "/fork", StepResult, _dump(request))


def close(session_id: str) -> Call[SessionSummary]:
    """Ends the session."""
    return _on(session_id, "DELETE", "", SessionSummary)


def batch_create(requests: Sequence[SessionRequest]) -> Call[BatchResult]:
    """Up to 256 episodes, each under an id of its own."""
    batch = BatchCreate(entries=[_named(request) for request in requests])
    return Call("POST", "/batch/sessions", BatchResult, _dump(batch))


def batch_step(entries: Sequence[BatchStepEntry]) -> Call[BatchResult]:
    """Up to 256 steps, each of another session. Every entry must have its turn, so that the batch is safe to repeat."""
    if missing := [entry.session_id for entry in entries if entry.turn is None]:
        raise ValueError(f"entries without a turn can't be repeated safely: {', '.join(missing[:3])}")
    return Call("POST", "/batch/step", BatchResult, _dump(BatchStep(entries=list(entries))))


def batch_close(session_ids: Sequence[str]) -> Call[BatchResult]:
    """Ends up to 256 sessions."""
    return Call("POST", "/batch/close", BatchResult, _dump(BatchClose(session_ids=list(session_ids))))


def _on(
    session_id: str, method: str, rest: str, answer: type[Answer], body: bytes | None = None
) -> Call[Answer]:
    return Call(method, f"/sessions/{quote(session_id, safe='')}{rest}", answer, body, session_id=session_id)


def _named(request: SessionRequest) -> SessionRequest:
    if request.session_id is not None:
        return request
    return request.model_copy(update={"session_id": new_session_id()})


def _dump(model: BaseModel) -> bytes:
    return model.model_dump_json(exclude_defaults=True).encode()

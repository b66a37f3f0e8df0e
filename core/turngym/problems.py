"""The error vocabulary: every way a call can fail, with its HTTP status and whether a retry of the same call can help.

An exception :class:`ProblemError` carries one of these from the place that knows to the route that answers, and, in a
client, from the answer back to the caller. An unreadable or impossible *action* is not a problem: it costs a turn.
"""

from dataclasses import dataclass

from turngym.schema import Problem

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A row of the problem table. ``fails_session``: the session can't go on; a client rebuilds it under a new id."""

    code: str
    status: int
    title: str
    retryable: bool = False
    fails_session: bool = False


_KINDS = (
    ProblemKind("invalid_request", 422, "The request does not fit the schema"),
    ProblemKind("bad_json", 400, "The body is not JSON"),
    ProblemKind("too_large", 413, "The body is larger than the server accepts"),
    ProblemKind("not_found", 404, "There is no such resource"),
    ProblemKind("method_not_allowed", 405, "The resource does not know this method"),
    ProblemKind("not_supported", 404, "This environment does not offer that"),
    ProblemKind("unauthorized", 401, "The bearer token is missing or wrong"),
    ProblemKind("unknown_task", 404, "There is no such task"),
    ProblemKind("turn_conflict", 409, "The turn is out of order, or was played with another action"),
    ProblemKind("session_conflict", 409, "The session id is taken by another request"),
    ProblemKind("session_finished", 409, "The episode is over"),
    ProblemKind("at_capacity", 503, "Every session slot is taken", retryable=True),
    ProblemKind("not_ready", 503, "The service is still loading", retryable=True),
    ProblemKind("storage_failure", 503, "The journal can't be written; no action was taken", retryable=True),
    ProblemKind(
        "backend_unavailable",
        503,
        "What the environment depends on can't answer now; no action was taken",
        retryable=True,
    ),
    ProblemKind("unknown_session", 404, "This server does not know the session"),
    ProblemKind("session_closed", 410, "The session was closed"),
    ProblemKind("session_expired", 410, "The session expired"),
    ProblemKind("step_timeout", 504, "The step took longer than its deadline", fails_session=True),
    ProblemKind("environment_failure", 500, "The environment failed", fails_session=True),
    ProblemKind(
        "model_failure", 502, "The language model gave no answer; no action was taken", retryable=True
    ),
    ProblemKind("internal", 500, "The server made a mistake"),
)
PROBLEMS: dict[str, ProblemKind] = {kind.code: kind for kind in _KINDS}


class ProblemError(Exception):
    """A call failed. ``kind`` is the row of the table, ``detail`` says what was wrong and what would be right.

    ``code`` may be a :class:`ProblemKind` of a newer server that the table does not have. ``retry_after`` is in seconds,
    where the server can tell.
    """

    def __init__(
        self,
        code: str | ProblemKind,
        detail: str,
        *,
        session_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.kind = PROBLEMS[code] if isinstance(code, str) else code
        super().__init__(f"{self.kind.code}: {detail}")
        self.detail = detail
        self.session_id = session_id
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """The stable, machine-readable name of the problem."""
        return self.kind.code

    def document(self) -> Problem:
        """The problem as it goes over the wire."""
        return Problem(
            type=f"urn:turngym:problem:{self.kind.code}",
            title=self.kind.title,
            status=self.kind.status,
            detail=self.detail,
            code=self.kind.code,
            retryable=self.kind.retryable,
            session_id=self.session_id,
        )

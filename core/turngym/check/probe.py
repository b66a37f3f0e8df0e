"""What the checks have at hand: a raw HTTP client, sessions that are closed afterwards, and words for what must hold.

A service's actions are its own business, so a check that has to act does so with the example of one of the grammar's
commands, chosen such that the episode goes on after it; failing that with a text that holds no action.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from turngym.client.calls import new_session_id
from turngym.client.transport import authorization, takes_proxy
from turngym.problems import MEDIA_TYPE, PROBLEMS
from turngym.schema import Metadata, Problem, SessionSummary, Split, StepResult, TaskInfo, TaskPage

UNREADABLE = ""  # no grammar finds an action in nothing
TRIED = 10  # tasks that are tried for one in which an example action does not end the episode
TIMEOUT_S = 120.0  # the slowest environment's step, and then some

AnyModel = TypeVar("AnyModel", bound=BaseModel)
Body = dict[str, Any]


class Broken(Exception):
    """The service breaks the rule; the message says how."""


class NotApplicable(Exception):
    """The rule does not bind this service; the message says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the protocol. ``run`` raises :class:`Broken` if the service breaks it."""

    name: str
    rule: str
    run: "Callable[[Probe], None]"


def check(rule: str) -> Callable[["Callable[[Probe], None]"], Check]:
    """Makes a function a check of ``rule``; ``step_repeat`` is called "step-repeat"."""

    def make(run: "Callable[[Probe], None]") -> Check:
        return Check(run.__name__.replace("_", "-"), rule, run)

    return make


class Probe:
    """A service under test. A context manager, which closes the sessions that a check has opened."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.http = httpx.Client(
            base_url=url, headers=authorization(token), timeout=TIMEOUT_S, trust_env=takes_proxy(url)
        )
        self._opened: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tidy()
        self.http.close()

    def tidy(self) -> None:
        """Close the sessions that were opened since the last time."""
        while self._opened:
            try:
                self.http.delete(f"/sessions/{self._opened.pop()}")
            except httpx.HTTPError:  # the check that broke the connection has told of it
                self._opened.clear()

    # -- what is known of the service ------------------------------------------------------------------------------

    @cached_property
    def metadata(self) -> Metadata:
        """Its metadata."""
        return self.fits(Metadata, self.http.get("/metadata"), 200)

    @cached_property
    def split(self) -> Split:
        """A split that has tasks."""
        for split, count in self.metadata.splits.items():
            if count:
                return split
        raise Broken("/metadata: no split has a task")

    @cached_property
    def ground(self) -> tuple[TaskInfo, str]:
        """A task, and an action after which an episode of it goes on, at least three times in a row."""
        page = self.fits(TaskPage, self.http.get("/tasks", params={"split": self.split, "limit": TRIED}), 200)
        self.holds(bool(page.tasks), f"GET /tasks gives no task of {self.split}")
        for task in page.tasks:
            for command in self.metadata.grammar.commands:
                body = {"session_id": new_session_id(), "split": task.split, "index": task.index}
                session = self.fits(StepResult, self.create(body), 201)
                goes_on = all(self.step(session, command.example).stop_reason is None for _ in range(3))
                self.close(session)
                if goes_on:
                    return task, command.example
        return page.tasks[0], UNREADABLE

    @property
    def task(self) -> TaskInfo:
        """The task that is played."""
        return self.ground[0]

    @property
    def action(self) -> str:
        """The action that is done."""
        return self.ground[1]

    def needs(self, sessions: int) -> None:
        """Skip the check where the service can't hold so many sessions at a time."""
        if self.metadata.max_sessions < sessions:
            raise NotApplicable(f"needs {sessions} sessions, the service holds {self.metadata.max_sessions}")

    # -- calls -----------------------------------------------------------------------------------------------------

    def order(self, **more: Any) -> Body:
        """The body of a create, under a new id; ``more`` overrides, None leaves a field out."""
        body = {"session_id": new_session_id(), "split": self.split, "index": self.task.index} | more
        return {name: value for name, value in body.items() if value is not None}

    def create(self, body: Body, headers: dict[str, str] | None = None) -> httpx.Response:
        """POST /sessions, to be closed afterwards."""
        answer = self.http.post("/sessions", json=body, headers=headers)
        if answer.status_code in (200, 201):
            self._opened.append(self.fits(StepResult, answer).session_id)
        return answer

    def closing(self, session: StepResult) -> None:
        """Have a session closed afterwards that another call has opened."""
        self._opened.append(session.session_id)

    def open(self, **more: Any) -> StepResult:
        """A new session."""
        return self.fits(StepResult, self.create(self.order(**more)), 201)

    def act(self, session: StepResult | str, action: str, turn: int | None) -> httpx.Response:
        """POST …/step."""
        name = session if isinstance(session, str) else session.session_id
        body = {"action": action} | ({} if turn is None else {"turn": turn})
        return self.http.post(f"/sessions/{name}/step", json=body)

    def step(self, session: StepResult, action: str | None = None, turn: int | None = None) -> StepResult:
        """Act (with :attr:`action` if none is given), and expect a result."""
        return self.fits(StepResult, self.act(session, self.action if action is None else action, turn), 200)

    def get(self, session: StepResult) -> StepResult:
        """GET /sessions/{id}."""
        return self.fits(StepResult, self.http.get(f"/sessions/{session.session_id}"), 200)

    def close(self, session: StepResult) -> SessionSummary:
        """DELETE /sessions/{id}."""
        return self.fits(SessionSummary, self.http.delete(f"/sessions/{session.session_id}"), 200)

    # -- what must hold --------------------------------------------------------------------------------------------

    def holds(self, truth: bool, otherwise: str) -> None:
        """Raise Broken unless it is true."""
        if not truth:
            raise Broken(otherwise)

    def same(self, got: object, expected: object, what: str) -> None:
        """Raise Broken unless both are equal."""
        if got != expected:
            raise Broken(f"{what} is {_short(got)}, expected {_short(expected)}")

    def status(self, answer: httpx.Response, expected: int) -> None:
        """Raise Broken unless the answer has that status."""
        if answer.status_code != expected:
            self._wrong(answer, f"status {expected}")

    def fits(self, model: type[AnyModel], answer: httpx.Response, status: int | None = None) -> AnyModel:
        """The answer as ``model``. Raise Broken unless it fits and has that status."""
        if status is not None:
            self.status(answer, status)
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise Broken(f"{_call(answer)}: no {model.__name__}: {place}: {first['msg']}") from None

    def problem(self, answer: httpx.Response, code: str) -> Problem:
        """The answer's problem document. Raise Broken unless it is that one, with its status."""
        if answer.status_code != PROBLEMS[code].status:
            self._wrong(answer, f"{PROBLEMS[code].status} {code}")
        problem = self.fits(Problem, answer)
        self.same(problem.code, code, f"{_call(answer)}: code")
        return problem

    def document(self, answer: httpx.Response, code: str) -> None:
        """Raise Broken unless the answer is a complete document of that problem."""
        kind, problem = PROBLEMS[code], self.problem(answer, code)
        media_type = answer.headers.get("content-type", "").partition(";")[0].strip()
        self.same(media_type, MEDIA_TYPE, f"{_call(answer)}: content-type")
        self.same(problem.status, answer.status_code, f"{_call(answer)}: status in the document")
        self.same(problem.retryable, kind.retryable, f"{_call(answer)}: retryable")
        for name in ("type", "title", "detail"):
            self.holds(bool(getattr(problem, name)), f"{_call(answer)}: {name} is empty")

    def json(self, answer: httpx.Response) -> Any:
        """The answer's JSON. Raise Broken if it is none."""
        try:
            return answer.json()
        except ValueError:
            raise Broken(f"{_call(answer)}: the body is not JSON") from None

    def _wrong(self, answer: httpx.Response, expected: str) -> NoReturn:
        said = " ".join(answer.text.split())
        raise Broken(f"{_call(answer)}: {answer.status_code} {_short(said)}, expected {expected}")


def _call(answer: httpx.Response) -> str:
    return f"{answer.request.method} {answer.request.url.raw_path.decode()}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 160 else text[:160] + "…"

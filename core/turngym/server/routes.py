"""The resources of the protocol: each handler reads its request, asks the sessions, and answers.

What a handler does not know is how sessions live; what the sessions don't know is HTTP. ``table`` lists every route with
what the documentation says about it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from turngym import PROTOCOL_VERSION
from turngym.environment import Service
from turngym.problems import ProblemError
from turngym.schema import (
    SESSION_ID_PATTERN,
    SPLITS,
    ActionList,
    BatchClose,
    BatchCreate,
    BatchResult,
    BatchStep,
    BatchStepEntry,
    ExpertAction,
    ForkRequest,
    Metadata,
    ModelAction,
    Readiness,
    SessionPage,
    SessionRequest,
    SessionSummary,
    Split,
    StepRequest,
    StepResult,
    TaskInfo,
    TaskPage,
    Transcript,
)
from turngym.server.http import Call, Handler, Reply, json_reply, parse, query
from turngym.server.metrics import Metrics
from turngym.server.model import next_turn
from turngym.server.openings import Openings, find_task
from turngym.server.sessions import Sessions
from turngym.server.settings import Settings
from turngym.server.steps import Steps

MAX_PAGE = 1000
_ID = re.compile(SESSION_ID_PATTERN)
_HEADER = b"x-session-id"
_TWICE = "the session is in this batch twice"
_METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Live:
    """The parts of a server whose service is loaded."""

    sessions: Sessions
    openings: Openings
    steps: Steps


class Index(BaseModel):
    """The answer to ``GET /``. Its links are relative to its address."""

    name: str
    version: str
    protocol_version: str
    links: dict[str, str]


class Paging(BaseModel):
    """A page of a list: ``offset`` entries are skipped, at most ``limit`` are shown."""

    model_config = ConfigDict(extra="forbid")

    offset: int = Field(default=0, ge=0, le=2**63 - 1)
    limit: int = Field(default=100, ge=1, le=MAX_PAGE)


class TaskPaging(Paging):
    """A page of a split's tasks."""

    split: Split = "train"


@dataclass(frozen=True, slots=True)
class RouteDoc:
    """A route and its documentation. ``answers`` maps a status to its model, ``problems`` lists the codes it may answer."""

    method: str
    path: str
    handler: Handler
    summary: str
    answers: Mapping[int, type[BaseModel] | None]
    problems: tuple[str, ...] = ()
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    body_optional: bool = False


class Routes:
    """The handlers of one server. ``live`` is set when the service is loaded; until then calls are ``not_ready``."""

    def __init__(self, service: Service, settings: Settings, metrics: Metrics) -> None:
        self._service = service
        self._settings = settings
        self._metrics = metrics
        self.live: Live | None = None
        self.loading: tuple[str, float] = ("loading", 0.0)
        self.schemas: dict[str, Any] = {}

    def _ready(self) -> Live:
        if self.live is None:
            what, part = self.loading
            raise ProblemError("not_ready", f"{what} ({part:.0%}); GET /ready says when", retry_after=1)
        return self.live

    # -- the service ---------------------------------------------------------------------------------------------------

    async def index(self, call: Call) -> Reply:
        spec = self._service.spec
        paths = (
            "metadata",
            "tasks",
            "sessions",
            "health",
            "ready",
            "metrics",
            "schema",
            "docs",
            "openapi.json",
            "ui",
        )
        links = {path.removesuffix(".json"): path for path in paths}
        return json_reply(
            Index(name=spec.name, version=spec.version, protocol_version=PROTOCOL_VERSION, links=links)
        )

    async def health(self, call: Call) -> Reply:
        return json_reply({"status": "ok"})

    async def ready(self, call: Call) -> Reply:
        if self.live is not None:
            return json_reply(Readiness(ready=True, progress=1.0))
        what, part = self.loading
        return json_reply(Readiness(ready=False, missing=[what], progress=min(1.0, max(0.0, part))), 503)

    async def metadata(self, call: Call) -> Reply:
        self._ready()
        spec = self._service.spec
        return json_reply(
            Metadata(
                name=spec.name,
                version=spec.version,
                protocol_version=PROTOCOL_VERSION,
                description=spec.description,
                instruction=spec.instruction,
                grammar=spec.grammar,
                splits={split: self._service.tasks.count(split) for split in SPLITS},
                default_max_turns=spec.default_max_turns,
                max_turns=spec.max_turns,
                reward_range=spec.reward_range,
                deterministic=spec.deterministic,
                forkable=spec.forkable or spec.deterministic,
                max_sessions=self._settings.max_sessions,
                shared_state=spec.shared_state,
                options=type(self._service).Options.model_json_schema(),
                data_hash=spec.data_hash,
            )
        )

    async def schema(self, call: Call) -> Reply:
        return json_reply(self.schemas)

    async def metrics(self, call: Call) -> Reply:
        return Reply(200, self._metrics.page(), _METRICS_TYPE)

    async def tasks(self, call: Call) -> Reply:
        paging = query(call, TaskPaging)
        self._ready()
        tasks = self._service.tasks
        total = tasks.count(paging.split)
        page = list(tasks.page(paging.split, paging.offset, paging.limit)) if paging.offset < total else []
        return json_reply(TaskPage(tasks=page, total=total, offset=paging.offset, limit=paging.limit))

    async def task(self, call: Call) -> Reply:
        self._ready()
        return json_reply(find_task(self._service, call.path("task_id")))

    # -- sessions ------------------------------------------------------------------------------------------------------

    async def create(self, call: Call) -> Reply:
        request = await call.model(SessionRequest)
        header = _header_id(call)
        if header is not None and request.session_id not in (None, header):
            raise ProblemError(
                "invalid_request", f"session_id is {request.session_id}, but X-Session-Id is {header}"
            )
        return Reply(*await self._ready().openings.create(request, header))

    async def open_sessions(self, call: Call) -> Reply:
        paging = query(call, Paging)
        return Reply(200, await self._ready().sessions.page(paging.offset, paging.limit))

    async def get(self, call: Call) -> Reply:
        return Reply(200, await self._ready().sessions.get(_session_id(call)))

    async def step(self, call: Call) -> Reply:
        request = parse(StepRequest, await call.body())
        return Reply(200, await self._ready().steps.step(_session_id(call), request.action, request.turn))

    async def transcript(self, call: Call) -> Reply:
        return Reply(200, await self._ready().sessions.transcript(_session_id(call)))

    async def actions(self, call: Call) -> Reply:
        return json_reply({"actions": await self._ready().steps.ask(_session_id(call), "actions")})

    async def expert(self, call: Call) -> Reply:
        session_id = _session_id(call)
        if not self._settings.experts:
            detail = "this server was started without experts (TURNGYM_EXPERTS=1)"
            raise ProblemError("not_supported", detail, session_id=session_id)
        return json_reply({"action": await self._ready().steps.ask(session_id, "expert")})

    async def model(self, call: Call) -> Reply:
        session_id = _session_id(call)
        if self._settings.model is None:
            detail = "this server was started without a language model (TURNGYM_MODEL, TURNGYM_MODEL_URL)"
            raise ProblemError("not_supported", detail, session_id=session_id)
        standing = await self._ready().sessions.transcript(session_id)
        transcript = Transcript.model_validate_json(standing)
        stop = self._service.spec.grammar.stop
        return json_reply(ModelAction(action=await next_turn(transcript, self._settings, stop)))

    async def fork(self, call: Call) -> Reply:
        body = await call.body()
        request = parse(ForkRequest, body) if body.strip() else ForkRequest()
        return Reply(*await self._ready().openings.fork(_session_id(call), request))

    async def close(self, call: Call) -> Reply:
        return Reply(200, await self._ready().sessions.close(_session_id(call)))

    # -- batches -------------------------------------------------------------------------------------------------------

    async def batch_create(self, call: Call) -> Reply:
        batch = await call.model(BatchCreate)
        live = self._ready()
        return await self._each(
            batch.entries,
            [entry.session_id for entry in batch.entries],
            lambda entry: live.openings.create(entry, None),
        )

    async def batch_step(self, call: Call) -> Reply:
        batch = await call.model(BatchStep)
        live = self._ready()
        first: dict[str, BatchStepEntry] = {}
        for entry in batch.entries:
            first.setdefault(entry.session_id, entry)
        played = await live.steps.step_all(list(first.values()))
        answers = dict(zip(first, played, strict=True))
        again = ProblemError("invalid_request", _TWICE)
        results = [
            self._entry(answers[entry.session_id] if entry is first[entry.session_id] else again)
            for entry in batch.entries
        ]
        return json_reply({"results": results})

    async def batch_close(self, call: Call) -> Reply:
        batch = await call.model(BatchClose)
        live = self._ready()

        async def close(session_id: str) -> tuple[int, bytes]:
            return 200, await live.sessions.close(session_id)

        return await self._each(batch.session_ids, batch.session_ids, close)

    async def _each(
        self,
        entries: Iterable[Any],
        names: Iterable[Hashable],
        act: Callable[[Any], Awaitable[tuple[int, bytes]]],
    ) -> Reply:
        """All entries at once, answered in order; a name that comes twice is refused the second time."""
        seen: set[Hashable] = set()

        async def one(entry: Any, again: bool) -> dict[str, Any]:
            try:
                if again:
                    raise ProblemError("invalid_request", _TWICE)
                status, result = await act(entry)
            except ProblemError as problem:
                return self._entry(problem)
            return self._entry(result, status)

        work = []
        for entry, name in zip(entries, names, strict=True):
            work.append(one(entry, name in seen))
            if name is not None:
                seen.add(name)
        return json_reply({"results": await asyncio.gather(*work)})

    def _entry(self, answer: bytes | ProblemError, status: int = 200) -> dict[str, Any]:
        if isinstance(answer, bytes):
            return {"status": status, "result": orjson.Fragment(answer), "problem": None}
        self._metrics.problem(answer.code)
        document = orjson.Fragment(answer.document().model_dump_json())
        return {"status": answer.kind.status, "result": None, "problem": document}

    def table(self) -> list[RouteDoc]:
        """Every route, the hottest first."""
        kept = ("unknown_session", "invalid_request", "not_ready")
        failed = (*kept, "step_timeout", "environment_failure", "backend_unavailable", "internal")
        over = ("session_finished", "session_closed", "session_expired")
        sent = ("bad_json", "too_large", "invalid_request")
        made = (*sent, "session_conflict", "at_capacity", "storage_failure", "unknown_task", "not_supported")
        result: Mapping[int, type[BaseModel] | None] = {200: StepResult, 201: StepResult}
        return [
            RouteDoc("POST", "/sessions/{session_id}/step", self.step, "Act; the next StepResult", {200: StepResult},
                     (*sent, *failed, *over, "turn_conflict", "storage_failure"), StepRequest),
            RouteDoc("POST", "/batch/step", self.batch_step, "Up to 256 steps", {200: BatchResult},
                     (*sent, "not_ready", "internal"), BatchStep),
            RouteDoc("POST", "/sessions", self.create, "Start an episode", result, (*made, *failed), SessionRequest),
            RouteDoc("GET", "/sessions", self.open_sessions, "The open sessions, oldest first", {200: SessionPage},
                     ("invalid_request", "not_ready", "internal"), query=Paging),
            RouteDoc("GET", "/sessions/{session_id}", self.get, "The latest StepResult", {200: StepResult}, failed),
            RouteDoc("DELETE", "/sessions/{session_id}", self.close, "End the session", {200: SessionSummary},
                     (*failed, "storage_failure")),
            RouteDoc("GET", "/sessions/{session_id}/transcript", self.transcript, "The episode so far", {200: Transcript},
                     failed),
            RouteDoc("GET", "/sessions/{session_id}/actions", self.actions, "The valid actions now", {200: ActionList},
                     (*failed, *over, "not_supported", "storage_failure")),
            RouteDoc("GET", "/sessions/{session_id}/expert", self.expert, "What the expert would do; for people and probes",
                     {200: ExpertAction}, (*failed, *over, "not_supported", "storage_failure")),
            RouteDoc("POST", "/sessions/{session_id}/model", self.model, "What the server's language model would write next",
                     {200: ModelAction}, (*failed, "session_finished", "not_supported", "model_failure")),
            RouteDoc("POST", "/sessions/{session_id}/fork", self.fork, "A new session in the state after a turn", result,
                     (*made, *failed, *over, "turn_conflict"), ForkRequest, body_optional=True),
            RouteDoc("POST", "/batch/sessions", self.batch_create, "Up to 256 episodes", {200: BatchResult},
                     (*sent, "not_ready", "internal"), BatchCreate),
            RouteDoc("POST", "/batch/close", self.batch_close, "End up to 256 sessions", {200: BatchResult},
                     (*sent, "not_ready", "internal"), BatchClose),
            RouteDoc("GET", "/tasks", self.tasks, "The tasks of a split", {200: TaskPage},
                     ("invalid_request", "not_ready", "internal"), query=TaskPaging),
            RouteDoc("GET", "/tasks/{task_id:path}", self.task, "One task; its id has slashes", {200: TaskInfo},
                     ("unknown_task", "not_ready", "internal")),
            RouteDoc("GET", "/metadata", self.metadata, "What a client must know", {200: Metadata}, ("not_ready", "internal")),
            RouteDoc("GET", "/ready", self.ready, "Whether the dependencies are loaded", {200: Readiness, 503: Readiness}),
            RouteDoc("GET", "/health", self.health, "The process lives", {200: None}),
            RouteDoc("GET", "/metrics", self.metrics, "Prometheus metrics", {200: None}),
            RouteDoc("GET", "/schema", self.schema, "The models of the protocol, as JSON schemas", {200: None}),
            RouteDoc("GET", "/", self.index, "Name, versions, links", {200: Index}),
        ]  # fmt: skip


def _session_id(call: Call) -> str:
    session_id = call.path("session_id")
    header = _header_id(call)
    if header is not None and header != session_id:
        raise ProblemError("invalid_request", f"the path says {session_id}, but X-Session-Id says {header}")
    return session_id


def _header_id(call: Call) -> str | None:
    value = call.header(_HEADER)
    if value is not None and _ID.fullmatch(value) is None:
        raise ProblemError("invalid_request", f"X-Session-Id must match {SESSION_ID_PATTERN}")
    return value

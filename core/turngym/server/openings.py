"""Opening sessions: from a task, from a task and the actions already played, or from another session.

An id is taken by one request for good: the same request again answers with the session as it stands, another is a conflict.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from pydantic import ValidationError

from turngym.environment import BackendDied, NotSupported, Service
from turngym.problems import ProblemError
from turngym.schema import ForkRequest, SessionRequest, TaskInfo
from turngym.server import journal as rows
from turngym.server.episode import EpisodeOver, Opening, Turn
from turngym.server.execution import DeadlinePassed, Order
from turngym.server.journal import Record, TurnRecord
from turngym.server.session import (
    Session,
    messages_json,
    opening_json,
    renamed,
    task_bytes,
    turn_json,
    with_image,
    with_messages,
)
from turngym.server.sessions import Sessions
from turngym.server.steps import Steps

ROUTING_KEY = 8  # characters of an id that a gateway hashes


class Openings:
    """Opens sessions."""

    def __init__(self, sessions: Sessions, steps: Steps) -> None:
        self._sessions = sessions
        self._steps = steps
        self._service = sessions.service
        self._spec = sessions.spec
        self._settings = sessions.settings
        self._backend = sessions.backend
        self._journal = sessions.journal
        self._metrics = sessions.metrics
        self._being_made: dict[str, asyncio.Event] = {}

    async def create(self, request: SessionRequest, session_id: str | None) -> tuple[int, bytes]:
        """Open a session, or answer with the one that this very request has opened. Status and StepResult."""
        wanted = request.session_id or session_id or secrets.token_urlsafe(15)
        canonical = request.model_dump_json(exclude={"session_id"})

        async def make() -> bytes:
            order = self._order(request)
            if request.actions and not self._spec.deterministic:
                raise ProblemError(
                    "not_supported", "a session of this environment can't be rebuilt from actions"
                )
            await self._sessions.slots.take()
            try:
                return await self._make(wanted, canonical, order, request.actions)
            except BaseException:
                self._sessions.slots.give()
                raise

        return await self._once(wanted, canonical, make)

    async def fork(self, session_id: str, request: ForkRequest) -> tuple[int, bytes]:
        """Open a copy of a session in the state after ``request.turn``. Status and StepResult of the copy."""
        prefix = session_id[:ROUTING_KEY]
        wanted = request.session_id or prefix + secrets.token_urlsafe(12)
        if not wanted.startswith(prefix):
            raise invalid_request(
                f"session_id: a fork's id starts with its parent's first {ROUTING_KEY} characters, {prefix!r}"
            )
        canonical = orjson.dumps({"fork": session_id, "turn": request.turn}).decode()

        async def make() -> bytes:
            async with self._sessions.turn_at(session_id):  # refuse before a slot is taken
                self._forkable(session_id, request.turn)
            await self._sessions.slots.take()
            try:
                async with self._sessions.turn_at(session_id):
                    return await self._branch(
                        self._forkable(session_id, request.turn), wanted, canonical, request.turn
                    )
            except BaseException:
                self._sessions.slots.give()
                raise

        return await self._once(wanted, canonical, make)

    async def _once(
        self, session_id: str, canonical: str, make: Callable[[], Coroutine[Any, Any, bytes]]
    ) -> tuple[int, bytes]:
        """Run ``make`` unless the id is taken; concurrent requests for one id wait for the first."""
        while session_id in self._being_made:
            await self._being_made[session_id].wait()
        existing = self._sessions.lookup(session_id)
        if existing is not None:
            return 200, self._again(existing, canonical)
        made = self._being_made[session_id] = asyncio.Event()
        try:
            return 201, await make()
        finally:
            del self._being_made[session_id]
            made.set()

    def _again(self, session: Session, canonical: str) -> bytes:
        if session.request != canonical:
            raise ProblemError(
                "session_conflict", "the id is taken by another request", session_id=session.id
            )
        if session.status == "failed":
            raise self._sessions.refused(session)
        session.touched = time.monotonic()
        return with_messages(session.standing(), self._sessions.record(session).messages)

    async def _make(self, session_id: str, canonical: str, order: Order, actions: list[str]) -> bytes:
        limit = self._settings.step_timeout_s if not actions else self._settings.rebuild_timeout_s
        try:
            handle, opening, turns = await self._backend.open(order, actions, limit)
        except EpisodeOver as over:
            more = f"actions: the episode ended at turn {over.turn}, and {len(actions) - over.turn} actions were left"
            raise invalid_request(more) from None
        except Exception as error:
            raise self._sessions.explain(error, session_id, "opening the episode") from error
        try:
            task_json = task_bytes(order.task)
            fragment = orjson.Fragment(task_json)
            record = self._new_record(session_id, canonical, order, task_json, opening, fragment)
            played = []
            for turn in turns:
                result = turn_json(session_id, fragment, order, turn, 0.0)
                played.append(TurnRecord(turn.number, turn.action, result, record.created))
            session = await self._admit(record, order, handle, played, turns[-1] if turns else None)
        except BaseException as error:
            await self._sessions.free(handle, session_id)
            if isinstance(error, ProblemError | asyncio.CancelledError):
                raise
            raise self._sessions.explain(error, session_id, "opening the episode") from error
        session.shown = with_image(session.latest, turns[-1].image if turns else opening.image)
        return with_messages(session.shown, record.messages)

    def _new_record(
        self,
        session_id: str,
        canonical: str,
        order: Order,
        task_json: bytes,
        opening: Opening,
        fragment: orjson.Fragment,
    ) -> Record:
        return Record(
            key=self._journal.new_key(),
            id=session_id,
            request=canonical,
            seed=order.seed,
            max_turns=order.max_turns,
            task=task_json,
            options=order.options.model_dump_json().encode(),
            messages=messages_json(opening),
            opening=opening_json(session_id, fragment, order, opening),
            version=self._spec.version,
            data_hash=self._spec.data_hash,
            created=time.time(),
        )

    async def _admit(
        self, record: Record, order: Order, handle: Any, played: list[TurnRecord], last: Turn | None
    ) -> Session:
        """Journal a new session with the turns it starts with, and hold it open unless those ended it."""
        statements = [record.insert(), *(turn.insert(record.key) for turn in played)]
        over = played and orjson.loads(played[-1].result)["stop_reason"]
        if over:
            statements.append(rows.end(record.key, "ended", over, None, record.created))
            record.status, record.stop_reason, record.ended = "ended", over, record.created
        await self._journal.commit(*statements)
        session = Session(record, order, played[-1] if played else None, time.monotonic())
        session.handle = handle
        self._metrics.created()
        if over:
            self._metrics.ended(over)
            self._sessions.dispose(session)
        else:
            self._sessions.open[record.id] = session
        return session

    def _forkable(self, session_id: str, turn: int | None) -> Session:
        session = self._sessions.find(session_id)
        if session.status != "open":
            raise self._sessions.refused(session)
        if turn is not None and turn > session.turn:
            detail = f"the session has played {session.turn} turns, so it can't be forked after turn {turn}"
            raise ProblemError("turn_conflict", detail, session_id=session_id)
        snapshot = self._spec.forkable and turn in (None, session.turn)
        if not snapshot and not self._spec.deterministic:
            raise ProblemError(
                "not_supported", "this environment can be neither copied nor replayed", session_id=session_id
            )
        if session.held is not None:
            raise ProblemError(
                "storage_failure", "the last turn is not journaled yet", session_id=session_id, retry_after=1
            )
        return session

    async def _branch(self, parent: Session, child_id: str, canonical: str, turn: int | None) -> bytes:
        upto = parent.turn if turn is None else turn
        if parent.handle is None:
            await self._steps.rebuild(parent)  # a parent that can't go on can't be forked either
        record, past = self._sessions.record(parent), self._journal.turns(parent.key, upto)
        handle = await self._copy(parent) if self._spec.forkable and upto == parent.turn else None
        if handle is None:
            try:
                handle, drift = await self._steps.replay(parent.id, record, parent.order, past)
            except Exception as error:
                raise self._sessions.explain(error, child_id, "replaying the parent") from error
            if drift is not None:
                await self._sessions.free(handle, child_id)
                raise ProblemError(
                    "environment_failure",
                    f"the parent's turn {drift} came out differently",
                    session_id=child_id,
                )
        now = time.time()
        child = Record(
            key=self._journal.new_key(), id=child_id, request=canonical, seed=record.seed, max_turns=record.max_turns,
            task=record.task, options=record.options, messages=record.messages, opening=renamed(record.opening, child_id),
            version=self._spec.version, data_hash=self._spec.data_hash, created=now,
        )  # fmt: skip
        played = [TurnRecord(row.turn, row.action, renamed(row.result, child_id), now) for row in past]
        try:
            session = await self._admit(child, parent.order, handle, played, None)
        except BaseException:
            await self._sessions.free(handle, child_id)
            raise
        return with_messages(session.shown, record.messages)

    async def _copy(self, parent: Session) -> Any:
        """A snapshot of the parent's environment; None where it says that it can't."""
        try:
            return await self._backend.fork(parent.handle, self._settings.step_timeout_s)
        except NotSupported:
            return None
        except BackendDied:
            await self._sessions.drop(parent)
            return None
        except DeadlinePassed as error:
            await self._sessions.abandon(parent)
            raise self._sessions.explain(error, parent.id, "copying the environment") from error
        except Exception as error:
            raise self._sessions.explain(error, parent.id, "copying the environment") from error

    def _order(self, request: SessionRequest) -> Order:
        if request.max_turns is not None and request.max_turns > self._spec.max_turns:
            raise invalid_request(
                f"max_turns: {request.max_turns} is more than this environment's {self._spec.max_turns}"
            )
        try:
            options = type(self._service).Options.model_validate(request.options)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["options", *(str(part) for part in first["loc"])])
            raise invalid_request(f"{place}: {first['msg']}") from None
        turns = request.max_turns or self._spec.default_max_turns
        return Order(self._task(request), request.seed, options, turns, options.image)

    def _task(self, request: SessionRequest) -> TaskInfo:
        tasks = self._service.tasks
        if request.task_id is not None:
            return find_task(self._service, request.task_id)
        assert request.split is not None and request.index is not None
        count = tasks.count(request.split)
        if request.index >= count:
            raise ProblemError(
                "unknown_task", f"{request.split} has {count} tasks, so there is no index {request.index}"
            )
        return tasks.at(request.split, request.index)


def find_task(service: Service, task_id: str) -> TaskInfo:
    """The task of that id. Raises the problem ``unknown_task``."""
    try:
        return service.tasks.get(task_id)
    except KeyError:
        raise ProblemError("unknown_task", f"there is no task {task_id!r}; GET /tasks lists them") from None


def invalid_request(detail: str) -> ProblemError:
    return ProblemError("invalid_request", detail)

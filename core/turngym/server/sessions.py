"""The sessions of a process: finding them, being alone with one, and every way in which one ends.

The open ones are in memory, the ended ones in the journal. How a session starts is ``openings``' business, how it moves
``steps``'. Methods that answer a call return JSON bytes or raise a :class:`~turngym.problems.ProblemError`; none knows HTTP.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import orjson

from turngym.environment import BackendDied, BackendUnavailable, Mode, Service
from turngym.problems import ProblemError
from turngym.schema import StopReason, TaskInfo
from turngym.server import journal as rows
from turngym.server.capacity import Slots
from turngym.server.execution import Backend, DeadlinePassed, Order
from turngym.server.journal import Journal, Record
from turngym.server.metrics import Metrics
from turngym.server.session import Session, transcript_json
from turngym.server.settings import Settings

logger = logging.getLogger("turngym.server")


class Sessions:
    """All sessions of a process: the open ones in memory, the ended ones in the journal."""

    def __init__(
        self, service: Service, settings: Settings, backend: Backend, journal: Journal, metrics: Metrics
    ) -> None:
        self.service = service
        self.spec = service.spec
        self.settings = settings
        self.backend = backend
        self.journal = journal
        self.metrics = metrics
        self.open: dict[str, Session] = {}
        self._background: set[asyncio.Task[None]] = set()
        self.slots = Slots(settings.max_sessions, settings.queue, settings.queue_timeout_s)

    @property
    def open_count(self) -> int:
        """How many sessions are open."""
        return len(self.open)

    @property
    def busy_count(self) -> int:
        """How many open sessions have a call in progress."""
        return sum(session.lock.locked() for session in self.open.values())

    def recover(self) -> int:
        """Take over the sessions that were open when the process before this one ended; how many there are.

        Each is rebuilt at its next call. Time spent down counts for the TTL, by the wall clock.
        """
        now, wall = time.monotonic(), time.time()
        for record in self.journal.open_records():
            last = self.journal.last_turn(record.key)
            idle = max(0.0, wall - (last.time if last is not None else record.created))
            self.open[record.id] = Session(record, self.order_of(record), last, now - idle)
        self.slots.take_over(len(self.open))
        return len(self.open)

    async def get(self, session_id: str) -> bytes:
        """The latest StepResult."""
        session = await self.visit(session_id)
        if session.status == "failed":
            raise self.refused(session)
        return session.standing()

    async def transcript(self, session_id: str) -> bytes:
        """The Transcript."""
        session = await self.visit(session_id)
        if session.status == "failed":
            raise self.refused(session)
        turns = self.journal.turns(session.key, session.turn)
        return transcript_json(session, self.record(session), turns)

    async def page(self, offset: int, limit: int) -> bytes:
        """A SessionPage of the open sessions, oldest first."""
        shown = list(self.open.values())[offset : offset + limit]
        results = [orjson.Fragment(session.shown) for session in shown]
        return orjson.dumps({"sessions": results, "total": len(self.open), "offset": offset, "limit": limit})

    async def close(self, session_id: str) -> bytes:
        """End a session; the SessionSummary, the same again for one that is over."""
        async with self.turn_at(session_id) as session:
            if session.status == "failed":
                raise self.refused(session)
            if session.status == "open":
                await self._end(session, StopReason.CLOSED)
            return session.summary()

    async def sweep(self) -> None:
        """Expire what nobody calls, forget what is old, keep the journal in shape. For a periodic task."""
        now = time.monotonic()
        for session in list(self.open.values()):
            if self.is_due(session, now) and not session.lock.locked():
                async with session.lock:
                    await self.expire_if_due(session)
        while self.journal.evict_older(time.time() - self.settings.journal_keep_s):
            await asyncio.sleep(0)
        while self.journal.crowded() and self.journal.evict_oldest(16):
            await asyncio.sleep(0)
        if self.journal.checkpoint_due():
            await asyncio.to_thread(self.journal.checkpoint)
            self.journal.shorten()

    async def stop(self) -> None:
        """Free every environment; the sessions stay in the journal."""
        for session in list(self.open.values()):
            await self.drop(session)
        while self._background:
            await asyncio.wait(self._background)

    def is_due(self, session: Session, now: float) -> bool:
        return now - session.touched > self.settings.session_ttl_s

    async def expire_if_due(self, session: Session) -> None:
        if session.status == "open" and self.is_due(session, time.monotonic()):
            try:
                await self._end(session, StopReason.EXPIRED)
            except ProblemError as problem:
                told = {"session_id": session.id}
                logger.error("session %s can't be expired yet: %s", session.id, problem.detail, extra=told)

    async def _end(self, session: Session, reason: StopReason) -> None:
        await self.journal.commit(rows.end(session.key, "ended", reason, None, time.time()))
        session.status, session.stop_reason, session.success = "ended", reason, False
        self.metrics.ended(reason)
        self.leave(session)

    async def fail(self, session: Session, code: str, detail: str) -> NoReturn:
        """Fail the session for good and raise its problem; where that can't be journaled the session stays as it was."""
        problem = ProblemError(code, detail, session_id=session.id)
        document = problem.document().model_dump_json()
        await self.journal.commit(rows.end(session.key, "failed", None, document, time.time()))
        session.status, session.problem, session.held = "failed", document, None
        self.metrics.failed(code)
        self.leave(session)
        raise problem

    def leave(self, session: Session) -> None:
        """Let an ended session go: its environment first, then its slot."""
        self.open.pop(session.id, None)
        self.dispose(session)

    def dispose(self, session: Session) -> None:
        handle, session.handle = session.handle, None
        if handle is None:
            self.slots.give()
        elif self.spec.mode is Mode.INLINE:
            try:
                handle.environment.close()
            except Exception:
                told = {"session_id": session.id}
                logger.exception("closing the environment of session %s failed", session.id, extra=told)
            self.slots.give()
        else:
            task = asyncio.get_running_loop().create_task(self._close_and_give(handle, session.id))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _close_and_give(self, handle: Any, session_id: str) -> None:
        await self.free(handle, session_id)
        self.slots.give()

    async def drop(self, session: Session) -> None:
        """Throw the environment away; the session stays, to be rebuilt."""
        handle, session.handle = session.handle, None
        if handle is not None:
            await self.free(handle, session.id)

    async def abandon(self, session: Session) -> None:
        """Leave an environment whose call has not come back in time."""
        handle, session.handle = session.handle, None
        try:
            await self.backend.abandon(handle, self.settings.step_timeout_s)
        except Exception as error:
            self._unclosed("a late environment", session.id, error)

    async def free(self, handle: Any, session_id: str) -> None:
        try:
            await self.backend.close(handle, self.settings.step_timeout_s)
        except BackendDied:
            return
        except Exception as error:
            self._unclosed("the environment", session_id, error)

    def _unclosed(self, what: str, session_id: str, error: Exception) -> None:
        told = {"session_id": session_id}
        line = "closing %s of session %s failed: %s: %s"
        logger.error(line, what, session_id, type(error).__name__, error, extra=told)

    @asynccontextmanager
    async def turn_at(self, session_id: str) -> AsyncIterator[Session]:
        """The session, alone with it; the TTL starts again when the call ends."""
        session = self.find(session_id)
        async with session.lock:
            await self.expire_if_due(session)
            try:
                yield session
            finally:
                session.touched = time.monotonic()

    async def visit(self, session_id: str) -> Session:
        """The session for a read, which does not wait for a running step."""
        session = self.find(session_id)
        if not session.lock.locked() and self.is_due(session, time.monotonic()):
            async with session.lock:
                await self.expire_if_due(session)
        session.touched = time.monotonic()
        return session

    def find(self, session_id: str) -> Session:
        session = self.open.get(session_id) or self.lookup(session_id)
        if session is None:
            detail = "it is elsewhere, was never here, or its record has expired"
            raise ProblemError("unknown_session", detail, session_id=session_id)
        return session

    def lookup(self, session_id: str) -> Session | None:
        session = self.open.get(session_id)
        if session is not None:
            return session
        record = self.journal.find(session_id)
        if record is None:
            return None
        return Session(record, self.order_of(record), self.journal.last_turn(record.key), time.monotonic())

    def record(self, session: Session) -> Record:
        record = self.journal.find(session.id)
        if record is None:
            raise ProblemError("unknown_session", "its record has expired", session_id=session.id)
        return record

    @staticmethod
    def refused(session: Session) -> ProblemError:
        refusal = session.refusal()
        assert refusal is not None
        return refusal

    def order_of(self, record: Record) -> Order:
        options = type(self.service).Options.model_validate_json(record.options)
        task = TaskInfo.model_validate_json(record.task)
        return Order(task, record.seed, options, record.max_turns, options.image)

    def explain(self, error: BaseException, session_id: str, what: str) -> ProblemError:
        """The problem that an error of the environment is."""
        if isinstance(error, ProblemError):
            return error
        if isinstance(error, BackendUnavailable):
            return ProblemError(
                "backend_unavailable",
                f"{what}: {error}",
                session_id=session_id,
                retry_after=error.retry_after,
            )
        if isinstance(error, DeadlinePassed):
            return ProblemError(
                "step_timeout", f"{what} took longer than its deadline", session_id=session_id
            )
        told = {"session_id": session_id}
        logger.error("session %s: %s failed", session_id, what, exc_info=error, extra=told)
        detail = f"{what} failed: {type(error).__name__}: {error}"
        return ProblemError("environment_failure", detail, session_id=session_id)

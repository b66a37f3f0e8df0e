"""The life of sessions: create, step, fork, end; repeats, deadlines, rebuilds after a crash, expiry.

Every method answers with JSON bytes or raises a :class:`~turngym.problems.ProblemError`. It knows nothing of HTTP. The
order of things in a step is what makes it exact: the session's lock, then the repeat, then the refusals, then (where acting
can kill the backend) the intent, then the environment, then the commit, and only then the state in memory and the answer.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import orjson
from pydantic import ValidationError

from turngym.environment import BackendDied, Mode, NotSupported, Service
from turngym.problems import ProblemError
from turngym.schema import ForkRequest, SessionRequest, StopReason, TaskInfo
from turngym.server import journal as rows
from turngym.server.capacity import Slots
from turngym.server.episode import EpisodeOver, Opening, Turn
from turngym.server.execution import Backend, DeadlinePassed, Order
from turngym.server.journal import Journal, Record, TurnRecord
from turngym.server.metrics import Metrics
from turngym.server.session import (
    Held,
    Session,
    fingerprint,
    opening_json,
    renamed,
    task_bytes,
    transcript_json,
    turn_json,
    with_image,
    with_messages,
)
from turngym.server.settings import Settings

logger = logging.getLogger("turngym.server")

ROUTING_KEY = 8  # characters of an id that a gateway hashes
MAX_INTENTS = 2  # a turn that was begun so often and has no result has killed its backend each time


class Sessions:
    """All sessions of a process: the open ones in memory, the ended ones in the journal."""

    def __init__(
        self, service: Service, settings: Settings, backend: Backend, journal: Journal, metrics: Metrics
    ) -> None:
        self._service = service
        self._spec = service.spec
        self._settings = settings
        self._backend = backend
        self._journal = journal
        self._metrics = metrics
        self._open: dict[str, Session] = {}
        self._being_made: dict[str, asyncio.Event] = {}
        self._background: set[asyncio.Task[None]] = set()
        # where a turn can't be taken back, its intent also proves beforehand that the journal can be written
        self._intents = (
            service.spec.risky or service.spec.mode is Mode.PROCESS or not service.spec.deterministic
        )
        self.slots = Slots(settings.max_sessions, settings.queue, settings.queue_timeout_s)

    @property
    def open_count(self) -> int:
        """How many sessions are open."""
        return len(self._open)

    def recover(self) -> int:
        """Take over the sessions that were open when the process before this one ended; how many there are.

        Each is rebuilt at its next call. Time spent down counts for the TTL, by the wall clock.
        """
        now, wall = time.monotonic(), time.time()
        for record in self._journal.open_records():
            last = self._journal.last_turn(record.key)
            idle = max(0.0, wall - (last.time if last is not None else record.created))
            self._open[record.id] = Session(record, self._order_of(record), last, now - idle)
        self.slots.take_over(len(self._open))
        return len(self._open)

    # -- create ------------------------------------------------------------------------------------------------------

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
            await self.slots.take()
            try:
                return await self._make(wanted, canonical, order, request.actions)
            except BaseException:
                self.slots.give()
                raise

        return await self._once(wanted, canonical, make)

    async def fork(self, session_id: str, request: ForkRequest) -> tuple[int, bytes]:
        """Open a copy of a session in the state after ``request.turn``. Status and StepResult of the copy."""
        prefix = session_id[:ROUTING_KEY]
        wanted = request.session_id or prefix + secrets.token_urlsafe(12)
        if not wanted.startswith(prefix):
            raise _invalid(
                f"session_id: a fork's id starts with its parent's first {ROUTING_KEY} characters, {prefix!r}"
            )
        canonical = orjson.dumps({"fork": session_id, "turn": request.turn}).decode()

        async def make() -> bytes:
            async with self._turn_at(session_id):  # refuse before a slot is taken
                self._forkable(session_id, request.turn)
            await self.slots.take()
            try:
                async with self._turn_at(session_id):
                    return await self._branch(
                        self._forkable(session_id, request.turn), wanted, canonical, request.turn
                    )
            except BaseException:
                self.slots.give()
                raise

        return await self._once(wanted, canonical, make)

    async def _once(
        self, session_id: str, canonical: str, make: Callable[[], Coroutine[Any, Any, bytes]]
    ) -> tuple[int, bytes]:
        """Run ``make`` unless the id is taken; concurrent requests for one id wait for the first."""
        while session_id in self._being_made:
            await self._being_made[session_id].wait()
        existing = self._lookup(session_id)
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
            raise self._refused(session)
        session.touched = time.monotonic()
        return with_messages(session.standing(), self._record(session).messages)

    async def _make(self, session_id: str, canonical: str, order: Order, actions: list[str]) -> bytes:
        limit = self._settings.step_timeout_s if not actions else self._settings.rebuild_timeout_s
        try:
            handle, opening, turns = await self._backend.open(order, actions, limit)
        except EpisodeOver as over:
            more = f"actions: the episode ended at turn {over.turn}, and {len(actions) - over.turn} actions were left"
            raise _invalid(more) from None
        except Exception as error:
            raise self._explain(error, session_id, "opening the episode") from error
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
            await self._close(handle)
            if isinstance(error, ProblemError | asyncio.CancelledError):
                raise
            raise self._explain(error, session_id, "opening the episode") from error
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
            messages=_messages_json(opening),
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
            self._dispose(session)
        else:
            self._open[record.id] = session
        return session

    # -- step --------------------------------------------------------------------------------------------------------

    async def step(self, session_id: str, action: str, number: int | None) -> bytes:
        """Play one turn, or answer a repeat of the last one. The StepResult."""
        session = self._find(session_id)
        lock = session.lock
        await lock.acquire()
        try:
            if self._is_due(session, time.monotonic()):
                await self._expire_if_due(session)
            if number is not None and number == session.turn and action == session.last_action:
                return session.shown
            if session.status != "open":
                raise self._refused(session)
            if number is not None and number != session.turn + 1:
                raise ProblemError("turn_conflict", _conflict(session, number), session_id=session_id)
            return await self._act(session, action)
        finally:
            session.touched = time.monotonic()
            lock.release()

    async def _act(self, session: Session, action: str) -> bytes:
        if session.held is not None:
            return await self._release_held(session, action)
        while True:
            if session.handle is None:
                await self._rebuild(session)
            if self._intents:
                if session.attempts >= MAX_INTENTS:
                    await self._fail(
                        session, "environment_failure", "acting this turn has killed the backend twice"
                    )
                await self._journal.commit(rows.intent(session.key, session.turn + 1, session.attempts + 1))
            session.attempts += 1
            started = time.perf_counter()
            try:
                turn = await self._backend.play(session.handle, action, self._settings.step_timeout_s)
                seconds = time.perf_counter() - started
                result = turn_json(session.id, session.task_json, session.order, turn, seconds * 1000)
                break
            except BackendDied as error:
                await self._drop(session)
                if session.attempts >= MAX_INTENTS:
                    await self._fail(
                        session,
                        "environment_failure",
                        f"acting this turn has killed the backend twice: {error}",
                    )
            except DeadlinePassed:
                await self._abandon(session)
                await self._fail(
                    session, "step_timeout", f"the step took longer than {self._settings.step_timeout_s:g} s"
                )
            except asyncio.CancelledError:
                await self._abandon(session)
                raise
            except Exception as error:
                problem = self._explain(error, session.id, f"turn {session.turn + 1}")
                await self._fail(session, problem.code, problem.detail)
        self._metrics.step(seconds)
        shown = with_image(result, turn.image) if turn.image is not None else result
        try:
            await self._commit_turn(session, turn, result)
        except asyncio.CancelledError:
            kept = self._journal.last_turn(session.key)
            if kept is not None and kept.turn == turn.number:
                self._advance(session, turn, result, shown)
            else:
                await self._abandon(session)
            raise
        except ProblemError:
            session.attempts -= 1
            if self._spec.deterministic:
                await self._drop(session)  # the environment is ahead of the journal: take the turn back
            else:
                session.held = Held(turn, result, shown)
            raise
        return self._advance(session, turn, result, shown)

    async def _commit_turn(self, session: Session, turn: Turn, result: bytes) -> None:
        now = time.time()
        statements = [TurnRecord(turn.number, turn.action, result, now).insert(session.key)]
        if turn.stop is not None:
            statements.append(rows.end(session.key, "ended", turn.stop, None, now))
        await self._journal.commit(*statements)

    def _advance(self, session: Session, turn: Turn, result: bytes, shown: bytes) -> bytes:
        session.advance(turn, result, shown)
        if turn.stop is not None:
            self._metrics.ended(turn.stop)
            self._leave(session)
        return shown

    async def _release_held(self, session: Session, action: str) -> bytes:
        """A turn was acted but not journaled, and can't be taken back: the same action gets its result, once it is kept."""
        held = session.held
        assert held is not None
        if action != held.turn.action:
            detail = (
                "another action was taken when the journal could not be written, and it can't be taken back"
            )
            await self._fail(session, "environment_failure", detail)
        await self._commit_turn(session, held.turn, held.result)
        return self._advance(session, held.turn, held.result, held.shown)

    # -- rebuild -----------------------------------------------------------------------------------------------------

    async def _rebuild(self, session: Session) -> None:
        """Replay the session's actions into a fresh environment; fail the session where the past does not come out again."""
        if not self._spec.deterministic:
            await self._fail(session, "environment_failure", "its environment is gone and can't be replayed")
        if (session.version, session.data_hash) != (self._spec.version, self._spec.data_hash):
            detail = f"it was played with version {session.version}, data {session.data_hash[:12]}; the server has others"
            await self._fail(session, "environment_failure", detail)
        record = self._record(session)
        past = self._journal.turns(session.key)
        try:
            handle, drift = await self._replay(session.id, record, session.order, past)
        except DeadlinePassed:
            await self._fail(
                session, "step_timeout", f"its replay took longer than {self._settings.rebuild_timeout_s:g} s"
            )
        except EpisodeOver as over:
            await self._fail(
                session, "environment_failure", f"its replay drifted: it ended at turn {over.turn}"
            )
        except Exception as error:
            problem = self._explain(error, session.id, "its replay")
            await self._fail(session, problem.code, problem.detail)
        if drift is not None:
            await self._close(handle)
            await self._fail(
                session, "environment_failure", f"its replay drifted: turn {drift} came out differently"
            )
        session.handle = handle
        self._metrics.rebuilt()

    async def _replay(
        self, session_id: str, record: Record, order: Order, past: list[TurnRecord]
    ) -> tuple[Any, int | None]:
        """A fresh environment with ``past`` played: its handle, and the first turn that differs."""
        actions = [turn.action for turn in past]
        handle, opening, turns = await self._backend.open(order, actions, self._settings.rebuild_timeout_s)
        fragment = orjson.Fragment(record.task)
        same = _messages_json(opening) == record.messages
        if not same or fingerprint(opening_json(session_id, fragment, order, opening)) != fingerprint(
            record.opening
        ):
            return handle, 0
        for turn, old in zip(turns, past, strict=True):
            if fingerprint(turn_json(session_id, fragment, order, turn, 0.0)) != fingerprint(old.result):
                return handle, turn.number
        return handle, None

    def _forkable(self, session_id: str, turn: int | None) -> Session:
        session = self._find(session_id)
        if session.status != "open":
            raise self._refused(session)
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
        record, past = self._record(parent), self._journal.turns(parent.key, upto)
        handle = await self._copy(parent) if self._spec.forkable and upto == parent.turn else None
        if handle is None:
            try:
                handle, drift = await self._replay(parent.id, record, parent.order, past)
            except Exception as error:
                raise self._explain(error, child_id, "replaying the parent") from error
            if drift is not None:
                await self._close(handle)
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
            await self._close(handle)
            raise
        return with_messages(session.shown, record.messages)

    async def _copy(self, parent: Session) -> Any:
        """A snapshot of the parent's environment; None where it says that it can't."""
        if parent.handle is None:
            await self._rebuild(parent)
        try:
            return await self._backend.fork(parent.handle, self._settings.step_timeout_s)
        except NotSupported:
            return None
        except BackendDied:
            await self._drop(parent)
            return None
        except DeadlinePassed as error:
            await self._abandon(parent)
            raise self._explain(error, parent.id, "copying the environment") from error
        except Exception as error:
            raise self._explain(error, parent.id, "copying the environment") from error

    # -- reads -------------------------------------------------------------------------------------------------------

    async def get(self, session_id: str) -> bytes:
        """The latest StepResult."""
        session = await self._visit(session_id)
        if session.status == "failed":
            raise self._refused(session)
        return session.standing()

    async def transcript(self, session_id: str) -> bytes:
        """The Transcript."""
        session = await self._visit(session_id)
        if session.status == "failed":
            raise self._refused(session)
        turns = self._journal.turns(session.key, session.turn)
        return transcript_json(session, self._record(session), turns)

    async def page(self, offset: int, limit: int) -> bytes:
        """A SessionPage of the open sessions, oldest first."""
        shown = list(self._open.values())[offset : offset + limit]
        results = [orjson.Fragment(session.shown) for session in shown]
        return orjson.dumps({"sessions": results, "total": len(self._open), "offset": offset, "limit": limit})

    async def ask(self, session_id: str, question: str) -> Any:
        """The environment's answer to "actions" or "expert" in the current state."""
        async with self._turn_at(session_id) as session:
            if session.status != "open":
                raise self._refused(session)
            if session.held is not None:
                raise ProblemError("storage_failure", "the last turn is not journaled yet", retry_after=1)
            for _ in range(MAX_INTENTS):
                if session.handle is None:
                    await self._rebuild(session)
                try:
                    return await self._backend.ask(session.handle, question, self._settings.step_timeout_s)
                except NotSupported as error:
                    raise ProblemError("not_supported", str(error), session_id=session_id) from None
                except BackendDied:
                    await self._drop(session)
                except DeadlinePassed:
                    await self._abandon(session)
                    await self._fail(session, "step_timeout", f"listing {question} took too long")
                except Exception as error:
                    problem = self._explain(error, session_id, f"listing {question}")
                    await self._fail(session, problem.code, problem.detail)
            await self._fail(
                session, "environment_failure", f"listing {question} has killed the backend twice"
            )

    # -- end ---------------------------------------------------------------------------------------------------------

    async def close(self, session_id: str) -> bytes:
        """End a session; the SessionSummary, the same again for one that is over."""
        async with self._turn_at(session_id) as session:
            if session.status == "failed":
                raise self._refused(session)
            if session.status == "open":
                await self._end(session, StopReason.CLOSED)
            return session.summary()

    async def sweep(self) -> None:
        """Expire what nobody calls, forget what is old, keep the journal in shape. For a periodic task."""
        now = time.monotonic()
        for session in list(self._open.values()):
            if self._is_due(session, now) and not session.lock.locked():
                async with session.lock:
                    await self._expire_if_due(session)
        while self._journal.evict_older(time.time() - self._settings.journal_keep_s):
            await asyncio.sleep(0)
        while self._journal.crowded() and self._journal.evict_oldest(16):
            await asyncio.sleep(0)
        if self._journal.checkpoint_due():
            await asyncio.to_thread(self._journal.checkpoint)
            self._journal.shorten()

    async def stop(self) -> None:
        """Free every environment; the sessions stay in the journal."""
        for session in list(self._open.values()):
            await self._drop(session)
        while self._background:
            await asyncio.wait(self._background)

    def _is_due(self, session: Session, now: float) -> bool:
        return now - session.touched > self._settings.session_ttl_s

    async def _expire_if_due(self, session: Session) -> None:
        if session.status == "open" and self._is_due(session, time.monotonic()):
            try:
                await self._end(session, StopReason.EXPIRED)
            except ProblemError as problem:
                logger.error("session %s can't be expired yet: %s", session.id, problem.detail)

    async def _end(self, session: Session, reason: StopReason) -> None:
        await self._journal.commit(rows.end(session.key, "ended", reason, None, time.time()))
        session.status, session.stop_reason, session.success = "ended", reason, False
        self._metrics.ended(reason)
        self._leave(session)

    async def _fail(self, session: Session, code: str, detail: str) -> NoReturn:
        """Fail the session for good and raise its problem; where that can't be journaled the session stays as it was."""
        problem = ProblemError(code, detail, session_id=session.id)
        document = problem.document().model_dump_json()
        await self._journal.commit(rows.end(session.key, "failed", None, document, time.time()))
        session.status, session.problem, session.held = "failed", document, None
        self._metrics.failed(code)
        self._leave(session)
        raise problem

    def _leave(self, session: Session) -> None:
        """Let an ended session go: its environment first, then its slot."""
        self._open.pop(session.id, None)
        self._dispose(session)

    def _dispose(self, session: Session) -> None:
        handle, session.handle = session.handle, None
        if handle is None:
            self.slots.give()
        elif self._spec.mode is Mode.INLINE:
            try:
                handle.environment.close()
            except Exception:
                logger.exception("closing the environment of session %s failed", session.id)
            self.slots.give()
        else:
            task = asyncio.get_running_loop().create_task(self._close_and_give(handle))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _close_and_give(self, handle: Any) -> None:
        await self._close(handle)
        self.slots.give()

    async def _drop(self, session: Session) -> None:
        """Throw the environment away; the session stays, to be rebuilt."""
        handle, session.handle = session.handle, None
        if handle is not None:
            await self._close(handle)

    async def _abandon(self, session: Session) -> None:
        """Leave an environment whose call has not come back in time."""
        handle, session.handle = session.handle, None
        try:
            await self._backend.abandon(handle, self._settings.step_timeout_s)
        except Exception as error:
            logger.error("closing a late environment failed: %s: %s", type(error).__name__, error)

    async def _close(self, handle: Any) -> None:
        try:
            await self._backend.close(handle, self._settings.step_timeout_s)
        except BackendDied:
            return
        except Exception as error:
            logger.error("closing an environment failed: %s: %s", type(error).__name__, error)

    # -- finding -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _turn_at(self, session_id: str) -> AsyncIterator[Session]:
        """The session, alone with it; the TTL starts again when the call ends."""
        session = self._find(session_id)
        async with session.lock:
            await self._expire_if_due(session)
            try:
                yield session
            finally:
                session.touched = time.monotonic()

    async def _visit(self, session_id: str) -> Session:
        """The session for a read, which does not wait for a running step."""
        session = self._find(session_id)
        if not session.lock.locked() and self._is_due(session, time.monotonic()):
            async with session.lock:
                await self._expire_if_due(session)
        session.touched = time.monotonic()
        return session

    def _find(self, session_id: str) -> Session:
        session = self._open.get(session_id) or self._lookup(session_id)
        if session is None:
            detail = "it is elsewhere, was never here, or its record has expired"
            raise ProblemError("unknown_session", detail, session_id=session_id)
        return session

    def _lookup(self, session_id: str) -> Session | None:
        session = self._open.get(session_id)
        if session is not None:
            return session
        record = self._journal.find(session_id)
        if record is None:
            return None
        return Session(record, self._order_of(record), self._journal.last_turn(record.key), time.monotonic())

    def _record(self, session: Session) -> Record:
        record = self._journal.find(session.id)
        if record is None:
            raise ProblemError("unknown_session", "its record has expired", session_id=session.id)
        return record

    @staticmethod
    def _refused(session: Session) -> ProblemError:
        refusal = session.refusal()
        assert refusal is not None
        return refusal

    # -- orders ------------------------------------------------------------------------------------------------------

    def _order(self, request: SessionRequest) -> Order:
        if request.max_turns is not None and request.max_turns > self._spec.max_turns:
            raise _invalid(
                f"max_turns: {request.max_turns} is more than this environment's {self._spec.max_turns}"
            )
        try:
            options = type(self._service).Options.model_validate(request.options)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(["options", *(str(part) for part in first["loc"])])
            raise _invalid(f"{place}: {first['msg']}") from None
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

    def _order_of(self, record: Record) -> Order:
        options = type(self._service).Options.model_validate_json(record.options)
        task = TaskInfo.model_validate_json(record.task)
        return Order(task, record.seed, options, record.max_turns, options.image)

    def _explain(self, error: BaseException, session_id: str, what: str) -> ProblemError:
        """The problem that an error of the environment is."""
        if isinstance(error, ProblemError):
            return error
        if isinstance(error, DeadlinePassed):
            return ProblemError(
                "step_timeout", f"{what} took longer than its deadline", session_id=session_id
            )
        logger.error("session %s: %s failed", session_id, what, exc_info=error)
        detail = f"{what} failed: {type(error).__name__}: {error}"
        return ProblemError("environment_failure", detail, session_id=session_id)


def find_task(service: Service, task_id: str) -> TaskInfo:
    """The task of that id. Raises the problem ``unknown_task``."""
    try:
        return service.tasks.get(task_id)
    except KeyError:
        raise ProblemError("unknown_task", f"there is no task {task_id!r}; GET /tasks lists them") from None


def _messages_json(opening: Opening) -> bytes:
    return orjson.dumps([{"role": message.role, "content": message.content} for message in opening.messages])


def _invalid(detail: str) -> ProblemError:
    return ProblemError("invalid_request", detail)


def _conflict(session: Session, number: int) -> str:
    if number == session.turn:
        return f"turn {number} was played with another action"
    return f"the next turn is {session.turn + 1}, not {number}"

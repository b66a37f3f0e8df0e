"""Playing a session: one turn at a time, exactly once, and getting its environment back where that is gone.

The order of things in a step is what makes it exact: the session's lock, then the repeat, then the refusals, then (where a
turn can't be taken back) the intent, then the environment, then the commit, and only then the state in memory and the answer.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from turngym.environment import BackendDied, BackendUnavailable, Mode, NotSupported
from turngym.problems import ProblemError
from turngym.schema import BatchStepEntry
from turngym.server import journal as rows
from turngym.server.episode import EpisodeOver, Turn
from turngym.server.execution import DeadlinePassed, Order
from turngym.server.journal import Record, Statement, TurnRecord
from turngym.server.session import (
    Held,
    Session,
    fingerprint,
    messages_json,
    opening_json,
    turn_json,
    with_image,
)
from turngym.server.sessions import Sessions

MAX_INTENTS = 2  # a turn that was begun so often and has no result has killed its backend each time
MAX_LOSSES = 5  # times that a turn may find its backend dead before acting, each time after a rebuild


@dataclass(slots=True)
class Acted:
    """A turn that the environment has played and the journal does not have yet."""

    session: Session
    turn: Turn
    result: bytes
    shown: bytes

    def statements(self, now: float) -> list[Statement]:
        """What the journal must write for it."""
        key, stop = self.session.key, self.turn.stop
        statements = [TurnRecord(self.turn.number, self.turn.action, self.result, now).insert(key)]
        if stop is not None:
            statements.append(rows.end(key, "ended", stop, None, now))
        return statements


class Steps:
    """Plays the turns of all sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._spec = sessions.spec
        self._settings = sessions.settings
        self._backend = sessions.backend
        self._journal = sessions.journal
        self._metrics = sessions.metrics
        # where a turn can't be taken back, its intent also proves beforehand that the journal can be written
        self._intents = self._spec.risky or self._spec.mode is Mode.PROCESS or not self._spec.deterministic
        self._together = self._spec.mode is Mode.INLINE and not self._intents

    async def step(self, session_id: str, action: str, number: int | None) -> bytes:
        """Play one turn, or answer a repeat of the last one. The StepResult."""
        session = self._sessions.find(session_id)
        lock = session.lock
        await lock.acquire()
        try:
            acted = await self._begin(session, action, number)
            return acted if isinstance(acted, bytes) else await self._keep(acted)
        finally:
            session.touched = time.monotonic()
            lock.release()

    async def step_all(self, entries: Sequence[BatchStepEntry]) -> list[bytes | ProblemError]:
        """Play one turn in each of several sessions: their StepResults or problems, in order.

        Where environments run in the event loop, the turns of sessions that nobody else holds are acted one after another
        and journaled together; the others, which may wait for something, run beside them.
        """
        answers: list[bytes | ProblemError | Acted | asyncio.Task[bytes | ProblemError]] = []
        acted: list[Acted] = []
        held: list[Session] = []
        try:
            for entry in entries:
                session = self._sessions.open.get(entry.session_id)
                if not self._together or session is None or session.handle is None or session.lock.locked():
                    answers.append(asyncio.ensure_future(self._answer(entry)))
                    continue
                await session.lock.acquire()
                held.append(session)
                try:
                    answer = await self._begin(session, entry.action, entry.turn)
                except ProblemError as problem:
                    answers.append(problem)
                    continue
                answers.append(answer)
                if isinstance(answer, Acted):
                    acted.append(answer)
            failure = await self._keep_all(acted)
        except BaseException:
            for turn in acted:  # what may be ahead of the journal is rebuilt from it
                await self._sessions.drop(turn.session)
            raise
        finally:
            now = time.monotonic()
            for session in held:
                session.touched = now
                session.lock.release()
        final: list[bytes | ProblemError] = []
        for item in answers:
            if isinstance(item, Acted):
                final.append(failure or item.shown)
            else:
                final.append(await item if isinstance(item, asyncio.Future) else item)
        return final

    async def _answer(self, entry: BatchStepEntry) -> bytes | ProblemError:
        try:
            return await self.step(entry.session_id, entry.action, entry.turn)
        except ProblemError as problem:
            return problem

    async def _begin(self, session: Session, action: str, number: int | None) -> bytes | Acted:
        """With the session's lock held: the stored result of a repeat, or a turn acted and not yet journaled."""
        if self._sessions.is_due(session, time.monotonic()):
            await self._sessions.expire_if_due(session)
        if number is not None and number == session.turn and action == session.last_action:
            return session.shown
        if session.status != "open":
            raise self._sessions.refused(session)
        if number is not None and number != session.turn + 1:
            raise ProblemError("turn_conflict", _conflict(session, number), session_id=session.id)
        return await self._act(session, action)

    async def _act(self, session: Session, action: str) -> Acted:
        if session.held is not None:
            return await self._held_back(session, session.held, action)
        losses = 0
        while True:
            if session.handle is None:
                await self.rebuild(session)
            if self._intents:
                if session.attempts >= MAX_INTENTS:
                    await self._sessions.fail(
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
                await self._sessions.drop(session)
                if not error.acted:
                    session.attempts -= 1
                    losses += 1
                if session.attempts >= MAX_INTENTS or losses >= MAX_LOSSES:
                    await self._sessions.fail(
                        session,
                        "environment_failure",
                        f"this turn's backend has died {session.attempts + losses} times: {error}",
                    )
            except BackendUnavailable as error:
                session.attempts -= 1
                raise self._sessions.explain(error, session.id, f"turn {session.turn + 1}") from error
            except DeadlinePassed:
                await self._sessions.abandon(session)
                await self._sessions.fail(
                    session, "step_timeout", f"the step took longer than {self._settings.step_timeout_s:g} s"
                )
            except asyncio.CancelledError:
                await self._sessions.abandon(session)
                raise
            except Exception as error:
                problem = self._sessions.explain(error, session.id, f"turn {session.turn + 1}")
                await self._sessions.fail(session, problem.code, problem.detail)
        self._metrics.step(seconds)
        shown = with_image(result, turn.image) if turn.image is not None else result
        return Acted(session, turn, result, shown)

    async def _keep(self, acted: Acted) -> bytes:
        failure = await self._keep_all([acted])
        if failure is not None:
            raise failure
        return acted.shown

    async def _keep_all(self, acted: list[Acted]) -> ProblemError | None:
        """Journal turns in one transaction, then let their sessions advance; the problem where that can't be done."""
        if not acted:
            return None
        now = time.time()
        try:
            await self._journal.commit(*(statement for turn in acted for statement in turn.statements(now)))
        except asyncio.CancelledError:
            for item in acted:
                kept = self._journal.last_turn(item.session.key)
                if kept is not None and kept.turn == item.turn.number:
                    self._advance(item)
                else:
                    await self._sessions.abandon(item.session)
            raise
        except ProblemError as problem:
            for item in acted:
                await self._take_back(item)
            return problem
        for item in acted:
            self._advance(item)
        return None

    async def _take_back(self, acted: Acted) -> None:
        """The environment is ahead of the journal: forget it where it can be replayed, else hold its result back."""
        acted.session.attempts -= 1
        if self._spec.deterministic:
            await self._sessions.drop(acted.session)
        else:
            acted.session.held = Held(acted.turn, acted.result, acted.shown)

    def _advance(self, acted: Acted) -> None:
        acted.session.advance(acted.turn, acted.result, acted.shown)
        if acted.turn.stop is not None:
            self._metrics.ended(acted.turn.stop)
            self._sessions.leave(acted.session)

    async def _held_back(self, session: Session, held: Held, action: str) -> Acted:
        """A turn that was acted, not journaled, and can't be taken back: only the same action may go on."""
        if action != held.turn.action:
            detail = (
                "another action was taken when the journal could not be written, and it can't be taken back"
            )
            await self._sessions.fail(session, "environment_failure", detail)
        session.attempts += 1
        return Acted(session, held.turn, held.result, held.shown)

    async def rebuild(self, session: Session) -> None:
        """Replay the session's actions into a fresh environment; fail the session where the past does not come out again."""
        if not self._spec.deterministic:
            await self._sessions.fail(
                session, "environment_failure", "its environment is gone and can't be replayed"
            )
        if (session.version, session.data_hash) != (self._spec.version, self._spec.data_hash):
            detail = f"it was played with version {session.version}, data {session.data_hash[:12]}; the server has others"
            await self._sessions.fail(session, "environment_failure", detail)
        record = self._sessions.record(session)
        past = self._journal.turns(session.key)
        try:
            handle, drift = await self.replay(session.id, record, session.order, past)
        except DeadlinePassed:
            await self._sessions.fail(
                session, "step_timeout", f"its replay took longer than {self._settings.rebuild_timeout_s:g} s"
            )
        except BackendUnavailable as error:
            raise self._sessions.explain(error, session.id, "its replay") from error
        except EpisodeOver as over:
            self._metrics.differed()
            await self._sessions.fail(
                session, "environment_failure", f"its replay drifted: it ended at turn {over.turn}"
            )
        except Exception as error:
            problem = self._sessions.explain(error, session.id, "its replay")
            await self._sessions.fail(session, problem.code, problem.detail)
        if drift is not None:
            self._metrics.differed()
            await self._sessions.free(handle, session.id)
            await self._sessions.fail(
                session, "environment_failure", f"its replay drifted: turn {drift} came out differently"
            )
        session.handle = handle
        self._metrics.rebuilt()

    async def replay(
        self, session_id: str, record: Record, order: Order, past: list[TurnRecord]
    ) -> tuple[Any, int | None]:
        """A fresh environment with ``past`` played: its handle, and the first turn that differs."""
        actions = [turn.action for turn in past]
        try:
            opened = await self._backend.open(order, actions, self._settings.rebuild_timeout_s)
        except BackendDied:  # a shared backend may die under a replay for another episode's sake
            opened = await self._backend.open(order, actions, self._settings.rebuild_timeout_s)
        handle, opening, turns = opened
        fragment = orjson.Fragment(record.task)
        same = messages_json(opening) == record.messages
        if not same or fingerprint(opening_json(session_id, fragment, order, opening)) != fingerprint(
            record.opening
        ):
            return handle, 0
        for turn, old in zip(turns, past, strict=True):
            if fingerprint(turn_json(session_id, fragment, order, turn, 0.0)) != fingerprint(old.result):
                return handle, turn.number
        return handle, None

    async def ask(self, session_id: str, question: str) -> Any:
        """The environment's answer to "actions" or "expert" in the current state."""
        async with self._sessions.turn_at(session_id) as session:
            if session.status != "open":
                raise self._sessions.refused(session)
            if session.held is not None:
                raise ProblemError("storage_failure", "the last turn is not journaled yet", retry_after=1)
            for _ in range(MAX_INTENTS):
                if session.handle is None:
                    await self.rebuild(session)
                try:
                    return await self._backend.ask(session.handle, question, self._settings.step_timeout_s)
                except NotSupported as error:
                    raise ProblemError("not_supported", str(error), session_id=session_id) from None
                except BackendDied:
                    await self._sessions.drop(session)
                except BackendUnavailable as error:
                    raise self._sessions.explain(error, session_id, f"listing {question}") from error
                except DeadlinePassed:
                    await self._sessions.abandon(session)
                    await self._sessions.fail(session, "step_timeout", f"listing {question} took too long")
                except Exception as error:
                    problem = self._sessions.explain(error, session_id, f"listing {question}")
                    await self._sessions.fail(session, problem.code, problem.detail)
            await self._sessions.fail(
                session, "environment_failure", f"listing {question} has killed the backend twice"
            )


def _conflict(session: Session, number: int) -> str:
    if number == session.turn:
        return f"turn {number} was played with another action"
    return f"the next turn is {session.turn + 1}, not {number}"

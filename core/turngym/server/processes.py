"""Worker processes for environments that compute for long: each hosts many episodes and does one call at a time.

A worker is a fresh interpreter (spawned, so nothing of the server leaks into it) that loads the service for itself. An
episode stays in the worker that opened it. A call past its deadline kills the worker; a killed or crashed worker is replaced,
and the episodes it hosted answer :class:`~turngym.environment.BackendDied` from then on.
"""

import asyncio
import multiprocessing
import os
import pickle
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from turngym.environment import BackendDied, BackendUnavailable, NotSupported, Service
from turngym.server.episode import Episode, EpisodeOver, Turn
from turngym.server.execution import (
    Backend,
    DeadlinePassed,
    Opened,
    Order,
    WorkerThread,
    ask_environment,
    open_episode,
)


class WorkerError(Exception):
    """The environment raised in a worker process; the message is its error's type and text."""


@dataclass(frozen=True, slots=True)
class Handle:
    """An episode in a worker process."""

    worker: "Worker"
    key: int


_RAISED: dict[str, type[Exception]] = {
    "over": EpisodeOver,
    "unsupported": NotSupported,
    "died": BackendDied,
    "unavailable": BackendUnavailable,
    "error": WorkerError,
}


def _worker_main(connection: Connection, blob: bytes) -> None:
    """The life of a worker process: load the service, then answer calls until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    service: Service = pickle.loads(blob)
    service.load(lambda what, part: None)
    episodes: dict[int, Episode] = {}
    connection.send(("ready", None))
    while True:
        try:
            operation, key, args = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("ok", _operate(service, episodes, operation, key, args)))
        except EpisodeOver as error:
            connection.send(("over", error.turn))
        except NotSupported as error:
            connection.send(("unsupported", str(error)))
        except BackendDied as error:
            connection.send(("died", str(error)))
        except BackendUnavailable as error:
            connection.send(("unavailable", str(error)))
        except Exception as error:  # it crosses the pipe as text: not every exception can be pickled
            connection.send(("error", f"{type(error).__name__}: {error}"))


def _operate(
    service: Service, episodes: dict[int, Episode], operation: str, key: int, args: tuple[Any, ...]
) -> Any:
    if operation == "open":
        episodes[key], opening, turns = open_episode(service, *args)
        return opening, turns
    if operation == "play":
        return episodes[key].play(*args)
    if operation == "fork":
        episodes[args[0]] = episodes[key].fork()
        return None
    if operation == "ask":
        return ask_environment(episodes[key].environment, *args)
    return episodes.pop(key).environment.close()


class Worker:
    """A worker process, and the thread of this process that waits at its pipe."""

    def __init__(self, blob: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_worker_main, args=(theirs, blob), daemon=True)
        self._process.start()
        theirs.close()
        self._thread = WorkerThread("turngym-pipe")
        self._loaded: asyncio.Future[Any] = self._thread.submit(self._connection.recv)
        self.turn = asyncio.Lock()
        self.alive = True
        self.episodes = 0

    async def call(self, operation: str, key: int, args: tuple[Any, ...], timeout: float) -> Any:
        """One call, alone in the worker. Raises DeadlinePassed, BackendDied, or what the environment raised."""
        async with self.turn:
            await self._wait_loaded()
            future = self._thread.submit(lambda: self._exchange(operation, key, args))
            try:
                await asyncio.wait({future}, timeout=timeout)
            except asyncio.CancelledError:
                self.kill()
                raise
            if not future.done():
                self.kill()
                future.add_done_callback(lambda done: done.exception())
                raise DeadlinePassed
            kind, value = self._answer(future)
        if kind == "ok":
            return value
        raise _RAISED[kind](value)

    async def _wait_loaded(self) -> None:
        if self.alive and not self._loaded.done():
            await asyncio.wait({self._loaded})
        if self.alive:
            self._answer(self._loaded)
        if not self.alive:
            raise BackendDied("the worker process is gone")

    def _answer(self, future: "asyncio.Future[Any]") -> Any:
        try:
            return future.result()
        except (EOFError, OSError) as error:
            self.kill()
            raise BackendDied(f"the worker process died: {error!r}") from error

    def _exchange(self, operation: str, key: int, args: tuple[Any, ...]) -> Any:
        self._connection.send((operation, key, args))
        return self._connection.recv()

    def kill(self) -> None:
        """End the process now."""
        if self.alive:
            self.alive = False
            self._process.kill()
            self._thread.submit(self._bury).add_done_callback(lambda done: done.exception())
            self._thread.retire()

    def _bury(self) -> None:
        self._process.join()
        self._connection.close()


class ProcessBackend(Backend):
    """Spreads episodes over worker processes, each to the one with the fewest."""

    def __init__(self, service: Service, workers: int | None = None) -> None:
        self._blob = pickle.dumps(service)
        self._count = workers or os.cpu_count() or 1
        self._workers: list[Worker] = []
        self._next = 0

    async def start(self) -> None:
        self._workers = [Worker(self._blob) for _ in range(self._count)]

    async def open(self, order: Order, actions: Sequence[str], timeout: float) -> Opened:
        worker = self._freest()
        key = self._key()
        worker.episodes += 1
        try:
            opening, turns = await worker.call("open", key, (order, list(actions)), timeout)
        except BaseException:
            worker.episodes -= 1
            raise
        return Handle(worker, key), opening, turns

    async def play(self, handle: Handle, text: str, timeout: float) -> Turn:
        turn: Turn = await handle.worker.call("play", handle.key, (text,), timeout)
        return turn

    async def fork(self, handle: Handle, timeout: float) -> Handle:
        key = self._key()
        await handle.worker.call("fork", handle.key, (key,), timeout)
        handle.worker.episodes += 1
        return Handle(handle.worker, key)

    async def ask(self, handle: Handle, question: str, timeout: float) -> Any:
        return await handle.worker.call("ask", handle.key, (question,), timeout)

    async def close(self, handle: Handle, timeout: float) -> None:
        handle.worker.episodes -= 1
        if handle.worker.alive:
            await handle.worker.call("close", handle.key, (), timeout)

    async def abandon(self, handle: Handle, timeout: float) -> None:
        return None  # its worker was killed, and everything in it

    async def stop(self) -> None:
        for worker in self._workers:
            worker.kill()

    def _key(self) -> int:
        self._next += 1
        return self._next

    def _freest(self) -> Worker:
        self._workers = [worker if worker.alive else Worker(self._blob) for worker in self._workers]
        return min(self._workers, key=lambda worker: worker.episodes)

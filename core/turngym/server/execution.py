"""Where an environment's code runs: in the event loop, in threads, as coroutines, or in worker processes.

A :class:`Backend` opens episodes and plays them under a deadline that starts when the call has its worker. A call that
passes its deadline raises :class:`DeadlinePassed`; its late result goes nowhere. A thread can't be stopped, so its worker is
quarantined (counted, and replaced) until the call returns; a worker process is killed, and every episode that lived in it is
dead (:class:`~turngym.environment.BackendDied`) until it is rebuilt. Code in the event loop can't be interrupted: there a
late result is found out afterwards.
"""

import asyncio
import logging
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from turngym.environment import Environment, Mode, Service
from turngym.schema import TaskInfo
from turngym.server.episode import Episode, Opening, Turn, settled

logger = logging.getLogger("turngym.server")


class DeadlinePassed(Exception):
    """A call ran longer than its deadline."""


@dataclass(frozen=True, slots=True)
class Order:
    """What it takes to open an episode, and to open the very same one again."""

    task: TaskInfo
    seed: int
    options: Any
    max_turns: int
    image: bool


Opened = tuple[Any, Opening, list[Turn]]


def open_episode(
    service: Service, order: Order, actions: Sequence[str]
) -> tuple[Episode, Opening, list[Turn]]:
    """Open the episode and play ``actions``; an environment that fails on the way is closed."""
    environment = service.open(order.task, order.seed, order.options)
    try:
        episode = Episode(environment, service.spec, order.max_turns, order.image)
        return episode, episode.begin(), episode.replay(actions)
    except BaseException:
        environment.close()
        raise


def ask_environment(environment: Environment, question: str) -> Any:
    """The answer to ``question``: "actions" or "expert". Raises NotSupported."""
    return environment.actions() if question == "actions" else environment.expert()


class Backend(ABC):
    """Opens and plays episodes. A handle stands for one open episode; what it is depends on the mode."""

    async def start(self) -> None:
        """Take what the backend needs. Called once, in the event loop, after the service is loaded."""
        return None

    @abstractmethod
    async def open(self, order: Order, actions: Sequence[str], timeout: float) -> Opened:
        """A fresh episode with ``actions`` played: its handle, its opening and those turns."""

    @abstractmethod
    async def play(self, handle: Any, text: str, timeout: float) -> Turn:
        """One turn."""

    @abstractmethod
    async def fork(self, handle: Any, timeout: float) -> Any:
        """The handle of a copy of the current state."""

    @abstractmethod
    async def ask(self, handle: Any, question: str, timeout: float) -> Any:
        """The valid actions ("actions") or the expert's next one ("expert")."""

    @abstractmethod
    async def close(self, handle: Any, timeout: float) -> None:
        """Free the episode."""

    async def abandon(self, handle: Any, timeout: float) -> None:
        """Free an episode whose call passed its deadline, as far as that can be done while the call may still run."""
        await self.close(handle, timeout)

    def quarantined(self) -> int:
        """Workers that hang in a call whose deadline has passed."""
        return 0

    async def stop(self) -> None:
        """Give back what :meth:`start` took."""
        return None


class InlineBackend(Backend):
    """Runs in the event loop, with no switch of task or thread: for pure Python that takes microseconds."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def open(self, order: Order, actions: Sequence[str], timeout: float) -> Opened:
        opened: Opened = self._in_time(timeout, open_episode, self._service, order, actions)
        return opened

    async def play(self, handle: Episode, text: str, timeout: float) -> Turn:
        started = time.monotonic()
        turn = handle.play(text)
        if time.monotonic() - started > timeout:
            raise DeadlinePassed
        return turn

    async def fork(self, handle: Episode, timeout: float) -> Any:
        return self._in_time(timeout, handle.fork)

    async def ask(self, handle: Episode, question: str, timeout: float) -> Any:
        return self._in_time(timeout, ask_environment, handle.environment, question)

    async def close(self, handle: Episode, timeout: float) -> None:
        handle.environment.close()

    @staticmethod
    def _in_time(timeout: float, call: Callable[..., Any], *args: Any) -> Any:
        started = time.monotonic()
        result = call(*args)
        if time.monotonic() - started > timeout:
            raise DeadlinePassed
        return result


class AsyncBackend(Backend):
    """Runs coroutines in the event loop. A late one is cancelled and, if it won't end, left behind and counted."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._late: set[asyncio.Task[Any]] = set()

    async def open(self, order: Order, actions: Sequence[str], timeout: float) -> Opened:
        async def opening() -> Opened:
            environment = await settled(self._service.open(order.task, order.seed, order.options))
            try:
                episode = Episode(environment, self._service.spec, order.max_turns, order.image)
                return episode, await episode.begin_async(), await episode.replay_async(actions)
            except BaseException:
                await _closed(environment)
                raise

        opened: Opened = await self._in_time(opening(), timeout)
        return opened

    async def play(self, handle: Episode, text: str, timeout: float) -> Turn:
        turn: Turn = await self._in_time(handle.play_async(text), timeout)
        return turn

    async def fork(self, handle: Episode, timeout: float) -> Any:
        return await self._in_time(handle.fork_async(), timeout)

    async def ask(self, handle: Episode, question: str, timeout: float) -> Any:
        return await self._in_time(settled(ask_environment(handle.environment, question)), timeout)

    async def close(self, handle: Episode, timeout: float) -> None:
        await self._in_time(_closed(handle.environment), timeout)

    def quarantined(self) -> int:
        return len(self._late)

    async def _in_time(self, work: Any, timeout: float) -> Any:
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.done():
            return task.result()
        task.cancel()
        self._late.add(task)
        task.add_done_callback(self._forget)
        raise DeadlinePassed

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._late.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.debug("a call past its deadline ended with %r", task.exception())


async def _closed(environment: Environment) -> None:
    close: Callable[[], Any] = environment.close
    await settled(close())


class WorkerThread:
    """A daemon thread that does one call at a time, and answers in the event loop."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = (
            queue.SimpleQueue()
        )
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        future = self._loop.create_future()
        self._calls.put((future, call))
        return future

    def retire(self) -> None:
        """End the thread after the call that runs now."""
        self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, call = item
            try:
                self._answer(future, call(), None)
            except BaseException as error:  # whatever the environment raised belongs to the one who waits
                self._answer(future, None, error)

    def _answer(self, future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
        def deliver() -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        try:
            self._loop.call_soon_threadsafe(deliver)
        except RuntimeError:
            logger.debug("a worker finished after the event loop had closed")


class ThreadBackend(Backend):
    """Runs blocking calls in a pool of threads. Any thread may run an episode's next call."""

    def __init__(self, service: Service, workers: int | None = None) -> None:
        self._service = service
        self._count = workers or min(32, (os.cpu_count() or 1) + 4)
        self._idle: list[WorkerThread] = []
        self._waiting: deque[asyncio.Future[WorkerThread]] = deque()
        self._quarantined = 0

    async def start(self) -> None:
        self._idle = [WorkerThread(f"turngym-{index}") for index in range(self._count)]

    async def open(self, order: Order, actions: Sequence[str], timeout: float) -> Opened:
        def late(opened: Opened | None) -> None:
            if opened is not None:
                opened[0].environment.close()

        opened: Opened = await self._call(timeout, lambda: open_episode(self._service, order, actions), late)
        return opened

    async def play(self, handle: Episode, text: str, timeout: float) -> Turn:
        turn: Turn = await self._call(
            timeout, lambda: handle.play(text), lambda _: handle.environment.close()
        )
        return turn

    async def fork(self, handle: Episode, timeout: float) -> Any:
        def late(copy: Episode | None) -> None:
            handle.environment.close()
            if copy is not None:
                copy.environment.close()

        return await self._call(timeout, handle.fork, late)

    async def ask(self, handle: Episode, question: str, timeout: float) -> Any:
        return await self._call(
            timeout,
            lambda: ask_environment(handle.environment, question),
            lambda _: handle.environment.close(),
        )

    async def close(self, handle: Episode, timeout: float) -> None:
        await self._call(timeout, handle.environment.close)

    async def abandon(self, handle: Episode, timeout: float) -> None:
        return None  # the late call still uses it; its thread closes it afterwards

    def quarantined(self) -> int:
        return self._quarantined

    async def stop(self) -> None:
        for worker in self._idle:
            worker.retire()

    async def _call(
        self, timeout: float, call: Callable[[], Any], late: Callable[[Any], None] | None = None
    ) -> Any:
        worker = await self._take()
        future = worker.submit(call)
        try:
            await asyncio.wait({future}, timeout=timeout)
        except asyncio.CancelledError:
            self._quarantine(worker, future, late)
            raise
        if future.done():
            self._give(worker)
            return future.result()
        self._quarantine(worker, future, late)
        raise DeadlinePassed

    def _quarantine(
        self, worker: WorkerThread, future: "asyncio.Future[Any]", late: Callable[[Any], None] | None
    ) -> None:
        """Replace a worker that hangs; when its call returns after all, close what that left open and end the thread."""
        self._quarantined += 1

        def returned(done: "asyncio.Future[Any]") -> None:
            self._quarantined -= 1
            if late is not None:
                result = done.result() if not done.cancelled() and done.exception() is None else None
                worker.submit(lambda: late(result)).add_done_callback(_log_late)
            worker.retire()

        future.add_done_callback(returned)
        self._give(WorkerThread("turngym-replacement"))

    async def _take(self) -> WorkerThread:
        if self._idle:
            return self._idle.pop()
        waiter: asyncio.Future[WorkerThread] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give(waiter.result())
            raise

    def _give(self, worker: WorkerThread) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(worker)
                return
        self._idle.append(worker)


def _log_late(future: "asyncio.Future[Any]") -> None:
    if not future.cancelled() and future.exception() is not None:
        logger.warning("closing a late episode failed: %r", future.exception())


def make_backend(service: Service, workers: int | None) -> Backend:
    """The backend of the service's mode. Process workers need a service that can be pickled before it is loaded."""
    if service.spec.mode is Mode.INLINE:
        return InlineBackend(service)
    if service.spec.mode is Mode.ASYNC:
        return AsyncBackend(service)
    if service.spec.mode is Mode.THREAD:
        return ThreadBackend(service, workers)
    from turngym.server.processes import ProcessBackend

    return ProcessBackend(service, workers)

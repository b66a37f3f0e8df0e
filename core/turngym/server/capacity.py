"""Session slots: how many sessions are open, and the short queue of creates that wait for one."""

import asyncio
from collections import deque

from turngym.problems import ProblemError


class Slots:
    """At most ``limit`` holders and ``queue`` waiters, first come, first served, each for at most ``patience_s`` seconds."""

    def __init__(self, limit: int, queue: int, patience_s: float) -> None:
        self.limit = limit
        self.used = 0
        self._queue = queue
        self._patience = patience_s
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many creates wait for a slot."""
        return len(self._waiters)

    def take_over(self, count: int) -> None:
        """Count sessions that were open before the process started; they may be more than the limit."""
        self.used += count

    async def take(self) -> None:
        """Take a slot, waiting for one if need be. Raises the problem ``at_capacity``."""
        if self.used < self.limit and not self._waiters:
            self.used += 1
            return
        if len(self._waiters) >= self._queue:
            raise self._full(f"and {len(self._waiters)} wait")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await asyncio.wait_for(waiter, self._patience)
        except TimeoutError:
            raise self._full(f"and none became free in {self._patience:g} s") from None
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give()
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def give(self) -> None:
        """Give a slot back; the first waiter has it at once."""
        while self._waiters and self.used <= self.limit:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.used -= 1

    def _full(self, more: str) -> ProblemError:
        return ProblemError("at_capacity", f"all {self.limit} session slots are taken, {more}", retry_after=1)

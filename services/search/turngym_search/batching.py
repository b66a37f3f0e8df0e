"""The event loop's side of retrieval: a cache, shared computations, micro-batches, a bounded queue.

A query that is known is answered at once; one that is being computed is waited for, not computed again; the others are
computed together. A query that comes alone while nothing runs is never held back. Where the last batch had company, the next
one waits a few milliseconds for more.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from turngym.environment import BackendUnavailable
from turngym_search.retrieval import Hit

Found = Sequence[Hit]
Compute = Callable[[list[str], int], Awaitable[Sequence[Found]]]
"""The best ``k`` passages for each of several queries."""

RETRY_AFTER_S = 1.0


@dataclass(slots=True)
class Counts:
    """What was asked and what was done for it, since the start."""

    queries: int = 0
    cached: int = 0
    shared: int = 0
    computed: int = 0
    batches: int = 0
    refused: int = 0


@dataclass(slots=True, eq=False)
class _Waiting:
    query: str
    k: int
    future: "asyncio.Future[Found]"


class Batcher:
    """Answers queries by ``compute``, as seldom as possible.

    :param compute: called with different queries and one ``k``; at most ``lanes`` calls run at a time.
    :param window_s: how long a batch waits for company when there is some, in seconds.
    :param queue: queries that may wait to be computed; a request for more is refused, unless none waits.
    :param cache: queries whose answers are remembered, the least recently used going first.
    """

    def __init__(
        self, compute: Compute, *, window_s: float, max_batch: int, queue: int, cache: int, lanes: int = 1
    ) -> None:
        self._compute = compute
        self._window_s = window_s
        self._max_batch = max_batch
        self._queue = queue
        self._cache_size = cache
        self._lanes = lanes
        self._busy: set[asyncio.Task[None]] = set()
        self._cache: OrderedDict[tuple[str, int], Found] = OrderedDict()
        self._pending: dict[tuple[str, int], asyncio.Future[Found]] = {}
        self._waiting: deque[_Waiting] = deque()
        self._company = False
        self.counts = Counts()

    @property
    def waiting(self) -> int:
        """Queries that wait to be computed."""
        return len(self._waiting)

    async def search(self, queries: Sequence[str], k: int) -> list[Found]:
        """The best ``k`` passages for each query.

        :raises BackendUnavailable: if the queue has no room for the queries that must be computed, or what computes them
            can't be reached. Nothing is half answered then.
        """
        found = [self._known(query, k) for query in queries]
        missing = {query for query, hits in zip(queries, found, strict=True) if hits is None}
        new = [query for query in missing if (query, k) not in self._pending]
        self.counts.queries += len(queries)
        self.counts.cached += len(queries) - sum(hits is None for hits in found)
        self.counts.shared += sum(hits is None for hits in found) - len(new)
        if self._waiting and len(self._waiting) + len(new) > self._queue:
            self.counts.refused += 1
            raise BackendUnavailable(
                f"{len(self._waiting)} queries wait already, and at most {self._queue} may", RETRY_AFTER_S
            )
        for query in new:
            self._enqueue(query, k)
        asked = {query: self._pending[query, k] for query in missing}
        if asked:
            await asyncio.wait(asked.values())  # shared with others, so it is not cancelled with this call
        return [
            hits if hits is not None else asked[query].result()
            for query, hits in zip(queries, found, strict=True)
        ]

    def _known(self, query: str, k: int) -> Found | None:
        hits = self._cache.get((query, k))
        if hits is not None:
            self._cache.move_to_end((query, k))
        return hits

    def _enqueue(self, query: str, k: int) -> None:
        future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._pending[query, k] = future
        self._waiting.append(_Waiting(query, k, future))
        if len(self._busy) < self._lanes:
            lane = asyncio.create_task(self._work())
            self._busy.add(lane)
            lane.add_done_callback(self._busy.discard)

    async def _work(self) -> None:
        """Compute what waits, batch after batch, until nothing does."""
        while self._waiting:
            if self._company and self._window_s and len(self._waiting) < self._max_batch:
                await asyncio.sleep(self._window_s)
            batch = self._next_batch()
            if batch:
                self._company = len(batch) > 1
                await self._run(batch)

    def _next_batch(self) -> list[_Waiting]:
        """The first that waits and, up to the greatest batch, those behind it that want as many passages."""
        batch: list[_Waiting] = []
        passed: list[_Waiting] = []
        while self._waiting and len(batch) < self._max_batch:
            item = self._waiting.popleft()
            (batch if not batch or item.k == batch[0].k else passed).append(item)
        self._waiting.extendleft(reversed(passed))
        return batch

    async def _run(self, batch: list[_Waiting]) -> None:
        self.counts.batches += 1
        self.counts.computed += len(batch)
        try:
            answers = await self._compute([item.query for item in batch], batch[0].k)
        except asyncio.CancelledError:
            for item in batch:
                self._settle(item).cancel()
            raise
        except Exception as error:
            for item in batch:
                future = self._settle(item)
                future.set_exception(error)
                future.exception()  # those who wait get it; nobody may be left to wait
            return
        for item, hits in zip(batch, answers, strict=True):
            self._remember(item, hits)
            self._settle(item).set_result(hits)

    def _settle(self, item: _Waiting) -> "asyncio.Future[Found]":
        del self._pending[item.query, item.k]
        return item.future

    def _remember(self, item: _Waiting, hits: Found) -> None:
        self._cache[item.query, item.k] = hits
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

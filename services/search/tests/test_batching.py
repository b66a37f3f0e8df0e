"""The batcher: nothing is computed twice, nothing waits for nothing, a full queue says so."""

import asyncio
from collections.abc import Sequence

import pytest

from turngym.environment import BackendUnavailable
from turngym_search.batching import Batcher
from turngym_search.passages import Passage
from turngym_search.retrieval import Hit


class Counting:
    """Finds a passage named like the query, once ``open`` is set, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], int]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, queries: list[str], k: int) -> Sequence[Sequence[Hit]]:
        self.asked.append((queries, k))
        await self.open.wait()
        if any(query == "broken" for query in queries):
            raise BackendUnavailable("broken")
        return [[Hit(Passage(f"{query}/{k}", query), 1.0)] for query in queries]


def batcher(
    compute: Counting, window_s: float = 0, max_batch: int = 64, queue: int = 100, cache: int = 100
) -> Batcher:
    return Batcher(compute, window_s=window_s, max_batch=max_batch, queue=queue, cache=cache)


async def names(asked: Batcher, queries: list[str], k: int = 3) -> list[str]:
    return [found[0].passage.id for found in await asked.search(queries, k)]


async def test_answers_come_in_the_order_of_the_queries() -> None:
    assert await names(batcher(Counting()), ["b", "a", "b"]) == ["b/3", "a/3", "b/3"]
    assert await names(batcher(Counting()), []) == []


async def test_a_query_is_computed_once_for_all_who_ask_at_the_same_time() -> None:
    compute = Counting()
    compute.open.clear()
    asked = batcher(compute)
    waiting = [asyncio.create_task(names(asked, ["same"])) for _ in range(50)]
    await asyncio.sleep(0.01)
    compute.open.set()
    assert await asyncio.gather(*waiting) == [["same/3"]] * 50
    assert compute.asked == [(["same"], 3)]
    assert (asked.counts.shared, asked.counts.computed) == (49, 1)


async def test_a_query_is_remembered() -> None:
    compute = Counting()
    asked = batcher(compute, cache=2)
    for query in ("a", "b", "a", "c", "a", "b"):  # b is the least recently used when c comes
        await names(asked, [query])
    assert [queries for queries, _ in compute.asked] == [["a"], ["b"], ["c"], ["b"]]
    assert asked.counts.cached == 2
    await names(asked, ["a"], k=5)
    assert compute.asked[-1] == (["a"], 5)


async def test_without_a_cache_nothing_is_remembered() -> None:
    compute = Counting()
    asked = batcher(compute, cache=0)
    await names(asked, ["a"])
    await names(asked, ["a"])
    assert len(compute.asked) == 2


async def test_what_comes_while_one_is_computed_is_computed_together() -> None:
    compute = Counting()
    compute.open.clear()
    asked = batcher(compute, max_batch=4)
    first = asyncio.create_task(names(asked, ["first"]))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(names(asked, [f"{n}"])) for n in range(6)]
    await asyncio.sleep(0.01)
    compute.open.set()
    await asyncio.gather(first, *others)
    assert [len(queries) for queries, _ in compute.asked] == [1, 4, 2]


async def test_a_batch_holds_queries_for_one_number_of_passages() -> None:
    compute = Counting()
    compute.open.clear()
    asked = batcher(compute)
    tasks = [asyncio.create_task(names(asked, [f"{n}"], k=1 + n % 2)) for n in range(5)]
    await asyncio.sleep(0.01)
    compute.open.set()
    assert await asyncio.gather(*tasks) == [[f"{n}/{1 + n % 2}"] for n in range(5)]
    assert sorted(queries for queries, _ in compute.asked) == [["0", "2", "4"], ["1", "3"]]


async def test_a_query_that_comes_alone_is_not_held_back_and_company_is_waited_for() -> None:
    compute = Counting()
    asked = batcher(compute, window_s=30)  # a test that waited for it would not end
    await asyncio.wait_for(names(asked, ["alone"]), 5)
    await asyncio.wait_for(names(asked, ["alone again"]), 5)
    await asyncio.wait_for(names(asked, ["two", "together"]), 5)
    held = asyncio.create_task(names(asked, ["held"]))
    done, _ = await asyncio.wait({held}, timeout=0.2)
    assert not done
    held.cancel()


async def test_a_full_queue_refuses_and_forgets_nothing() -> None:
    compute = Counting()
    compute.open.clear()
    asked = batcher(compute, queue=3)
    running = asyncio.create_task(names(asked, ["running"]))
    await asyncio.sleep(0.01)
    waiting = asyncio.create_task(names(asked, ["a", "b", "c"]))
    await asyncio.sleep(0.01)
    assert asked.waiting == 3
    with pytest.raises(BackendUnavailable, match="at most 3") as raised:
        await asked.search(["d"], 3)
    assert raised.value.retry_after >= 1
    shared = asyncio.create_task(names(asked, ["b", "running"]))  # needs no room
    await asyncio.sleep(0.01)
    compute.open.set()
    assert await running == ["running/3"]
    assert await waiting == ["a/3", "b/3", "c/3"]
    assert await shared == ["b/3", "running/3"]
    assert await names(asked, ["d"]) == ["d/3"]
    assert asked.counts.refused == 1


async def test_a_request_for_more_than_the_queue_holds_is_served_when_nobody_waits() -> None:
    asked = batcher(Counting(), queue=2, max_batch=2)
    assert len(await names(asked, [f"{n}" for n in range(7)])) == 7


async def test_one_who_leaves_does_not_take_the_answer_with_him() -> None:
    compute = Counting()
    compute.open.clear()
    asked = batcher(compute)
    leaving = asyncio.create_task(names(asked, ["same"]))
    staying = asyncio.create_task(names(asked, ["same"]))
    await asyncio.sleep(0.01)
    leaving.cancel()
    await asyncio.sleep(0.01)
    compute.open.set()
    assert await staying == ["same/3"]
    assert len(compute.asked) == 1


async def test_a_failure_reaches_all_who_wait_for_it_and_is_not_remembered() -> None:
    compute = Counting()
    asked = batcher(compute)
    results = await asyncio.gather(*(names(asked, ["broken"]) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [BackendUnavailable] * 3
    with pytest.raises(BackendUnavailable):
        await asked.search(["broken"], 3)
    assert len(compute.asked) == 2
    assert await names(asked, ["whole"]) == ["whole/3"]

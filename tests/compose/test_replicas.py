"""Replicas: what happens to episodes when one dies, hangs, joins or is renewed, and where journals go."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from composed import Composition, docker, replica_of, wait
from episodes import Recorded, play, recorded

from turngym.client.aio import AsyncClient
from turngym.client.sync import Client
from turngym.schema import SessionRequest

pytestmark = [pytest.mark.compose, pytest.mark.slow]


@contextmanager
def scaled(composed: Composition, count: int) -> Iterator[None]:
    """So many replicas for the time of the block, and two afterwards."""
    composed.up("--scale", f"textcraft={count}", "--no-recreate", "textcraft")
    composed.wait_replicas(count)
    try:
        yield
    finally:
        composed.up("--scale", "textcraft=2", "--no-recreate", "textcraft")
        composed.wait_replicas(2)


def owners(url: str, keys: list[str]) -> dict[str, str]:
    """The replica of each routing key; nothing need live there."""
    with httpx.Client(base_url=url) as http:
        return {key: http.get(f"/sessions/{key}-no-session").headers["X-Replica"] for key in keys}


def test_a_new_replica_takes_its_share_of_the_keys_and_moves_no_others(composed: Composition) -> None:
    keys = [secrets.token_urlsafe(6) for _ in range(400)]
    before = owners(composed.url, keys)
    with scaled(composed, 4):
        after = owners(composed.url, keys)
    assert {after[key] for key in keys if after[key] != before[key]} == {"textcraft-3", "textcraft-4"}
    shares = Counter(after.values())
    assert len(shares) == 4 and min(shares.values()) > 50, shares
    assert owners(composed.url, keys) == before


def hit(composed: Composition, batch: list[Recorded], fault: Callable[[], object]) -> Counter[str]:
    """Play a batch; when every episode has played its first turn the fault happens, and they go on. What came of them."""
    reached, struck = 0, asyncio.Event()

    async def strike() -> None:
        nonlocal reached
        reached += 1
        if reached == len(batch):
            await asyncio.to_thread(fault)
            struck.set()
        await struck.wait()

    async def run() -> Counter[str]:
        seen = Counter[str]()
        async with AsyncClient(composed.url, patience_s=120) as client:
            playing = [play(client, episode, before_second=strike) for episode in batch]
            for outcome in await asyncio.gather(*playing):
                seen[outcome.verdict] += 1
                seen["reopened"] += outcome.reopened > 0
        return seen

    return asyncio.run(run())


def long(count: int) -> list[Recorded]:
    """So many recorded episodes of more than two turns."""
    return [episode for episode in recorded(2 * count) if len(episode.actions) > 2][:count]


def test_a_replica_that_is_killed_under_load_loses_no_episode(composed: Composition) -> None:
    """Its container is gone for good here; the clients reopen elsewhere and see what they would have seen."""
    batch = long(60)
    with scaled(composed, 3):
        seen = hit(composed, batch, lambda: docker("kill", composed.container(3)))
        composed.compose("rm", "--force", "textcraft")
    assert seen["same"] == len(batch), seen
    assert 0 < seen["reopened"] < len(batch), f"those of one of three replicas had to move: {seen}"


def test_a_replica_that_hangs_is_left_by_its_episodes(composed: Composition) -> None:
    """A frozen process accepts connections and never answers: half-open, as after a machine has gone."""
    batch = long(20)
    try:
        seen = hit(composed, batch, lambda: docker("pause", composed.container(2)))
    finally:
        docker("unpause", composed.container(2))
        composed.restarted(2)
    assert seen["same"] == len(batch), seen
    assert 0 < seen["reopened"] < len(batch), f"those of one of two replicas had to move: {seen}"


def test_a_rolling_restart_loses_no_episode(composed: Composition) -> None:
    batch = recorded(40)

    async def run() -> Counter[str]:
        async with AsyncClient(composed.url, patience_s=120) as client:
            playing = [asyncio.create_task(play(client, episode, pause_s=0.4)) for episode in batch]
            for number in (1, 2):
                await asyncio.to_thread(docker, "restart", composed.container(number))
                await asyncio.to_thread(composed.restarted, number)
            return Counter(outcome.verdict for outcome in await asyncio.gather(*playing))

    assert asyncio.run(run()) == {"same": len(batch)}


def test_sessions_outlive_down_and_up_each_with_its_own_replica(composed: Composition) -> None:
    """``docker compose down`` removes containers and keeps volumes; the numbers bring sessions and replicas together."""
    with Client(composed.url) as client:
        opened = [client.create(SessionRequest(split="test", index=index)) for index in range(8)]
        for result in opened:
            client.step(result.session_id, "inventory", 1)
        homes = {result.session_id: replica_of(composed.url, result.session_id) for result in opened}
    assert set(homes.values()) == {"textcraft-1", "textcraft-2"}
    composed.compose("down", "--timeout", "10")
    composed.up("--scale=textcraft=2")
    composed.wait_replicas(2)
    with Client(composed.url) as client:
        for session_id, home in homes.items():
            assert replica_of(composed.url, session_id) == home
            assert client.step(session_id, "inventory", 2).turn == 2
            assert len(client.transcript(session_id).turns) == 2


def test_a_gateway_that_starts_again_finds_every_session(composed: Composition) -> None:
    keys = [secrets.token_urlsafe(6) for _ in range(50)]
    before = owners(composed.url, keys)
    docker("restart", composed.container(1, "gateway"))
    wait(composed.ready, "an answer of the gateway")
    composed.wait_replicas(2)
    assert owners(composed.url, keys) == before

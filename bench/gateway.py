"""The gateway under load: many sessions at several replicas, one of which is killed; and what the way through it costs.

    python bench/gateway.py                            # 2,000 sessions open at a time, 4 replicas, one killed in the middle
    python bench/gateway.py --sessions 200 --replicas 2

First part: every session is opened before any is played on, all are played to their end through the gateway, and in the middle
one replica is killed for good. It prints the time of a call (median, 99 %; with the wait for one of the client's connections,
and for the replica that is gone until its sessions are opened elsewhere), memory, and what became of every episode; the status
is 1 if one was lost. Second part: the same client steps sessions of one replica through the gateway and of another one
straight, in turns of a round each, so that whatever else the machine does hits both; calls a second, and their ratio.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from composed import Composition, answers, composition, docker, free_ports, running, wait
from episodes import HORIZON, Recorded, Seen, recorded

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import InfrastructureFailure
from turngym.schema import SessionRequest

CONNECTIONS = 256
ROUNDS = 8
ROUND_SESSIONS = 32
ROUND_TURNS = 16


class Load:
    """Episodes through the gateway, all open at once. ``times`` are those of calls, in seconds."""

    def __init__(self, client: AsyncClient, batch: list[Recorded]) -> None:
        self.client = client
        self.batch = batch
        self.times: list[float] = []
        self.found: Counter[str] = Counter()
        self.reopened = 0
        self.played = 0
        self.quarter = asyncio.Event()

    async def open(self, episode: Recorded) -> AsyncEpisode:
        """Open an episode, timed."""
        begun = time.monotonic()
        opened = await AsyncEpisode.open(
            self.client, split="test", index=episode.index, seed=episode.seed, max_turns=HORIZON, reopen=8
        )
        self.times.append(time.monotonic() - begun)
        return opened

    async def finish(self, opened: AsyncEpisode, episode: Recorded) -> None:
        """Play an open episode to its end, and compare."""
        try:
            for action, expected in zip(episode.actions, episode.seen, strict=True):
                begun = time.monotonic()
                seen = Seen.of(await opened.step(action))
                self.times.append(time.monotonic() - begun)
                if seen != expected:
                    self.found["another turn"] += 1
                    return
            self.found["same"] += 1
        except InfrastructureFailure as error:
            self.found["failed"] += 1
            print(f"failed: {error}", file=sys.stderr)
        finally:
            self.reopened += opened.reopened
            self.played += 1
            if self.played == len(self.batch) // 4:
                self.quarter.set()
            await opened.close()

    async def run(self, composed: Composition, replicas: int) -> list[str]:
        """Open all, play all, kill one replica on the way; memory by container when all are open."""
        opened = await asyncio.gather(*(self.open(episode) for episode in self.batch))
        memory = await asyncio.to_thread(
            docker, "stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"
        )
        playing = [asyncio.create_task(self.finish(*pair)) for pair in zip(opened, self.batch, strict=True)]
        await self.quarter.wait()
        await asyncio.to_thread(docker, "kill", composed.container(replicas))
        await asyncio.gather(*playing)
        return sorted(line for line in memory.splitlines() if line.startswith(composed.project))


async def under_load(composed: Composition, sessions: int, replicas: int) -> bool:
    """The first part; whether no episode was lost."""
    async with AsyncClient(composed.url, connections=CONNECTIONS, patience_s=300, timeout_s=120) as client:
        load = Load(client, recorded(sessions))
        begun = time.monotonic()
        memory = await load.run(composed, replicas)
        wall_s = time.monotonic() - begun
    percent = statistics.quantiles(load.times, n=100)
    print(
        f"{sessions} sessions open at a time, {replicas} replicas, one killed in the middle, {CONNECTIONS} connections"
    )
    print(f"  {len(load.times)} calls in {wall_s:.1f} s: {len(load.times) / wall_s:.0f} a second")
    print(f"  a call took {percent[49] * 1e3:.0f} ms in the median, {percent[98] * 1e3:.0f} ms at 99 %")
    print(
        f"  episodes: {load.found['same']} as without the kill, {sessions - load.found['same']} not {dict(load.found)}"
    )
    print(f"  sessions opened again elsewhere: {load.reopened}")
    print("  memory when all were open:", *memory, sep="\n    ")
    return load.found["same"] == sessions


async def rate(url: str) -> float:
    """Steps a second over fresh sessions."""
    async with AsyncClient(url, connections=ROUND_SESSIONS) as client:
        opened = [
            await client.create(SessionRequest(split="test", index=n, max_turns=100))
            for n in range(ROUND_SESSIONS)
        ]

        async def steps(session_id: str) -> None:
            for turn in range(1, ROUND_TURNS + 1):
                await client.step(session_id, "inventory", turn)

        begun = time.monotonic()
        await asyncio.gather(*(steps(result.session_id) for result in opened))
        took = time.monotonic() - begun
        await asyncio.gather(*(client.close(result.session_id) for result in opened))
    return ROUND_SESSIONS * ROUND_TURNS / took


async def beside(composed: Composition, direct_url: str) -> None:
    """The second part: rounds through the gateway to the one replica that is left, and straight to another, in turns."""
    straight, through = [], []
    for _ in range(ROUNDS):
        straight.append(await rate(direct_url))
        through.append(await rate(composed.url))
    ratio = statistics.median(one / other for one, other in zip(straight, through, strict=True))
    print(
        f"steps a second with {ROUND_SESSIONS} in flight, one replica, client on this machine (median of {ROUNDS} rounds)"
    )
    direct, gateway = statistics.median(straight), statistics.median(through)
    print(f"  straight {direct:.0f}, through the gateway {gateway:.0f}: ratio {ratio:.2f}")


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--sessions", type=int, default=2000, help="open at a time (default: 2000)")
    parser.add_argument("--replicas", type=int, default=4, help="of textcraft (default: 4)")
    asked = parser.parse_args()
    services = ("gateway", "textcraft", f"--scale=textcraft={asked.replicas}")
    with composition("turngym-load", *services) as composed:
        composed.wait_replicas(asked.replicas)
        whole = asyncio.run(under_load(composed, asked.sessions, asked.replicas))
        composed.up("gateway", "textcraft", "--scale=textcraft=1", "--no-recreate")
        composed.wait_replicas(1)
        # Published like the gateway's: the way over Docker's own network would be another one, and a dearer one.
        (port,) = free_ports(1)
        with running(
            "turngym-textcraft", f"turngym-load-{port}", f"--publish=127.0.0.1:{port}:8003", "--init"
        ):
            url = f"http://127.0.0.1:{port}"
            wait(lambda: answers(f"{url}/ready"), f"an answer of {url}")
            asyncio.run(beside(composed, url))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())

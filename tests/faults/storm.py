"""Many short episodes while everything breaks: what was tried, and what was lost.

    python tests/faults/storm.py                       # 10,000 episodes, three replicas; status 1 if one was lost
    python tests/faults/storm.py --episodes 300 --seed 7

It starts a composition of its own (the gateway and replicas of textcraft), puts a bad network before it (``wire``), and while
the episodes are played it kills servers, stops and freezes whole containers, and starts the gateway again. Every episode has a
known course, recorded without server or faults (``episodes``): it has to end exactly so, or with a typed failure that gives no
score. Anything else is a loss: another text, another score, a second beginning, an error that nobody foresaw.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from composed import Composition, composition, docker
from episodes import Played, Recorded, play, recorded
from faults.wire import Wire, bad_wire

from turngym.client.aio import AsyncClient

IN_FLIGHT = 64
REOPEN = 12
CALM_S = (2.0, 6.0)  # seconds between two faults of containers
STILL_S = (1.0, 8.0)  # seconds that a container is stopped or frozen
OUTCOMES = {"same": "as without faults", "failed": "a typed failure, without a score"}


class Weather:
    """Faults of containers, one at a time: kinds drawn at random, until told to stop."""

    def __init__(self, composed: Composition, replicas: int, rng: Random) -> None:
        self.composed = composed
        self.replicas = replicas
        self.rng = rng
        self.done: Counter[str] = Counter()
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "kill -9 of a server": self.kill_server,
            "kill of a container": self.kill_container,
            "frozen container": self.freeze_container,
            "restart of the gateway": self.restart_gateway,
            "kill -9 of the gateway": self.kill_gateway,
        }

    async def blow(self, over: asyncio.Event) -> None:
        """Break things until ``over`` is set, at once and then again and again; everything runs again at the end."""
        while not over.is_set():
            name = self.rng.choice(list(self.kinds))
            await self.kinds[name]()
            self.done[name] += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self.rng.uniform(*CALM_S))

    def replica(self) -> str:
        """The container of a replica, any."""
        return self.composed.container(self.rng.randint(1, self.replicas))

    async def still(self) -> None:
        """Wait while a container is away."""
        await asyncio.sleep(self.rng.uniform(*STILL_S))

    async def kill_server(self) -> None:
        """SIGKILL for the server in its container; the engine starts the container again."""
        await asyncio.to_thread(self.composed.kill_server, self.rng.randint(1, self.replicas))

    async def kill_container(self) -> None:
        """SIGKILL for all of a container, and a while later it comes back."""
        container = self.replica()
        await asyncio.to_thread(docker, "kill", container)
        await self.still()
        await asyncio.to_thread(docker, "start", container)

    async def freeze_container(self) -> None:
        """A container takes connections and does not answer, for a while."""
        container = self.replica()
        await asyncio.to_thread(docker, "pause", container)
        await self.still()
        await asyncio.to_thread(docker, "unpause", container)

    async def restart_gateway(self) -> None:
        """The gateway ends in order, and starts again."""
        await asyncio.to_thread(docker, "restart", "--time", "1", self.composed.container(1, "gateway"))

    async def kill_gateway(self) -> None:
        """SIGKILL for the gateway, and it is started again."""
        gateway = self.composed.container(1, "gateway")
        await asyncio.to_thread(docker, "kill", gateway)
        await asyncio.to_thread(docker, "start", gateway)


async def storm(
    composed: Composition, batch: list[Recorded], replicas: int, seed: int
) -> dict[str, Counter[str]]:
    """Play all of ``batch`` in the storm: outcomes, what it took, faults of containers, faults of the network."""
    wire = Wire(composed.ports["TEXTCRAFT"], Random(f"wire {seed}"))
    weather = Weather(composed, replicas, Random(f"weather {seed}"))
    outcomes: Counter[str] = Counter()
    effort: Counter[str] = Counter()
    losses: list[Played] = []
    slots, over = asyncio.Semaphore(IN_FLIGHT), asyncio.Event()

    async def one(client: AsyncClient, episode: Recorded) -> None:
        async with slots:
            try:
                played = await play(client, episode, reopen=REOPEN)
            except Exception as error:  # nobody foresaw it: a loss, and the storm goes on
                played = Played(f"error {type(error).__name__}", 0, str(error))
        outcomes[played.verdict] += 1
        effort["reopenings"] += played.reopened
        effort["turns"] += len(episode.actions)
        if played.verdict not in OUTCOMES:
            losses.append(played)
        show(outcomes.total(), len(batch), effort["reopenings"])

    async with bad_wire(wire) as port:
        blowing = asyncio.create_task(weather.blow(over))
        try:
            async with AsyncClient(
                f"http://127.0.0.1:{port}", timeout_s=15, patience_s=120, connections=IN_FLIGHT
            ) as client:
                await asyncio.gather(*(one(client, episode) for episode in batch))
        finally:
            over.set()
            await blowing
    for loss in losses[:10]:
        print(f"lost: {loss.verdict}: {loss.detail}", file=sys.stderr)
    return {"episodes": outcomes, "effort": effort, "containers": weather.done, "network": wire.done}


def show(done: int, total: int, reopenings: int) -> None:
    """A line of progress: rewritten on a terminal, and else a new one at every tenth."""
    line = f"{done}/{total} episodes, {reopenings} reopenings"
    if sys.stderr.isatty():
        print(f"\r{line} ", end="", file=sys.stderr, flush=True)
    elif done % max(total // 10, 1) == 0:
        print(line, file=sys.stderr, flush=True)


def report(found: dict[str, Counter[str]], total: int, wall_s: float) -> bool:
    """Print what was tried and what came of it; whether nothing was lost."""
    episodes, effort = found["episodes"], found["effort"]
    lost = {name: count for name, count in episodes.items() if name not in OUTCOMES}
    print(f"{total} episodes, {effort['turns']} turns, {wall_s:.0f} s")
    for name, text in OUTCOMES.items():
        print(f"  {episodes[name]:6} {text}")
    print(f"  {sum(lost.values()):6} lost{': ' + str(lost) if lost else ''}")
    print(f"  {effort['reopenings']:6} sessions opened again on the way")
    names = {
        "cut": "requests cut off",
        "lose": "answers lost",
        "freeze": "connections left half-open",
        "delay": "requests delayed",
        "double": "requests doubled, and reordered",
    }
    print("faults:")
    for name, count in [
        *found["containers"].items(),
        *((names[name], n) for name, n in found["network"].items()),
    ]:
        print(f"  {count:6} {name}")
    return not lost and episodes["same"] + episodes["failed"] == total


def main() -> int:
    """Returns the exit status: 1 where an episode was lost."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--episodes", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--replicas", type=int, default=3, help="of textcraft (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the faults and the episodes (default: 0)")
    arguments = parser.parse_args()
    batch = recorded(arguments.episodes, arguments.seed)
    services = ("gateway", "textcraft", f"--scale=textcraft={arguments.replicas}")
    with composition("turngym-storm", *services) as composed:
        composed.wait_replicas(arguments.replicas)
        begun = time.monotonic()
        found = asyncio.run(storm(composed, batch, arguments.replicas, arguments.seed))
        wall_s = time.monotonic() - begun
    print(file=sys.stderr)
    return 0 if report(found, len(batch), wall_s) else 1


if __name__ == "__main__":
    sys.exit(main())

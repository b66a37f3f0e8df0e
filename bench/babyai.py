"""What a step of BabyAI costs beside minigrid's own, and whether closing many sessions holds up the others.

A server runs in a process of its own; a client in this process plays the same minigrid actions in it and, in turns with it, in
minigrid itself (``env.step`` with its observation). CPU is the time that the server's threads ran, from /proc, and this
process's own for minigrid, so neither the client nor the other half counts. Round by round, so that whatever else the machine
does hits both.

    python bench/babyai.py                # both bars, about a minute
    python bench/babyai.py --rounds 3     # quicker, noisier
"""

import argparse
import asyncio
import contextlib
import io
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import minigrid  # noqa: F401  registers the levels
import orjson
from step import Connection, Server, expect, wait_for

WORDS = (
    "turn left",
    "turn right",
    "move forward",
    "pick up",
    "drop",
    "toggle",
)  # in the order of minigrid's actions
BAR_MS = 1.0
STALL_BAR_MS = 50.0
LEVELS = ("GoToLocal-v0", "GoTo-v0", "BossLevel-v0")
WIDTH = 16


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """The service with its journal, ended on the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            **os.environ,
            "TURNGYM_PORT": str(port),
            "TURNGYM_JOURNAL": str(Path(folder) / "journal"),
            "TURNGYM_LOG_LEVEL": "warning",
        }
        command = [str(Path(sys.executable).with_name("turngym")), "serve", "babyai"]
        process = subprocess.Popen(command, env=environ)
        try:
            wait_for(process, port, "babyai")
            yield Server(port, process.pid)
        finally:
            process.terminate()
            process.wait()


def task_of(level: str, seed: int) -> str:
    """The id of the test task with that level and seed: seeds 0 to 9 of each level, a level of each by turns."""
    names = [name.removeprefix("BabyAI-") for name in gymnasium.registry if name.startswith("BabyAI-")]
    return f"babyai/test/{seed * len(names) + names.index(level)}"


async def open_session(connection: Connection, name: str, task: str, actions: str) -> None:
    """Open a session of a task with an action set."""
    body = {"session_id": name, "task_id": task, "max_turns": 1024, "options": {"actions": actions}}
    expect(await connection.ask("POST", "/sessions", orjson.dumps(body)), 201)


async def server_round(server: Server, number: int, level: str, plays: list[list[int]]) -> float:
    """Server CPU seconds per step of ``plays``, a list of minigrid's actions for each session."""
    connection = await Connection.open(server.port)
    names = [f"bench{number:04d}{level[:6]:_<6}{i:03d}".replace("-", "_") for i in range(len(plays))]
    for i, name in enumerate(names):
        await open_session(connection, name, task_of(level, i % 10), "primitive")
    done, before = 0, server.cpu_s()
    for name, actions in zip(names, plays, strict=True):
        for turn, action in enumerate(actions, 1):
            body = orjson.dumps({"action": f"Action: {WORDS[action]}", "turn": turn})
            expect(await connection.ask("POST", f"/sessions/{name}/step", body), 200)
            done += 1
    spent = server.cpu_s() - before
    for name in names:
        expect(await connection.ask("DELETE", f"/sessions/{name}"), 200)
    connection.close()
    return spent / done


def minigrid_game(level: str, seed: int) -> Any:
    """minigrid's own environment, reset; it would print each layout that it rejects."""
    env = gymnasium.make(f"BabyAI-{level}", disable_env_checker=True).unwrapped
    with contextlib.redirect_stdout(io.StringIO()):
        env.reset(seed=seed)
    return env


def plays_of(level: str, rng: random.Random, length: int) -> list[list[int]]:
    """Random actions for each session, up to where minigrid ends the episode."""
    plays = []
    for i in range(WIDTH):
        env = minigrid_game(level, i % 10)
        actions: list[int] = []
        while len(actions) < length:
            actions.append(rng.choice((0, 1, 2, 2, 2, 3, 4, 5)))
            _, _, terminated, truncated, _ = env.step(actions[-1])
            if terminated or truncated:
                break
        plays.append(actions)
    return plays


def minigrid_round(level: str, plays: list[list[int]]) -> float:
    """CPU seconds per step of minigrid's own environment and observation."""
    spent, done = 0.0, 0
    for i, actions in enumerate(plays):
        env = minigrid_game(level, i % 10)
        before = time.process_time()
        for action in actions:
            env.step(action)
        spent += time.process_time() - before
        done += len(actions)
    return spent / done


async def stalls(server: Server, sessions: int) -> tuple[float, float]:
    """Milliseconds of the slowest step of another session before, and while, ``sessions`` are closed at once."""
    connection, other = await Connection.open(server.port), await Connection.open(server.port)
    names = [f"closing{i:05d}" for i in range(sessions)]
    for i, name in enumerate(names):
        await open_session(connection, name, task_of("BossLevel-v0", i % 10), "high-level")
    await open_session(other, "bystander0000", task_of("BossLevel-v0", 0), "primitive")
    turn = 0

    async def slowest(until: "asyncio.Future[object] | None", least: int) -> float:
        nonlocal turn
        worst, count = 0.0, 0
        while count < least or (until is not None and not until.done()):
            turn += 1
            count += 1
            body = orjson.dumps({"action": "turn left", "turn": turn})
            begun = time.perf_counter()
            expect(await other.ask("POST", "/sessions/bystander0000/step", body), 200)
            worst = max(worst, time.perf_counter() - begun)
        return worst * 1000

    before = await slowest(None, 100)
    closing: asyncio.Future[object] = asyncio.ensure_future(close_all(server, names))
    during = await slowest(closing, 20)
    await closing
    connection.close()
    other.close()
    return before, during


async def close_all(server: Server, names: list[str]) -> None:
    """Close sessions one after another on a connection of their own, as fast as it goes."""
    connection = await Connection.open(server.port)
    for name in names:
        expect(await connection.ask("DELETE", f"/sessions/{name}"), 200)
    connection.close()


async def bench(rounds: int, sessions: int) -> bool:
    """Run everything and print it; True if every bar holds."""
    good, rng = True, random.Random(0)
    print(f"{'CPU per step, ms':20}{'TurnGym':>9}{'minigrid':>10}{'above':>8}{'bar':>7}")
    with serving() as server:
        for level in LEVELS:
            ours, theirs = [], []
            for number in range(rounds + 1):
                plays = plays_of(level, rng, 60)
                pair = await server_round(server, number, level, plays), minigrid_round(level, plays)
                if number:  # the first warms up
                    ours.append(pair[0] * 1000)
                    theirs.append(pair[1] * 1000)
                print(f"\r{level} round {number} of {rounds}   ", end="", file=sys.stderr, flush=True)
            print("\r", end="", file=sys.stderr)
            above = statistics.median(a - b for a, b in zip(ours, theirs, strict=True))
            good &= above <= BAR_MS
            row = (statistics.median(ours), statistics.median(theirs), above)
            print(f"{level:20}{row[0]:9.3f}{row[1]:10.3f}{row[2]:8.3f}{BAR_MS:7.1f}", flush=True)
    with serving() as server:
        before, during = await stalls(server, sessions)
    good &= during <= max(STALL_BAR_MS, 3 * before)
    print(f"slowest step of a bystander: {before:.1f} ms; while {sessions} sessions close: {during:.1f} ms")
    print("all bars hold" if good else "a bar was missed")
    return good


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds per level (default 7)")
    parser.add_argument("--sessions", type=int, default=128, help="sessions closed at a time (default 128)")
    options = parser.parse_args()
    if not asyncio.run(bench(options.rounds, options.sessions)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""Measures services/sciworld beside the official wrapper, in one run on one machine: make bench TASK=sciworld

First the wrapper (``ScienceWorldEnv``, one session, as its users run it), then the service over HTTP: steps per second with
16 sessions that take turns as fast as they are answered, the time to create a session on a warm JVM, memory with 128 open
sessions and how fast /health answers while they all work, and the heap after many episodes in one JVM. Both sides walk the
same way through the same house. Exits 1 if a bar is missed. Needs a Linux /proc.
"""

import argparse
import asyncio
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from turngym_sciworld.env import SciWorld, SciWorldOptions
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.java import find_java
from turngym_sciworld.jvm import resident_bytes
from turngym_sciworld.pool import Pool
from turngym_sciworld.service import MAX_TURNS
from turngym_sciworld.settings import JvmSettings
from turngym_sciworld.tasks import SciWorldTasks, variation_of

SPEED_BAR = 30.0  # times the wrapper's steps per second
MEMORY_BAR_MB = 4096.0
CREATE_BAR_MS = 100.0
HEALTH_BAR_MS = 100.0
GROWTH_BAR_MB = 32.0  # of the live heap, over all episodes but the first tenth
WALK = ("look around", "open door to kitchen", "go to kitchen", "look around", "open cupboard", "inventory")
WARM_TURNS = 20  # of each session, before its steps are counted


def wrapper_speed(seconds: float) -> float:
    """Steps per second of the official wrapper, one session, first start and load left out."""
    os.environ["PATH"] = f"{find_java().parent}:{os.environ['PATH']}"  # it runs whatever java is first
    from scienceworld import ScienceWorldEnv

    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # it leaves a file where it runs
        return _stepped(ScienceWorldEnv("", envStepLimit=100_000), seconds)


def _stepped(env: Any, seconds: float) -> float:
    env.load("boil", 0, "")
    env.reset()
    for action in WALK:
        env.step(action)
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        env.step(WALK[steps % len(WALK)])
        steps += 1
    elapsed = time.perf_counter() - started
    env.close()
    return steps / elapsed


@contextmanager
def running(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The service in a process of its own, on a journal of its own, ready."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TURNGYM_")}
    environ |= {
        "TURNGYM_PORT": str(port),
        "TURNGYM_JOURNAL": str(folder / "journal"),
        "TURNGYM_LOG_LEVEL": "warning",
    }
    process = subprocess.Popen([Path(sys.executable).with_name("turngym"), "serve", "sciworld"], env=environ)
    try:
        while True:
            if process.poll() is not None:
                raise SystemExit("bench: the service ended")
            with suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{port}/ready", timeout=5).status_code == 200:
                    break
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait()


def memory_mb(process: "subprocess.Popen[bytes]") -> float:
    """Resident memory of the service and its JVMs."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return sum(resident_bytes(pid) for pid in [process.pid, *pids]) / 2**20


async def act(http: httpx.AsyncClient, session: dict[str, Any], turn: int) -> None:
    """One step of the walk."""
    body = {"action": WALK[(turn - 1) % len(WALK)], "turn": turn}
    answer = await http.post(f"/sessions/{session['session_id']}/step", json=body)
    answer.raise_for_status()


async def opened(http: httpx.AsyncClient, task_id: str) -> dict[str, Any]:
    """A new session."""
    answer = await http.post("/sessions", json={"task_id": task_id, "max_turns": MAX_TURNS})
    answer.raise_for_status()
    session: dict[str, Any] = answer.json()
    return session


async def speed(http: httpx.AsyncClient, sessions: int, seconds: float) -> float:
    """Steps per second of so many sessions at once."""
    found = [await opened(http, "sciworld/item/0") for _ in range(sessions)]
    turns = [0] * sessions

    async def play(index: int, last: int, end: float = math.inf) -> None:
        while turns[index] < last and time.perf_counter() < end:
            turns[index] += 1
            await act(http, found[index], turns[index])

    await asyncio.gather(*(play(index, WARM_TURNS) for index in range(sessions)))
    before, started = sum(turns), time.perf_counter()
    await asyncio.gather(*(play(index, MAX_TURNS, started + seconds) for index in range(sessions)))
    rate = (sum(turns) - before) / (time.perf_counter() - started)
    for session in found:
        await http.delete(f"/sessions/{session['session_id']}")
    return rate


async def creation(http: httpx.AsyncClient, count: int) -> list[float]:
    """How long each of so many creates takes, one at a time, over all kinds of tasks; milliseconds."""
    times = []
    for index in range(count):
        started = time.perf_counter()
        session = await opened(http, f"sciworld/test/{index}")
        times.append((time.perf_counter() - started) * 1000)
        await http.delete(f"/sessions/{session['session_id']}")
    return times


async def crowd(
    http: httpx.AsyncClient, process: "subprocess.Popen[bytes]", sessions: int, seconds: float
) -> tuple[float, float, int]:
    """So many sessions that all work: memory in MB, the p99 of GET /health in ms, and errors."""
    found = await asyncio.gather(*(opened(http, f"sciworld/test/{index}") for index in range(sessions)))
    end, pings = time.perf_counter() + seconds, []

    async def play(session: dict[str, Any]) -> int:
        turn = 0
        while turn < MAX_TURNS and time.perf_counter() < end:
            turn += 1
            try:
                await act(http, session, turn)
            except httpx.HTTPError:
                return 1
        return 0

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=http.base_url) as other:
            while time.perf_counter() < end:
                started = time.perf_counter()
                (await other.get("/health")).raise_for_status()
                pings.append((time.perf_counter() - started) * 1000)
                await asyncio.sleep(0.02)

    *failed, _ = await asyncio.gather(*(play(session) for session in found), ask())
    memory = memory_mb(process)
    for session in found:
        await http.delete(f"/sessions/{session['session_id']}")
    return memory, statistics.quantiles(pings, n=100)[98], sum(failed)


def growth(episodes: int) -> tuple[float, float]:
    """The live heap of one JVM after a tenth of so many episodes and after all of them; MB."""
    pool, tasks = Pool(JvmSettings(jvms=1)), SciWorldTasks()
    marks = []
    try:
        for number in range(1, episodes + 1):
            env = SciWorld(pool, GoldPaths(pool), *variation_of(tasks.at("train", number)), SciWorldOptions())
            env.start()
            for action in WALK:
                env.step(action)
            env.close()
            if number in (episodes // 10, episodes):
                pool.freest().collect()
                marks.append(pool.freest().heap_bytes() / 2**20)
    finally:
        pool.close()
    return marks[0], marks[1]


async def over_http(
    options: argparse.Namespace, port: int, process: "subprocess.Popen[bytes]"
) -> tuple[Any, ...]:
    """All that is measured of the service."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits) as http:
        rate = await speed(http, 16, options.seconds)
        times = await creation(http, options.creates)
        return rate, times, await crowd(http, process, options.sessions, options.seconds)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15, help="length of each measurement (default 15)")
    parser.add_argument("--sessions", type=int, default=128, help="sessions that work at once (default 128)")
    parser.add_argument("--creates", type=int, default=60, help="creates that are timed (default 60)")
    parser.add_argument(
        "--episodes", type=int, default=1000, help="episodes in one JVM (default 1000; 0: none)"
    )
    parser.add_argument("--port", type=int, default=18005, help="port of the service (default 18005)")
    options = parser.parse_args()
    wrapper = wrapper_speed(options.seconds)
    print(f"official wrapper, 1 session        {wrapper:8.1f} steps/s", flush=True)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), options.port) as process:
        rate, times, (memory, health, errors) = asyncio.run(over_http(options, options.port, process))
    create = statistics.median(times)
    print(
        f"service, 16 sessions over HTTP     {rate:8.1f} steps/s   {rate / wrapper:6.1f} times (bar {SPEED_BAR:g})"
    )
    print(
        f"create on a warm JVM, median       {create:8.1f} ms        (bar {CREATE_BAR_MS:g}; worst {max(times):.0f})"
    )
    print(
        f"{options.sessions} sessions at work               {memory:8.0f} MB        (bar {MEMORY_BAR_MB:g}), {errors} errors"
    )
    print(f"GET /health meanwhile, p99         {health:8.1f} ms        (bar {HEALTH_BAR_MS:g})")
    good = rate >= SPEED_BAR * wrapper and create <= CREATE_BAR_MS and memory <= MEMORY_BAR_MB
    good = good and errors == 0 and health <= HEALTH_BAR_MS
    if options.episodes:
        early, late = growth(options.episodes)
        print(
            f"live heap after {options.episodes} episodes      {late:8.1f} MB        (after a tenth: {early:.1f})"
        )
        good = good and late - early <= GROWTH_BAR_MB
    print("all bars hold" if good else "a bar was missed")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

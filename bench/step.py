"""What a step costs: the server's CPU per step beside a bare route's, and how many sessions one process holds.

Two servers run side by side, each in a process of its own with the same uvicorn settings: TurnGym with a trivial inline
environment, and a bare Starlette route that parses the same request, appends one row to SQLite (WAL, synchronous=NORMAL) and
answers the same JSON. A client in this process sends the same bytes to both, in turns: a round of one, then of the other, so
that whatever else the machine does hits both. Each round plays fresh episodes of 40 turns; opening them is not counted. CPU is
the time that the server's threads ran, from /proc, so the client does not count. A ratio is the median over the rounds. It
measures the runtime, not an environment.

    python bench/step.py                  # all bars, about half a minute
    python bench/step.py --rounds 3       # quicker, noisier
"""

import argparse
import asyncio
import http.client
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

ACTION = (
    "Thought: I need two more planks before I can make the table.\nAction: craft 4 oak planks using 1 oak log"
)
TEXT = "Crafted 4 minecraft:oak_planks. Inventory: [oak planks] (4), [oak log] (2), [stick] (1)."
BARS = {"HTTP step": 1.5, "batch of 32": 1 / 3}
MEMORY_BAR_MB = 200
TURNS = 40


# -- the two servers ---------------------------------------------------------------------------------------------------


def serve_turngym(port: int, journal: str) -> None:
    """The runtime with an environment that does nothing but answer."""
    from turngym.environment import Environment, Outcome, Service, Spec, TaskSet
    from turngym.schema import ActionGrammar, Command, Message, Split, TaskInfo
    from turngym.server.app import serve
    from turngym.server.settings import load_settings

    class Answering(Environment):
        def start(self) -> list[Message]:
            return [Message(role="system", content="Craft. " * 40), Message(role="user", content=TEXT)]

        def step(self, action: str) -> Outcome:
            return Outcome(TEXT, data={"count": 1})

    class Tasks(TaskSet):
        def count(self, split: Split) -> int:
            return 1000

        def at(self, split: Split, index: int) -> TaskInfo:
            return TaskInfo(task_id=f"bench/{split}/{index}", split=split, index=index, goal="Craft a table.")

        def get(self, task_id: str) -> TaskInfo:
            return self.at("test", int(task_id.rsplit("/", 1)[1]))

    class Bench(Service):
        spec = Spec(
            name="bench",
            version="1",
            description="Answers",
            instruction="Answer",
            grammar=ActionGrammar(
                forms=["react", "bare"],
                commands=[Command(template="craft {x}", description="", example="craft x")],
            ),
            default_max_turns=10**6,
            max_turns=10**6,
            data_hash="0" * 64,
        )
        tasks = Tasks()

        def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
            return Answering()

    settings = load_settings(port=port, journal=journal, max_sessions=4096, queue=4096, log_level="warning")
    serve(Bench(), settings)


def serve_bare(port: int, journal: str) -> None:
    """One Starlette route: parse, append a row, answer."""
    import sqlite3

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    database = sqlite3.connect(journal, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("CREATE TABLE turns (id TEXT, turn INTEGER, action TEXT, result BLOB)")

    async def step(request: Request) -> Response:
        body = orjson.loads(await request.body())
        session_id = request.path_params["session_id"]
        result = orjson.dumps(
            {
                "session_id": session_id,
                "task": {
                    "task_id": "bench/test/0",
                    "split": "test",
                    "index": 0,
                    "goal": "Craft a table.",
                    "info": {},
                },
                "turn": body["turn"],
                "max_turns": 10**6,
                "observation": {"text": TEXT, "data": {"count": 1}, "image": None},
                "messages": None,
                "reward": 0.0,
                "score": 0.0,
                "success": None,
                "terminated": False,
                "truncated": False,
                "stop_reason": None,
                "info": {"parsed_action": body["action"][-20:], "invalid_action": False, "step_ms": 0.003},
            }
        )
        row = (session_id, body["turn"], body["action"], result)
        database.execute("INSERT INTO turns VALUES (?, ?, ?, ?)", row)
        return Response(result, media_type="application/json")

    app = Starlette(routes=[Route("/sessions/{session_id}/step", step, methods=["POST"])])
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        loop="uvloop",
        http="httptools",
        ws="none",
    )


@dataclass(frozen=True)
class Server:
    """A running server process."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """The time that its threads ran so far, in seconds."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def memory_mb(self) -> float:
        """Resident memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def running(kind: str) -> Iterator[Server]:
    """A server of that kind, ended on the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", kind, str(port), str(Path(folder) / "journal")]
        process = subprocess.Popen(command)
        try:
            wait_for(process, port, kind)
            yield Server(port, process.pid)
        finally:
            process.terminate()
            process.wait()


def wait_for(process: "subprocess.Popen[bytes]", port: int, kind: str) -> None:
    """Wait until the server is ready; the bare one has no /ready and answers 404."""
    for _ in range(1200):
        time.sleep(0.05)
        if process.poll() is not None:
            raise SystemExit(f"the {kind} server ended at once, with status {process.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/ready")
            if connection.getresponse().status in (200, 404):
                return
        except OSError:
            continue
        finally:
            connection.close()
    raise SystemExit(f"the {kind} server on port {port} does not get ready")


# -- the client --------------------------------------------------------------------------------------------------------


class Connection:
    """A kept-alive HTTP connection that sends prepared bytes; a client library would take longer than the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return int(answer[9:12]), await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


def step_body(turn: int) -> bytes:
    """The request of one step."""
    return orjson.dumps({"action": ACTION, "turn": turn})


def session_name(index: int) -> str:
    """The id of the index-th session."""
    return f"bench{index:07d}"


async def create(connection: Connection, index: int) -> None:
    """Open a session."""
    body = orjson.dumps({"session_id": session_name(index), "split": "test", "index": index % 1000})
    expect(await connection.ask("POST", "/sessions", body), 201)


def expect(answer: tuple[int, bytes], status: int) -> bytes:
    """The body of an answer that must have that status."""
    if answer[0] != status:
        raise SystemExit(f"expected {status}, got {answer[0]}: {answer[1][:300]!r}")
    return answer[1]


async def http_round(server: Server, first: int, width: int, sessions: bool) -> float:
    """Server CPU seconds per step: ``width`` clients, each plays an episode of its own."""
    connections = [await Connection.open(server.port) for _ in range(width)]
    if sessions:
        for index, connection in enumerate(connections, first):
            await create(connection, index)

    async def play(connection: Connection, index: int) -> None:
        path = f"/sessions/{session_name(index)}/step"
        for turn in range(1, TURNS + 1):
            expect(await connection.ask("POST", path, step_body(turn)), 200)

    before = server.cpu_s()
    await asyncio.gather(*(play(connection, index) for index, connection in enumerate(connections, first)))
    spent = server.cpu_s() - before
    for index, connection in enumerate(connections, first):
        if sessions:
            expect(await connection.ask("DELETE", f"/sessions/{session_name(index)}"), 200)
        connection.close()
    return spent / (width * TURNS)


async def batch_round(server: Server, first: int, width: int) -> float:
    """Server CPU seconds per step: one client plays ``width`` episodes in batches."""
    connection = await Connection.open(server.port)
    names = range(first, first + width)
    for index in names:
        await create(connection, index)
    before = server.cpu_s()
    for turn in range(1, TURNS + 1):
        entries = [{"session_id": session_name(index), "action": ACTION, "turn": turn} for index in names]
        answer = expect(await connection.ask("POST", "/batch/step", orjson.dumps({"entries": entries})), 200)
        if answer.count(b'"status":200') != width:
            raise SystemExit(f"a batch entry failed: {answer[:300]!r}")
    spent = server.cpu_s() - before
    for index in names:
        expect(await connection.ask("DELETE", f"/sessions/{session_name(index)}"), 200)
    connection.close()
    return spent / (width * TURNS)


async def hold_open(server: Server, count: int) -> float:
    """The server's memory in MB with ``count`` sessions open, each one step in."""
    connection = await Connection.open(server.port)
    for index in range(2 * 10**5, 2 * 10**5 + count):
        await create(connection, index)
        expect(await connection.ask("POST", f"/sessions/{session_name(index)}/step", step_body(1)), 200)
    memory = server.memory_mb()
    for index in range(2 * 10**5, 2 * 10**5 + count):
        expect(await connection.ask("DELETE", f"/sessions/{session_name(index)}"), 200)
    connection.close()
    return memory


async def at_once(server: Server, count: int) -> tuple[int, float]:
    """Errors and seconds of ``count`` clients, each with a connection, that create, step and delete at the same time."""

    async def one(index: int) -> int:
        try:
            connection = await Connection.open(server.port)
            await create(connection, index)
            expect(await connection.ask("POST", f"/sessions/{session_name(index)}/step", step_body(1)), 200)
            expect(await connection.ask("DELETE", f"/sessions/{session_name(index)}"), 200)
            connection.close()
        except (OSError, asyncio.IncompleteReadError, SystemExit) as error:
            print(f"  client {index}: {error!r}", file=sys.stderr)
            return 1
        return 0

    started = time.perf_counter()
    errors = sum(await asyncio.gather(*(one(index) for index in range(4 * 10**5, 4 * 10**5 + count))))
    return errors, time.perf_counter() - started


# -- the report --------------------------------------------------------------------------------------------------------


@dataclass
class Series:
    """The rounds of one kind of call, each beside the bare route's in the same moment."""

    name: str
    bar: float | None
    bare_s: list[float]
    ours_s: list[float]

    def ratio(self) -> float:
        """The median over the rounds."""
        return statistics.median(ours / bare for ours, bare in zip(self.ours_s, self.bare_s, strict=True))

    def line(self) -> str:
        """A row of the table."""
        ours, bare = statistics.median(self.ours_s) * 1000, statistics.median(self.bare_s) * 1000
        bar = f"{self.bar:.2f}" if self.bar is not None else ""
        verdict = "" if self.holds() else "  MISSED"
        return f"{self.name:24}{ours:9.4f}{bare:9.4f}{self.ratio():8.2f}{bar:>8}{verdict}"

    def holds(self) -> bool:
        """True if the ratio is within its bar."""
        return self.bar is None or self.ratio() <= self.bar


async def measure(rounds: int, width: int) -> list[Series]:
    """All rounds; the first of each kind warms up and does not count."""
    series = [
        Series("HTTP step", BARS["HTTP step"], [], []),
        Series("batch of 32", BARS["batch of 32"], [], []),
        Series("HTTP step, one client", None, [], []),
    ]
    with running("bare") as bare, running("turngym") as ours:
        for number in range(rounds + 1):
            base = number * 1000
            bare_many = await http_round(bare, base, width, sessions=False)
            pairs = [
                (bare_many, await http_round(ours, base, width, sessions=True)),
                (bare_many, await batch_round(ours, base + 300, 32)),
                (
                    await http_round(bare, base, 1, sessions=False),
                    await http_round(ours, base + 600, 1, sessions=True),
                ),
            ]
            for kind, (bare_s, ours_s) in zip(series, pairs, strict=True):
                if number:
                    kind.bare_s.append(bare_s)
                    kind.ours_s.append(ours_s)
            print(f"\rround {number} of {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return series


async def bench(rounds: int, width: int, sessions: int) -> bool:
    """Run everything and print it; True if every bar holds."""
    series = await measure(rounds, width)
    print(f"{'server CPU per step, ms':24}{'TurnGym':>9}{'bare':>9}{'ratio':>8}{'bar':>8}")
    for kind in series:
        print(kind.line())
    with running("turngym") as server:
        empty = server.memory_mb()
        memory = await hold_open(server, sessions)
    print(
        f"{sessions} sessions open: {memory:.0f} MB (empty {empty:.0f} MB, bar {MEMORY_BAR_MB} MB)",
        flush=True,
    )
    with running("turngym") as server:
        errors, seconds = await at_once(server, sessions)
        peak = server.memory_mb()
    print(
        f"{sessions} clients at once, create + step + delete: {errors} errors, {seconds:.1f} s, {peak:.0f} MB after"
    )
    good = memory <= MEMORY_BAR_MB and errors == 0 and all(kind.holds() for kind in series)
    print("all bars hold" if good else "a bar was missed")
    return good


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds per measurement (default 15)")
    parser.add_argument("--width", type=int, default=32, help="clients at a time for HTTP steps (default 32)")
    parser.add_argument("--sessions", type=int, default=2_000, help="sessions open at a time (default 2000)")
    parser.add_argument("--serve", nargs=3, metavar=("KIND", "PORT", "JOURNAL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if options.serve:
        kind, port, journal = options.serve
        {"bare": serve_bare, "turngym": serve_turngym}[kind](int(port), journal)
        return
    if not asyncio.run(bench(options.rounds, options.width, options.sessions)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

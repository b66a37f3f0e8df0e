"""What retrieval costs: the search service's retriever beside plain FAISS in the same run, alone and in batches.

100,000 vectors of 384 dimensions, made up from a seed: what is measured is the way to the index and back, not what lies in
it. Rounds of one and of the other take turns, so that whatever else the machine does hits both; a ratio is the median over
the rounds. Encoding is apart and reported beside. Sessions are coroutines that ask the batcher as an episode does; nothing of
HTTP is counted (bench/step.py does that). Needs no corpus.

    python bench/search.py                # all bars, two to three minutes
    python bench/search.py --vectors 20000 --rounds 3
    python bench/search.py --corpus       # also: start, memory and cached queries with what ships
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import faiss
import numpy as np
import threadpoolctl
from rich.progress import track

from turngym_search.batching import Batcher
from turngym_search.encoders import Encoder, MiniLM, Vectors
from turngym_search.index import Manifest, open_index, rows_of, write_index
from turngym_search.passages import Corpus, Passage
from turngym_search.retrieval import DenseRetriever, Hit

DIM = 384
TOPK = 3
SESSIONS = 64
ALONE_BAR = 1.5
BATCH_BAR = 2.0
MEMORY_BAR_MB = 1000
READY_BAR_S = 60


class Numbered(Corpus):
    """Passages that are nothing but a number."""

    sha256 = "0" * 64

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> Passage:
        return Passage(str(row), f'"{row}"\n')


class Known(Encoder):
    """Gives query ``n`` the ``n``-th of its vectors, so that encoding costs nothing."""

    name, sha256, dim = "known", "0" * 64, DIM

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[int(text) for text in texts]]

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self.queries(texts)


def made_up(count: int, queries: int) -> tuple[Vectors, Vectors]:
    """Vectors of length 1 in clusters, as sentences have them, and queries near some of them."""
    rng = np.random.default_rng(11)
    centres = rng.normal(size=(2000, DIM)).astype(np.float32)
    rows = centres[rng.integers(len(centres), size=count)] + rng.normal(size=(count, DIM), scale=0.8).astype(
        np.float32
    )
    asked = rows[rng.integers(count, size=queries)] + rng.normal(size=(queries, DIM), scale=0.3).astype(
        np.float32
    )
    for array in (rows, asked):
        array /= np.linalg.norm(array, axis=1, keepdims=True)
    return rows, asked.astype(np.float32)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, by the clock."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def alone(kind: str, folder: Path, queries: Vectors, rounds: int) -> tuple[float, float, float]:
    """A query alone: milliseconds of plain FAISS and of the retriever, and the median ratio of a round."""
    plain = faiss.read_index(str(folder / "index.faiss"), faiss.IO_FLAG_MMAP_IFC)
    index = open_index(folder)
    retriever = DenseRetriever(Numbered(index.count), Known(queries), index)
    each = 60 if kind == "flat" else 600
    names = [str(n) for n in range(len(queries))]
    theirs, ours, ratios = [], [], []
    for number in track(range(rounds), f"{kind}, a query alone"):
        chosen = [(number * each + n) % len(queries) for n in range(each)]
        for n in chosen[:5]:
            plain.search(queries[n : n + 1], TOPK)
            retriever.search([names[n]], TOPK)
        one = seconds(lambda chosen=chosen: [plain.search(queries[n : n + 1], TOPK) for n in chosen]) / each
        two = seconds(lambda chosen=chosen: [retriever.search([names[n]], TOPK) for n in chosen]) / each
        theirs.append(one * 1000)
        ours.append(two * 1000)
        ratios.append(two / one)
    return statistics.median(theirs), statistics.median(ours), statistics.median(ratios)


def batcher(retriever: DenseRetriever, max_batch: int) -> Batcher:
    """A batcher as the service has it, without a cache."""
    from concurrent.futures import ThreadPoolExecutor

    thread = ThreadPoolExecutor(1, initializer=lambda: threadpoolctl.threadpool_limits(1))

    async def compute(queries: list[str], k: int) -> list[list[Hit]]:
        return await asyncio.get_running_loop().run_in_executor(thread, retriever.search, queries, k)

    return Batcher(compute, window_s=0.002, max_batch=max_batch, queue=4096, cache=0)


async def sessions(asked: Batcher, names: Sequence[str], turns: int) -> float:
    """Queries a second, with SESSIONS sessions of so many turns that each ask one query after another."""

    async def session(number: int) -> None:
        for turn in range(turns):
            await asked.search([names[(number * turns + turn) % len(names)]], TOPK)

    begun = time.perf_counter()
    await asyncio.gather(*(session(number) for number in range(SESSIONS)))
    return SESSIONS * turns / (time.perf_counter() - begun)


def together(
    retriever: DenseRetriever, names: Sequence[str], rounds: int, turns: int, what: str
) -> tuple[float, float, float]:
    """Queries a second one at a time and in micro-batches, and the median gain of a round."""
    single, batched, gains = [], [], []
    for _ in track(range(rounds), what):
        one = asyncio.run(sessions(batcher(retriever, 1), names, turns))
        many = asyncio.run(sessions(batcher(retriever, SESSIONS), names, turns))
        single.append(one)
        batched.append(many)
        gains.append(many / one)
    return statistics.median(single), statistics.median(batched), statistics.median(gains)


QUESTIONS = [
    f"Which country has the highest mountain near the city number {n} of its north?" for n in range(512)
]


class Encoding(Known):
    """Encodes as the service does, and then takes the made-up vectors: what a whole query costs."""

    def __init__(self, vectors: Vectors, encoder: MiniLM) -> None:
        super().__init__(vectors)
        self._encoder = encoder

    def queries(self, texts: Sequence[str]) -> Vectors:
        self._encoder.queries([QUESTIONS[int(text) % len(QUESTIONS)] for text in texts])
        return super().queries(texts)


def report(what: str, value: str, bar: str, holds: bool | None) -> bool:
    """Print a line; whether it holds."""
    print(f"{what:<52} {value:>22}   {bar:<14} {'' if holds is None else 'ok' if holds else 'MISSED'}")
    return holds is not False


def served() -> Iterator[tuple[str, bool]]:
    """Start, memory and repeated queries of a server with what ships: lines to print."""
    with tempfile.TemporaryDirectory() as folder:
        for again in (False, True):
            port = 18642
            environ = {
                **os.environ,
                "TURNGYM_DATA_DIR": folder,
                "TURNGYM_PORT": str(port),
                "TURNGYM_JOURNAL": "off",
            }
            begun = time.monotonic()
            process = subprocess.Popen(
                [str(Path(sys.executable).with_name("turngym")), "serve", "search"], env=environ
            )
            try:
                alive = until(f"http://127.0.0.1:{port}/health", process) - begun
                ready = until(f"http://127.0.0.1:{port}/ready", process) - begun
                name = "ready with a built index" if again else "ready on the first start"
                yield (
                    f"{name}: {ready:.1f} s (bar: {READY_BAR_S} s), alive after {alive:.1f} s",
                    ready < READY_BAR_S,
                )
                if again:
                    ask(port, [f"question {n} about the capital of a country" for n in range(256)])
                    begun = time.monotonic()
                    for _ in range(50):
                        ask(port, ["question 7 about the capital of a country"])
                    each = (time.monotonic() - begun) / 50 * 1000
                    counts = metrics(port)
                    spared = counts["turngym_environment_queries_computed"] <= 257
                    yield f"a repeated query over HTTP: {each:.2f} ms, and nothing computed for it", spared
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    rss = int(status.split("VmRSS:")[1].split()[0]) / 1024
                    yield f"resident memory: {rss:.0f} MB (bar: {MEMORY_BAR_MB} MB)", rss < MEMORY_BAR_MB
            finally:
                process.terminate()
                process.wait()


def until(url: str, process: subprocess.Popen[bytes]) -> float:
    """The time at which the address answers with 200."""
    while True:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return time.monotonic()
        except OSError:
            time.sleep(0.02)


def ask(port: int, queries: list[str]) -> None:
    """POST /retrieve."""
    import json

    body = json.dumps({"queries": queries, "topk": TOPK, "return_scores": True}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/retrieve", body, timeout=60) as answer:
        answer.read()


def metrics(port: int) -> dict[str, float]:
    """GET /metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def main() -> int:
    """Measure and print. Returns 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--corpus", action="store_true", help="also start a server with what ships")
    arguments = parser.parse_args()
    threadpoolctl.threadpool_limits(1)
    rows, queries = made_up(arguments.vectors, 2048)
    names = [str(n) for n in range(len(queries))]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("flat", "hnsw"):
            path = Path(folder) / kind
            manifest = Manifest(kind, len(rows), DIM, "made up", "0" * 64, "known", "0" * 64)
            faiss.omp_set_num_threads(os.cpu_count() or 1)
            took = seconds(
                lambda path=path, manifest=manifest: write_index(path, manifest, rows[:0], rows_of(rows))
            )
            faiss.omp_set_num_threads(1)
            theirs, ours, ratio = alone(kind, path, queries, arguments.rounds)
            report(f"{kind}: built in", f"{took:.1f} s", "", None)
            good &= report(
                f"{kind}: a query alone",
                f"{ours:.3f} / {theirs:.3f} ms",
                f"{ratio:.2f} <= {ALONE_BAR}",
                ratio <= ALONE_BAR,
            )
        index = open_index(Path(folder) / "flat")
        encoder = MiniLM()
        retriever = DenseRetriever(Numbered(index.count), Known(queries), index)
        single, batched, gain = together(
            retriever, names, min(3, arguments.rounds), 6, f"flat, {SESSIONS} sessions"
        )
        good &= report(
            f"flat: {SESSIONS} sessions, in batches / one at a time", f"{batched:.0f} / {single:.0f} q/s",
            f"{gain:.2f} >= {BATCH_BAR}", gain >= BATCH_BAR,
        )  # fmt: skip
        whole = DenseRetriever(Numbered(index.count), Encoding(queries, encoder), index)
        single, batched, gain = together(whole, names, min(3, arguments.rounds), 3, "the same with encoding")
        report("the same with encoding", f"{batched:.0f} / {single:.0f} q/s", f"{gain:.2f}", None)
        each = seconds(lambda: [encoder.queries([question]) for question in QUESTIONS[:64]]) / 64 * 1000
        many = seconds(lambda: encoder.queries(QUESTIONS[:64])) / 64 * 1000
        report("encoding a query, alone / in 64", f"{each:.2f} / {many:.2f} ms", "", None)
    if arguments.corpus:
        for line, holds in served():
            good &= report(line, "", "", holds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

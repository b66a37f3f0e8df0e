"""What the tests of sciworld share: one service with a running JVM, and servers in processes of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sciworlds import Opener, Server

from turngym.schema import TaskInfo
from turngym_sciworld.env import SciWorld, SciWorldOptions
from turngym_sciworld.service import SciWorldService
from turngym_sciworld.tasks import SciWorldTasks, Variation


@pytest.fixture(scope="session")
def service() -> Iterator[SciWorldService]:
    """The service, loaded."""
    made = SciWorldService()
    made.load(lambda what, part: None)
    yield made
    made.close()


@pytest.fixture(scope="session")
def task_of() -> Callable[[str, int], TaskInfo]:
    """``task_of("boil", 3)``: the task of a kind's variation."""
    tasks = SciWorldTasks()
    by_variation: dict[Variation, TaskInfo] = {}
    for split in ("train", "validation", "test"):
        for task in tasks.page(split, 0, tasks.count(split)):  # type: ignore[arg-type]
            by_variation[task.info["kind"], task.info["variation"]] = task
    return lambda kind, variation: by_variation[kind, variation]


@pytest.fixture
def open_task(service: SciWorldService, task_of: Callable[[str, int], TaskInfo]) -> Iterator[Opener]:
    """``open_task("boil", 0, **options)``: a fresh episode, not yet started; closed after the test."""
    opened: list[SciWorld] = []

    def opener(kind: str, variation: int = 0, **options: Any) -> SciWorld:
        env = service.open(task_of(kind, variation), 0, SciWorldOptions(**options))
        assert isinstance(env, SciWorld)
        opened.append(env)
        return env

    yield opener
    for env in opened:
        env.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that the tests of one session share; none of them hurts it."""
    server = Server(tmp_path_factory.mktemp("sciworld"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """``serve(TURNGYM_JVMS="2")``: a server, not yet started, for a test that hurts it."""
    made: list[Server] = []

    def make(**environ: str) -> Server:
        made.append(Server(tmp_path, environ))
        return made[-1]

    yield make
    for server in made:
        if server.process is not None and server.process.poll() is None:
            server.kill()

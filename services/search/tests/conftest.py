"""The fixtures of the tests of search."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from searched import Server, Small, free_port

from turngym_search.encoders import MiniLM
from turngym_search.engine import Engine, open_engine


@pytest.fixture(scope="session")
def encoder() -> MiniLM:
    """The encoder that ships."""
    return MiniLM()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, encoder: MiniLM) -> Small:
    """The small corpus, made once."""
    return Small(tmp_path_factory.mktemp("small"), encoder)


@pytest.fixture
def engine(small: Small) -> Iterator[Engine]:
    """An engine over the small corpus."""
    opened = open_engine(small.settings())
    yield opened
    opened.close()


Starter = Callable[..., Server]


@pytest.fixture
def serve(small: Small, tmp_path: Path) -> Iterator[Starter]:
    """``serve(ready=True, queue=…, …)``: a server of the small corpus with these settings."""
    started: list[Server] = []

    def starting(ready: bool = True, environ: dict[str, str] | None = None, **changes: Any) -> Server:
        number = len(started)
        given = small.environ(**changes) | (environ or {})
        server = Server(given, free_port(), tmp_path / f"{number}.journal", tmp_path / f"{number}.log")
        started.append(server)
        return server.start(ready)

    yield starting
    for server in started:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="module")
def server(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the small corpus with experts, shared by a module's tests."""
    folder = tmp_path_factory.mktemp("server")
    running = Server(
        small.environ() | {"TURNGYM_EXPERTS": "1"}, free_port(), folder / "journal", folder / "log"
    ).start()
    yield running
    running.kill()

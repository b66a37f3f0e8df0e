"""Fixtures of the core's tests: real servers, each in a process of its own on a port of its own."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import Served, ServerFactory, end, factory


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[ServerFactory]:
    """Starts toy servers: ``serve({"mode": "thread"}, step_timeout_s=1)``."""
    started: list[Served] = []
    yield factory(tmp_path, started)
    end(started)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A healthy toy server with experts on, for tests that leave it healthy."""
    started: list[Served] = []
    yield factory(tmp_path_factory.mktemp("shared"), started)(experts=1, max_sessions=5000)
    end(started)


@pytest.fixture
def http(shared: Served) -> Iterator[httpx.Client]:
    """A client of the shared server."""
    with shared.client() as client:
        yield client

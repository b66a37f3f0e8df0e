"""What the tests of the sites share: worlds in a folder of their own, and visitors with a session each."""

from collections.abc import Callable, Iterator

import pytest
from visitors import Visitor

from turngym_webarena.sites import Worlds


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Worlds; each is built when a test first opens it."""
    made = Worlds(tmp_path_factory.mktemp("worlds"))
    yield made
    made.shutdown()


@pytest.fixture
def visit(worlds: Worlds) -> Iterator[Callable[..., Visitor]]:
    """``visit("market-1")``: a visitor with a fresh session."""
    opened: list[str] = []

    def opener(world: str = "market-1") -> Visitor:
        opened.append(f"visitor-{len(opened)}")
        worlds.open(opened[-1], world)
        return Visitor(worlds, opened[-1])

    yield opener
    for session in opened:
        worlds.close(session)

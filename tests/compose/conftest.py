"""One composition for all of these tests: the gateway and two replicas of textcraft."""

from collections.abc import Iterator

import pytest
from composed import Composition, composition

from turngym.client.sync import Client


@pytest.fixture(scope="session")
def composed() -> Iterator[Composition]:
    """The composition; every test leaves it with two healthy replicas."""
    with composition(
        "turngym-test", "gateway", "textcraft", "--scale=textcraft=2", TURNGYM_EXPERTS="1"
    ) as started:
        started.wait_replicas(2)
        yield started


@pytest.fixture
def client(composed: Composition) -> Iterator[Client]:
    """A client of textcraft through the gateway, by its path."""
    with Client(f"{composed.gateway}/textcraft") as found:
        found.wait_ready()
        yield found

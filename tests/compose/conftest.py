"""One composition for all of these tests: every environment, textcraft twice, behind the gateway."""

from collections.abc import Iterator

import pytest
from composed import ENVIRONMENTS, SPARE, Composition, composition

from turngym.client.sync import Client


@pytest.fixture(scope="session")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composition]:
    """The composition, with one run to look at; every test leaves it with two healthy replicas of textcraft."""
    runs = tmp_path_factory.mktemp("runs")
    (runs / "some-1" / "rollouts").mkdir(parents=True)
    for folder in (runs.parent, runs, runs / "some-1", runs / "some-1" / "rollouts"):
        folder.chmod(0o755)  # the container's user isn't this one
    routes = " ".join(f"{name}={port}" for name, port in (ENVIRONMENTS | SPARE).items())
    with composition(
        "turngym-test", "--scale=textcraft=2", TURNGYM_EXPERTS="1", GATEWAY_ROUTES=routes, RUNS=str(runs)
    ) as started:
        started.wait_replicas(2)
        yield started


@pytest.fixture
def client(composed: Composition) -> Iterator[Client]:
    """A client of textcraft through the gateway, by its path."""
    with Client(f"{composed.gateway}/textcraft") as found:
        yield found

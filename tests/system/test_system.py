"""The whole system as ``make up`` starts it: every environment healthy, and played through the gateway by its expert.

Builds all images, so it takes minutes the first time: ``make test-system``.
"""

import json
from collections.abc import Iterator

import pytest
from composed import Composition, composition, unstarted

from turngym.client.sync import Client
from turngym.schema import SessionRequest

pytestmark = [pytest.mark.compose, pytest.mark.slow]


def environments() -> list[str]:
    """The services of the compose file that are environments: all but the gateway, and but those of profiles."""
    described = json.loads(unstarted("turngym-system").compose("config", "--format", "json"))["services"]
    return sorted(set(described) - {"gateway"})


@pytest.fixture(scope="module")
def system() -> Iterator[Composition]:
    """Everything that starts by default."""
    with composition("turngym-system", TURNGYM_EXPERTS="1") as started:
        yield started


@pytest.mark.parametrize("name", environments())
def test_an_environment_is_played_through_the_gateway(system: Composition, name: str) -> None:
    with Client(f"{system.gateway}/{name}") as client:
        client.wait_ready()
        assert client.metadata().name == name
        result = client.create(SessionRequest(split="test", index=0))
        while result.stop_reason is None:
            action = client.expert(result.session_id).action
            result = client.step(result.session_id, action, result.turn + 1)
        assert client.close(result.session_id).turn == result.turn


def test_every_container_is_healthy(system: Composition) -> None:
    listed = [json.loads(line) for line in system.compose("ps", "--format", "json").splitlines()]
    assert {entry["Service"]: entry["Health"] for entry in listed} == dict.fromkeys(
        ["gateway", *environments()], "healthy"
    )


def test_down_leaves_nothing(system: Composition) -> None:
    """The last test of this module: it takes the system down."""
    system.compose("down", "--volumes", "--timeout", "10")
    assert system.compose("ps", "--all", "--quiet") == ""

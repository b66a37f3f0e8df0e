"""What a user of ``make up`` gets: containers that are healthy, play, conform, and outlive a kill with their sessions."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from composed import ENVIRONMENTS, Composition, docker, replica_of, wait
from episodes import finish

from turngym.client.sync import Client
from turngym.schema import SessionRequest, StopReason

SERVICES = ("gateway", "viewer", *ENVIRONMENTS)

pytestmark = [pytest.mark.compose, pytest.mark.slow]


def test_every_container_is_healthy(composed: Composition) -> None:
    listed = [json.loads(line) for line in composed.compose("ps", "--format", "json").splitlines()]
    assert {entry["Health"] for entry in listed} == {"healthy"}
    assert sorted(entry["Service"] for entry in listed) == sorted([*SERVICES, "textcraft"])


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_can_do_no_more_than_it_needs(composed: Composition, service: str) -> None:
    assert composed.compose("exec", "-T", service, "id", "-u").strip() != "0"
    (found,) = json.loads(docker("inspect", composed.container(1, service)))
    limits = found["HostConfig"]
    assert limits["ReadonlyRootfs"] and limits["CapDrop"] == ["ALL"] and limits["Memory"] > 0
    assert "no-new-privileges:true" in limits["SecurityOpt"]
    bound = [binding["HostIp"] for entry in (limits["PortBindings"] or {}).values() for binding in entry]
    assert set(bound) == ({"127.0.0.1"} if service in ("gateway", "viewer") else set())


@pytest.mark.parametrize("service", ENVIRONMENTS)
def test_an_environment_has_its_playground(composed: Composition, service: str) -> None:
    for url in (f"{composed.gateway}/{service}", f"http://127.0.0.1:{composed.ports[service.upper()]}"):
        page = httpx.get(f"{url}/ui", follow_redirects=True)
        script = re.search(r'src="([^"]*playground\.js)"', page.text)
        assert script, page.text
        assert httpx.get(page.url.join(script[1])).status_code == 200


def test_the_viewer_lists_the_runs(composed: Composition) -> None:
    found = httpx.get(f"http://127.0.0.1:{composed.ports['VIEWER']}/api/runs").json()["runs"]
    assert [run["name"] for run in found] == ["some-1"]


@pytest.mark.parametrize("service", ["viewer", *ENVIRONMENTS])
def test_an_image_has_no_tools(composed: Composition, service: str) -> None:
    frozen = composed.compose("exec", "-T", service, "pip", "list")
    assert "pytest" not in frozen
    assert "torch" not in frozen


def test_textcraft_s_image_holds_one_release_of_the_data(composed: Composition) -> None:
    code = "import minecraft_data as m, os; print(sorted(os.listdir(m.__path__[0] + '/data/data/pc')))"
    assert composed.compose("exec", "-T", "textcraft", "python", "-c", code).strip() == "['1.19', 'common']"


@pytest.mark.parametrize("service", ENVIRONMENTS)
def test_an_episode_is_played_to_success_through_the_gateway(composed: Composition, service: str) -> None:
    with Client(f"{composed.gateway}/{service}") as client:
        options = {"reward": "goal"} if service == "babyai" else {}  # its own pays less for more steps
        index = 13 if service == "sciworld" else 0  # find-plant, for which the expert takes few turns
        result = client.create(SessionRequest(split="test", index=index, options=options))
        result = finish(client, result)
        ends = (
            StopReason.AGENT_STOP if service == "webarena" else StopReason.SUCCESS
        )  # that agent says when it is done
        assert result.stop_reason == ends
        assert result.score == 1
        assert client.close(result.session_id).success


@pytest.mark.parametrize("service", ENVIRONMENTS)
def test_a_service_conforms(composed: Composition, service: str) -> None:
    """Straight to one replica: the checks mix sessions in batches."""
    turngym = Path(sys.executable).parent / "turngym"
    check = subprocess.run([turngym, "check", composed.address(1, service)], text=True, capture_output=True)
    assert check.returncode == 0, check.stdout + check.stderr


def test_a_session_goes_on_after_its_server_was_killed(composed: Composition, client: Client) -> None:
    opened = client.create(SessionRequest(split="test", index=0))
    first = client.step(opened.session_id, client.expert(opened.session_id).action, 1)
    number = int(replica_of(client.base_url, opened.session_id).rsplit("-", 1)[1])
    before = started_at(composed, number)
    composed.kill_server(number)
    wait(lambda: started_at(composed, number) != before, "a container started again")
    composed.restarted(number)
    again = client.get(opened.session_id)
    assert (again.turn, again.observation) == (1, first.observation)
    result = finish(client, again)
    assert result.stop_reason == StopReason.SUCCESS
    transcript = client.transcript(opened.session_id)
    assert [turn.turn for turn in transcript.turns] == list(range(1, result.turn + 1))


def started_at(composed: Composition, number: int) -> str:
    """When the container last started."""
    return docker("inspect", "--format", "{{.State.StartedAt}}", composed.container(number)).strip()

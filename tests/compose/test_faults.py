"""Single faults at the gateway: clients that are slow or gone, and a disk that is full."""

from collections.abc import Iterator
from contextlib import ExitStack
from socket import create_connection

import httpx
import pytest
from composed import SPARE, Composition, docker, running, wait

from turngym.client.sync import Client
from turngym.schema import SessionRequest

pytestmark = [pytest.mark.compose, pytest.mark.slow]

ORDER = b'{"split": "test", "index": 0}'


def test_clients_that_never_finish_their_request_keep_nobody_from_playing(composed: Composition) -> None:
    """Two hundred of them: silent, with half a header, with half a body. Each is let go after its time."""
    halves = (
        b"",
        b"POST /textcraft/sessions HTTP/1.1\r\nHo",
        b"POST /textcraft/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 29\r\n\r\n" + ORDER[:9],
    )
    with ExitStack() as held:
        slow = []
        for number in range(201):
            connection = create_connection(("127.0.0.1", composed.ports["GATEWAY"]), timeout=60)
            held.enter_context(connection)
            connection.sendall(halves[number % 3])
            slow.append(connection)
        with Client(f"{composed.gateway}/textcraft") as client:
            result = client.create(SessionRequest(split="test", index=0))
            assert client.step(result.session_id, "inventory", 1).turn == 1
            client.close(result.session_id)
        for connection in slow[:3]:
            said = connection.makefile("rb").readline()
            assert said == b"" or said.split()[1] == b"408"


def test_a_client_that_leaves_before_its_answer_has_acted_once(composed: Composition) -> None:
    with Client(f"{composed.gateway}/textcraft") as client:
        session_id = client.create(SessionRequest(split="test", index=0)).session_id
        body = b'{"action": "inventory", "turn": 1}'
        head = f"POST /textcraft/sessions/{session_id}/step HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with create_connection(("127.0.0.1", composed.ports["GATEWAY"])) as gone:
            gone.sendall(head.encode() + body)
        assert client.step(session_id, "inventory", 1).turn == 1
        assert len(client.transcript(session_id).turns) == 1
        client.close(session_id)


@pytest.fixture
def cramped(composed: Composition) -> Iterator[str]:
    """Name of a replica with two megabytes of disk for its journal; the gateway has a route to it."""
    name = composed.container(1, "cramped")
    options = (
        f"--network={composed.project}_default",
        "--tmpfs=/data:size=2m,uid=10001",
        f"--env=TURNGYM_PORT={SPARE['cramped']}",
    )
    with running("turngym-textcraft", name, *options):
        wait(lambda: composed.ready("cramped"), "a replica with little disk")
        yield name


def test_a_full_disk_refuses_the_turn_and_takes_it_when_there_is_room(
    composed: Composition, cramped: str
) -> None:
    with httpx.Client(base_url=f"{composed.gateway}/cramped", timeout=60) as http:
        session_id = http.post("/sessions", content=ORDER).json()["session_id"]
        with pytest.raises(AssertionError, match="No space left"):
            docker("exec", cramped, "dd", "if=/dev/zero", "of=/data/filler", "bs=512")
        refused = None
        for turn in range(1, 26):  # what the journal has set aside is used up first
            answer = http.post(f"/sessions/{session_id}/step", json={"action": "inventory", "turn": turn})
            if answer.status_code != 200:
                refused = answer
                break
        assert refused is not None and refused.json()["code"] == "storage_failure"
        assert http.get(f"/sessions/{session_id}").json()["turn"] == turn - 1
        docker("exec", cramped, "rm", "/data/filler")
        again = http.post(f"/sessions/{session_id}/step", json={"action": "inventory", "turn": turn})
        assert (again.status_code, again.json()["turn"]) == (200, turn)

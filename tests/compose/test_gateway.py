"""The gateway: which replica a call reaches, and what it answers itself."""

import re
import secrets
import ssl
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_connection

import httpx
import pytest
from composed import ENVIRONMENTS, SPARE, Composition, answers, free_ports, running, wait

from turngym.client.sync import Client
from turngym.problems import ProblemError
from turngym.schema import SESSION_ID_PATTERN, Problem, SessionRequest

pytestmark = [pytest.mark.compose, pytest.mark.slow]

ORDER = {"split": "test", "index": 0}


@pytest.fixture
def http(composed: Composition) -> Iterator[httpx.Client]:
    """Plain HTTP to textcraft, by its path."""
    with httpx.Client(base_url=f"{composed.gateway}/textcraft", timeout=30) as found:
        yield found


def replica(answer: httpx.Response) -> str:
    """Which replica answered."""
    return str(answer.headers["X-Replica"])


def key() -> str:
    """A routing key."""
    return secrets.token_urlsafe(6)


def test_the_index_lists_every_environment(composed: Composition) -> None:
    index = httpx.get(composed.gateway).json()
    assert index["environments"] == {name: f"/{name}/" for name in (*ENVIRONMENTS, *SPARE)}


def test_an_environments_links_lead_to_its_pages_behind_its_path(composed: Composition) -> None:
    with httpx.Client(follow_redirects=True) as browser:
        index = browser.get(f"{composed.gateway}/textcraft")
        assert index.url.path == "/textcraft/"
        for link in index.json()["links"].values():
            assert browser.get(index.url.join(link)).status_code == 200, link
        document = re.search(r"url: '([^']+)'", browser.get(index.url.join("docs")).text)
        assert document is not None
        assert browser.get(index.url.join(document[1])).json()["info"]["title"] == "TurnGym: textcraft"


def test_an_environment_has_a_port_of_its_own_without_the_path(composed: Composition) -> None:
    assert httpx.get(f"{composed.url}/metadata").json()["name"] == "textcraft"


def test_a_create_without_an_id_gets_one_and_its_session_is_found_again(http: httpx.Client) -> None:
    found = Counter[str]()
    for _ in range(24):
        created = http.post("/sessions", json=ORDER)
        session_id = created.json()["session_id"]
        assert created.status_code == 201 and re.fullmatch(SESSION_ID_PATTERN, session_id)
        step = http.post(f"/sessions/{session_id}/step", json={"action": "inventory"})
        assert (step.status_code, step.json()["turn"], replica(step)) == (200, 1, replica(created))
        found[replica(created)] += 1
    assert len(found) == 2, "a fair hash misses one of two replicas once in eight million runs"


def test_a_session_stays_with_its_replica_wherever_the_id_stands(http: httpx.Client) -> None:
    for _ in range(12):
        in_body, in_header = f"{key()}-in-the-body", f"{key()}-in-the-header"
        by_body = http.post("/sessions", json=ORDER | {"session_id": in_body})
        by_header = http.post("/sessions", json=ORDER, headers={"X-Session-Id": in_header})
        for created, name in ((by_body, in_body), (by_header, in_header)):
            assert (created.status_code, created.json()["session_id"]) == (201, name)
            got = http.get(f"/sessions/{name}")
            assert (got.status_code, replica(got)) == (200, replica(created))


def test_the_first_eight_characters_alone_decide(http: httpx.Client) -> None:
    for _ in range(6):
        shared = key()
        answers = {replica(http.get(f"/sessions/{shared}{secrets.token_urlsafe(9)}")) for _ in range(6)}
        assert len(answers) == 1


def test_a_fork_lives_beside_its_parent(http: httpx.Client) -> None:
    for _ in range(6):
        parent = http.post("/sessions", json=ORDER)
        child = http.post(f"/sessions/{parent.json()['session_id']}/fork")
        assert child.status_code == 201
        got = http.get(f"/sessions/{child.json()['session_id']}")
        assert (got.status_code, replica(got)) == (200, replica(parent))


def test_a_batch_of_one_key_reaches_its_replica(http: httpx.Client) -> None:
    for _ in range(6):
        shared = key()
        names = [f"{shared}-number-{number}" for number in range(20)]
        created = http.post(
            "/batch/sessions", json={"entries": [ORDER | {"session_id": name} for name in names]}
        )
        entries = [{"session_id": name, "action": "inventory " * 200, "turn": 1} for name in names]
        stepped = http.post("/batch/step", json={"entries": entries})
        closed = http.post("/batch/close", json={"session_ids": names})
        for answer in (created, stepped, closed):
            assert {entry["status"] for entry in answer.json()["results"]} <= {200, 201}
            assert replica(answer) == replica(created)


def test_a_path_of_no_environment_is_a_problem(composed: Composition) -> None:
    answer = httpx.get(f"{composed.gateway}/chess/metadata")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, Problem.model_validate(answer.json()).code) == (404, "not_found")


def test_an_environment_with_no_replica_is_not_ready(composed: Composition) -> None:
    address = f"{composed.gateway}/empty"
    answer = httpx.get(f"{address}/metadata")
    problem = Problem.model_validate(answer.json())
    assert (answer.status_code, problem.code, problem.retryable) == (503, "not_ready", True)
    assert answer.headers["Retry-After"] == "1"
    with Client(address, patience_s=0) as client:
        assert not client.ready().ready


def test_what_is_no_http_is_refused(composed: Composition) -> None:
    with create_connection(("127.0.0.1", composed.ports["GATEWAY"]), timeout=30) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nbad header\r\n\r\n")
        assert raw.makefile("rb").readline().split()[1] == b"400"
    assert httpx.get(composed.gateway).status_code == 200


def test_a_services_own_refusals_come_through(http: httpx.Client) -> None:
    for body, status, code in (
        (b"{", 400, "bad_json"),
        (b"{}", 422, "invalid_request"),
        (b'{"split": "test", "index": 0, "session_id": "short"}', 422, "invalid_request"),
        (b" " * (2**20 + 1), 413, "too_large"),
    ):
        answer = http.post("/sessions", content=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.fixture(scope="module")
def guarded(composed: Composition) -> Iterator[str]:
    """Address of another environment at the gateway: with a token, two slots, no queue, and else the default settings.

    It is the image of textcraft once more, called as its first replica is to be called: that is all it takes to join.
    """
    name = composed.container(1, "guarded")
    settings = {
        "PORT": str(SPARE["guarded"]),
        "TOKEN": "secret",
        "MAX_SESSIONS": "2",
        "QUEUE": "0",
        "JOURNAL": "off",
    }
    given = [f"--env=TURNGYM_{setting}={value}" for setting, value in settings.items()]
    network = f"--network={composed.project}_default"
    with running("turngym-textcraft", name, network, *given):
        wait(lambda: composed.ready("guarded"), "an environment that joins")
        yield f"{composed.gateway}/guarded"


def test_the_token_of_a_service_is_asked_for_at_the_gateway_too(guarded: str) -> None:
    assert httpx.get(f"{guarded}/ready").status_code == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        for path in ("/metadata", "/sessions", "/metrics"):
            answer = httpx.get(guarded + path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    with Client(guarded, token="secret") as client:
        assert client.metadata().name == "textcraft"


def test_nobody_reads_the_oracle_unless_the_server_was_started_with_it(guarded: str) -> None:
    with Client(guarded, token="secret") as client:
        session_id = client.create(SessionRequest(split="test", index=0)).session_id
        with pytest.raises(ProblemError, match="not_supported"):
            client.expert(session_id)
        client.close(session_id)


def test_a_full_service_says_so_and_a_client_waits_until_there_is_room(guarded: str) -> None:
    with httpx.Client(base_url=guarded, headers={"Authorization": "Bearer secret"}) as http:
        first, _ = (http.post("/sessions", json=ORDER).json()["session_id"] for _ in range(2))
        refused = http.post("/sessions", json=ORDER)
        assert (refused.status_code, refused.json()["code"]) == (503, "at_capacity")
        assert int(refused.headers["Retry-After"]) >= 1
        with Client(guarded, token="secret", patience_s=0) as client, ThreadPoolExecutor() as waiting:
            opened = waiting.submit(client.create, SessionRequest(split="test", index=1))
            http.delete(f"/sessions/{first}")
            assert opened.result(timeout=60).turn == 0


def test_too_many_requests_from_one_address_are_refused_until_there_are_fewer(
    composed: Composition,
) -> None:
    """A gateway of its own with a bound of one a second, as a mean over ten."""
    (port,) = free_ports(1)
    options = ("--env=GATEWAY_RATE=1", f"--publish=127.0.0.1:{port}:8000")
    with running("turngym-gateway", f"turngym-test-bounded-{port}", *options):
        wait(lambda: answers(f"http://127.0.0.1:{port}/"), "an answer of the gateway")
        with create_connection(("127.0.0.1", port), timeout=30) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 30)  # at once, however slow this machine is
            raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            head, _, body = raw.makefile("rb").read().rpartition(b"\r\n\r\n")
    refused = head.rpartition(b"HTTP/1.1 ")[2].decode().lower()
    assert b"HTTP/1.1 200" in head and refused.startswith("429") and "retry-after: 1" in refused
    problem = Problem.model_validate_json(body)
    assert (problem.code, problem.retryable) == ("rate_limited", True)


def test_tls_ends_at_the_gateway(composed: Composition, tmp_path: Path) -> None:
    certificate = tmp_path / "gateway.pem"
    run = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
    ]
    run += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    run += ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subprocess.run(run, check=True, capture_output=True)
    certificate.write_text((tmp_path / "cert").read_text() + (tmp_path / "key").read_text())
    certificate.chmod(0o644)
    tmp_path.chmod(0o755)
    (port,) = free_ports(1)
    options = (
        "--env=GATEWAY_CERTIFICATE=/certificate.pem",
        f"--volume={certificate}:/certificate.pem:ro",
        f"--publish=127.0.0.1:{port}:8443",
    )
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert"))
    url = f"https://localhost:{port}/"
    with running("turngym-gateway", f"turngym-test-tls-{port}", *options):
        wait(lambda: answers(url, trust), "an answer over TLS")
        assert httpx.get(url, verify=trust).json()["name"] == "turngym-gateway"


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("GATEWAY_ROUTES=textcraft:8003", "GATEWAY_ROUTES has textcraft:8003, which is not name=port"),
        ("GATEWAY_SLOTS=0", "GATEWAY_SLOTS=0 is no number from 1 to 256"),
        ("GATEWAY_CERTIFICATE=/none.pem", "can't read GATEWAY_CERTIFICATE=/none.pem"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(composed: Composition, setting: str, says: str) -> None:
    run = subprocess.run(
        ["docker", "run", "--rm", f"--env={setting}", "turngym-gateway", "check"],
        text=True,
        capture_output=True,
    )
    assert (run.returncode, run.stderr) == (1, f"gateway: {says}\n")

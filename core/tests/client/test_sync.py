"""The synchronous client: the same surface and the same recovery."""

import inspect
import threading

import pytest
from lossy import lossy
from served import Served, ServerFactory

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import ConnectionLost, InfrastructureFailure, UnexpectedAnswer
from turngym.client.sync import Client, Episode
from turngym.problems import ProblemError
from turngym.schema import BatchStepEntry, SessionRequest


def surface(kind: type) -> dict[str, list[str]]:
    """Public methods with their parameters."""
    methods = inspect.getmembers(kind, inspect.isfunction)
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in methods
        if not name.startswith("_")
    }


def test_both_clients_have_the_same_surface() -> None:
    asynchronous, synchronous = surface(AsyncClient), surface(Client)
    synchronous["aclose"] = synchronous.pop("shut")  # ``close`` is the protocol's
    assert asynchronous == synchronous
    assert surface(AsyncEpisode) == surface(Episode)


def test_every_call_of_the_protocol(shared: Served) -> None:
    with Client(shared.url) as client:
        assert client.wait_ready().ready
        assert client.metadata().name == "toy"
        assert client.task("toy/test/3") == client.tasks("test", 3, 1).tasks[0]
        name = client.create(SessionRequest(split="test", index=5)).session_id
        assert client.step(name, "add 2", 1) == client.step(name, "add 2", 1)
        assert client.get(name).turn == len(client.transcript(name).turns) == 1
        assert client.expert(name).action in client.actions(name).actions
        assert client.fork(name).turn == 1
        assert client.close(name) == client.close(name)
        made = client.batch_create([SessionRequest(split="test", index=4)])
        assert made.results[0].result is not None
        child = made.results[0].result.session_id
        assert (
            client.batch_step([BatchStepEntry(session_id=child, action="add 1", turn=1)]).results[0].status
            == 200
        )
        assert client.batch_close([child]).results[0].status == 200


def test_lost_answers_are_asked_for_again_and_act_once(shared: Served) -> None:
    with (
        lossy(shared.settings["port"], lambda number: number % 2 == 0) as port,
        Client(f"http://127.0.0.1:{port}", patience_s=30) as client,
    ):
        episode = Episode.open(client, split="test", index=6)
        rewards = [episode.step("add 3").reward for _ in range(3)]
    assert (episode.result.success, episode.result.turn, sum(rewards)) == (True, 3, pytest.approx(1.0))


def test_an_episode_outlives_its_server(serve: ServerFactory) -> None:
    server = serve(journal="off")
    with Client(server.url, patience_s=30) as client, Episode.open(client, split="test", index=6) as episode:
        episode.step("add 1")
        server.kill()
        starting = threading.Thread(target=server.start)
        starting.start()
        assert episode.step("add 1").observation.text == "The count is 2."
        assert (episode.reopened, episode.actions, client.episodes) == (1, ["add 1", "add 1"], 1)
        starting.join()
    assert client.episodes == 0


def test_an_episode_moves_to_the_next_replica(serve: ServerFactory) -> None:
    servers = [serve(), serve()]
    clients = [Client(server.url, patience_s=0.3) for server in servers]
    episode = Episode.open(clients, split="test", index=6)
    servers[0].kill()
    assert episode.step("add 1").turn == 1
    assert episode.client is clients[1]
    servers[1].kill()
    with pytest.raises(InfrastructureFailure):
        episode.step("add 1")
    episode.close()
    for client in clients:
        client.shut()


def test_a_deadline_is_looked_at_between_calls(shared: Served) -> None:
    with Client(shared.url) as client:
        episode = Episode.open(client, split="test", index=6, deadline_s=1e-9)
        with pytest.raises(InfrastructureFailure, match="took longer"):
            episode.step("add 1")
        episode.close()


def test_mistakes_of_the_caller_are_raised_at_once(shared: Served) -> None:
    with Client(shared.url) as client:
        with pytest.raises(ProblemError, match="unknown_task"):
            Episode.open(client, task_id="toy/test/99")
        with pytest.raises(ProblemError, match="unknown_session"):
            client.get("x" * 20)


def test_a_dead_address_and_a_wrong_one_are_told_apart(shared: Served) -> None:
    with (
        Client("http://127.0.0.1:1", patience_s=0) as client,
        pytest.raises(ConnectionLost, match="can't be reached"),
    ):
        client.metadata()
    with Client(f"{shared.url}/elsewhere") as client, pytest.raises((UnexpectedAnswer, ProblemError)):
        client.metadata()

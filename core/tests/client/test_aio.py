"""The asynchronous client and its episodes, against real servers that are lost, killed, full or slow."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from lossy import lossy
from served import Served, ServerFactory, free_port

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.calls import new_session_id
from turngym.client.errors import ConnectionLost, EpisodeDrifted, InfrastructureFailure, UnexpectedAnswer
from turngym.problems import ProblemError
from turngym.schema import BatchStepEntry, SessionRequest, StopReason

Connect = Callable[..., AsyncClient]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes clients that are closed afterwards."""
    made: list[AsyncClient] = []

    def client(url: str, **more: float | str) -> AsyncClient:
        made.append(AsyncClient(url, **{"patience_s": 30, **more}))  # type: ignore[arg-type]
        return made[-1]

    yield client
    for one in made:
        await one.aclose()


async def failure(call: Awaitable[object]) -> str:
    """The code of the problem that the call raises."""
    with pytest.raises(ProblemError) as caught:
        await call
    return caught.value.code


async def restarted(server: Served, step: Awaitable[object]) -> object:
    """The server is killed; while the step is tried it starts again."""
    server.kill()
    trying = asyncio.ensure_future(step)
    await asyncio.to_thread(server.start)
    return await trying


async def test_every_call_of_the_protocol(shared: Served, connect: Connect) -> None:
    client = connect(shared.url)
    assert (await client.wait_ready()).ready
    assert (await client.metadata()).name == "toy"
    page = await client.tasks("test", 2, 3)
    assert [task.index for task in page.tasks] == [2, 3, 4]
    assert await client.task("toy/test/3") == page.tasks[1]
    session = await client.create(SessionRequest(split="test", index=5))
    name = session.session_id
    assert (await client.step(name, "add 2", 1)).turn == 1
    assert (await client.step(name, "add 2", 1)).turn == 1
    assert (await client.get(name)).observation.text == "The count is 2."
    assert [turn.action for turn in (await client.transcript(name)).turns] == ["add 2"]
    assert "add 1" in (await client.actions(name)).actions
    assert (await client.expert(name)).action == "add 1"
    child = await client.fork(name, turn=0)
    assert child.turn == 0 and child.session_id[:8] == name[:8]
    assert (await client.close(name)).stop_reason is StopReason.CLOSED
    assert await failure(client.step(name, "add 1", 2)) == "session_closed"


async def test_batches(shared: Served, connect: Connect) -> None:
    client = connect(shared.url)
    made = await client.batch_create([SessionRequest(split="test", index=index) for index in (4, 5)])
    names = [entry.result.session_id for entry in made.results if entry.result is not None]
    played = await client.batch_step(
        [BatchStepEntry(session_id=name, action="add 1", turn=1) for name in names]
    )
    assert [entry.status for entry in played.results] == [200, 200]
    assert [entry.status for entry in (await client.batch_close(names)).results] == [200, 200]
    with pytest.raises(ValueError, match="without a turn"):
        await client.batch_step([BatchStepEntry(session_id=new_session_id(), action="add 1")])


async def test_lost_answers_are_asked_for_again_and_act_once(shared: Served, connect: Connect) -> None:
    with lossy(shared.settings["port"], lambda number: number % 2 == 0) as port:
        client = connect(f"http://127.0.0.1:{port}")
        episode = await AsyncEpisode.open(client, split="test", index=6)
        rewards = [(await episode.step("add 2")).reward for _ in range(5)]
        assert (episode.result.success, episode.result.turn, episode.reopened) == (True, 5, 0)
        assert sum(rewards) == pytest.approx(1.0)
    with shared.client() as http:
        turns = http.get(f"/sessions/{episode.session_id}/transcript").json()["turns"]
    assert [turn["turn"] for turn in turns] == [1, 2, 3, 4, 5]


async def test_an_episode_goes_on_in_its_session_after_kill_9(serve: ServerFactory, connect: Connect) -> None:
    server = serve()
    episode = await AsyncEpisode.open(connect(server.url), split="test", index=6, seed=4)
    await episode.step("add 1")
    before = episode.session_id
    await restarted(server, episode.step("add 2"))
    assert (episode.session_id, episode.reopened) == (before, 0)
    assert (episode.result.turn, episode.result.observation.text) == (2, "The count is 3.")
    assert episode.wait_s > 0
    await episode.close()


async def test_an_episode_is_rebuilt_from_its_actions_where_the_session_is_gone(
    serve: ServerFactory, connect: Connect
) -> None:
    server = serve(journal="off")
    episode = await AsyncEpisode.open(connect(server.url), task_id="toy/test/6", seed=4, max_turns=5)
    await episode.step("Thought: one\nAction: add 1")
    await episode.step("nonsense")
    before, opening = episode.session_id, episode.messages
    await restarted(server, episode.step("add 2"))
    assert episode.session_id != before and episode.reopened == 1
    assert episode.messages == opening
    assert episode.actions == ["Thought: one\nAction: add 1", "nonsense", "add 2"]
    assert (episode.result.turn, episode.result.max_turns, episode.result.observation.text) == (
        3,
        5,
        "The count is 3.",
    )


async def test_an_episode_leaves_a_session_that_stands_at_another_turn(
    shared: Served, connect: Connect
) -> None:
    """As a replica has it that was away while the same id was opened, and played on, at another."""
    client = connect(shared.url)
    episode = await AsyncEpisode.open(client, split="test", index=6)
    await client.step(episode.session_id, "add 3", 1)
    before = episode.session_id
    assert (await episode.step("add 1")).observation.text == "The count is 1."
    assert episode.session_id != before and episode.reopened == 1
    await episode.close()


async def test_an_episode_moves_to_the_next_replica(serve: ServerFactory, connect: Connect) -> None:
    servers = [serve(), serve()]
    clients = [connect(server.url, patience_s=0.5) for server in servers]
    episode = await AsyncEpisode.open(clients, split="test", index=6)
    await episode.step("add 1")
    assert episode.client is clients[0]
    servers[0].kill()
    assert (await episode.step("add 1")).observation.text == "The count is 2."
    assert (episode.client, episode.reopened) == (clients[1], 1)
    assert (clients[0].episodes, clients[1].episodes) == (0, 1)
    await episode.close()
    assert clients[1].episodes == 0


async def test_episodes_spread_over_replicas(serve: ServerFactory, connect: Connect) -> None:
    clients = [connect(serve().url) for _ in range(2)]
    episodes = await asyncio.gather(*(AsyncEpisode.open(clients, split="test", index=i) for i in range(6)))
    assert [client.episodes for client in clients] == [3, 3]
    for episode in episodes:
        await episode.close()


async def test_a_rebuilt_episode_that_shows_something_else_is_an_infrastructure_failure(
    serve: ServerFactory, connect: Connect
) -> None:
    server = serve(journal="off")
    episode = await AsyncEpisode.open(connect(server.url), split="test", index=6)
    await episode.step("add 1")
    server.toy["salt"] = " Different."
    with pytest.raises(EpisodeDrifted, match=r"the agent saw 'The count is 1\.'"):
        await restarted(server, episode.step("add 1"))


async def test_an_environment_that_fails_each_time_is_an_infrastructure_failure_and_no_result(
    serve: ServerFactory, connect: Connect
) -> None:
    episode = await AsyncEpisode.open(connect(serve().url), split="test", index=6, reopen=2)
    await episode.step("add 1")
    with pytest.raises(InfrastructureFailure, match="after 2 reopenings at turn 1: environment_failure"):
        await episode.step("crash")
    assert (episode.result.turn, episode.result.success, episode.reopened) == (1, None, 2)
    await episode.close()


async def test_an_expired_session_is_opened_again(serve: ServerFactory, connect: Connect) -> None:
    server = serve(session_ttl_s=0.4)
    episode = await AsyncEpisode.open(connect(server.url), split="test", index=6)
    await episode.step("add 1")
    with server.client() as http:
        while http.get("/sessions").json()["total"]:
            await asyncio.sleep(0.05)
    assert (await episode.step("add 1")).turn == 2
    assert episode.reopened == 1


async def test_a_full_server_is_waited_out_however_long_it_takes(
    serve: ServerFactory, connect: Connect
) -> None:
    client = connect(serve(max_sessions=1, queue=0).url, patience_s=0)
    first = await AsyncEpisode.open(client, split="test", index=6)
    second = asyncio.create_task(AsyncEpisode.open(client, split="test", index=7))
    while not (done := second.done()) and "at_capacity" not in await metrics(client):
        await asyncio.sleep(0.05)
    assert not done
    await first.close()
    opened = await second
    assert opened.result.task.index == 7
    await opened.close()


async def metrics(client: AsyncClient) -> str:
    """The server's metrics page."""
    async with httpx.AsyncClient() as http:
        return (await http.get(f"{client.base_url}/metrics")).text


async def test_an_episode_has_a_deadline(serve: ServerFactory, connect: Connect) -> None:
    client = connect(serve({"mode": "thread"}).url)
    episode = await AsyncEpisode.open(client, split="test", index=6, deadline_s=0.5)
    with pytest.raises(InfrastructureFailure, match=r"took longer than its 0\.5 s, at turn 0"):
        await episode.step("sleep 20")
    with pytest.raises(InfrastructureFailure, match="took longer"):
        await episode.step("add 1")


async def test_an_order_that_is_wrong_is_the_callers_mistake(shared: Served, connect: Connect) -> None:
    client = connect(shared.url)
    assert await failure(AsyncEpisode.open(client, task_id="toy/test/99")) == "unknown_task"
    assert (
        await failure(AsyncEpisode.open(client, split="test", index=0, options={"x": 1})) == "invalid_request"
    )
    with pytest.raises(ValueError, match="exactly one selector"):
        await AsyncEpisode.open(client)
    assert client.episodes == 0


async def test_an_episode_that_is_over_takes_no_step(shared: Served, connect: Connect) -> None:
    async with await AsyncEpisode.open(connect(shared.url), split="test", index=0) as episode:
        await episode.step("add 3")
        assert episode.over and episode.terminated and not episode.truncated
        assert await failure(episode.step("add 1")) == "session_finished"


async def test_closing_is_idempotent_and_frees_the_slot(serve: ServerFactory, connect: Connect) -> None:
    server = serve()
    episode = await AsyncEpisode.open(connect(server.url), split="test", index=6)
    await episode.close()
    await episode.close()
    with server.client() as http:
        assert http.get(f"/sessions/{episode.session_id}").json()["stop_reason"] == "closed"


async def test_closing_never_fails_on_a_dead_server(serve: ServerFactory, connect: Connect) -> None:
    server = serve()
    episode = await AsyncEpisode.open(connect(server.url, patience_s=0.2), split="test", index=6)
    server.kill()
    with pytest.raises(InfrastructureFailure, match="no server to go on with at turn 0"):
        await episode.step("add 1")
    await episode.close()


async def test_nobody_listening_is_connection_lost(connect: Connect) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ConnectionLost, match=url):
        await connect(url, patience_s=0.2).metadata()


async def test_a_token_opens_the_door(serve: ServerFactory, connect: Connect) -> None:
    server = serve(token="secret")
    assert await failure(connect(server.url).metadata()) == "unauthorized"
    assert (await connect(server.url, token="secret").metadata()).name == "toy"


async def test_what_is_no_turngym_service_is_named(connect: Connect) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        writer.close()

    other = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with other:
        port = other.sockets[0].getsockname()[1]
        with pytest.raises(UnexpectedAnswer, match="is this a TurnGym service"):
            await connect(f"http://127.0.0.1:{port}").metadata()


async def test_many_episodes_at_once(shared: Served, connect: Connect) -> None:
    client = connect(shared.url)

    async def play(index: int) -> float:
        async with await AsyncEpisode.open(client, split="test", index=index % 20) as episode:
            while not episode.over:
                await episode.step("add 3")
            return episode.result.score

    assert await asyncio.gather(*(play(index) for index in range(100))) == [1.0] * 100

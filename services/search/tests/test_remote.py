"""Another retrieval server: used as it answers, and a failure of the infrastructure where it does not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from searched import Small

from turngym.environment import BackendUnavailable
from turngym_search.engine import Engine, open_engine
from turngym_search.remote import RemoteRetriever


class Peer:
    """A retrieval server of Search-R1's kind, which answers as ``answers`` say: the last of them for good."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[Callable[[dict[str, Any]], Any]] = [found]
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        made = answer(body)
        if asyncio.iscoroutine(made):
            made = await made
        return made if isinstance(made, web.StreamResponse) else web.json_response(made)


def found(body: dict[str, Any]) -> dict[str, Any]:
    """Passages named like the query, with what else a server may send of them."""

    def hit(query: str, rank: int) -> dict[str, Any]:
        document = {"id": f"{query}-{rank}", "contents": f'"{query}"\nText {rank}.', "title": query}
        return {"document": document, "score": 1.0 / (rank + 1)}

    return {"result": [[hit(query, rank) for rank in range(body["topk"])] for query in body["queries"]]}


def status(code: int) -> Callable[[dict[str, Any]], web.Response]:
    return lambda body: web.Response(status=code, text="oops")


async def slow(body: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(2)
    return found(body)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    made = Peer()
    app = web.Application()
    app.router.add_post("/retrieve", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/retrieve"
    yield made
    await runner.cleanup()


@pytest.fixture
async def remote(peer: Peer) -> AsyncIterator[RemoteRetriever]:
    made = RemoteRetriever(peer.url, timeout_s=0.5, tries=2)
    yield made
    await asyncio.to_thread(made.close)


async def test_it_is_asked_in_search_r1_s_form(peer: Peer, remote: RemoteRetriever) -> None:
    first, second = await remote.search(["one", "two"], 2)
    assert peer.requests == [{"queries": ["one", "two"], "topk": 2, "return_scores": True}]
    assert [(hit.passage.id, hit.passage.contents, hit.score) for hit in first] == [
        ("one-0", '"one"\nText 0.', 1.0),
        ("one-1", '"one"\nText 1.', 0.5),
    ]
    assert second[0].passage.title == '"two"'


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (status(500), "status 500"),
        (status(404), "status 404"),
        (slow, "no answer in 0.5 s"),
        (lambda body: web.Response(text="<html>"), "another form"),
        (lambda body: {"results": []}, "another form"),
        (lambda body: {"result": "none"}, "another form"),
        (lambda body: {"result": [[{"document": {"id": "1"}, "score": 1}]]}, "another form"),
        (lambda body: {"result": []}, "passages for 1 queries"),
        (lambda body: {"result": [[]]}, "passages for 1 queries"),
        (lambda body: {"result": found(body)["result"] * 2}, "passages for 1 queries"),
    ],
    ids=str,
)
async def test_what_is_no_answer_is_a_failure_after_the_last_try(
    peer: Peer, remote: RemoteRetriever, answer: Any, says: str
) -> None:
    peer.answers = [answer]
    with pytest.raises(BackendUnavailable, match=says) as raised:
        await remote.search(["q"], 1)
    assert len(peer.requests) == 2
    assert peer.url in str(raised.value) and raised.value.retry_after >= 1


async def test_a_later_try_may_succeed(peer: Peer, remote: RemoteRetriever) -> None:
    peer.answers = [status(503), found]
    ((hit,),) = await remote.search(["q"], 1)
    assert hit.passage.id == "q-0"
    assert len(peer.requests) == 2


async def test_a_dead_server_is_a_failure() -> None:
    remote = RemoteRetriever("http://127.0.0.1:9/retrieve", timeout_s=1, tries=1)
    with pytest.raises(BackendUnavailable, match="can't be reached"):
        await remote.search(["q"], 1)
    await asyncio.to_thread(remote.close)


async def test_an_engine_caches_and_shares_what_it_asks(peer: Peer, small: Small) -> None:
    engine: Engine = open_engine(
        small.settings(corpus=None, index=None, retriever="remote", remote_url=peer.url)
    )
    await asyncio.gather(*(engine.search(["same"], 3) for _ in range(20)))
    await engine.search(["same"], 3)
    assert len(peer.requests) == 1
    peer.answers = [status(500)]
    with pytest.raises(BackendUnavailable):
        await engine.search(["other"], 3)
    peer.answers = [found]
    ((hit, *_),) = await engine.search(["other"], 3)
    assert hit.passage.id == "other-0"
    await asyncio.to_thread(engine.close)

"""The service over HTTP, in a process of its own: episodes, /retrieve, kill -9, a dead remote, a full queue."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from process import started
from searched import Server, Small

from turngym.check import run_checks
from turngym.problems import MEDIA_TYPE

Starter = Callable[..., Server]


@pytest.fixture
def http(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def create(http: httpx.Client, index: int = 0, **more: Any) -> dict[str, Any]:
    answer = http.post("/sessions", json={"split": "test", "index": index} | more)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def step(http: httpx.Client, session: dict[str, Any], action: str, turn: int) -> httpx.Response:
    return http.post(f"/sessions/{session['session_id']}/step", json={"action": action, "turn": turn})


def test_the_expert_answers_over_http(http: httpx.Client) -> None:
    for index in range(12):
        result = create(http, index)
        while result["stop_reason"] is None:
            action = http.get(f"/sessions/{result['session_id']}/expert").json()["action"]
            result = step(http, result, action, result["turn"] + 1).json()
        assert (result["stop_reason"], result["turn"], result["score"]) == ("success", 2, 1.0)
        assert result["info"]["recall"] == 1.0


def test_a_wrong_answer_ends_the_episode(http: httpx.Client) -> None:
    session = create(http)
    result = step(http, session, "<answer>Lyon</answer>", 1).json()
    assert (result["stop_reason"], result["terminated"], result["success"], result["reward"]) == (
        "failure",
        True,
        False,
        0,
    )
    assert step(http, session, "<answer>Paris</answer>", 2).json()["code"] == "session_finished"


def test_the_metadata_declares_both_forms_and_where_to_stop(http: httpx.Client) -> None:
    grammar = http.get("/metadata").json()["grammar"]
    assert (grammar["forms"], grammar["tags"]) == (["tags", "react"], ["search", "answer"])
    assert grammar["stop"] == ["</search>", "</answer>"]


def test_it_keeps_the_protocol(server: Server) -> None:
    report = run_checks(server.url)
    assert report.passed, report.verdict()


# -- /retrieve ---------------------------------------------------------------------------------------------------------


def batch_search(http: httpx.Client, queries: list[str], topk: int | None = 3) -> list[str]:
    """What Search-R1's rollout does with the server: ask with scores, and show title and text of each document."""
    payload = {"queries": queries, "topk": topk, "return_scores": True}
    texts = []
    for hits in http.post("/retrieve", json=payload).json()["result"]:
        text = ""
        for number, item in enumerate(hits):
            content = item["document"]["contents"]
            title, body = content.split("\n")[0], "\n".join(content.split("\n")[1:])
            text += f"Doc {number + 1}(Title: {title}) {body}\n"
        texts.append(text)
    return texts


def test_a_client_of_search_r1_s_server_works_unchanged(http: httpx.Client) -> None:
    (single,) = batch_search(http, ["capital of Peru"])
    assert single.startswith('Doc 1(Title: "Peru: Government") The capital of Peru is Lima.')
    assert single.count("Doc ") == 3
    many = batch_search(http, ["capital of Peru", "coast of Norway", "capital of Peru"], topk=1)
    assert many[0] == many[2] != many[1]
    assert [text.count("Doc ") for text in many] == [1, 1, 1]


@pytest.mark.parametrize("topk", [{}, {"topk": None}, {"topk": 0}])
def test_without_topk_the_server_s_own_is_taken(http: httpx.Client, topk: dict[str, Any]) -> None:
    answer = http.post("/retrieve", json={"queries": ["Peru"], "return_scores": True} | topk).json()
    assert [len(hits) for hits in answer["result"]] == [3]


@pytest.mark.parametrize("scores", [{}, {"return_scores": False}])
def test_without_scores_the_documents_stand_bare(http: httpx.Client, scores: dict[str, Any]) -> None:
    answer = http.post("/retrieve", json={"queries": ["capital of Peru", "Kenya"], "topk": 2} | scores).json()
    assert answer["result"][0][0] == {
        "id": "gov-4",
        "contents": '"Peru: Government"\nThe capital of Peru is Lima. It sits in parliament.',
    }
    assert [len(hits) for hits in answer["result"]] == [2, 2]


def test_scores_fall_and_ids_are_the_corpus_s(http: httpx.Client) -> None:
    (hits,) = http.post("/retrieve", json={"queries": ["Cuba"], "topk": 24, "return_scores": True}).json()[
        "result"
    ]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert len({hit["document"]["id"] for hit in hits}) == 24
    assert all(hit.keys() == {"document", "score"} for hit in hits)


@pytest.mark.parametrize(
    "query", ["", " ", "x" * 100_000, "\x00\x07", "ペルーの首都", "🦙" * 3000, "\ufffd\u202e"]
)
def test_any_query_has_an_answer(http: httpx.Client, query: str) -> None:
    answer = http.post("/retrieve", json={"queries": [query]})
    assert answer.status_code == 200 and len(answer.json()["result"][0]) == 3


def test_unknown_fields_are_left_alone_and_no_queries_have_no_results(http: httpx.Client) -> None:
    assert http.post("/retrieve", json={"queries": [], "id": 7}).json() == {"result": []}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad_json"),
        (b'{"queries": ["\\ud800"]}', "bad_json"),
        (b"{}", "invalid_request"),
        (b'{"queries": "Peru"}', "invalid_request"),
        (b'{"queries": [1]}', "invalid_request"),
        (b'{"queries": ["x"], "topk": -1}', "invalid_request"),
        (b'{"queries": ["x"], "topk": 1001}', "invalid_request"),
        (b'{"queries": ["' + b"x" * 2**20 + b'"]}', "too_large"),
    ],
)
def test_what_is_no_request_is_refused(http: httpx.Client, body: bytes, code: str) -> None:
    answer = http.post("/retrieve", content=body)
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json()["code"] == code


def test_the_route_is_documented_and_its_work_is_counted(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()["paths"]["/retrieve"]["post"]
    assert {"200", "400", "413", "422", "503"} <= described["responses"].keys()
    for _ in range(3):
        http.post("/retrieve", json={"queries": ["a query of this test alone"]})
    lines = dict(line.rsplit(" ", 1) for line in http.get("/metrics").text.splitlines() if line[0] != "#")
    assert float(lines["turngym_environment_queries_cached"]) >= 2
    assert float(lines["turngym_environment_passages"]) == 24


# -- trouble -----------------------------------------------------------------------------------------------------------


def test_an_episode_outlives_kill_9_with_the_same_texts(serve: Starter) -> None:
    server = serve()
    with server.client() as http:
        session = create(http, 3)
        first = step(http, session, "<search>capital of Kenya</search>", 1).json()
    server.kill()
    server.start()
    with server.client() as http:
        assert step(http, session, "<search>capital of Kenya</search>", 1).json() == first
        assert step(http, session, "<answer>Nairobi</answer>", 2).json()["stop_reason"] == "success"


def test_with_another_corpus_an_episode_is_not_taken_up(serve: Starter) -> None:
    server = serve()
    with server.client() as http:
        session = create(http)
        step(http, session, "<search>capital of France</search>", 1)
    server.kill()
    server.environ["TURNGYM_SEARCH_RETRIEVER"] = "hybrid"
    server.start()
    with server.client() as http:
        answer = step(http, session, "<answer>Paris</answer>", 2).json()
        assert answer["code"] == "environment_failure" and "data" in answer["detail"]


def test_it_is_alive_at_once_and_not_ready_before_the_index_is(serve: Starter) -> None:
    server = serve(ready=False)
    with server.client() as http:
        while True:
            try:
                assert http.get("/health").status_code == 200
                break
            except httpx.TransportError:
                assert server.process is not None and server.process.poll() is None, server.log()
        answer = http.get("/ready")
        if answer.status_code == 503:  # a fast machine may have loaded by now
            assert answer.json()["missing"]
            refused = http.post("/retrieve", json={"queries": ["Peru"]})
            assert refused.status_code == 200 or refused.json()["code"] == "not_ready"
        while http.get("/ready").status_code != 200:
            assert server.process is not None and server.process.poll() is None, server.log()
        assert http.post("/retrieve", json={"queries": ["Peru"]}).status_code == 200


def test_a_mismatch_stops_the_start_with_one_line(serve: Starter, small: Small) -> None:
    server = serve(ready=False, corpus=small.questions / "test.jsonl")
    assert server.process is not None
    assert server.process.wait(60) == 1
    assert "is not" in server.log() and "Traceback" not in server.log()


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"TURNGYM_SEARCH_RETRIEVER": "sparse"}, "TURNGYM_SEARCH_RETRIEVER='sparse'"),
        ({"TURNGYM_SEARCH_RETRIEVER": "remote"}, "TURNGYM_SEARCH_REMOTE_URL belong together"),
        ({"TURNGYM_SEARCH_TOPK": "0"}, "TURNGYM_SEARCH_TOPK='0'"),
        ({"TURNGYM_SEARCH_ENCODER": "/nowhere"}, "neither 'minilm' nor a folder"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_line(
    serve: Starter, environ: dict[str, str], says: str
) -> None:
    server = serve(ready=False, environ=environ)
    assert server.process is not None
    assert server.process.wait(60) == 1
    assert says in server.log() and "Traceback" not in server.log()


def test_a_full_queue_is_503_with_retry_after(serve: Starter) -> None:
    with serve(queue=1, max_batch=1, cache=0).client() as http:

        async def flood() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=str(http.base_url), timeout=60) as client:
                body = [
                    {"queries": [f"capital number {n}" for n in range(k, k + 20)]} for k in range(0, 400, 20)
                ]
                return list(await asyncio.gather(*(client.post("/retrieve", json=part) for part in body)))

        answers = asyncio.run(flood())
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused and len(refused) < len(answers)
        for answer in refused:
            assert (answer.status_code, answer.json()["code"]) == (503, "backend_unavailable")
            assert answer.json()["retryable"] and int(answer.headers["retry-after"]) >= 1


class RemoteServer:
    """A retrieval server in a thread, whose answers the test decides."""

    def __init__(self) -> None:
        self.status = 200
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)

    def _run(self, started: threading.Event) -> None:
        async def retrieve(request: web.Request) -> web.Response:
            body = await request.json()
            hit = {"document": {"id": "gov-0", "contents": '"France: Government"\nParis.'}, "score": 0.5}
            return web.json_response({"result": [[hit] for _ in body["queries"]]}, status=self.status)

        async def main() -> None:
            app = web.Application()
            app.router.add_post("/retrieve", retrieve)
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self.port).start()
            started.set()
            await self._stopping.wait()
            await runner.cleanup()

        self._loop.run_until_complete(main())

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)


@pytest.fixture
def remote() -> Iterator[RemoteServer]:
    made = RemoteServer()
    yield made
    made.stop()


def test_a_remote_that_fails_is_a_retryable_problem_and_never_a_score(
    serve: Starter, remote: RemoteServer
) -> None:
    url = f"http://127.0.0.1:{remote.port}/retrieve"
    server = serve(
        corpus=None, index=None, retriever="remote", remote_url=url, remote_tries=1, remote_timeout_s=2
    )
    with server.client() as http:
        session = create(http)
        remote.status = 500
        for _ in range(2):
            answer = step(http, session, "<search>France</search>", 1)
            assert (answer.status_code, answer.json()["code"]) == (503, "backend_unavailable")
            assert answer.json()["retryable"] and int(answer.headers["retry-after"]) >= 1
        assert http.post("/retrieve", json={"queries": ["France"]}).json()["code"] == "backend_unavailable"
        assert http.get(f"/sessions/{session['session_id']}").json()["turn"] == 0
        remote.status = 200
        result = step(http, session, "<search>France</search>", 1).json()
        assert "Paris" in result["observation"]["text"] and result["info"]["recall"] == 1
        assert step(http, session, "<answer>Paris</answer>", 2).json()["score"] == 1


def test_the_folder_for_data_may_be_an_option(tmp_path: Path) -> None:
    with started("turngym", "serve", "search", "--data-dir", str(tmp_path)):
        assert any((tmp_path / "search").iterdir())
    assert list(tmp_path.glob("*.journal"))

"""Another retrieval server, asked over HTTP in Search-R1's form.

A server that is slow, dead or answers nonsense is a failure of the infrastructure: :class:`BackendUnavailable`, after a few
tries, and never an empty result. What it finds is taken as it comes; its ids and scores are its own.
"""

import asyncio
from collections.abc import Sequence

import aiohttp
from pydantic import BaseModel, ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from turngym.environment import BackendUnavailable
from turngym_search.passages import Passage
from turngym_search.retrieval import Hit

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
RETRY_AFTER_S = 5.0
CLOSE_S = 5.0


class RemoteDocument(BaseModel):
    """A passage on the wire; what else a server sends of it is left alone."""

    id: str | int = ""
    contents: str


class RemoteHit(BaseModel):
    """A passage with its score."""

    document: RemoteDocument
    score: float


class RemoteAnswer(BaseModel):
    """The answer to ``/retrieve`` with scores: a list of hits for each query."""

    result: list[list[RemoteHit]]


class RemoteRetriever:
    """Asks the server at ``url`` (the whole address, with ``/retrieve``). Made and used in one event loop."""

    def __init__(self, url: str, timeout_s: float, tries: int) -> None:
        self._url = url
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._tries = tries
        self._http: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def search(self, queries: list[str], k: int) -> Sequence[Sequence[Hit]]:
        """The best ``k`` passages for each query. Raises BackendUnavailable beyond the last try."""
        tries = AsyncRetrying(
            retry=retry_if_exception_type(BackendUnavailable),
            wait=wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S),
            stop=stop_after_attempt(self._tries),
            reraise=True,
        )
        found: Sequence[Sequence[Hit]] = await tries(self._once, queries, k)
        return found

    async def _once(self, queries: list[str], k: int) -> Sequence[Sequence[Hit]]:
        if self._http is None or self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._http = aiohttp.ClientSession(timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar())
        body = {"queries": queries, "topk": k, "return_scores": True}
        try:
            async with self._http.post(self._url, json=body, allow_redirects=False) as response:
                content = await response.read()
                if response.status != 200:
                    raise self._failure(f"answers with status {response.status}")
            answer = RemoteAnswer.model_validate_json(content)
        except ValidationError as error:
            raise self._failure(f"answers in another form: {error.errors()[0]['msg']}") from None
        except TimeoutError:
            raise self._failure(f"gave no answer in {self._timeout.total:g} s") from None
        except aiohttp.ClientError as error:
            raise self._failure(f"can't be reached: {error}") from None
        if len(answer.result) != len(queries) or not all(answer.result):
            counts = [len(hits) for hits in answer.result]
            raise self._failure(f"gave {counts} passages for {len(queries)} queries")
        return [
            [Hit(Passage(str(hit.document.id), hit.document.contents), hit.score) for hit in hits[:k]]
            for hits in answer.result
        ]

    def _failure(self, what: str) -> BackendUnavailable:
        return BackendUnavailable(f"the retrieval server {self._url} {what}", RETRY_AFTER_S)

    def close(self) -> None:
        """Close the connections, from a thread other than the event loop's."""
        if self._http is None or self._loop is None:
            return
        if self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._http.close(), self._loop).result(CLOSE_S)
        else:
            asyncio.run(self._http.close())

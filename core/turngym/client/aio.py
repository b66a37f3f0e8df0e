"""The asynchronous client, for trainers and evaluations that keep many episodes in flight.

:class:`AsyncClient` is the protocol, call by call, with retries that are safe because every call can be repeated.
:class:`AsyncEpisode` is one episode that outlives a dead or restarted server. Neither knows policies or scores.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from turngym.client import calls
from turngym.client.calls import Answer, Call
from turngym.client.errors import ConnectionLost, UnexpectedAnswer
from turngym.client.patience import Patience
from turngym.client.recovery import FAILOVER_S, EpisodeView, is_lost, least_busy, order_of
from turngym.client.transport import (
    CLOSE_PATIENCE_S,
    CONNECT_TIMEOUT_S,
    KEEP_ALIVE_S,
    READY_POLL_S,
    authorization,
    base_address,
    lost,
    takes_proxy,
)
from turngym.problems import ProblemError
from turngym.schema import (
    ActionList,
    BatchResult,
    BatchStepEntry,
    ExpertAction,
    Metadata,
    Readiness,
    SessionRequest,
    SessionSummary,
    Split,
    StepResult,
    TaskInfo,
    TaskPage,
    Transcript,
)

CONNECTIONS = 512


class AsyncClient:
    """A client of one service.

    :param base_url: address of the service or gateway, ``http://HOST:PORT``.
    :param token: bearer token, where the server wants one.
    :param timeout_s: longest wait for one answer, in seconds; longer than the server's own deadline of a step.
    :param patience_s: how long trouble is borne without a break, in seconds; ``at_capacity`` is waited out in any case.
    :param connections: most connections at a time; calls beyond wait for a free one.

    Every method raises :class:`~turngym.problems.ProblemError` with the server's code, ConnectionLost beyond patience, and
    UnexpectedAnswer if what answers is no TurnGym service.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_s: float = 90,
        patience_s: float = 300,
        connections: int = CONNECTIONS,
    ) -> None:
        self.base_url = base_address(base_url)
        self.patience_s = patience_s
        self.episodes = 0  # open AsyncEpisodes, by which replicas share the load
        self._token = token
        self._timeout_s = timeout_s
        self._connections = connections
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. Sessions stay as they are."""
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def send(self, call: Call[Answer], patience_s: float | None = None) -> Answer:
        """Make a call, again and again within patience. ``patience_s`` overrides the client's."""
        patience = Patience(self.patience_s if patience_s is None else patience_s)
        answer: Answer = await patience.retrying_async()(self._once, call)
        return answer

    async def _once(self, call: Call[Answer]) -> Answer:
        if self._http is None:  # aiohttp's session belongs to the loop that makes it
            self._http = self._session()
        url = URL(self.base_url + call.path, encoded=True)
        try:
            async with self._http.request(
                call.method, url, data=call.body, headers=call.headers, allow_redirects=False
            ) as response:
                body = await response.read()
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError) as error:
            raise lost(self.base_url, error) from error
        except aiohttp.ClientError as error:
            raise UnexpectedAnswer(f"{self.base_url} does not answer in HTTP: {error}") from error
        return call.read(response.status, response.headers, body)

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=KEEP_ALIVE_S),
            headers=authorization(self._token),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=min(CONNECT_TIMEOUT_S, self._timeout_s), sock_read=self._timeout_s
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=takes_proxy(self.base_url),
        )

    async def ready(self) -> Readiness:
        """Whether the service has loaded; does not wait for it."""
        return await self.send(calls.ready())

    async def wait_ready(self, progress: Callable[[Readiness], None] | None = None) -> Readiness:
        """Wait until the service has loaded, however long it takes as long as it answers; ``progress`` is told each answer."""
        while True:
            state = await self.ready()
            if progress is not None:
                progress(state)
            if state.ready:
                return state
            await asyncio.sleep(READY_POLL_S)

    async def metadata(self) -> Metadata:
        """What there is to know about the service."""
        return await self.send(calls.metadata())

    async def tasks(self, split: Split, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of a split's tasks."""
        return await self.send(calls.tasks(split, offset, limit))

    async def task(self, task_id: str) -> TaskInfo:
        """One task."""
        return await self.send(calls.task(task_id))

    async def create(self, request: SessionRequest) -> StepResult:
        """Start an episode, under an id minted here if the request has none."""
        return await self.send(calls.create(request))

    async def step(self, session_id: str, action: str, turn: int) -> StepResult:
        """Act. ``turn`` is the number this step will have, 1 for the first."""
        return await self.send(calls.step(session_id, action, turn))

    async def get(self, session_id: str) -> StepResult:
        """The latest StepResult."""
        return await self.send(calls.get(session_id))

    async def transcript(self, session_id: str) -> Transcript:
        """The episode so far."""
        return await self.send(calls.transcript(session_id))

    async def actions(self, session_id: str) -> ActionList:
        """The valid actions now."""
        return await self.send(calls.actions(session_id))

    async def expert(self, session_id: str) -> ExpertAction:
        """What the expert would do now, where the server was started with experts."""
        return await self.send(calls.expert(session_id))

    async def fork(self, session_id: str, turn: int | None = None, child_id: str | None = None) -> StepResult:
        """A copy of the session in the state after ``turn`` (default: now)."""
        return await self.send(calls.fork(session_id, turn, child_id))

    async def close(self, session_id: str) -> SessionSummary:
        """End the session."""
        return await self.send(calls.close(session_id))

    async def batch_create(self, requests: Sequence[SessionRequest]) -> BatchResult:
        """Start up to 256 episodes."""
        return await self.send(calls.batch_create(requests))

    async def batch_step(self, entries: Sequence[BatchStepEntry]) -> BatchResult:
        """Up to 256 steps, each of another session and each with its turn."""
        return await self.send(calls.batch_step(entries))

    async def batch_close(self, session_ids: Sequence[str]) -> BatchResult:
        """End up to 256 sessions."""
        return await self.send(calls.batch_close(session_ids))


class AsyncEpisode(EpisodeView):
    """One episode, whatever becomes of its session. Make it with :meth:`open`; use it in ``async with``, or close it."""

    def __init__(
        self, clients: Sequence[AsyncClient], order: SessionRequest, reopen: int, deadline_s: float | None
    ) -> None:
        super().__init__(order, reopen, deadline_s)
        self._clients = clients
        self._at = least_busy([client.episodes for client in clients])
        self._closed = False
        self.client.episodes += 1

    @classmethod
    async def open(
        cls,
        clients: AsyncClient | Sequence[AsyncClient],
        *,
        task_id: str | None = None,
        split: Split | None = None,
        index: int | None = None,
        seed: int = 0,
        max_turns: int | None = None,
        options: Mapping[str, Any] | None = None,
        reopen: int = 3,
        deadline_s: float | None = None,
    ) -> "AsyncEpisode":
        """Open an episode of a task.

        :param clients: one client, or one per replica: the episode starts at the least busy and fails over to the next.
        :param task_id: the task, or ``split`` with ``index``.
        :param max_turns: the horizon.
        :param reopen: how often a lost session is opened again.
        :param deadline_s: longest life of the episode from its first answer on, in seconds.
        :raises ProblemError: if the order is wrong.
        :raises InfrastructureFailure: if no session can be had.
        """
        order = order_of(task_id, split, index, seed, max_turns, options)
        many = [clients] if isinstance(clients, AsyncClient) else list(clients)
        episode = cls(many, order, reopen, deadline_s)
        try:
            with episode.state.waiting():
                await episode._open(None)
        except BaseException:
            episode._leave()
            raise
        episode.state.start_deadline()
        return episode

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def client(self) -> AsyncClient:
        """The client of the replica where the session lives."""
        return self._clients[self._at]

    async def step(self, text: str) -> StepResult:
        """Play one turn with the agent's raw text.

        :raises ProblemError: ``session_finished`` if the episode is over; others only for a mistake of the caller.
        :raises InfrastructureFailure: if the episode is lost; it has no score then.
        """
        turn = self.state.next_turn()
        result = await self._call(lambda: calls.step(self.session_id, text, turn))
        return self.state.played(text, result)

    async def valid_actions(self) -> list[str]:
        """The valid actions now. Raises like :meth:`step`, and the problem ``not_supported``."""
        return (await self._call(lambda: calls.actions(self.session_id))).actions

    async def expert(self) -> str:
        """What the expert would do now. Raises like :meth:`step`, and the problem ``not_supported``."""
        return (await self._call(lambda: calls.expert(self.session_id))).action

    async def close(self) -> None:
        """End the session if it is open. May be called again, and never fails: a dead server's sessions expire."""
        if self._closed:
            return
        self._leave()
        if not self.over:
            await self._abandon(self.client, self.session_id)

    def _leave(self) -> None:
        self._closed = True
        self.client.episodes -= 1

    async def _call(self, make: Callable[[], Call[Answer]]) -> Answer:
        """Make a call of the present session within the deadline, opening it again as often as need be."""
        left = self.state.seconds_left()
        with self.state.waiting():
            try:
                async with asyncio.timeout(None if math.isinf(left) else left) as limit:
                    return await self._persist(make)
            except TimeoutError:
                if limit.expired():
                    raise self.state.late() from None
                raise

    async def _persist(self, make: Callable[[], Call[Answer]]) -> Answer:
        while True:
            try:
                return await self.client.send(make(), self._patience_s())
            except (ProblemError, ConnectionLost) as error:
                if not is_lost(error):
                    raise
                await self._open(error)

    async def _open(self, error: Exception | None) -> None:
        """Open a session in the present state; ``error`` is why there is none any more."""
        while True:
            if error is not None:
                self.state.count_reopening(error, len(self._clients))
                left, left_id = self.client, self.state.left_behind(error)
                self._move_on()
                if left_id is not None:
                    await self._abandon(left, left_id)
            try:
                result = await self.client.send(calls.create(self.state.order()), self._patience_s())
                break
            except (ProblemError, ConnectionLost) as trouble:
                error = trouble
        self.state.opened(result)

    def _move_on(self) -> None:
        self.client.episodes -= 1
        self._at = (self._at + 1) % len(self._clients)
        self.client.episodes += 1

    def _patience_s(self) -> float:
        own = self.client.patience_s
        return min(own, FAILOVER_S) if len(self._clients) > 1 else own

    @staticmethod
    async def _abandon(client: AsyncClient, session_id: str) -> None:
        """End a session that nobody needs any more; where that can't be done now, it expires."""
        try:
            async with asyncio.timeout(CLOSE_PATIENCE_S):
                await client.send(calls.close(session_id), CLOSE_PATIENCE_S)
        except (ProblemError, ConnectionLost, UnexpectedAnswer, TimeoutError):
            return

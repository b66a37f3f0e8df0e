"""The synchronous client, for scripts, notebooks and the command line: the surface of ``aio``, one call at a time."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

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


class Client:
    """A client of one service. Parameters and errors are those of :class:`~turngym.client.aio.AsyncClient`."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout_s: float = 90,
        patience_s: float = 300,
    ) -> None:
        self.base_url = base_address(base_url)
        self.patience_s = patience_s
        self.episodes = 0  # open episodes, by which replicas share the load
        self._http = httpx.Client(
            headers=authorization(token),
            timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
            limits=httpx.Limits(keepalive_expiry=KEEP_ALIVE_S),
            trust_env=takes_proxy(self.base_url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut()

    def shut(self) -> None:
        """Close the connections. Sessions stay as they are."""
        self._http.close()

    def send(self, call: Call[Answer], patience_s: float | None = None) -> Answer:
        """Make a call, again and again within patience. ``patience_s`` overrides the client's."""
        patience = Patience(self.patience_s if patience_s is None else patience_s)
        answer: Answer = patience.retrying()(self._once, call)
        return answer

    def _once(self, call: Call[Answer]) -> Answer:
        url = self.base_url + call.path
        try:
            response = self._http.request(call.method, url, content=call.body, headers=call.headers)
        except httpx.TransportError as error:
            raise lost(self.base_url, error) from error
        return call.read(response.status_code, response.headers, response.content)

    def ready(self) -> Readiness:
        """Whether the service has loaded; does not wait for it."""
        return self.send(calls.ready())

    def wait_ready(self, progress: Callable[[Readiness], None] | None = None) -> Readiness:
        """Wait until the service has loaded, however long it takes as long as it answers; ``progress`` is told each answer."""
        while True:
            state = self.ready()
            if progress is not None:
                progress(state)
            if state.ready:
                return state
            time.sleep(READY_POLL_S)

    def metadata(self) -> Metadata:
        """What there is to know about the service."""
        return self.send(calls.metadata())

    def tasks(self, split: Split, offset: int = 0, limit: int = 100) -> TaskPage:
        """A page of a split's tasks."""
        return self.send(calls.tasks(split, offset, limit))

    def task(self, task_id: str) -> TaskInfo:
        """One task."""
        return self.send(calls.task(task_id))

    def create(self, request: SessionRequest) -> StepResult:
        """Start an episode, under an id minted here if the request has none."""
        return self.send(calls.create(request))

    def step(self, session_id: str, action: str, turn: int) -> StepResult:
        """Act. ``turn`` is the number this step will have, 1 for the first."""
        return self.send(calls.step(session_id, action, turn))

    def get(self, session_id: str) -> StepResult:
        """The latest StepResult."""
        return self.send(calls.get(session_id))

    def transcript(self, session_id: str) -> Transcript:
        """The episode so far."""
        return self.send(calls.transcript(session_id))

    def actions(self, session_id: str) -> ActionList:
        """The valid actions now."""
        return self.send(calls.actions(session_id))

    def expert(self, session_id: str) -> ExpertAction:
        """What the expert would do now, where the server was started with experts."""
        return self.send(calls.expert(session_id))

    def fork(self, session_id: str, turn: int | None = None, child_id: str | None = None) -> StepResult:
        """A copy of the session in the state after ``turn`` (default: now)."""
        return self.send(calls.fork(session_id, turn, child_id))

    def close(self, session_id: str) -> SessionSummary:
        """End the session."""
        return self.send(calls.close(session_id))

    def batch_create(self, requests: Sequence[SessionRequest]) -> BatchResult:
        """Start up to 256 episodes."""
        return self.send(calls.batch_create(requests))

    def batch_step(self, entries: Sequence[BatchStepEntry]) -> BatchResult:
        """Up to 256 steps, each of another session and each with its turn."""
        return self.send(calls.batch_step(entries))

    def batch_close(self, session_ids: Sequence[str]) -> BatchResult:
        """End up to 256 sessions."""
        return self.send(calls.batch_close(session_ids))


class Episode(EpisodeView):
    """One episode, whatever becomes of its session. Make it with :meth:`open`; use it as a context manager or close it."""

    def __init__(
        self, clients: Sequence[Client], order: SessionRequest, reopen: int, deadline_s: float | None
    ) -> None:
        super().__init__(order, reopen, deadline_s)
        self._clients = clients
        self._at = least_busy([client.episodes for client in clients])
        self._closed = False
        self.client.episodes += 1

    @classmethod
    def open(
        cls,
        clients: Client | Sequence[Client],
        *,
        task_id: str | None = None,
        split: Split | None = None,
        index: int | None = None,
        seed: int = 0,
        max_turns: int | None = None,
        options: Mapping[str, Any] | None = None,
        reopen: int = 3,
        deadline_s: float | None = None,
    ) -> "Episode":
        """Open an episode of a task; as ``AsyncEpisode.open``, but ``deadline_s`` is looked at only between two calls."""
        order = order_of(task_id, split, index, seed, max_turns, options)
        many = [clients] if isinstance(clients, Client) else list(clients)
        episode = cls(many, order, reopen, deadline_s)
        try:
            with episode.state.waiting():
                episode._open(None)
        except BaseException:
            episode._leave()
            raise
        episode.state.start_deadline()
        return episode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def client(self) -> Client:
        """The client of the replica where the session lives."""
        return self._clients[self._at]

    def step(self, text: str) -> StepResult:
        """Play one turn with the agent's raw text. Raises like ``AsyncEpisode.step``."""
        turn = self.state.next_turn()
        result = self._call(lambda: calls.step(self.session_id, text, turn))
        return self.state.played(text, result)

    def valid_actions(self) -> list[str]:
        """The valid actions now. Raises like :meth:`step`, and the problem ``not_supported``."""
        return self._call(lambda: calls.actions(self.session_id)).actions

    def expert(self) -> str:
        """What the expert would do now. Raises like :meth:`step`, and the problem ``not_supported``."""
        return self._call(lambda: calls.expert(self.session_id)).action

    def close(self) -> None:
        """End the session if it is open. May be called again, and never fails: a dead server's sessions expire."""
        if self._closed:
            return
        self._leave()
        if not self.over:
            self._abandon(self.client, self.session_id)

    def _leave(self) -> None:
        self._closed = True
        self.client.episodes -= 1

    def _call(self, make: Callable[[], Call[Answer]]) -> Answer:
        """Make a call of the present session, opening it again as often as need be."""
        with self.state.waiting():
            while True:
                try:
                    return self.client.send(make(), self._patience_s())
                except (ProblemError, ConnectionLost) as error:
                    if not is_lost(error):
                        raise
                    self._open(error)

    def _open(self, error: Exception | None) -> None:
        """Open a session in the present state; ``error`` is why there is none any more."""
        while True:
            if error is not None:
                self.state.count_reopening(error, len(self._clients))
                left, left_id = self.client, self.state.left_behind(error)
                self._move_on()
                if left_id is not None:
                    self._abandon(left, left_id)
            try:
                result = self.client.send(calls.create(self.state.order()), self._patience_s())
                break
            except (ProblemError, ConnectionLost) as trouble:
                error = trouble
        self.state.opened(result)

    def _move_on(self) -> None:
        self.client.episodes -= 1
        self._at = (self._at + 1) % len(self._clients)
        self.client.episodes += 1

    def _patience_s(self) -> float:
        own = self.client.patience_s if len(self._clients) == 1 else min(self.client.patience_s, FAILOVER_S)
        return min(own, self.state.seconds_left())

    @staticmethod
    def _abandon(client: Client, session_id: str) -> None:
        """End a session that nobody needs any more; where that can't be done now, it expires."""
        try:
            client.send(calls.close(session_id), CLOSE_PATIENCE_S)
        except (ProblemError, ConnectionLost, UnexpectedAnswer):
            return

"""How an episode outlives its session: the state that a client keeps, and the decisions, without a transport.

Column "client" of the protocol's problem table: a session that failed, expired, or lives in a server that is gone is opened
again under a new id with the ``actions`` so far; so is one that others have moved. What the agent saw must come out
again, else the episode has drifted.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from turngym.client.calls import new_session_id
from turngym.client.errors import ConnectionLost, EpisodeDrifted, InfrastructureFailure
from turngym.client.patience import is_trouble
from turngym.problems import ProblemError
from turngym.schema import Message, SessionRequest, Split, StepResult

# A turn conflict too: an episode numbers its turns itself, so the session that answers is not the one it played. That happens
# behind a gateway: a create whose answer was lost stands at one replica, is repeated at another, and the first comes back.
LOST_CODES = frozenset(
    {"unknown_session", "step_timeout", "environment_failure", "session_expired", "turn_conflict"}
)
FAILOVER_S = 10.0  # with another replica at hand, trouble is borne for so long before the episode goes there


def is_lost(error: Exception) -> bool:
    """Whether a session opened anew can help: the session is gone, or its server is beyond patience."""
    if isinstance(error, ProblemError):
        return error.code in LOST_CODES or error.kind.retryable
    return isinstance(error, ConnectionLost)


def least_busy(loads: Sequence[int]) -> int:
    """The index of the replica with the fewest episodes."""
    return min(range(len(loads)), key=loads.__getitem__)


def order_of(
    task_id: str | None,
    split: Split | None,
    index: int | None,
    seed: int,
    max_turns: int | None,
    options: Mapping[str, Any] | None,
) -> SessionRequest:
    """The request for an episode. Raises pydantic's ValidationError, a ValueError, without exactly one selector."""
    return SessionRequest(
        task_id=task_id,
        split=split,
        index=index,
        seed=seed,
        max_turns=max_turns,
        options=dict(options or {}),
    )


class EpisodeState:
    """What is known of an episode: its order, the texts sent, the latest result.

    ``reopened`` counts the sessions opened after the first. ``wait_s`` is the time spent in calls to the server, in seconds.
    """

    def __init__(self, order: SessionRequest, reopen: int, deadline_s: float | None) -> None:
        self._order = order
        self.seed = order.seed
        self._reopen = reopen
        self._deadline_s = deadline_s
        self._ends = math.inf
        self._result: StepResult | None = None
        self.messages: list[Message] = []
        self.actions: list[str] = []
        self.reopened = 0
        self.wait_s = 0.0

    @property
    def result(self) -> StepResult:
        """The latest StepResult. Raises RuntimeError before the episode is open."""
        if self._result is None:
            raise RuntimeError("the episode is not open yet")
        return self._result

    def order(self) -> SessionRequest:
        """The request for a session in the present state, under a new id."""
        return self._order.model_copy(update={"session_id": new_session_id(), "actions": list(self.actions)})

    def opened(self, result: StepResult) -> None:
        """Take over a new session. Raises EpisodeDrifted if it shows something else than the agent has seen."""
        known = self._result
        if known is not None and _seen(known, self.messages) != _seen(result, result.messages):
            raise EpisodeDrifted(
                f"{known.task.task_id}, turn {known.turn}: the session opened again shows "
                f"{_short(result.observation.text)}, and the agent saw {_short(known.observation.text)}"
            )
        self.messages = result.messages or []
        self._result = result

    def played(self, action: str, result: StepResult) -> StepResult:
        """Take over the result of a turn."""
        self.actions.append(action)
        self._result = result
        return result

    def next_turn(self) -> int:
        """The number of the next step. Raises the problem ``session_finished``."""
        result = self.result
        if result.stop_reason is not None:
            detail = f"the episode ended at turn {result.turn} with {result.stop_reason}"
            raise ProblemError("session_finished", detail, session_id=result.session_id)
        return result.turn + 1

    def count_reopening(self, error: Exception, replicas: int) -> None:
        """Count a session to be opened because of ``error``.

        Raises the error itself if it is no loss and nothing was ever open: then the order is wrong. Raises
        InfrastructureFailure if it is no loss in the course of a reopening, or one loss too many, or if the only replica
        was in trouble for longer than patience.
        """
        if not is_lost(error):
            if self._result is None or not isinstance(error, ProblemError):
                raise error
            raise InfrastructureFailure(f"the episode can't be opened again: {error}") from error
        if replicas == 1 and is_trouble(error):
            raise InfrastructureFailure(
                f"no server to go on with at turn {len(self.actions)}: {error}"
            ) from error
        if self.reopened >= self._reopen:
            raise InfrastructureFailure(
                f"given up after {self.reopened} reopenings at turn {len(self.actions)}: {error}"
            ) from error
        self.reopened += 1

    def left_behind(self, error: Exception) -> str | None:
        """The id of the session that ``error`` makes the episode leave, if it may hold a slot in a server that answers."""
        answered = isinstance(error, ProblemError) and error.kind.retryable
        return self._result.session_id if self._result is not None and answered else None

    def start_deadline(self) -> None:
        """Start the clock of the deadline: called at the first answer."""
        if self._deadline_s is not None:
            self._ends = time.monotonic() + self._deadline_s

    def seconds_left(self) -> float:
        """Seconds until the deadline, infinite where there is none. Raises InfrastructureFailure when it has passed."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self.late()
        return left

    def late(self) -> InfrastructureFailure:
        """The failure of an episode that took too long."""
        took = f"the episode took longer than its {self._deadline_s:g} s"
        return InfrastructureFailure(f"{took}, at turn {len(self.actions)}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time in the block as spent waiting for the server."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.wait_s += time.monotonic() - started


class EpisodeView:
    """What both kinds of episode show of their state."""

    def __init__(self, order: SessionRequest, reopen: int, deadline_s: float | None) -> None:
        self.state = EpisodeState(order, reopen, deadline_s)

    @property
    def result(self) -> StepResult:
        """The latest StepResult."""
        return self.state.result

    @property
    def session_id(self) -> str:
        """The id of the present session; another one after a reopening."""
        return self.state.result.session_id

    @property
    def seed(self) -> int:
        """The seed of the episode."""
        return self.state.seed

    @property
    def messages(self) -> list[Message]:
        """The chat that opened the episode."""
        return self.state.messages

    @property
    def actions(self) -> list[str]:
        """The raw texts sent so far, one a turn."""
        return self.state.actions

    @property
    def reopened(self) -> int:
        """How many sessions were opened after the first."""
        return self.state.reopened

    @property
    def wait_s(self) -> float:
        """Seconds spent in calls to the server so far."""
        return self.state.wait_s

    @property
    def terminated(self) -> bool:
        """Whether the environment or the agent has ended the episode."""
        return self.state.result.terminated

    @property
    def truncated(self) -> bool:
        """Whether the episode was cut off."""
        return self.state.result.truncated

    @property
    def over(self) -> bool:
        """Whether no turn is left."""
        return self.state.result.stop_reason is not None


def _seen(result: StepResult, messages: list[Message] | None) -> tuple[object, ...]:
    return result.task.task_id, result.turn, result.observation.text, messages, result.stop_reason


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")

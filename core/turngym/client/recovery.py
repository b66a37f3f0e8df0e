"""How an episode outlives its session: the state that a client keeps, and the decisions, without a transport.

Column "client" of the protocol's problem table: a session that failed, expired, or lives in a server that is gone is opened
again under a new id with the ``actions`` so far. What the agent saw must come out again, else the episode has drifted.
"""

from collections.abc import Sequence

from turngym.client.calls import new_session_id
from turngym.client.errors import ConnectionLost, EpisodeDrifted, InfrastructureFailure
from turngym.client.patience import is_trouble
from turngym.problems import ProblemError
from turngym.schema import Message, SessionRequest, StepResult

LOST_CODES = frozenset({"unknown_session", "step_timeout", "environment_failure", "session_expired"})
FAILOVER_S = 10.0  # with another replica at hand, trouble is borne for so long before the episode goes there


def is_lost(error: Exception) -> bool:
    """Whether a session opened anew can help: the session is gone, or its server is beyond patience."""
    if isinstance(error, ProblemError):
        return error.code in LOST_CODES or error.kind.retryable
    return isinstance(error, ConnectionLost)


class EpisodeState:
    """What is known of an episode: its order, the texts sent, the latest result.

    ``reopened`` counts the sessions opened after the first. ``wait_s`` is the time spent in calls to the server, in seconds.
    """

    def __init__(self, order: SessionRequest, reopen: int) -> None:
        self._order = order.model_copy(update={"session_id": None})
        self._reopen = reopen
        self._result: StepResult | None = None
        self.messages: list[Message] = []
        self.actions: list[str] = list(order.actions)
        self.reopened = 0
        self.wait_s = 0.0

    @property
    def result(self) -> StepResult:
        """The latest StepResult. Raises RuntimeError before the episode is open."""
        if self._result is None:
            raise RuntimeError("the episode is not open yet")
        return self._result

    @property
    def session_id(self) -> str:
        """The id of the present session; another one after a reopening."""
        return self.result.session_id

    @property
    def terminated(self) -> bool:
        """Whether the environment or the agent has ended the episode."""
        return self.result.terminated

    @property
    def truncated(self) -> bool:
        """Whether the episode was cut off."""
        return self.result.truncated

    @property
    def over(self) -> bool:
        """Whether no turn is left."""
        return self.result.stop_reason is not None

    def order(self) -> SessionRequest:
        """The request for a session in the present state, under a new id."""
        return self._order.model_copy(
            update={"session_id": new_session_id(), "actions": list(self.actions)}
        )

    def opened(self, result: StepResult) -> None:
        """Take over a new session. Raises EpisodeDrifted if it shows something else than the agent has seen."""
        known = self._result
        if known is not None:
            told = result.messages if result.messages is not None else self.messages
            same = (known.turn, known.observation.text, self.messages) == (
                result.turn,
                result.observation.text,
                told,
            )
            if not same or known.task.task_id != result.task.task_id:
                raise EpisodeDrifted(
                    f"{result.task.task_id}, turn {known.turn}: the session opened again shows "
                    f"{_short(result.observation.text)}, and the agent saw {_short(known.observation.text)}"
                )
        self.messages = result.messages or self.messages
        self._result = result

    def played(self, action: str, result: StepResult) -> StepResult:
        """Take over the result of a turn."""
        self.actions.append(action)
        self._result = result
        return result

    def next_turn(self) -> int:
        """The number of the next step. Raises the problem ``session_finished``."""
        if self.over:
            detail = f"the episode ended at turn {self.result.turn} with {self.result.stop_reason}"
            raise ProblemError("session_finished", detail, session_id=self.session_id)
        return self.result.turn + 1

    def count_reopening(self, error: Exception) -> None:
        """Count a session to be opened because of ``error``.

        Raises the error itself if it is no loss and nothing was ever open: then the order is wrong. Raises
        InfrastructureFailure if it is no loss in the course of a reopening, or one loss too many.
        """
        if not is_lost(error):
            if self._result is None or not isinstance(error, ProblemError):
                raise error
            raise InfrastructureFailure(f"the episode can't be opened again: {error}") from error
        if self.reopened >= self._reopen:
            raise InfrastructureFailure(
                f"given up after {self.reopened} reopenings at turn {len(self.actions)}: {error}"
            ) from error
        self.reopened += 1

    def may_hold_slot(self, error: Exception) -> bool:
        """Whether the session that is left behind may still be open."""
        return self._result is not None and is_trouble(error)

    def past_deadline(self, deadline_s: float) -> InfrastructureFailure:
        """The failure of an episode that took too long."""
        return InfrastructureFailure(f"the episode took longer than its {deadline_s:g} s, at turn {len(self.actions)}")


def least_busy(loads: Sequence[int]) -> int:
    """The index of the replica with the fewest episodes."""
    return min(range(len(loads)), key=loads.__getitem__)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")

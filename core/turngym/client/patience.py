"""When a call is tried again, and after how long.

Tried again are broken connections and the problems that say ``retryable``; nothing else. ``at_capacity`` is waited out as
long as it takes: a full server is no failure. Other trouble is borne for ``patience_s`` seconds without a break. Waits grow
exponentially with full jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog 2015), after ``Retry-After``.
"""

import time
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, Retrying, wait_random_exponential

from turngym.client.errors import ConnectionLost
from turngym.problems import ProblemError

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 8.0


def is_trouble(error: BaseException | None) -> bool:
    """Whether the same call may well work later."""
    return isinstance(error, ConnectionLost) or (isinstance(error, ProblemError) and error.kind.retryable)


class Patience:
    """The patience with one call: what tenacity asks it, and since when there is trouble."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._troubled_since: float | None = None
        self._back_off = wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)

    def retrying(self) -> Retrying:
        """A loop of blocking tries."""
        return Retrying(**self._terms())

    def retrying_async(self) -> AsyncRetrying:
        """A loop of awaited tries."""
        return AsyncRetrying(**self._terms())

    def _terms(self) -> dict[str, Any]:
        return {"retry": self._again, "wait": self._wait, "stop": self._stop, "reraise": True}

    def _again(self, state: RetryCallState) -> bool:
        return is_trouble(_error(state))

    def _wait(self, state: RetryCallState) -> float:
        error = _error(state)
        after = error.retry_after if isinstance(error, ProblemError) else None
        return (after or 0.0) + self._back_off(state)

    def _stop(self, state: RetryCallState) -> bool:
        error = _error(state)
        if isinstance(error, ProblemError) and error.code == "at_capacity":
            self._troubled_since = None
            return False
        now = time.monotonic()
        if self._troubled_since is None:
            self._troubled_since = now
        return now + state.upcoming_sleep - self._troubled_since > self.patience_s


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None

"""What a service implements: its tasks, and one single-use :class:`Environment` per episode.

The runtime (``turngym.server``) does everything else: ids, turns, horizons, retries, the journal, deadlines. So an
environment has no reset, no session id, no clock and no HTTP; it can be imported and tested without a web server.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

from turngym.schema import ActionGrammar, Message, Split, StopReason, TaskInfo

if TYPE_CHECKING:
    from turngym.server.routes import RouteDoc

Progress = Callable[[str, float], None]


class Mode(StrEnum):
    """Where the code of an environment runs."""

    INLINE = "inline"  # in the event loop: pure Python that takes microseconds
    THREAD = "thread"  # in a worker thread: blocking calls that release the GIL
    ASYNC = "async"  # coroutines in the event loop: every method below may be ``async def``
    PROCESS = "process"  # in a worker process: long CPU work; a hung worker is killed


class NotSupported(Exception):
    """Raised by an optional method that the environment does not have."""


class BackendDied(Exception):
    """Raised by an environment whose backend (JVM, browser, process) is gone. The runtime rebuilds the episode by replay.

    ``acted`` is False where the backend was found dead before it was given this action: then the action is not what killed
    it, and does not count towards the deaths after which a turn is given up. That holds for backends that many episodes
    share, where all but one are bystanders.
    """

    def __init__(self, message: str = "", *, acted: bool = True) -> None:
        super().__init__(message)
        self.acted = acted


class BackendUnavailable(Exception):
    """Raised by an environment that needs something (another server, a queue with room) which can't answer just now.

    The environment must be as it was before the call: the session stays open, the client is told ``backend_unavailable`` and
    tries the same turn again, after ``retry_after`` seconds.
    """

    def __init__(self, detail: str, retry_after: float = 1.0) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Options(BaseModel):
    """A session's options. A service derives its own; a misspelt option is an error."""

    model_config = ConfigDict(extra="forbid")

    image: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one turn did.

    ``text`` is the observation; ``data`` its structured form. ``reward`` is this turn's, ``score`` the episode's so far in
    0..1. ``stop`` ends the episode (only SUCCESS, FAILURE and AGENT_STOP are the environment's to say) and ``success`` is
    needed with AGENT_STOP alone. ``invalid`` marks an action that could be read but not done; ``unreadable`` one that the
    grammar took for an action and the environment can't read after all, which counts for ``Spec.invalid_limit``.
    """

    text: str
    reward: float = 0.0
    score: float = 0.0
    stop: StopReason | None = None
    success: bool | None = None
    invalid: bool = False
    unreadable: bool = False
    data: dict[str, Any] | None = None
    info: dict[str, Any] = field(default_factory=dict)


class Environment(ABC):
    """One episode. Made by :meth:`Service.open`, stepped until it ends, closed, thrown away."""

    @abstractmethod
    def start(self) -> list[Message]:
        """The chat that opens the episode; its last message is the user's and is the first observation."""

    @abstractmethod
    def step(self, action: str) -> Outcome:
        """Do one action, already read from the turn's text by the grammar. Never raises for what an agent wrote."""

    def unreadable(self, reason: str) -> Outcome:
        """The outcome of a turn whose text held no single action. ``reason`` says what was wrong."""
        return Outcome(text=reason, score=self.score, invalid=True, unreadable=True)

    @property
    def score(self) -> float:
        """The episode's score so far, 0..1."""
        return 0.0

    def opening_data(self) -> dict[str, Any] | None:
        """The structured form of the first observation."""
        return None

    def actions(self) -> list[str]:
        """Every valid action of the current state."""
        raise NotSupported("this environment can't list its actions")

    def expert(self) -> str:
        """The expert's next action from the current state."""
        raise NotSupported("this environment has no expert")

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's next action or, with probability ``rate``, a well-formed useless one."""
        raise NotSupported("this environment has no novice")

    def random(self, rng: Random) -> str:
        """A random action, well formed."""
        return rng.choice(self.actions())

    def fork(self) -> "Environment":
        """An independent copy of the current state."""
        raise NotSupported("this environment can't copy itself")

    def render(self) -> bytes | None:
        """The current state as a PNG, or None where there is no picture."""
        return None

    def close(self) -> None:
        """Free what the episode holds. Called once."""
        return None


@dataclass(frozen=True, slots=True)
class Spec:
    """What is fixed about an environment. ``version`` and ``data_hash`` guard every replay.

    ``data_hash`` is a sha256 over what tasks are made from. ``invalid_limit`` ends the episode after so many unreadable
    turns in a row. ``risky``: acting can kill the backend, so the intent is journaled before each action.
    """

    name: str
    version: str
    description: str
    instruction: str
    grammar: ActionGrammar
    default_max_turns: int
    max_turns: int
    data_hash: str
    mode: Mode = Mode.INLINE
    reward_range: tuple[float, float] = (0.0, 1.0)
    deterministic: bool = True
    forkable: bool = False
    risky: bool = False
    invalid_limit: int | None = None
    shared_state: str | None = None


class TaskSet(ABC):
    """The tasks of a service: three splits, stable ids, the same order in every process and on every machine."""

    @abstractmethod
    def count(self, split: Split) -> int:
        """How many tasks the split has."""

    @abstractmethod
    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``. Raises IndexError beyond the end."""

    @abstractmethod
    def get(self, task_id: str) -> TaskInfo:
        """The task of that id. Raises KeyError."""

    def page(self, split: Split, offset: int, limit: int) -> Iterator[TaskInfo]:
        """The tasks ``offset`` to ``offset + limit`` of a split, fewer at its end."""
        for index in range(offset, min(offset + limit, self.count(split))):
            yield self.at(split, index)


class Service(ABC):
    """What ``turngym serve NAME`` serves. Found by the entry point group ``turngym.services``; made once a process.

    In mode ASYNC, :meth:`load` and :meth:`close` may be coroutines too; they run in the event loop of the episodes.
    """

    Options: ClassVar[type[Options]] = Options
    defaults: ClassVar[
        Mapping[str, Any]
    ] = {}  # settings that differ from the runtime's own, e.g. {"port": 8003}

    spec: Spec
    tasks: TaskSet

    def load(self, progress: Progress) -> Awaitable[None] | None:
        """Load what is slow (index, JVM, browser), reporting ``progress(what, 0..1)``. Runs before /ready is true."""
        return None

    @abstractmethod
    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task. ``options`` is an instance of :attr:`Options`. Same arguments, same texts."""

    def routes(self) -> "Sequence[RouteDoc]":
        """Routes of the service's own, beside the protocol's; they are documented and guarded like those.

        A handler that needs what :meth:`load` makes raises the problem ``not_ready`` until it is there.
        """
        return ()

    def gauges(self) -> Mapping[str, float]:
        """Environment gauges for /metrics, e.g. ``{"jvm_heap_bytes": 1.2e8}``."""
        return {}

    def close(self) -> Awaitable[None] | None:
        """Free what :meth:`load` took."""
        return None

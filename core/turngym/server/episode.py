"""The rules of an episode around an environment: reading the turn's text, counting turns, deciding when it is over.

One :class:`Episode` plays one environment. It knows nothing of HTTP, ids or the journal, so it can live in the event loop,
in a thread or in a worker process, and a program without a server gets exactly the server's rules from it.
"""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from turngym.environment import Environment, Outcome, Spec
from turngym.parsing import UnreadableAction, read_action
from turngym.schema import Message, StopReason

_ENVIRONMENTS_OWN = (None, StopReason.SUCCESS, StopReason.FAILURE, StopReason.AGENT_STOP)


class EnvironmentBroken(Exception):
    """The environment broke its contract; the message says how."""


class EpisodeOver(ValueError):
    """There were actions left to play when the episode ended. ``turn`` is the turn that ended it."""

    def __init__(self, turn: int) -> None:
        super().__init__(turn)
        self.turn = turn


@dataclass(slots=True)
class Opening:
    """What an episode opens with. ``image`` is a PNG."""

    messages: list[Message]
    data: dict[str, Any] | None
    score: float
    image: bytes | None = None


@dataclass(slots=True)
class Turn:
    """One played turn. ``parsed`` is the command that was read, None where the text was unreadable."""

    number: int
    action: str
    parsed: str | None
    text: str
    data: dict[str, Any] | None
    reward: float
    score: float
    success: bool | None
    stop: StopReason | None
    invalid: bool
    info: dict[str, Any] = field(default_factory=dict)
    image: bytes | None = None


class Episode:
    """Plays one environment to its end. ``turn`` counts the turns played, ``stop`` says why it is over."""

    __slots__ = ("environment", "image", "max_turns", "spec", "stop", "turn", "unreadable")

    def __init__(self, environment: Environment, spec: Spec, max_turns: int, image: bool = False) -> None:
        self.environment = environment
        self.spec = spec
        self.max_turns = max_turns
        self.image = image
        self.turn = 0
        self.unreadable = 0
        self.stop: StopReason | None = None

    def begin(self) -> Opening:
        """Open the episode. Raises EnvironmentBroken if the chat does not end with a user's message."""
        environment = self.environment
        opening = Opening(environment.start(), environment.opening_data(), environment.score, self._picture())
        return _checked_opening(opening)

    def play(self, text: str) -> Turn:
        """Play one turn from the model's raw text."""
        command, reason = self._read(text)
        environment = self.environment
        outcome = environment.step(command) if command is not None else environment.unreadable(reason)
        turn = self._judge(text, command, outcome)
        if self.image:
            turn.image = self._picture()
        return turn

    def replay(self, actions: Sequence[str]) -> list[Turn]:
        """Play ``actions`` one after another. Raises EpisodeOver if some are left when the episode ends."""
        turns = []
        for action in actions:
            if self.stop is not None:
                raise EpisodeOver(self.turn)
            turns.append(self.play(action))
        return turns

    def fork(self) -> "Episode":
        """An independent copy of the current state. Raises NotSupported where the environment can't copy itself."""
        return self._beside(self.environment.fork())

    async def begin_async(self) -> Opening:
        """Like :meth:`begin`, for an environment whose methods may be coroutines."""
        environment = self.environment
        messages = await settled(environment.start())
        data = await settled(environment.opening_data())
        image = await settled(environment.render()) if self.image else None
        return _checked_opening(Opening(messages, data, await settled(environment.score), image))

    async def play_async(self, text: str) -> Turn:
        """Like :meth:`play`, for an environment whose methods may be coroutines."""
        command, reason = self._read(text)
        environment = self.environment
        outcome = environment.step(command) if command is not None else environment.unreadable(reason)
        turn = self._judge(text, command, await settled(outcome))
        if self.image:
            turn.image = await settled(environment.render())
        return turn

    async def replay_async(self, actions: Sequence[str]) -> list[Turn]:
        """Like :meth:`replay`, for an environment whose methods may be coroutines."""
        turns = []
        for action in actions:
            if self.stop is not None:
                raise EpisodeOver(self.turn)
            turns.append(await self.play_async(action))
        return turns

    async def fork_async(self) -> "Episode":
        """Like :meth:`fork`, for an environment whose methods may be coroutines."""
        return self._beside(await settled(self.environment.fork()))

    def _beside(self, environment: Environment) -> "Episode":
        copy = Episode(environment, self.spec, self.max_turns, self.image)
        copy.turn, copy.unreadable, copy.stop = self.turn, self.unreadable, self.stop
        return copy

    def _picture(self) -> bytes | None:
        return self.environment.render() if self.image else None

    def _read(self, text: str) -> tuple[str | None, str]:
        try:
            return read_action(text, self.spec.grammar), ""
        except UnreadableAction as error:
            return None, str(error)

    def _judge(self, text: str, command: str | None, outcome: Outcome) -> Turn:
        stop = outcome.stop
        score = outcome.score
        if stop not in _ENVIRONMENTS_OWN:
            raise EnvironmentBroken(f"the environment stopped with {stop!r}, which only the server may say")
        if not 0.0 <= score <= 1.0 or not math.isfinite(outcome.reward):
            raise EnvironmentBroken(f"reward {outcome.reward!r} or score {score!r} is out of range")
        self.turn += 1
        unreadable = command is None or outcome.unreadable
        self.unreadable = self.unreadable + 1 if unreadable else 0
        success: bool | None = None
        if stop is not None:
            success = stop is StopReason.SUCCESS if stop is not StopReason.AGENT_STOP else outcome.success
            if success is None:
                raise EnvironmentBroken("the agent stopped and the environment gave no verdict on success")
        elif self.spec.invalid_limit is not None and self.unreadable >= self.spec.invalid_limit:
            stop, success = StopReason.INVALID_LIMIT, score >= 1.0
        elif self.turn >= self.max_turns:
            stop, success = StopReason.MAX_TURNS, score >= 1.0
        self.stop = stop
        invalid = outcome.invalid or unreadable
        return Turn(
            self.turn,
            text,
            command,
            outcome.text,
            outcome.data,
            outcome.reward,
            score,
            success,
            stop,
            invalid,
            outcome.info,
        )


async def settled(value: Any) -> Any:
    """``value``, awaited where it is awaitable."""
    return await value if inspect.isawaitable(value) else value


def _checked_opening(opening: Opening) -> Opening:
    if not opening.messages or opening.messages[-1].role != "user":
        raise EnvironmentBroken("the opening chat must end with a user's message, the first observation")
    if not 0.0 <= opening.score <= 1.0:
        raise EnvironmentBroken(f"score {opening.score!r} is out of range")
    return opening

"""A person plays in the terminal: against a service over HTTP, or with one that is installed here, in this process."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.markup import escape

from turngym.client.sync import Client, Episode
from turngym.environment import NotSupported, Service
from turngym.problems import ProblemError
from turngym.schema import Command, Message, Metadata, Split, StopReason, TaskInfo
from turngym.server import episode as local
from turngym.server.episode import settled

HELP = "/actions lists what is possible, /hint asks the expert, /quit ends"

Value = TypeVar("Value")


class Game(Protocol):
    """An episode that a person plays."""

    messages: list[Message]
    commands: list[Command]
    stop: StopReason | None
    success: bool | None
    score: float

    def step(self, text: str) -> str:
        """Play a turn; the observation."""
        ...

    def actions(self) -> list[str]:
        """The valid actions. Raises NotSupported."""
        ...

    def hint(self) -> str:
        """The expert's action. Raises NotSupported."""
        ...

    def close(self) -> None:
        """Leave the episode."""
        ...


class RemoteGame:
    """An episode of a service over HTTP."""

    def __init__(self, client: Client, metadata: Metadata, selector: Mapping[str, Any]) -> None:
        self._episode = Episode.open(client, **selector)
        self.messages = self._episode.messages
        self.commands = metadata.grammar.commands
        self.stop: StopReason | None = None
        self.success: bool | None = None
        self.score = self._episode.result.score

    def step(self, text: str) -> str:
        """Play a turn; the observation."""
        result = self._episode.step(text)
        self.stop, self.success, self.score = result.stop_reason, result.success, result.score
        return result.observation.text

    def actions(self) -> list[str]:
        """The valid actions. Raises NotSupported."""
        try:
            return self._episode.valid_actions()
        except ProblemError as error:
            raise _not_supported(error) from None

    def hint(self) -> str:
        """The expert's action. Raises NotSupported."""
        try:
            return self._episode.expert()
        except ProblemError as error:
            raise _not_supported(error) from None

    def close(self) -> None:
        """End the session."""
        self._episode.close()


class LocalGame:
    """An episode of a service in this process; the service is loaded for it and closed with it."""

    def __init__(
        self, service: Service, task: TaskInfo, seed: int, options: Mapping[str, Any], max_turns: int | None
    ) -> None:
        chosen = type(service).Options.model_validate(dict(options))
        horizon = max_turns or service.spec.default_max_turns
        with ExitStack() as held:
            self._runner = held.enter_context(asyncio.Runner())
            held.callback(lambda: self._run(_settle_call(service.close)))
            self._run(_settle_call(lambda: service.load(lambda what, part: None)))
            environment = self._run(_settle_call(lambda: service.open(task, seed, chosen)))
            held.callback(lambda: self._run(_settle_call(environment.close)))
            self._episode = local.Episode(environment, service.spec, horizon)
            opening = self._run(self._episode.begin_async())
            self._held = held.pop_all()
        self.messages = opening.messages
        self.commands = service.spec.grammar.commands
        self.stop: StopReason | None = None
        self.success: bool | None = None
        self.score = opening.score

    def step(self, text: str) -> str:
        """Play a turn; the observation."""
        turn = self._run(self._episode.play_async(text))
        self.stop, self.success, self.score = turn.stop, turn.success, turn.score
        return turn.text

    def actions(self) -> list[str]:
        """The valid actions. Raises NotSupported."""
        return self._run(_settle_call(self._episode.environment.actions))

    def hint(self) -> str:
        """The expert's action. Raises NotSupported."""
        return self._run(_settle_call(self._episode.environment.expert))

    def close(self) -> None:
        """Free the environment and the service."""
        self._held.close()

    def _run(self, work: Coroutine[Any, Any, Value]) -> Value:
        return self._runner.run(work)


def play(game: Game, console: Console) -> None:
    """Play until the episode is over or the person leaves (/quit, Ctrl-D, Ctrl-C)."""
    for message in game.messages:
        console.print(escape(message.content), soft_wrap=True)
    console.print(f"\n[dim]{'; '.join(escape(command.template) for command in game.commands)}. {HELP}[/]")
    try:
        while game.stop is None:
            text = console.input("[bold]> [/]").strip()
            if text == "/quit":
                return
            if text in ("/actions", "/hint"):
                console.print(escape(_asked(game, text)))
            elif text:
                console.print(escape(game.step(text)), soft_wrap=True)
        verdict = "[green]success[/]" if game.success else "[red]no success[/]"
        console.print(f"{verdict}: {game.stop}, score {game.score:.2f}")
    except (EOFError, KeyboardInterrupt):
        console.print("left")
    finally:
        game.close()


def task_of(service: Service, task_id: str | None, split: Split) -> TaskInfo:
    """The task of that id, or the split's first. Raises ValueError."""
    if task_id is None:
        return service.tasks.at(split, 0)
    try:
        return service.tasks.get(task_id)
    except KeyError:
        raise ValueError(
            f"there is no task {task_id!r}; the first is {service.tasks.at(split, 0).task_id}"
        ) from None


def _asked(game: Game, text: str) -> str:
    try:
        return "\n".join(game.actions()) if text == "/actions" else game.hint()
    except NotSupported as error:
        return str(error)


def _not_supported(error: ProblemError) -> Exception:
    return NotSupported(error.detail) if error.code == "not_supported" else error


async def _settle_call(ask: Callable[[], Value]) -> Value:
    answer: Value = await settled(ask())
    return answer

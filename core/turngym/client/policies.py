"""Players of a service over HTTP, turn by turn; they know nothing of scores. Those within its process are in ``players``.

A language model plays through any endpoint that speaks OpenAI's chat completions; its failures are failures of the
infrastructure and never a bad move.
"""

import os
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Any, Protocol, Self

import aiohttp
from pydantic import BaseModel, ValidationError

from turngym.client.aio import AsyncEpisode
from turngym.client.errors import ConnectionLost, InfrastructureFailure
from turngym.client.patience import Patience
from turngym.client.transport import CONNECT_TIMEOUT_S, authorization, base_address, lost, takes_proxy
from turngym.players import NOTHING
from turngym.problems import ProblemError, ProblemKind
from turngym.schema import Message, StepResult

_OVERLOADED = frozenset({408, 425, 429, 500, 502, 503, 504})


def exchange(action: str, observation: str) -> tuple[Message, Message]:
    """What a turn adds to the chat: what was written, and what the environment answered."""
    return Message(role="assistant", content=action), Message(role="user", content=observation)


class Policy(Protocol):
    """Plays an episode over HTTP."""

    async def act(self, messages: list[Message], result: StepResult, episode: AsyncEpisode) -> str:
        """The text of the next turn.

        :param messages: the whole chat so far; the last one is the latest observation.
        :param result: the latest StepResult.
        :param episode: the episode, to ask for what a policy may want to know.
        """
        ...


class ExpertPolicy:
    """Plays what the service's expert says; the server must have been started with experts on."""

    async def act(self, messages: list[Message], result: StepResult, episode: AsyncEpisode) -> str:
        """The expert's action."""
        return await episode.expert()


class RandomPolicy:
    """Plays a random one of the listed actions, the same for the same seed, task and turn."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    async def act(self, messages: list[Message], result: StepResult, episode: AsyncEpisode) -> str:
        """A valid action."""
        rng = Random(f"random {self.seed} {result.task.task_id} {episode.seed} {result.turn}")
        return rng.choice(await episode.valid_actions())


class NullPolicy:
    """Plays nothing of use: the yardstick below which no agent can be."""

    async def act(self, messages: list[Message], result: StepResult, episode: AsyncEpisode) -> str:
        """A text without a useful action."""
        return NOTHING


class _Said(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Said


class _Completion(BaseModel):
    choices: list[_Choice]


class OpenAIPolicy:
    """Plays what a language model says, behind any endpoint that speaks OpenAI's chat completions. An async context manager.

    :param base_url: the endpoint, with its ``/v1`` where it has one; default: the environment's OPENAI_BASE_URL.
    :param key: default: the environment's OPENAI_API_KEY; local servers mostly want none.
    :param stop: strings at which the model stops: the action grammar's.
    :param seed: with it the endpoint is asked to sample the same again.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key: str | None = None,
        *,
        stop: Sequence[str] = (),
        temperature: float = 1.0,
        max_tokens: int = 512,
        seed: int | None = None,
        timeout_s: float = 300,
        patience_s: float = 120,
    ) -> None:
        address = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self.address = base_address(address)
        self.settings: dict[str, Any] = {"model": model, "temperature": temperature, "max_tokens": max_tokens}
        if stop:
            self.settings["stop"] = list(stop)
        if seed is not None:
            self.settings["seed"] = seed
        self._patience_s = patience_s
        self._key = key or os.environ.get("OPENAI_API_KEY")
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=min(CONNECT_TIMEOUT_S, timeout_s), sock_read=timeout_s
        )
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()

    async def act(self, messages: list[Message], result: StepResult, episode: AsyncEpisode) -> str:
        """The model's next turn. Raises InfrastructureFailure if the endpoint gives none."""
        return await self.answer(messages)

    async def answer(self, messages: Sequence[Message]) -> str:
        """The model's answer to a chat. Raises InfrastructureFailure if the endpoint gives none."""
        body = self.settings | {"messages": [message.model_dump() for message in messages]}
        try:
            said: str = await Patience(self._patience_s).retrying_async()(self._ask, body)
        except (ConnectionLost, ProblemError) as error:
            raise InfrastructureFailure(f"the model's endpoint: {error}") from error
        return said

    async def _ask(self, body: dict[str, Any]) -> str:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                headers=authorization(self._key), timeout=self._timeout, trust_env=takes_proxy(self.address)
            )
        url = f"{self.address}/chat/completions"
        try:
            async with self._http.post(url, json=body) as answer:
                text = await answer.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise lost(self.address, error) from error
        if answer.status >= 400:
            again = answer.status in _OVERLOADED
            kind = ProblemKind(
                f"http_{answer.status}", answer.status, "The endpoint refused", retryable=again
            )
            after = answer.headers.get("Retry-After", "")
            raise ProblemError(kind, text[:200], retry_after=float(after) if after.isdecimal() else None)
        try:
            choices = _Completion.model_validate_json(text).choices
        except ValidationError:
            raise InfrastructureFailure(
                f"{url} does not answer with a chat completion: {text[:200]}"
            ) from None
        if not choices:
            raise InfrastructureFailure(f"{url} answered without a choice")
        return choices[0].message.content or ""

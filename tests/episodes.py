"""Episodes with a known course: recorded without any server, played again through whatever lies between, and compared.

A recording is made in this process by the server's own rules, with no HTTP, journal or fault. A client that plays its actions
against a service must see the same texts, rewards and end, whatever happens on the way; if it can't, it must know. The course
that the expert takes is known, too: ``finish`` follows it.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import ConnectionLost, EpisodeDrifted, InfrastructureFailure
from turngym.client.sync import Client
from turngym.problems import ProblemError
from turngym.schema import StepResult
from turngym.server.episode import Episode
from turngym_textcraft.service import TextCraftService

HORIZON = 10
RATE = 0.5  # of the novice's useless actions, so that episodes end in success and by the horizon alike


@dataclass(frozen=True, slots=True)
class Seen:
    """What an agent sees of one turn."""

    text: str
    reward: float
    score: float
    stop_reason: str | None
    success: bool | None

    @classmethod
    def of(cls, result: StepResult) -> "Seen":
        """What is seen of an answer."""
        stop = None if result.stop_reason is None else str(result.stop_reason)
        return cls(result.observation.text, result.reward, result.score, stop, result.success)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An episode of textcraft: what to play, and what is seen."""

    index: int
    seed: int
    opening: str
    actions: tuple[str, ...]
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Played:
    """How a recorded episode went. ``verdict`` is "same", "failed" (a typed failure, no score), or what was wrong."""

    verdict: str
    reopened: int
    detail: str = ""


@functools.cache
def service() -> TextCraftService:
    """The service, loaded, in this process."""
    found = TextCraftService()
    found.load(lambda what, part: None)
    return found


def recorded(count: int, seed: int = 0) -> list[Recorded]:
    """So many episodes; the same every time."""
    return [record(number % service().tasks.count("test"), seed + number) for number in range(count)]


def record(index: int, seed: int) -> Recorded:
    """One episode of the novice on a test task."""
    found, rng = service(), Random(seed)
    environment = found.open(found.tasks.at("test", index), seed, found.Options())
    episode = Episode(environment, found.spec, HORIZON)
    opening = episode.begin().messages[-1].content
    actions, seen = [], []
    while True:
        action = environment.novice(rng, RATE)
        turn = episode.play(action)
        actions.append(action)
        stop = None if turn.stop is None else str(turn.stop)
        seen.append(Seen(turn.text, turn.reward, turn.score, stop, turn.success))
        if turn.stop is not None:
            environment.close()
            return Recorded(index, seed, opening, tuple(actions), tuple(seen))


async def play(
    client: AsyncClient,
    episode: Recorded,
    pause_s: float = 0,
    reopen: int = 8,
    before_second: Callable[[], Awaitable[None]] | None = None,
) -> Played:
    """Play a recording against a service, with ``pause_s`` seconds of thought before each turn.

    ``before_second`` is awaited between the first turn and the second: the moment for a fault that has to hit every episode.
    """
    opened: AsyncEpisode | None = None
    try:
        opened = await AsyncEpisode.open(
            client, split="test", index=episode.index, seed=episode.seed, max_turns=HORIZON, reopen=reopen
        )
        if opened.result.observation.text != episode.opening:
            return Played("another opening", opened.reopened)
        for turn, (action, expected) in enumerate(zip(episode.actions, episode.seen, strict=True), 1):
            if turn == 2 and before_second is not None:
                await before_second()
            await asyncio.sleep(pause_s)
            seen = Seen.of(await opened.step(action))
            if seen != expected:
                return Played("another turn", opened.reopened, f"{seen} instead of {expected}")
        return Played("same", opened.reopened)
    except EpisodeDrifted as error:
        return Played("drifted", opened.reopened if opened else 0, str(error))
    except (InfrastructureFailure, ConnectionLost) as error:
        return Played("failed", opened.reopened if opened else 0, str(error))
    except ProblemError as error:
        return Played(f"problem {error.code}", opened.reopened if opened else 0, str(error))
    finally:
        if opened is not None:
            await opened.close()


def finish(client: Client, result: StepResult) -> StepResult:
    """The last result of an episode that the expert plays on from ``result``, where the server was started with experts."""
    while not result.terminated:
        result = client.step(result.session_id, client.expert(result.session_id).action, result.turn + 1)
    return result

"""Episodes of a service's own players as chat data, played in this process without HTTP, by the server's own rules.

What comes out depends on the :class:`Plan` alone: the same plan gives the same bytes. It does not filter by score.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson

from turngym.environment import Service
from turngym.players import LocalPolicy, local_policy
from turngym.schema import Split, TaskInfo
from turngym.server.episode import Episode, settled


@dataclass(frozen=True, slots=True)
class Plan:
    """What to collect. ``mix`` is one policy or several with their shares; an episode draws one of them.

    Episode ``i`` plays the task at index ``i`` modulo the split's size (with ``shuffle``, of a shuffled list of them); its
    seed is ``seed + i``. ``rate`` is the novice's. ``max_turns`` is the horizon; None means the environment's default.
    """

    mix: Sequence[tuple[str, float]]
    split: Split = "train"
    n: int = 100
    seed: int = 0
    rate: float = 0.6
    max_turns: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shuffle: bool = False


class CannotCollect(ValueError):
    """The plan does not fit the service. The message is one line."""


def parse_mix(text: str) -> list[tuple[str, float]]:
    """``expert:0.5,novice:0.5`` as names and shares, which add up to 1. Raises CannotCollect."""
    mix = []
    for part in text.split(","):
        name, _, share = part.strip().partition(":")
        try:
            local_policy(name, 0.0)
            mix.append((name, float(share)))
        except ValueError as error:
            raise CannotCollect(f"{part.strip()!r} is not POLICY:SHARE: {error}") from None
    if any(not 0 < share <= 1 for _, share in mix) or abs(sum(share for _, share in mix) - 1) > 1e-9:
        raise CannotCollect(f"the shares in {text!r} must be positive and add up to 1")
    return mix


async def episodes(service: Service, plan: Plan) -> AsyncIterator[bytes]:
    """The plan's episodes in order, each a line of JSON. The service must be loaded.

    :raises CannotCollect: if the plan asks for what the service does not have.
    """
    tasks = _order(service, plan)
    horizon = plan.max_turns or service.spec.default_max_turns
    if not 1 <= horizon <= service.spec.max_turns:
        raise CannotCollect(
            f"max_turns is {horizon}, and {service.spec.name} takes 1 to {service.spec.max_turns}"
        )
    try:
        options = type(service).Options.model_validate(dict(plan.options))
    except ValueError as error:
        raise CannotCollect(f"options: {' '.join(str(error).split())}") from None
    names, shares = zip(*plan.mix, strict=True)
    policies = {name: local_policy(name, plan.rate) for name in names}
    for number in range(plan.n):
        rng = Random(_key("collect", plan.seed, number))
        name = rng.choices(names, shares)[0]
        task = service.tasks.at(plan.split, tasks[number % len(tasks)])
        await asyncio.sleep(0)  # where no environment ever waits, this is where Ctrl-C gets in
        row = await _play(service, task, plan.seed + number, options, horizon, policies[name], rng)
        yield orjson.dumps(
            {
                "task_id": task.task_id,
                "seed": plan.seed + number,
                "options": dict(plan.options),
                "policy": name,
                "rate": plan.rate if name == "novice" else None,
                **row,
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )


async def _play(
    service: Service, task: TaskInfo, seed: int, options: Any, horizon: int, policy: LocalPolicy, rng: Random
) -> dict[str, Any]:
    """One episode: its chat, ending with the last action, and how it ended."""
    environment = await settled(service.open(task, seed, options))
    try:
        episode = Episode(environment, service.spec, horizon)
        opening = await episode.begin_async()
        messages = [{"role": message.role, "content": message.content} for message in opening.messages]
        while True:
            action = await settled(policy(environment, rng))
            messages.append({"role": "assistant", "content": action})
            turn = await episode.play_async(action)
            if turn.stop is not None:
                break
            messages.append({"role": "user", "content": turn.text})
    finally:
        await settled(environment.close())
    return {
        "messages": messages,
        "score": turn.score,
        "success": turn.success,
        "turns": turn.number,
        "stop_reason": turn.stop,
    }


def _order(service: Service, plan: Plan) -> list[int]:
    """The indices of the split's tasks in the order of their turn."""
    count = service.tasks.count(plan.split)
    if count == 0:
        raise CannotCollect(f"{service.spec.name} has no {plan.split} tasks")
    indices = list(range(count))
    if plan.shuffle:
        Random(_key("shuffle", plan.seed, 0)).shuffle(indices)
    return indices


def _key(what: str, seed: int, number: int) -> int:
    """A seed of its own for each purpose; neighbouring numbers give unrelated ones."""
    return int.from_bytes(hashlib.sha256(f"{what} {seed} {number}".encode()).digest()[:8], "big")

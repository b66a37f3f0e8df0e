"""How well a policy plays a service's tasks over HTTP: many episodes at once, each one outliving trouble with the server.

An episode that is lost to the infrastructure is counted apart and never as a failure of the policy.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import InfrastructureFailure
from turngym.client.policies import Policy, exchange
from turngym.schema import Metadata, Split, StepResult
from turngym.statistics import clustered_interval


@dataclass(frozen=True, slots=True)
class Trial:
    """What to play. Episode ``i`` has the task at index ``i`` modulo the split's size; each round of the split has a seed of
    its own, from ``seed`` on."""

    split: Split = "test"
    n: int = 200
    seed: int = 0
    concurrency: int = 32
    max_turns: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reopen: int = 3


@dataclass(slots=True)
class Tally:
    """The episodes played so far, and those lost; ``last_loss`` is why the latest was."""

    results: list[StepResult] = field(default_factory=list)
    lost: int = 0
    last_loss: str = ""
    lost_in_a_row: int = 0

    def report(self, metadata: Metadata, policy: str, trial: Trial) -> dict[str, Any]:
        """The figures as plain data. Raises InfrastructureFailure if no episode was played to its end."""
        if not self.results:
            raise InfrastructureFailure(
                f"no episode was played to its end: {self.last_loss or 'none was begun'}"
            )
        tasks = [result.task.task_id for result in self.results]
        success, low, high = clustered_interval(
            [float(bool(result.success)) for result in self.results], tasks
        )
        count = len(self.results)
        return {
            "task": metadata.name,
            "policy": policy,
            "split": trial.split,
            "n": count,
            "tasks": len(set(tasks)),
            "seed": trial.seed,
            "success": success,
            "ci95": [low, high],
            "score": sum(result.score for result in self.results) / count,
            "turns": sum(result.turn for result in self.results) / count,
            "stop_reasons": dict(sorted(Counter(str(result.stop_reason) for result in self.results).items())),
            "infra_failures": self.lost,
        }


async def evaluate(
    clients: Sequence[AsyncClient],
    metadata: Metadata,
    policy: Policy,
    trial: Trial,
    tally: Tally,
    told: Callable[[Tally], None] | None = None,
) -> None:
    """Play the trial into ``tally``, which is good at any time; ``told`` hears of each episode's end.

    :raises ProblemError: if the trial or the policy asks for what the service does not have.
    :raises InfrastructureFailure: if the service is gone: every episode in flight was lost, twice over.
    """
    count = metadata.splits.get(trial.split, 0)
    if count == 0:
        raise ValueError(f"{metadata.name} has no {trial.split} tasks")
    at_once = min(trial.concurrency, metadata.max_sessions * len(clients), trial.n)
    numbers = iter(range(trial.n))

    async def work() -> None:
        for number in numbers:
            try:
                result = await _play(clients, policy, trial, number % count, trial.seed + number // count)
                tally.results.append(result)
                tally.lost_in_a_row = 0
            except InfrastructureFailure as failure:
                tally.lost, tally.last_loss = tally.lost + 1, str(failure)
                tally.lost_in_a_row += 1
                if tally.lost_in_a_row >= 2 * at_once:
                    raise
            if told is not None:
                told(tally)

    workers = [asyncio.create_task(work()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _play(
    clients: Sequence[AsyncClient], policy: Policy, trial: Trial, index: int, seed: int
) -> StepResult:
    """One episode to its end; its last StepResult."""
    opening = await AsyncEpisode.open(
        clients,
        split=trial.split,
        index=index,
        seed=seed,
        max_turns=trial.max_turns,
        options=trial.options,
        reopen=trial.reopen,
    )
    async with opening as episode:
        messages = list(episode.messages)
        while not episode.over:
            text = await policy.act(messages, episode.result, episode)
            result = await episode.step(text)
            messages += exchange(text, result.observation.text)
        return episode.result

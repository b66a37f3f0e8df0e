"""Held-out success of models: episodes over HTTP, sampled by vLLM, with the same tokens and limits as in training.

    python -m turngym_trainer.evaluation CONFIG OUT LABEL=FOLDER [LABEL=FOLDER …]

Each model plays the same episodes of one split: at temperature 1, going round the tasks with new seeds, and once
greedily on every task. Intervals are clustered by goal. An episode lost to infrastructure is counted apart, never as a
failure of the agent. Progress goes to stdout, one JSON object a line; the result to OUT.
"""

import asyncio
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import InfrastructureFailure
from turngym.output import whole_file
from turngym.schema import StepResult, TaskInfo
from turngym.statistics import clustered_interval
from turngym_trainer.config import for_verl, prepare_environment
from turngym_trainer.rows import TaskList, derive_seed, select, tasks_of
from turngym_trainer.schedule import schedule
from turngym_trainer.settings import EpisodeSettings
from turngym_trainer.tokens import Dialogue, shorten

SAMPLED, GREEDY = "sampled", "greedy"


@dataclass(frozen=True, slots=True)
class Played:
    """One episode of an evaluation. ``stop`` is the protocol's stop reason, "token_limit" or "token_budget"."""

    task: TaskInfo
    success: bool
    score: float
    turns: int
    invalid: int
    stop: str


@dataclass
class Player:
    """Plays episodes with one model."""

    config: DictConfig
    options: dict[str, Any]
    engine: Any
    tokenizer: Any
    builder: Any
    clients: Sequence[AsyncClient]
    slots: asyncio.Semaphore
    stop: list[str]
    lost: int = 0
    numbers: Any = field(default_factory=lambda: iter(range(10**9)))

    async def play(self, task: TaskInfo, seed: int, temperature: float) -> Played | None:
        """One episode, or None where the infrastructure lost it."""
        settings = EpisodeSettings.of(self.config)
        async with self.slots:
            try:
                episode = await AsyncEpisode.open(
                    self.clients,
                    task_id=task.task_id,
                    seed=seed,
                    max_turns=schedule(self.config.algorithm.rounds_ctrl).final,
                    options=self.options,
                    reopen=settings.reopen,
                    deadline_s=settings.deadline_s,
                )
                async with episode:
                    return await self._turns(episode, settings, task, temperature)
            except InfrastructureFailure:
                self.lost += 1
                return None

    async def _turns(
        self, episode: AsyncEpisode, settings: EpisodeSettings, task: TaskInfo, temperature: float
    ) -> Played:
        data = self.config.data
        dialogue = Dialogue.open(
            self.builder,
            self.tokenizer.eos_token_id,
            [message.model_dump() for message in episode.messages],
            data.max_prompt_length,
        )
        result, invalid, turns = episode.result, 0, 0
        while True:
            limit = min(settings.max_tokens, data.max_response_length - dialogue.response_length)
            ids = await self._sample(dialogue.ids, limit, temperature)
            dialogue.sampled(ids, None)
            turns += 1
            text = self.tokenizer.decode(ids, skip_special_tokens=True)
            closed = ids[-1] in self.tokenizer.all_special_ids
            if len(ids) >= limit and not closed and not any(stop in text for stop in self.stop):
                return self._played(task, result, turns, invalid, "token_limit")
            result = await episode.step(text)
            invalid += bool(result.info.get("invalid_action"))
            if result.terminated or result.truncated:
                return self._played(task, result, turns, invalid, str(result.stop_reason))
            dialogue.observed(
                text,
                shorten(self.tokenizer, result.observation.text, settings.max_observation_tokens),
                closed=closed,
            )
            if dialogue.response_length + settings.max_tokens > data.max_response_length:
                return self._played(task, result, turns, invalid, "token_budget")

    @staticmethod
    def _played(task: TaskInfo, result: StepResult, turns: int, invalid: int, stop: str) -> Played:
        return Played(task, bool(result.success), result.score, turns, invalid, stop)

    async def _sample(self, ids: list[int], limit: int, temperature: float) -> list[int]:
        from vllm import SamplingParams, TokensPrompt
        from vllm.sampling_params import RequestOutputKind

        params = SamplingParams(
            temperature=temperature,
            max_tokens=limit,
            stop=self.stop or None,
            detokenize=bool(self.stop),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        number = str(next(self.numbers))
        sampled: list[int] = []
        async for output in self.engine.generate(TokensPrompt(prompt_token_ids=ids), params, number):
            sampled = list(output.outputs[0].token_ids)
        return sampled


def summary(episodes: Sequence[Played], group_by: str | None) -> dict[str, Any]:
    """Success with its 95 % interval clustered by goal, score, turns and stop reasons; and success by ``group_by``."""
    goals = [episode.task.goal for episode in episodes]
    success, low, high = clustered_interval([float(episode.success) for episode in episodes], goals)
    turns = sum(episode.turns for episode in episodes)
    found: dict[str, Any] = {
        "success": success,
        "ci95": [low, high],
        "score": sum(episode.score for episode in episodes) / len(episodes),
        "n": len(episodes),
        "goals": len(set(goals)),
        "turns": turns / len(episodes),
        "invalid_share": sum(episode.invalid for episode in episodes) / turns,
        "stop_reasons": dict(sorted(Counter(episode.stop for episode in episodes).items())),
    }
    if group_by:
        parts = defaultdict(list)
        for episode in episodes:
            parts[episode.task.info.get(group_by)].append(episode)
        found[f"by_{group_by}"] = {
            str(key): summary(part, None) for key, part in sorted(parts.items(), key=str)
        }
    return found


def episodes_of(chosen: TaskList, count: int) -> list[tuple[TaskInfo, int]]:
    """``count`` episodes, going round the tasks; the seeds are the same for every model and every run."""
    tasks = (
        chosen.tasks
        if count >= len(chosen.tasks)
        else [chosen.tasks[i * len(chosen.tasks) // count] for i in range(count)]
    )
    return [
        (tasks[i % len(tasks)], derive_seed("evaluation", tasks[i % len(tasks)].task_id, i))
        for i in range(count)
    ]


async def evaluate(
    config: DictConfig, models: Mapping[str, Path], say: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Let each model play.

    :param config: a run's, as ``config.yaml`` has it.
    :param models: label -> folder.
    :param say: told of progress: ``label``, ``done`` and ``total`` episodes.
    :returns: label -> result.
    """
    settings, split = EpisodeSettings.of(for_verl(config)), config.evaluation.split
    clients = [AsyncClient(address, token=os.environ.get("TURNGYM_TOKEN")) for address in settings.addresses]
    try:
        metadata = [await client.metadata() for client in clients]
        chosen = select(split, await tasks_of(clients[0], split), config.task.where)
        slots = asyncio.Semaphore(max(1, sum(each.max_sessions for each in metadata)))
        stop = list(metadata[0].grammar.stop) if settings.use_stop_strings else []
        return {
            label: await _model(config, folder, label, (clients, slots, stop), chosen, say)
            for label, folder in models.items()
        }
    finally:
        await asyncio.gather(*(client.aclose() for client in clients))


async def _model(
    config: DictConfig,
    folder: Path,
    label: str,
    service: Any,
    chosen: TaskList,
    say: Callable[[dict[str, Any]], None],
) -> dict[str, Any]:
    from transformers import AutoConfig, AutoTokenizer
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    plan, rollout = config.evaluation, config.actor_rollout_ref.rollout
    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(
            model=str(folder),
            dtype=rollout.dtype,
            enforce_eager=rollout.enforce_eager,
            max_model_len=config.data.max_prompt_length + config.data.max_response_length,
            max_num_seqs=rollout.max_num_seqs,
            enable_prefix_caching=True,
            seed=int(plan.seed),
        )
    )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        builder = create_continuous_token_builder(
            tokenizer, hf_model_type=AutoConfig.from_pretrained(folder).model_type
        )
        options: Any = OmegaConf.to_container(config.task.options)
        player = Player(for_verl(config), options, engine, tokenizer, builder, *service)
        sampled = episodes_of(chosen, int(plan.episodes))
        greedy = episodes_of(chosen, min(len(chosen.tasks), int(plan.greedy)))
        jobs = [(SAMPLED, *episode, float(plan.temperature)) for episode in sampled]
        jobs += [(GREEDY, *episode, 0.0) for episode in greedy]
        played: dict[str, list[Played]] = {SAMPLED: [], GREEDY: []}

        async def one(kind: str, task: TaskInfo, seed: int, temperature: float) -> None:
            episode = await player.play(task, seed, temperature)
            if episode is not None:
                played[kind].append(episode)
            # Not the success so far: the episodes that end first are those that succeed.
            say({"label": label, "done": sum(map(len, played.values())) + player.lost, "total": len(jobs)})

        await asyncio.gather(*(one(*job) for job in jobs))
    finally:
        engine.shutdown()
    if not played[SAMPLED] or not played[GREEDY]:
        raise InfrastructureFailure(
            f"no episode of {label} could be played: {player.lost} were lost to the environment"
        )
    return {
        **summary(played[SAMPLED], plan.group_by),
        "temperature": float(plan.temperature),
        "greedy": summary(played[GREEDY], plan.group_by),
        "infra_failures": player.lost,
    }


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    if len(arguments) < 3 or not all("=" in word for word in arguments[2:]):
        print("usage: python -m turngym_trainer.evaluation CONFIG OUT LABEL=FOLDER …", file=sys.stderr)
        return 2
    loaded = OmegaConf.load(arguments[0])
    assert isinstance(loaded, DictConfig)
    prepare_environment(loaded)
    models = {label: Path(folder) for label, folder in (word.split("=", 1) for word in arguments[2:])}
    result = asyncio.run(evaluate(loaded, models, lambda facts: print(json.dumps(facts), flush=True)))
    with whole_file(Path(arguments[1])) as file:
        file.write(json.dumps(result, indent=2).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One episode as a coroutine: verl generates, an environment's service answers, every token is kept as it was sampled.

verl makes one :class:`EpisodeLoop` per trajectory and runs them all at once; a slow environment or a long generation holds
up nobody else. What a process shares (connections, the service's metadata, the bound on open sessions) is in
:class:`Service`. A failure of the environment is never a reward: the whole group is dropped and counted
(:mod:`turngym_trainer.replay`).
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar
from uuid import uuid4

import torch
import transfer_queue as tq
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from turngym.client.aio import AsyncClient, AsyncEpisode
from turngym.client.errors import ConnectionLost, InfrastructureFailure
from turngym.problems import ProblemError
from turngym.schema import Metadata, StepResult
from turngym_trainer import trajectories
from turngym_trainer.replay import failure_tag
from turngym_trainer.rewards import Rewards
from turngym_trainer.rows import derive_seed
from turngym_trainer.schedule import Schedule, schedule
from turngym_trainer.settings import EpisodeSettings
from turngym_trainer.tokens import Dialogue, shorten
from turngym_trainer.trajectories import Trajectory, Turn


class Aborted(RuntimeError):
    """The sampler gave a turn up before it was whole."""


class Idle:
    """Counts the seconds in which the sampler had nothing to do because all of this process's episodes were with their
    environment. What else holds up the loop (another episode's tokens, a busy core) is not the environment's and not here."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._sampling = self._acting = 0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return self._seconds + (0.0 if self._since is None else time.perf_counter() - self._since)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """While the sampler has a turn of this process to write."""
        self._change(1, 0)
        try:
            yield
        finally:
            self._change(-1, 0)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """While an episode waits for its environment."""
        self._change(0, 1)
        try:
            yield
        finally:
            self._change(0, -1)

    def _change(self, sampling: int, acting: int) -> None:
        self._seconds = self.seconds
        self._sampling += sampling
        self._acting += acting
        self._since = time.perf_counter() if self._acting and not self._sampling else None


@dataclass
class Service:
    """The environment's service as this process sees it: one connection pool per replica, and the slots that are free."""

    clients: list[AsyncClient]
    metadata: Metadata
    slots: asyncio.Semaphore
    idle: Idle = field(default_factory=Idle)

    _known: ClassVar[dict[tuple[str, ...], "asyncio.Task[Service]"]] = {}

    @classmethod
    async def of(cls, settings: EpisodeSettings, workers: int) -> "Service":
        """The service at the settings' addresses; asked for its metadata once a process.

        :param workers: processes that share the service's slots.
        """
        task = cls._known.get(settings.addresses)
        if task is None or (task.done() and task.exception() is not None):
            task = cls._known[settings.addresses] = asyncio.create_task(cls._connect(settings, workers))
        return await asyncio.shield(task)

    @classmethod
    async def _connect(cls, settings: EpisodeSettings, workers: int) -> "Service":
        token = os.environ.get("TURNGYM_TOKEN")
        clients = [AsyncClient(address, token=token) for address in settings.addresses]
        found = await asyncio.gather(*(client.metadata() for client in clients))
        slots = sum(each.max_sessions for each in found) // workers
        return cls(clients, found[0], asyncio.Semaphore(max(slots, 1)))


class EpisodeOutput(AgentLoopOutput):
    """verl's output with a reward on any token, where verl's own has one on the last."""

    token_rewards: list[float]

    def as_dict(self) -> dict[str, Any]:
        """The fields of a training sample; ``rm_scores`` has one reward per response token."""
        fields: dict[str, Any] = super().as_dict()
        fields["rm_scores"] = torch.tensor(fields.pop("token_rewards"), dtype=torch.float32)
        return fields


class EpisodeLoop(AgentLoopBase):
    """Plays one episode of a row's task. Registered under the name that the rows carry (``configs/agent_loop.yaml``)."""

    _read: ClassVar[tuple[Any, EpisodeSettings, Schedule] | None] = None

    def _settings(self) -> tuple[EpisodeSettings, Schedule]:
        """What the configuration says of episodes. verl makes a loop for each of them and gives all the same configuration,
        which takes a millisecond to read."""
        known = EpisodeLoop._read
        if known is None or known[0] is not self.config:
            horizons = schedule(self.config.algorithm.rounds_ctrl)
            known = EpisodeLoop._read = (self.config, EpisodeSettings.of(self.config), horizons)
        return known[1:]

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play the episode and return its training sample.

        :param sampling_params: verl's, for vLLM.
        :param kwargs: the row (``extra_info``), ``uid``, ``session_id`` (the sample's number) and ``global_steps``.
        :raises InfrastructureFailure: if the environment failed beyond what opening it again can mend. verl then marks
            the group as failed.
        """
        settings, horizons = self._settings()
        record = self._record(horizons, kwargs)
        began = time.perf_counter()
        try:
            output = await self._episode(settings, record, sampling_params)
        except Exception as error:
            lasting = not _infrastructure(error)
            record.error = f"{type(error).__name__}: {error}"
            await tq.async_kv_put(
                key=f"{record.group}_{record.sample}_0",
                partition_id="train" if record.partition == "train" else "val",
                tag=failure_tag(f"{record.task_id}: {record.error}", infrastructure=not lasting),
            )
            raise
        finally:
            record.timings["total"] = time.perf_counter() - began
            if settings.log_dir:
                trajectories.append(settings.log_dir, record)
        return output

    def _record(self, horizons: Schedule, kwargs: Mapping[str, Any]) -> Trajectory:
        row, step = kwargs["extra_info"], int(kwargs["global_steps"])
        training = row["split"] == "train"
        return Trajectory(
            run=self.config.trainer.experiment_name,
            step=step,
            partition="train" if training else "validation",
            group=str(kwargs["uid"]),
            sample=int(kwargs["session_id"]),
            task_id=row["task_id"],
            seed=derive_seed(row["seed"], step) if training else int(row["seed"]),
            options=json.loads(row["options"]),
            horizon=horizons(step) if training else horizons.final,
        )

    async def _episode(
        self, settings: EpisodeSettings, record: Trajectory, sampling_params: dict[str, Any]
    ) -> AgentLoopOutput:
        service = await Service.of(settings, self.rollout_config.agent.num_workers)
        async with _opened(service, settings, record) as episode, asyncio.timeout(settings.deadline_s):
            play = _Play(self, settings, service, record, episode)
            await play.to_the_end(sampling_params)
        return play.output()


class _Play:
    """The state of one episode between its opening and its training sample."""

    def __init__(
        self,
        loop: EpisodeLoop,
        settings: EpisodeSettings,
        service: Service,
        record: Trajectory,
        episode: AsyncEpisode,
    ) -> None:
        self.loop = loop
        self.settings = settings
        self.idle = service.idle
        self.idle_before = service.idle.seconds
        self.stop = service.metadata.grammar.stop if settings.use_stop_strings else []
        self.record = record
        self.episode = episode
        self.result: StepResult = episode.result
        self.versions: dict[str, Any] = {}
        self.room = loop.rollout_config.response_length
        messages = [message.model_dump() for message in episode.messages]
        self.dialogue = Dialogue.open(
            loop.continuous_token_builder,
            loop.tokenizer.eos_token_id,
            messages,
            loop.rollout_config.prompt_length,
        )
        self.rewards = Rewards(settings)
        record.messages, record.prompt_ids = messages, list(self.dialogue.ids)

    async def to_the_end(self, sampling_params: dict[str, Any]) -> None:
        """Turns until the environment ends the episode, a turn is cut, or there is no room for another."""
        record = self.record
        while record.stop_reason is None:
            turn, closed, cut = await self._sample(sampling_params)
            record.turns.append(turn)
            if cut:
                self.rewards.turn(self.dialogue.response_length, reward=0.0, invalid=False)
                record.stop_reason = "token_limit"
                break
            await self._act(turn)
            self.rewards.turn(self.dialogue.response_length, reward=turn.reward, invalid=turn.invalid)
            if self.result.terminated or self.result.truncated:
                record.stop_reason = self.result.stop_reason
                break
            self._observe(turn, closed)
            if self.dialogue.response_length + self.settings.max_tokens > self.room:
                record.stop_reason = "token_budget"

    async def _sample(self, sampling_params: dict[str, Any]) -> tuple[Turn, bool, bool]:
        """One turn of the model; whether it closed the turn itself, and whether the token limit cut it."""
        limit = min(self.settings.max_tokens, self.room - self.dialogue.response_length)
        params = {**sampling_params, "max_tokens": limit, "detokenize": bool(self.stop)}
        if self.stop:
            params["stop"] = self.stop
        began = time.perf_counter()
        with self.idle.sampling():
            out = await self.loop.server_manager.generate(
                request_id=uuid4().hex, prompt_ids=self.dialogue.ids, sampling_params=params
            )
        took = time.perf_counter() - began
        if not out.token_ids:
            raise Aborted(f"the sampler stopped without a token ({out.stop_reason})")
        self.versions.setdefault("min_global_steps", out.extra_fields.get("min_global_steps"))
        self.versions["max_global_steps"] = out.extra_fields.get("max_global_steps")
        ids = list(out.token_ids)
        self.dialogue.sampled(ids, out.log_probs)
        tokenizer = self.loop.tokenizer
        text = tokenizer.decode(ids, skip_special_tokens=True)
        stopped = any(stop in text for stop in self.stop)
        ended = ids[-1] in tokenizer.all_special_ids
        turn = Turn(len(self.record.turns) + 1, text, ids, list(out.log_probs or []), generate_s=took)
        self.record.timings["generate"] += took
        return turn, ended, len(ids) >= limit and not ended and not stopped

    async def _act(self, turn: Turn) -> None:
        began = time.perf_counter()
        with self.idle.acting():
            self.result = await self.episode.step(turn.action)
        turn.env_s = time.perf_counter() - began
        self.record.timings["env"] += turn.env_s
        turn.reward = self.result.reward
        turn.invalid = bool(self.result.info.get("invalid_action"))

    def _observe(self, turn: Turn, closed: bool) -> None:
        limit = self.settings.max_observation_tokens
        turn.observation = shorten(self.loop.tokenizer, self.result.observation.text, limit)
        turn.context_ids, taken_back = self.dialogue.observed(turn.action, turn.observation, closed=closed)
        if taken_back:
            del turn.token_ids[-taken_back:]

    def output(self) -> EpisodeOutput:
        """The training sample, and what the step's metrics need to know of this episode."""
        record, result = self.record, self.result
        ids, mask, log_probs = self.dialogue.response()
        record.score, record.success = result.score, bool(result.success)
        record.reopened = self.episode.reopened
        token_rewards = self.rewards.on_tokens(len(ids), result.score)
        record.reward = sum(token_rewards)
        facts = {
            "score": record.score,
            "success": float(record.success),
            "turns": float(len(record.turns)),
        }
        return EpisodeOutput(
            prompt_ids=record.prompt_ids,
            response_ids=ids,
            response_mask=mask,
            response_logprobs=log_probs,
            reward_score=record.reward,
            token_rewards=token_rewards,
            num_turns=len(record.turns),
            metrics=AgentLoopMetrics(
                generate_sequences=record.timings["generate"], tool_calls=record.timings["env"]
            ),
            extra_fields={**self.versions, "reward_extra_info": facts, "episode": self._summary()},
        )

    def _summary(self) -> dict[str, Any]:
        """What :mod:`turngym_trainer.metrics` reads of an episode."""
        known = ("horizon", "reward", "score", "success", "stop_reason", "reopened", "timings")
        return {key: value for key, value in asdict(self.record).items() if key in known} | {
            "turns": len(self.record.turns),
            "invalid": sum(turn.invalid for turn in self.record.turns),
            "worker": os.getpid(),
            "idle": (self.idle_before, self.idle.seconds),
        }


@asynccontextmanager
async def _opened(
    service: Service, settings: EpisodeSettings, record: Trajectory
) -> AsyncIterator[AsyncEpisode]:
    """An open session in one of the service's slots; closed whatever happens inside."""
    began = time.perf_counter()
    async with service.slots:
        opening = time.perf_counter()
        record.timings["slot"] = opening - began
        with service.idle.acting():
            episode = await AsyncEpisode.open(
                service.clients,
                task_id=record.task_id,
                seed=record.seed,
                max_turns=record.horizon,
                options=record.options,
                reopen=settings.reopen,
            )
        record.timings["env"] += time.perf_counter() - opening
        try:
            yield episode
        finally:
            record.session_id = episode.session_id
            closing = time.perf_counter()
            with service.idle.acting():
                await episode.close()
            record.timings["env"] += time.perf_counter() - closing


def _infrastructure(error: Exception) -> bool:
    """Whether an error is the service's, not the run's own settings or code."""
    if isinstance(error, ProblemError):
        return error.kind.retryable or error.kind.fails_session
    return isinstance(error, InfrastructureFailure | ConnectionLost | TimeoutError | Aborted)

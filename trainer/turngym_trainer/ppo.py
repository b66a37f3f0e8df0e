"""verl's synchronous trainer, with what a run of episodes needs to say and keep.

Everything that trains is verl's. Added are the step's episode metrics, the advantages in the episodes' files, a metrics file
that a resumed run continues, and an end between two steps on request, with a checkpoint.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from turngym_trainer import metrics as episode_metrics
from turngym_trainer import trajectories
from turngym_trainer.sampler import OneSampler


class Stopped(Exception):
    """The run was asked to stop, and has saved the step that it had reached."""


class MetricsFile:
    """A logger of verl's kind: one JSON object a step in ``metrics.jsonl``. What was logged after ``step`` is dropped, so
    that a run resumed there doesn't say its steps twice."""

    def __init__(self, file: Path, step: int) -> None:
        kept = []
        if file.exists():
            kept = [
                line
                for line in file.read_bytes().splitlines(keepends=True)
                if orjson.loads(line)["step"] <= step
            ]
        new = file.with_suffix(".new")
        new.write_bytes(b"".join(kept))
        new.replace(file)
        self._file = file.open("ab", buffering=0)

    def log(self, data: Mapping[str, Any], step: int) -> None:
        """Append a step's metrics. Several calls for one step give several lines."""
        known = {key: float(value) for key, value in data.items() if _is_number(value)}
        self._file.write(orjson.dumps({"step": step, **known}, option=orjson.OPT_APPEND_NEWLINE))


class EpisodeTrainer(PPOTrainerSync):
    """The trainer of a run.

    :param config: the configuration as verl takes it (:func:`turngym_trainer.config.for_verl`).
    :param run: the run's folder.
    :param stop: set from outside to end the run after the step it is in.
    """

    def __init__(self, config: Any, run: Path, stop: threading.Event) -> None:
        super().__init__(config)
        self._run = run
        self._stop = stop
        self._rollouts = config.actor_rollout_ref.agentgym.rollout_log_dir

    def __setattr__(self, name: str, value: Any) -> None:
        # verl makes its loggers inside fit(), after the point where a checkpoint has told the step.
        if name == "logger":
            value.logger["turngym"] = MetricsFile(self._run / "metrics.jsonl", self.global_steps)
        super().__setattr__(name, value)

    def get_llm_client(self) -> Any:
        """The way to the samplers, shorter where there is one."""
        alone = len(self.llm_server_manager.get_replicas()) == 1
        return self.llm_server_manager.get_client(client_cls=OneSampler if alone else None)

    def prepare_step(self) -> dict[str, Any]:
        """Begin a step's rollout; what an aborted try at the same step left is removed."""
        if self._rollouts:
            trajectories.path(self._rollouts, "train", self.global_steps).unlink(missing_ok=True)
        prepared: dict[str, Any] = super().prepare_step()
        return prepared

    def on_step_end(self) -> None:
        """After the update: new weights to the sampler. On request the step is saved first."""
        self._saved = (
            self.config.trainer.save_freq > 0 and self.global_steps % self.config.trainer.save_freq == 0
        )
        super().on_step_end()

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        batch = super()._compute_advantage(batch, metrics)
        if self._rollouts:
            self._keep_advantages(batch)
        return batch

    def _keep_advantages(self, batch: KVBatchMeta) -> None:
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["advantages"])
        by_sample = {}
        for key, tag, values in zip(batch.keys, batch.tags, data["advantages"].unbind(), strict=True):
            if not tag.get("is_padding", False):
                group, sample, _ = key.rsplit("_", 2)
                by_sample[group, int(sample)] = values.tolist()
        trajectories.join_advantages(trajectories.path(self._rollouts, "train", self.global_steps), by_sample)

    def _compute_metrics(
        self,
        batch: KVBatchMeta,
        metrics: dict[str, Any],
        timing_raw: dict[str, float],
        global_steps: int,
        epoch: int,
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        played = [
            key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)
        ]
        data = tq.kv_batch_get(keys=played, partition_id=batch.partition_id, select_fields=["extra_fields"])
        episodes = [fields["episode"] for fields in list(data["extra_fields"])]
        metrics |= episode_metrics.of_step(episodes, timing_raw)
        if self._stop.is_set() and global_steps < self.total_training_steps:
            self._end_here(metrics)

    def _end_here(self, metrics: dict[str, Any]) -> None:
        if not self._saved:
            self._save_checkpoint()
        self.logger.log(data=metrics, step=self.global_steps)
        raise Stopped(f"stopped after step {self.global_steps}")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True

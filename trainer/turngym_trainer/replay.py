"""verl's replay buffer, with two changes for episodes over HTTP.

It looks for finished groups every 50 ms, not every 2 s: a tiny model's rollout takes seconds, and the poll rounds it up.
And a group with a failed episode is left out whole, counted and never scored: half a group would be compared with itself.
An error that no retry can mend (a prompt too long, a wrong option) ends the run with its own words.
"""

from collections.abc import Mapping
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

POLL_S = 0.05


class EpisodesFailed(RuntimeError):
    """No episode of a step can be used, or one failed for a reason that will be there again."""


def failure_tag(error: str, *, infrastructure: bool) -> dict[str, Any]:
    """How an agent loop tells this buffer why an episode failed: the tag of a key that holds no data.

    :param infrastructure: whether the environment's service failed, as against the run's own settings or code.
    """
    return {"status": "failure", "error": error, "infrastructure": infrastructure}


class EpisodeReplayBuffer(ReplayBuffer):
    """Named by ``trainer.v1.sampler.custom_sampler``. Adds ``env/infra_failures`` and ``env/dropped_groups``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.poll_interval = POLL_S
        self._failures: list[Mapping[str, Any]] = []
        self._dropped = 0

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[KVBatchMeta, dict[str, Any]]:
        """Wait for the groups of a step and return their episodes, without the groups that failed."""
        batch, metrics = super().sample(global_steps, partition_id, batch_size)
        if partition_id == "train":
            infra = sum(tag["infrastructure"] for tag in self._failures)
            metrics |= {"env/infra_failures": infra, "env/dropped_groups": self._dropped}
        return batch, metrics

    def _materialize_batch(
        self,
        partition_id: str,
        selected_prompt_uids: list[str],
        partition_snapshot: dict[str, dict[str, Any]],
    ) -> KVBatchMeta:
        failed = self.failure_keys[partition_id] & set(selected_prompt_uids)
        of_failed = {key: tag for key, tag in partition_snapshot.items() if key.split("_")[0] in failed}
        self._failures = [tag for tag in of_failed.values() if tag.get("status") == "failure"]
        self._dropped = len(failed)
        usable = {key: tag for key, tag in partition_snapshot.items() if key not in of_failed}
        batch = super()._materialize_batch(partition_id, selected_prompt_uids, usable)
        if of_failed:
            tq.kv_clear(partition_id=partition_id, keys=list(of_failed))
        lasting = [tag["error"] for tag in self._failures if not tag["infrastructure"]]
        if lasting:
            raise EpisodesFailed(lasting[0])
        if not batch.keys:
            last = self._failures[-1]["error"] if self._failures else "see the log of the agent loop"
            raise EpisodesFailed(
                f"none of the step's {len(selected_prompt_uids)} groups could be played: {last}"
            )
        return batch

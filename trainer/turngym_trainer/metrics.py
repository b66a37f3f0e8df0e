"""From the episodes of a training step to the numbers that are logged for it.

``env/wait_share`` is the mean share of an episode's own time between asking its environment and going on with the answer, the
queue in the trainer's event loop included. Other episodes are sampled meanwhile; ``wall_s/wait_env`` is the time in which none
was, as all were with their environments: what the step would be shorter by with an environment that answers at once.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_UPDATE = ("update_actor", "update_critic", "old_log_prob", "ref", "values", "adv", "reward")


def of_step(episodes: Sequence[Mapping[str, Any]], seconds: Mapping[str, float]) -> dict[str, float]:
    """The step's metrics.

    :param episodes: what the agent loop says of each episode that was trained on.
    :param seconds: verl's timers of the step, such as "gen" and "step".
    """
    turns = np.array([episode["turns"] for episode in episodes])
    metrics: dict[str, float] = {
        "rollout/episodes": len(episodes),
        "rollout/horizon": float(max(episode["horizon"] for episode in episodes)),
        "rollout/turns/mean": float(turns.mean()),
        "rollout/turns/p95": float(np.percentile(turns, 95)),
        "rollout/invalid_share": sum(episode["invalid"] for episode in episodes) / max(int(turns.sum()), 1),
        "rollout/success": _mean(episodes, "success"),
        "rollout/score": _mean(episodes, "score"),
        "rollout/reward": _mean(episodes, "reward"),
        "env/reopened": float(sum(episode["reopened"] for episode in episodes)),
    }
    stops = Counter(str(episode["stop_reason"]) for episode in episodes)
    metrics |= {f"stop/{reason}": count / len(episodes) for reason, count in sorted(stops.items())}
    return metrics | _times(episodes, seconds)


def _times(episodes: Sequence[Mapping[str, Any]], seconds: Mapping[str, float]) -> dict[str, float]:
    env = float(np.mean([episode["timings"]["env"] for episode in episodes]))
    generate = float(np.mean([episode["timings"]["generate"] for episode in episodes]))
    share = env / max(env + generate, 1e-9)
    rollout, step = seconds.get("gen", 0.0), seconds.get("step", 0.0)
    update = sum(seconds.get(name, 0.0) for name in _UPDATE)
    waited = _waited(episodes)
    return {
        "env/wait_s/mean": env,
        "env/wait_share": share,
        "env/slot_s/mean": float(np.mean([episode["timings"]["slot"] for episode in episodes])),
        "wall_s/step": step,
        "wall_s/generate": rollout - waited,
        "wall_s/wait_env": waited,
        "wall_s/update": update,
        "wall_s/weights": seconds.get("update_weights", 0.0),
        "wall_s/checkpoint": seconds.get("save_checkpoint", 0.0),
    }


def _waited(episodes: Sequence[Mapping[str, Any]]) -> float:
    """Mean over the agent loop's processes of the seconds in which all of their episodes waited for the environment."""
    spans = defaultdict(list)
    for episode in episodes:
        spans[episode["worker"]].append(episode["idle"])
    waits = [max(end for _, end in span) - min(start for start, _ in span) for span in spans.values()]
    return float(np.mean(waits))


def _mean(episodes: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(np.mean([float(episode[key]) for episode in episodes]))

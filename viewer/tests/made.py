"""Runs made up in the trainer's formats, as small or as large as a test wants them."""

from pathlib import Path
from random import Random
from typing import Any

import orjson

GOALS = ("oak door", "torch", "birch fence", "chest", "ladder", "iron pickaxe")


def turn(number: int, action: str, observation: str | None, reward: float, rng: Random) -> dict[str, Any]:
    """One turn with tokens, as the trainer keeps it."""
    tokens = [rng.randrange(2000) for _ in range(len(action) // 4 + 1)]
    return {
        "turn": number,
        "action": action,
        "token_ids": tokens,
        "log_probs": [-rng.random() for _ in tokens],
        "observation": observation,
        "context_ids": [] if observation is None else [rng.randrange(2000) for _ in range(9)],
        "reward": reward,
        "invalid": observation is not None and observation.startswith("Could not"),
        "generate_s": rng.random(),
        "env_s": rng.random() / 50,
        "advantages": [0.25 - (reward == 0) * 0.5 for _ in tokens],
    }


def trajectory(step: int, group: int, sample: int, rng: Random, **more: Any) -> dict[str, Any]:
    """One episode. ``more`` replaces fields."""
    goal = GOALS[group % len(GOALS)]
    solved = rng.random() < 0.3 + 0.01 * step
    count = rng.randint(1, 4)
    turns = [
        turn(number, f"get {number} oak log", f"Got {number} oak log", 0.0, rng) for number in range(1, count)
    ]
    last = f"craft 1 {goal} using 3 oak planks"
    turns.append(turn(count, last, None if solved else "Could not craft it", float(solved), rng))
    made = {
        "run": "made",
        "step": step,
        "partition": "train",
        "group": f"group-{step}-{group}",
        "sample": sample,
        "task_id": f"textcraft/train/{group}",
        "seed": 4491279842077705 + group,
        "options": {"order": "tree"},
        "horizon": 4 if step < 10 else 6,
        "session_id": f"session-{step:06d}-{group:04d}-{sample:02d}",
        "messages": [{"role": "user", "content": f"Goal: craft {goal}\n\nCrafting commands:\n{last}"}],
        "prompt_ids": [rng.randrange(2000) for _ in range(30)],
        "turns": turns,
        "reward": float(solved),
        "score": float(solved),
        "success": solved,
        "stop_reason": "success" if solved else "max_turns",
        "reopened": 0,
        "timings": {"slot": 0.001, "env": 0.2, "generate": 1.5, "total": 1.8},
        "error": None,
        "schema": 1,
    }
    return made | more


def metrics(step: int, rng: Random) -> dict[str, Any]:
    """A step's numbers, the ones that are drawn."""
    success = min(1.0, 0.3 + 0.01 * step + rng.random() / 20)
    return {
        "step": step,
        "rollout/success": success,
        "rollout/reward": success,
        "rollout/score": success,
        "rollout/turns/mean": 3 + rng.random(),
        "rollout/turns/p95": 4.0,
        "rollout/horizon": 4 if step < 10 else 6,
        "rollout/invalid_share": 0.2,
        "stop/success": success,
        "stop/max_turns": 1 - success,
        "actor/ppo_kl": rng.random() / 1000,
        "actor/entropy": 1.2 - 0.01 * step,
        "actor/grad_norm": rng.random(),
        "wall_s/step": 20.0,
        "wall_s/generate": 8.0,
        "wall_s/wait_env": 2.0,
        "wall_s/update": 10.0,
        "wall_s/weights": 0.1,
        "wall_s/checkpoint": 0.0,
    }


def write_step(folder: Path, step: int, groups: int, samples: int, rng: Random) -> None:
    """A step's episodes and numbers, appended as the trainer appends them."""
    rollouts = folder / "rollouts"
    rollouts.mkdir(parents=True, exist_ok=True)
    with (rollouts / f"train-{step:06d}.jsonl").open("ab") as file:
        for group in range(groups):
            for sample in range(samples):
                made = trajectory(step, group, sample, rng)
                file.write(orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE))
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(orjson.dumps(metrics(step, rng), option=orjson.OPT_APPEND_NEWLINE))


def write_run(folder: Path, steps: int = 14, groups: int = 4, samples: int = 4, seed: int = 0) -> Path:
    """A run of so many steps, evaluated before; with ``config.yaml``. Returns its folder."""
    rng = Random(seed)
    for step in range(1, steps + 1):
        write_step(folder, step, groups, samples, rng)
    evaluation = {"model": {"success": 0.2, "ci95": [0.15, 0.25], "score": 0.2, "n": 100, "goals": 40}}
    (folder / "evaluation-before.json").write_bytes(orjson.dumps(evaluation))
    (folder / "config.yaml").write_text(
        f"task:\n  name: textcraft\nrun:\n  seed: {seed}\n  model: starter\nalgorithm:\n  adv_estimator: grpo\n"
    )
    return folder


def finish(folder: Path) -> None:
    """The summary that a run writes last."""
    result = {"success": 0.6, "ci95": [0.55, 0.65], "score": 0.6, "n": 100}
    summary = {
        "task": "textcraft", "model": "starter", "algorithm": "grpo", "seed": 0, "steps": 14,
        "before": result | {"success": 0.2}, "after": result, "infra_failures": 0,
    }  # fmt: skip
    (folder / "summary.json").write_bytes(orjson.dumps(summary))

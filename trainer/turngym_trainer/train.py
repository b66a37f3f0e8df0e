"""``make train``: from nothing to a trained agent and the proof of it, in one folder.

    python -m turngym_trainer.train --task textcraft [--smoke] [-- hydra.key=value …]

In order: the environment answers or is started, the starter model is prepared, task rows are made, held-out success is
measured, verl trains in a process of its own (:mod:`turngym_trainer.learn`), success is measured again, and the report is
written. Each stage leaves a file in the run's folder, and the same command goes on after the last one that is there.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from turngym.schema import Metadata
from turngym_trainer import services
from turngym_trainer.config import (
    ConfigError,
    check,
    for_task,
    has_preset,
    prepare_environment,
    stored,
    validate,
)
from turngym_trainer.evaluate import EvaluationFailed
from turngym_trainer.progress import console
from turngym_trainer.rows import NoSuchTasks
from turngym_trainer.runs import NoCheckpoint, folder_for
from turngym_trainer.services import ServiceError
from turngym_trainer.stages import STARTER, Interrupted, StageFailed, go
from turngym_trainer.starter.prepare import StarterError

SMOKE = {
    "starter.episodes": 800,
    "starter.lesson.hidden": 64,
    "starter.lesson.layers": 2,
    "starter.lesson.tokens": 200_000,
    "evaluation.episodes": 24,
    "evaluation.greedy": 12,
    "algorithm.rounds_ctrl.rounds": [2, 3],
    "algorithm.rounds_ctrl.steps_scaling_inter": 1,
    "trainer.total_training_steps": 2,
    "data.train_batch_size": 4,
    "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
    # So that the rollout's log-probabilities are compared with the actor's.
    "algorithm.rollout_correction.bypass_mode": False,
    "actor_rollout_ref.rollout.calculate_log_probs": True,
}


def main() -> int:
    """The command line; returns the exit code."""
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # as Ctrl-C: children end, and the run can go on
    try:
        return run(_arguments(sys.argv[1:]))
    except (
        ConfigError,
        ServiceError,
        StarterError,
        NoSuchTasks,
        EvaluationFailed,
        NoCheckpoint,
        StageFailed,
    ) as error:
        console.print(f"error: {error}", style="red", markup=False)
    except OSError as error:
        console.print(
            f"error: {error.filename or 'input/output'}: {error.strerror or error}", style="red", markup=False
        )
    except (Interrupted, KeyboardInterrupt):
        console.print("stopped; the same command goes on from here")
        return 130
    return 1


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="turngym_trainer.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", help="environment, such as textcraft (default: what --env-addr serves)")
    parser.add_argument(
        "--env-addr", help="URL of a running service, several with commas; default: start one"
    )
    parser.add_argument("--algo", default="grpo", help="algorithm (default: grpo)")
    parser.add_argument("--hw", choices=["cpu"], help="hardware preset (default: found out)")
    parser.add_argument("--model", help="model folder or name (default: a starter made here)")
    parser.add_argument("--rounds", help="horizon of each stage in turns, such as 4,6,8")
    parser.add_argument("--every", type=int, help="training steps in each stage")
    parser.add_argument("--steps", type=int, help="training steps")
    parser.add_argument("--seed", type=int, default=1, help="seed of the run (default: 1)")
    parser.add_argument("--run", type=Path, help="the run's folder (default: runs/TASK-NUMBER)")
    parser.add_argument(
        "--dry-run", action="store_true", help="resolve and check the configuration, print it, do nothing"
    )
    parser.add_argument("--smoke", action="store_true", help="everything in miniature, in a few minutes")
    parser.add_argument("overrides", nargs="*", help="any key of the configuration, after --: key=value")
    found = parser.parse_args(words)
    if not found.task and not found.env_addr:
        parser.error("give --task or --env-addr")
    return found


def run(asked: argparse.Namespace) -> int:
    """Train as asked; returns the exit code."""
    metadata = None
    if asked.env_addr:
        metadata = asyncio.run(services.look(asked.env_addr.split(",")[0]))
    elif not has_preset(asked.task):
        metadata = services.describe(asked.task)
    task = asked.task or (metadata.name if metadata else "")
    config = _compose(asked, task, metadata)
    prepare_environment(config)
    check(config)
    if asked.dry_run:
        OmegaConf.update(config, "run.dir", str(asked.run or f"runs/{task}"), force_add=True)
        validate(config)
        print(stored(config), end="")
        return 0
    folder = folder_for(asked.run, task, config)
    OmegaConf.update(config, "run.dir", str(folder))
    OmegaConf.update(config, "run.name", folder.name)
    console.print(f"{folder}: {config.algorithm.adv_estimator} on {task}, hardware {config.hardware.name}")
    with ExitStack() as held:
        address = asked.env_addr or held.enter_context(services.serving(task, folder))
        OmegaConf.update(config, "task.env_addr", address)
        go(config, folder, asyncio.run(services.look(address.split(",")[0])))
    return 0


def _compose(asked: argparse.Namespace, task: str, metadata: Metadata | None) -> DictConfig:
    """The configuration of the command line."""
    settings: dict[str, Any] = {
        "run.seed": asked.seed,
        "run.model": asked.model or STARTER,
        "run.name": task,
        "run.dir": f"runs/{task}",
        "task.env_addr": asked.env_addr,
        "actor_rollout_ref.actor.data_loader_seed": asked.seed,
    }
    if asked.smoke:
        settings |= SMOKE
    if asked.rounds:
        settings["algorithm.rounds_ctrl.rounds"] = [int(part) for part in _numbers(asked.rounds)]
    settings |= {"algorithm.rounds_ctrl.steps_scaling_inter": asked.every} if asked.every is not None else {}
    settings |= {"trainer.total_training_steps": asked.steps} if asked.steps is not None else {}
    hardware = asked.hw or "cpu"
    return for_task(
        task, metadata, settings, algorithm=asked.algo, hardware=hardware, overrides=asked.overrides
    )


def _numbers(text: str) -> list[str]:
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise ConfigError(f"ROUNDS is {text!r}; it must be turns with commas between, such as 4,6,8")
    return parts


if __name__ == "__main__":
    sys.exit(main())

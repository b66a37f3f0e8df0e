"""``make train``: from nothing to a trained agent and the proof of it, in one folder.

    python -m turngym_trainer.train --task textcraft [--smoke] [-- hydra.key=value …]

In order: the environment answers or is started, the starter model is prepared, task rows are made, held-out success is
measured, verl trains in a process of its own (:mod:`turngym_trainer.learn`), success is measured again, and the report is
written. Each stage leaves a file in the run's folder, and the same command goes on after the last one that is there.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from turngym.client.aio import AsyncClient
from turngym.schema import Metadata
from turngym_trainer import learn, report, rows, services
from turngym_trainer.config import ConfigError, compose, overrides_of, prepare_environment, stored, validate
from turngym_trainer.progress import Stage, console, stage
from turngym_trainer.rows import NoSuchTasks, TaskList, select, tasks_of
from turngym_trainer.services import ServiceError
from turngym_trainer.starter.prepare import EXPERT, NOVICE, Plan, StarterError, prepare
from turngym_trainer.starter.teach import Lesson

CACHE = Path(os.environ.get("TURNGYM_CACHE", ".cache")) / "starter"
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
_POLL_S = 0.5
_STOP_S = 120.0


class Interrupted(Exception):
    """Ctrl-C, after which the run can go on with the same command."""


class StageFailed(RuntimeError):
    """A stage's process failed. The message says where to read why."""


def main() -> int:
    """The command line; returns the exit code."""
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # as Ctrl-C: children end, and the run can go on
    try:
        return run(_arguments(sys.argv[1:]))
    except (ConfigError, ServiceError, StarterError, NoSuchTasks, StageFailed) as error:
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
    metadata = asyncio.run(services.look(asked.env_addr.split(",")[0])) if asked.env_addr else None
    task = asked.task or (metadata.name if metadata else "")
    config = _compose(asked, task, metadata)
    prepare_environment(config)
    if asked.dry_run:
        OmegaConf.update(config, "run.dir", str(asked.run or f"runs/{task}"), force_add=True)
        if config.run.model == _STARTER:
            OmegaConf.update(config, "run.model", str(task))
        validate(config)
        print(stored(config), end="")
        return 0
    folder = _folder(asked.run, task, config)
    OmegaConf.update(config, "run.dir", str(folder))
    OmegaConf.update(config, "run.name", folder.name)
    console.print(f"{folder}: {config.algorithm.adv_estimator} on {task}, hardware {config.hardware.name}")
    with ExitStack() as held:
        address = asked.env_addr or held.enter_context(services.serving(task, folder))
        OmegaConf.update(config, "task.env_addr", address)
        _go(config, folder, asyncio.run(services.look(address.split(",")[0])))
    return 0


_STARTER = "starter"


def _compose(asked: argparse.Namespace, task: str, metadata: Metadata | None) -> DictConfig:
    """The configuration of the command line. A task without a preset gets one from its service's metadata."""
    preset = (Path(__file__).parent / "configs" / "task" / f"{task}.yaml").is_file()
    if not preset and metadata is None:
        raise ConfigError(
            f"no preset for task {task}; serve it (make serve TASK={task}) and give ENV_ADDR=URL"
        )
    settings: dict[str, Any] = {
        "run.seed": asked.seed,
        "run.model": asked.model or _STARTER,
        "run.name": task,
        "run.dir": f"runs/{task}",
        "task.env_addr": asked.env_addr,
        "actor_rollout_ref.actor.data_loader_seed": asked.seed,
    }
    if not preset and metadata is not None:
        settings |= _from_metadata(metadata)
    if asked.smoke:
        settings |= SMOKE
    if asked.rounds:
        settings["algorithm.rounds_ctrl.rounds"] = [int(part) for part in _numbers(asked.rounds)]
    settings |= {"algorithm.rounds_ctrl.steps_scaling_inter": asked.every} if asked.every else {}
    settings |= {"trainer.total_training_steps": asked.steps} if asked.steps else {}
    groups = [f"algorithm={asked.algo}", f"hardware={asked.hw or 'cpu'}", f"task={task if preset else 'any'}"]
    return compose([*groups, *overrides_of(settings), *asked.overrides])


def _numbers(text: str) -> list[str]:
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise ConfigError(f"ROUNDS is {text!r}; it must be turns with commas between, such as 4,6,8")
    return parts


def _from_metadata(metadata: Metadata) -> dict[str, Any]:
    """The presets of an environment that has none: its own default horizon, reached in three stages."""
    longest = metadata.default_max_turns
    return {
        "task.name": metadata.name,
        "algorithm.rounds_ctrl.rounds": sorted({max(1, longest // 3), max(1, 2 * longest // 3), longest}),
    }


def _folder(named: Path | None, task: str, config: DictConfig) -> Path:
    """The run's folder: the one named, or the last of the task if it is unfinished and the same, or a new one."""
    if named is not None:
        folder = named.resolve()
        if (folder / "summary.json").exists():
            raise ConfigError(f"{named} is a finished run, and is kept; name another: RUN=…")
        if (folder / "asked.yaml").exists() and (folder / "asked.yaml").read_text() != stored(config):
            raise ConfigError(f"{named} is an unfinished run with another configuration; name another: RUN=…")
    else:
        base = Path("runs").resolve()
        numbers = [
            int(match[1])
            for path in base.glob(f"{task}-*")
            if (match := re.fullmatch(rf"{task}-(\d+)", path.name))
        ]
        last = max(numbers, default=0)
        folder = base / f"{task}-{last}"
        asked = folder / "asked.yaml"
        same = last and asked.exists() and asked.read_text() == stored(config)
        if not same or (folder / "summary.json").exists():
            folder = base / f"{task}-{last + 1}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "asked.yaml").write_text(stored(config))
    return folder


def _go(config: DictConfig, folder: Path, metadata: Metadata) -> None:
    """The stages, each of which leaves what the next one needs."""
    wall = _Wall(folder / report.WALL)
    tasks = asyncio.run(_tasks(config, "train"))
    yardstick: dict[str, Path] = {}
    if config.run.model == _STARTER:
        with wall.of("starter"), stage("starter") as shown:
            made = _starter(config, metadata, tasks, shown)
        OmegaConf.update(config, "run.model", str(made[NOVICE].resolve()))
        yardstick = {EXPERT: made[EXPERT]}
    with wall.of("setup"), stage("checking the configuration"):
        (folder / "config.yaml").write_text(stored(config))
        validate(config)
        asyncio.run(_rows(config))
    _evaluate(folder, report.BEFORE, {report.MODEL: Path(config.run.model), **yardstick}, wall)
    _learn(config, folder, wall)
    _evaluate(folder, report.AFTER, {report.MODEL: trained(folder)}, wall)
    made_summary = report.write(folder)
    console.print((folder / "report.md").read_text(), markup=False)
    lift = 100 * (made_summary["after"]["success"] - made_summary["before"]["success"])
    console.print(
        f"held-out success {lift:+.1f} points. Everything is in {folder}: report.md, curve.png, summary.json"
    )


async def _tasks(config: DictConfig, split: Any) -> TaskList:
    async with AsyncClient(
        config.task.env_addr.split(",")[0], token=os.environ.get("TURNGYM_TOKEN")
    ) as client:
        return select(split, await tasks_of(client, split), config.task.where)


async def _rows(config: DictConfig) -> None:
    async with AsyncClient(
        config.task.env_addr.split(",")[0], token=os.environ.get("TURNGYM_TOKEN")
    ) as client:
        await rows.prepare(client, config)


def _starter(config: DictConfig, metadata: Metadata, tasks: TaskList, shown: Stage) -> Mapping[str, Path]:
    plain: Any = OmegaConf.to_container(config.starter, resolve=True)
    options: Any = OmegaConf.to_container(config.task.options, resolve=True)
    lesson = Lesson(**plain.pop("lesson"))
    plan = Plan(name=metadata.name, options=options, lesson=lesson, **plain)
    ids = [task.task_id for task in tasks.tasks]
    return prepare(
        plan, metadata, ids, services.command_turngym(), CACHE, lambda note, done: shown.at(done, note)
    )


def _evaluate(folder: Path, name: str, models: Mapping[str, Path], wall: "_Wall") -> None:
    """Held-out success of the models, unless the file is there."""
    if (folder / name).exists():
        return
    command = [
        sys.executable,
        "-m",
        "turngym_trainer.evaluate",
        str(folder / "config.yaml"),
        str(folder / name),
    ]
    command += [f"{label}={path}" for label, path in models.items()]
    with (
        wall.of("eval"),
        stage(f"held-out success, {name.removeprefix('evaluation-').removesuffix('.json')}") as shown,
    ):
        with _child(command, folder / "evaluate.log", piped=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith('{"label"'):
                    facts = json.loads(line)
                    done = (list(models).index(facts["label"]) + facts["done"] / facts["total"]) / len(models)
                    shown.at(done, f"{facts['label']}: {facts['done']} of {facts['total']} episodes")
            code = process.wait()
        if code:
            raise StageFailed(f"the evaluation failed; {folder / 'evaluate.log'} says why")


def _learn(config: DictConfig, folder: Path, wall: "_Wall") -> None:
    """Train to the last step. Ctrl-C ends the run after the step it is in."""
    total = int(config.trainer.total_training_steps)
    if _steps_done(folder) >= total:
        return
    began = time.monotonic()
    waited = None
    with (
        stage("training") as shown,
        _child([sys.executable, "-m", "turngym_trainer.learn", str(folder)], folder / "train.log") as process,
    ):
        try:
            while process.poll() is None:
                time.sleep(_POLL_S)
                steps = report.read_metrics(folder)
                if steps:
                    waited = waited or time.monotonic()
                    shown.at(steps[-1]["step"] / total, _step_note(steps))
        except KeyboardInterrupt:
            console.print("ending after this step; once more to end at once")
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=_STOP_S)
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=_STOP_S)
            report.draw(folder)
            raise Interrupted from None
        wall.add("setup", (waited or time.monotonic()) - began)
        if process.returncode != learn.DONE:
            raise StageFailed(
                f"training failed; {folder / 'train.log'} says why. The same command goes on from the last checkpoint"
            )


def _step_note(steps: Sequence[Mapping[str, float]]) -> str:
    last, recent = steps[-1], steps[-5:]
    success = sum(row["rollout/success"] for row in recent) / len(recent)
    reward = sum(row["rollout/reward"] for row in recent) / len(recent)
    return (
        f"step {last['step']:.0f}  success {100 * success:.1f} %  reward {reward:.2f}  horizon {last['rollout/horizon']:.0f}  "
        f"{last['wall_s/step']:.1f} s/step"
    )


def _steps_done(folder: Path) -> int:
    latest = folder / "checkpoints" / "latest_checkpointed_iteration.txt"
    return int(latest.read_text()) if latest.exists() else 0


def trained(folder: Path) -> Path:
    """The Hugging Face folder of the last checkpoint. Raises StageFailed if there is none."""
    found = folder / "checkpoints" / f"global_step_{_steps_done(folder)}" / "actor" / "huggingface"
    if not (found / "config.json").is_file():
        raise StageFailed(f"there is no checkpoint in {folder / 'checkpoints'}")
    return found


@contextmanager
def _child(command: Sequence[str], log: Path, piped: bool = False) -> Iterator["subprocess.Popen[str]"]:
    """A child in a process group of its own, so that Ctrl-C reaches it only through this process; killed with the block."""
    with log.open("a") as out:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE if piped else out, stderr=out, text=True, start_new_session=True
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class _Wall:
    """Wall seconds by stage, kept in a file so that a resumed run counts all of its parts."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, name: str, seconds: float) -> None:
        """Add to a stage's seconds."""
        known = json.loads(self._file.read_text()) if self._file.exists() else {}
        known[name] = known.get(name, 0.0) + seconds
        self._file.write_text(json.dumps(known))

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count the block's seconds."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())

"""The stages of a run, in order. Each leaves a file in the run's folder, and is passed over where its file is there.

starter model -> task rows -> held-out success before -> training (:mod:`turngym_trainer.learn`) -> held-out success after ->
report. Training and evaluations run in processes of their own, whose logs stay in the folder.
"""

import asyncio
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from turngym.client.aio import AsyncClient
from turngym.output import whole_file
from turngym.schema import Metadata
from turngym_trainer import learn, report, rows, services
from turngym_trainer.children import child
from turngym_trainer.config import for_verl, stored, validate
from turngym_trainer.evaluate import measure
from turngym_trainer.progress import Stage, console, stage
from turngym_trainer.rows import TaskList, select, tasks_of
from turngym_trainer.runs import steps_done, trained
from turngym_trainer.schedule import schedule
from turngym_trainer.starter.prepare import EXPERT, NOVICE, Plan, prepare
from turngym_trainer.starter.teach import Lesson

CACHE = Path(os.environ.get("TURNGYM_CACHE", ".cache")) / "starter"
STARTER = "starter"  # run.model, until the starter is made
_ELSEWHERE = ("env_addr", "rollout_log_dir")  # settings of episodes that say where, not how
_POLL_S = 0.5
_STOP_S = 120.0


class Interrupted(Exception):
    """Ctrl-C, after which the run can go on with the same command."""


class StageFailed(RuntimeError):
    """A stage's process failed. The message says where to read why."""


def go(config: DictConfig, folder: Path, metadata: Metadata) -> None:
    """The stages, each of which leaves what the next one needs."""
    wall = _Wall(folder / report.WALL)
    tasks = asyncio.run(_tasks(config, "train"))
    yardstick: dict[str, Path] = {}
    if config.run.model == STARTER:
        with wall.of("starter"), stage("starter") as shown:
            made = _starter(config, metadata, tasks, shown)
        OmegaConf.update(config, "run.model", str(made[NOVICE].resolve()))
        yardstick = {EXPERT: made[EXPERT]}
    with wall.of("setup"), stage("checking the configuration"):
        (folder / "config.yaml").write_text(stored(config))
        validate(config)
        asyncio.run(_rows(config))
    models = {report.MODEL: Path(config.run.model), **yardstick}
    with _remembered(
        folder / report.BEFORE, models[report.MODEL].parent if yardstick else None, config, metadata
    ):
        _evaluate(folder, report.BEFORE, models, wall)
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


@contextmanager
def _remembered(result: Path, home: Path | None, config: DictConfig, metadata: Metadata) -> Iterator[None]:
    """Keeps an evaluation of what lies in ``home`` there, and brings it back for the same models, tasks and way of playing."""
    if home is None:
        yield
        return
    plain: Any = OmegaConf.to_container(for_verl(config))
    played: Any = OmegaConf.to_container(config.evaluation, resolve=True)
    agentgym = {
        key: value for key, value in plain["actor_rollout_ref"]["agentgym"].items() if key not in _ELSEWHERE
    }
    parts = [played, agentgym, plain["data"]["max_prompt_length"], plain["data"]["max_response_length"]]
    parts += [OmegaConf.to_container(config.task.options), OmegaConf.to_container(config.task.where)]
    parts += [schedule(config.algorithm.rounds_ctrl).final, metadata.version, metadata.data_hash]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    kept = home / f"held-out-{digest[:16]}.json"
    if kept.is_file() and not result.exists():
        _copy(kept, result)
    yield
    if not kept.is_file():
        _copy(result, kept)


def _copy(source: Path, target: Path) -> None:
    with whole_file(target) as file:
        file.write(source.read_bytes())


def _evaluate(folder: Path, name: str, models: Mapping[str, Path], wall: "_Wall") -> None:
    """Held-out success of the models, unless the file is there."""
    if (folder / name).exists():
        return
    title = f"held-out success, {name.removeprefix('evaluation-').removesuffix('.json')}"
    with wall.of("eval"), stage(title) as shown:
        measure(folder / "config.yaml", folder / name, models, folder / "evaluate.log", shown)


def _learn(config: DictConfig, folder: Path, wall: "_Wall") -> None:
    """Train to the last step. Ctrl-C ends the run after the step it is in."""
    total = int(config.trainer.total_training_steps)
    if steps_done(folder) >= total:
        return
    began = time.monotonic()
    waited = None
    with (
        stage("training") as shown,
        (folder / "train.log").open("a") as log,
        child([sys.executable, "-m", "turngym_trainer.learn", str(folder)], log=log) as process,
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

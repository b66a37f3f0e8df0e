"""Makes the starter and its yardstick, and caches them by everything that they depend on.

Two models of the same size are taught for the same time: the *novice* on the expert's episodes and then more and more on
the novice's, which is where training starts; the *expert-taught* on the expert's alone, the honest yardstick of what imitation
gives. Episodes come from ``turngym collect``, run where the service is installed; this package imports no service.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers

from turngym.schema import Metadata
from turngym_trainer import children
from turngym_trainer.starter import induction, muon, teach, tokenizer
from turngym_trainer.starter.teach import Lesson

NOVICE, EXPERT = "novice", "expert_taught"
_PLAYERS = ("expert", "novice")
Report = Callable[[str, float], None]

# glibc gives large blocks back to the system after every use, and takes each page anew: a third of the time on one core.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32)}


class StarterError(RuntimeError):
    """The starter can't be made. The message is one line that says why, and what else to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the starter is taught on.

    :ivar name: the service, as ``turngym collect`` knows it.
    :ivar episodes: of the expert, and as many of the novice.
    :ivar rate: how often the novice's action is useless, 0..1.
    :ivar max_turns: the horizon of the episodes that are collected.
    :ivar options: of the sessions; ``variants`` are further options, each for an equal share of the episodes.
    """

    name: str
    episodes: int
    rate: float
    max_turns: int
    options: Mapping[str, Any]
    variants: Sequence[Mapping[str, Any]]
    lesson: Lesson


def content_hash(plan: Plan, metadata: Metadata, task_ids: Collection[str]) -> str:
    """sha256 over the plan, the environment's version and data, the tasks, and the code and libraries that teach."""
    code = [Path(str(module.__file__)).read_text() for module in (induction, muon, teach, tokenizer)]
    parts = [asdict(plan), metadata.version, metadata.data_hash, sorted(task_ids), code]
    text = json.dumps([*parts, torch.__version__, transformers.__version__], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def prepare(
    plan: Plan, metadata: Metadata, task_ids: Collection[str], turngym: str, cache: Path, report: Report
) -> Mapping[str, Path]:
    """The folders of both models, taught now if the cache doesn't have them.

    :param task_ids: the training tasks; episodes of others are left out.
    :param turngym: the command ``turngym`` of the environment where the service is installed.
    :param report: called with what is being done and how far it is, 0..1.
    :raises StarterError: if episodes can't be collected or a lesson fails. Nothing is left half-written.
    """
    home = cache / content_hash(plan, metadata, task_ids)[:16]
    found = {name: home / name for name in (NOVICE, EXPERT)}
    if all(folder.is_dir() for folder in found.values()):
        report("starter from the cache", 1.0)
        return found
    work = cache / f"{home.name}.partial-{os.getpid()}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _collect(plan, set(task_ids), metadata.splits["train"], turngym, work, report)
        _tokenizer(work, metadata)
        _teach(plan.lesson, work, report)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        for name, folder in found.items():
            (work / name).rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


def _collect(plan: Plan, wanted: set[str], size: int, turngym: str, work: Path, report: Report) -> None:
    """A file of episodes for each player. ``size`` is that of the training split, of which ``wanted`` is a part."""
    jobs = [(player, number) for player in _PLAYERS for number in range(len(plan.variants))]
    share = -(-plan.episodes // len(plan.variants))
    # The tasks wanted are only a part of the split, and the episodes go round all of it.
    count = -(-share // len(wanted)) * size

    def play(job: tuple[str, int]) -> Path:
        player, number = job
        part = work / f"{player}-{number}.jsonl"
        command = [turngym, "collect", plan.name, "--policy", player, "--rate", str(plan.rate), "--shuffle"]
        command += ["--n", str(count), "--seed", str(1_000_000 * number), "--max-turns", str(plan.max_turns)]
        command += ["--split", "train", "--out", str(part)]
        options = {**plan.options, **plan.variants[number]}
        command += [word for key, value in options.items() for word in ("--option", f"{key}={_plain(value)}")]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            said = (run.stderr or run.stdout).strip().splitlines()
            raise StarterError(
                f"no episodes of {plan.name}: {said[-1] if said else 'turngym collect failed'} "
                "(train a model of your own instead: MODEL=folder)"
            )
        return part

    report("collecting episodes", 0.0)
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for done, ((player, _), part) in enumerate(zip(jobs, pool.map(play, jobs), strict=True)):
            with (
                part.open(encoding="utf-8") as lines,
                (work / f"{player}.jsonl").open("a", encoding="utf-8") as out,
            ):
                out.writelines([line for line in lines if json.loads(line)["task_id"] in wanted][:share])
            part.unlink()
            report("collecting episodes", (done + 1) / len(jobs))
    finally:
        pool.shutdown(cancel_futures=True)


def _plain(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value


def _tokenizer(work: Path, metadata: Metadata) -> None:
    """One tokenizer for both models, from all episodes."""
    rows = [
        json.loads(line) for player in _PLAYERS for line in (work / f"{player}.jsonl").open(encoding="utf-8")
    ]
    texts = (message["content"] for row in rows for message in row["messages"])
    made = tokenizer.build(texts, [command.template for command in metadata.grammar.commands])
    made.save_pretrained(work / "tokenizer")


def _teach(lesson: Lesson, work: Path, report: Report) -> None:
    """Both lessons at once, a process and a core each."""
    lessons = {NOVICE: lesson, EXPERT: replace(lesson, expert_share=(1.0, 1.0))}
    environment = {**os.environ, **_KEEP_MEMORY, "OMP_NUM_THREADS": "1"}
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, asked in lessons.items():
            files = [
                str(work / part) for part in (*(f"{player}.jsonl" for player in _PLAYERS), "tokenizer", name)
            ]
            command = [
                sys.executable,
                "-m",
                "turngym_trainer.starter.teach",
                *files,
                json.dumps(asdict(asked)),
            ]
            with (work / f"{name}.log").open("w") as log:
                running[name] = children.start(command, log=log, piped=True, environment=environment)
        stdout = running[NOVICE].stdout
        assert stdout is not None
        for line in stdout:
            facts = json.loads(line)
            report(f"teaching the starter (loss {facts['loss']:.2f} nats)", facts["done"])
        for name, process in running.items():
            process.communicate()
            if process.returncode:
                said = (work / f"{name}.log").read_text().strip().splitlines()
                raise StarterError(f"the lesson of {name} failed: {said[-1] if said else process.returncode}")
    finally:
        for process in running.values():
            process.kill()
            process.wait()

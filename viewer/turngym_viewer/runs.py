"""The runs in a folder, and what their small files say: status, headline figures, metrics by step.

Names and files are untrusted: a run is a direct child of the folder (or the folder itself), and nothing outside the folder is
ever opened, whatever a link in it points to. The formats are ``turngym_trainer``'s (``report``, ``metrics``, ``runs``).
"""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import yaml

from turngym.problems import ProblemError

SUMMARY, METRICS, CONFIG, ROLLOUTS = "summary.json", "metrics.jsonl", "config.yaml", "rollouts"
BEFORE, AFTER = "evaluation-before.json", "evaluation-after.json"
_MARKS = (METRICS, ROLLOUTS, SUMMARY, "asked.yaml")
_LIVE_S = 180.0  # a run whose files changed so lately is running; the longest step seen took less
_TAIL = 2**18  # bytes of the metrics' file that surely hold a step; a line has some thousand
_LARGEST = 32 * 2**20  # bytes of a small file; more is a mistake, and not read


class Outside(PermissionError):
    """A path leads out of the folder of runs, or isn't a plain file."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder under the name by which it is asked for. ``root`` is the folder of runs, resolved."""

    name: str
    path: Path
    root: Path

    def open(self, *parts: str) -> BinaryIO:
        """A file of the run for reading. Raises FileNotFoundError, or Outside where it isn't a plain file in the folder."""
        path = self.path.joinpath(*parts)
        resolved = path.resolve(strict=True)
        if not resolved.is_relative_to(self.root):
            raise Outside(f"{path.name} leads out of the folder of runs")
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Outside(f"{path.name} is not a plain file")
        return os.fdopen(descriptor, "rb")

    def read(self, name: str) -> bytes | None:
        """A small file's content; None where there is none. Raises Outside, ValueError where it is too large."""
        try:
            with self.open(name) as file:
                body = file.read(_LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(body) > _LARGEST:
            raise ValueError(f"{name} is larger than {_LARGEST} bytes")
        return body

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object in a small file; empty where there is none, or where it is being written."""
        try:
            found = orjson.loads(self.read(name) or b"{}")
        except (orjson.JSONDecodeError, OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def config(self) -> dict[str, Any]:
        """The run's configuration; empty where there is none or it can't be read."""
        try:
            return _parsed(self.read(CONFIG) or b"")
        except (OSError, ValueError):
            return {}


@lru_cache(maxsize=64)
def _parsed(text: bytes) -> dict[str, Any]:
    """YAML as a dictionary; empty where it is none. A configuration has a thousand lines and is asked for again and again."""
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def rollout_files(run: Run) -> dict[str, os.stat_result]:
    """The run's trajectory files by name, in order. Links and what leads outside are left out."""
    folder = run.path / ROLLOUTS
    if not folder.is_dir() or not folder.resolve().is_relative_to(run.root):
        return {}
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                found[entry.name] = entry.stat(follow_symlinks=False)
    return dict(sorted(found.items()))


def find_runs(root: Path, name: str | None = None) -> Iterator[Run]:
    """Every run in the folder by name; the folder itself, if it is a run. With ``name`` only what is called so."""
    if name in (None, root.name) and _is_run(root):
        yield Run(root.name, root, root)
    for child in sorted(os.listdir(root)):
        path = root / child
        if name in (None, child) and _is_run(path) and path.resolve().is_relative_to(root):
            yield Run(child, path.resolve(), root)


def _is_run(path: Path) -> bool:
    try:
        return any((path / mark).exists() for mark in _MARKS)
    except OSError:
        return False


def find_run(root: Path, name: str) -> Run:
    """The run of that name. Raises the problem ``not_found``."""
    for run in find_runs(root, name):
        return run
    raise ProblemError("not_found", f"there is no run {name!r} in the folder of runs")


def status(run: Run) -> tuple[str, float]:
    """``finished``, ``running`` or ``stopped``, and when its files last changed (Unix seconds).

    A run that is killed says nothing, so running means: no summary yet, and something was written in the last three minutes.
    """
    times = []
    for name in (METRICS, ROLLOUTS, SUMMARY, "train.log", CONFIG, "asked.yaml"):
        try:
            times.append((run.path / name).stat().st_mtime)
        except OSError:
            continue
    last = max(times, default=0.0)
    if (run.path / SUMMARY).is_file():
        return "finished", last
    return ("running" if time.time() - last < _LIVE_S else "stopped"), last


def headline(run: Run) -> dict[str, Any]:
    """What the list of runs shows of one: status, task, model, steps, success before and after, last success in training."""
    state, changed = status(run)
    summary = run.json(SUMMARY)
    config = {} if summary else run.config()
    last = last_step(run)
    before = summary.get("before") or run.json(BEFORE).get("model")
    after = summary.get("after") or run.json(AFTER).get("model")
    return {
        "name": run.name,
        "status": state,
        "changed": changed,
        "task": summary.get("task") or _at(config, "task", "name"),
        "model": summary.get("model") or _at(config, "run", "model"),
        "algorithm": summary.get("algorithm") or _at(config, "algorithm", "adv_estimator"),
        "seed": _digits(summary["seed"] if "seed" in summary else _at(config, "run", "seed")),
        "step": last.get("step"),
        "horizon": last.get("rollout/horizon"),
        "training_success": last.get("rollout/success"),
        "before": _result(before),
        "after": _result(after),
        "infra_failures": summary.get("infra_failures"),
    }


def details(run: Run) -> dict[str, Any]:
    """Everything the small files say of a run."""
    return {
        **headline(run),
        "summary": run.json(SUMMARY),
        "evaluations": {"before": run.json(BEFORE), "after": run.json(AFTER)},
        "config": flat(run.config()),
    }


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested configuration as dotted names and texts."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = (
                value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
            )
    return found


def metrics(run: Run) -> dict[str, Any]:
    """The metrics by step: ``{"steps": […], "series": {name: […]}}``, with null where a step has no such number."""
    by_step: dict[float, dict[str, float]] = {}
    for row in _rows(run):
        by_step.setdefault(row["step"], {}).update(row)
    steps = sorted(by_step)
    names = sorted({name for row in by_step.values() for name in row} - {"step"})
    return {"steps": steps, "series": {name: [by_step[step].get(name) for step in steps] for name in names}}


def last_step(run: Run) -> dict[str, float]:
    """The metrics of the last training step, from the end of the file; empty where there is none."""
    return next((row for row in reversed(_rows(run, _TAIL)) if "rollout/success" in row), {})


def _rows(run: Run, last: int | None = None) -> list[dict[str, float]]:
    """The lines of the metrics' file that can be read: all, or those in so many bytes at its end."""
    try:
        with run.open(METRICS) as file:
            if last is not None:
                file.seek(max(0, file.seek(0, os.SEEK_END) - last))
            lines = file.read().split(b"\n")
    except (OSError, ValueError):
        return []
    return [row for line in lines[:-1] if (row := _row(line)) is not None]


def _row(line: bytes) -> dict[str, float] | None:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict) or not isinstance(row.get("step"), int | float):
        return None
    return {str(name): value for name, value in row.items() if isinstance(value, int | float)}


def _result(found: Any) -> dict[str, Any] | None:
    if not isinstance(found, dict) or not isinstance(found.get("success"), int | float):
        return None
    return {name: found.get(name) for name in ("success", "ci95", "n")}


def _at(config: Mapping[str, Any], *names: str) -> Any:
    found: Any = config
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str | int | float) else None


def _digits(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) >= 2**53 else value

"""A run's folder: which one a command means, and what a run has reached in it."""

import re
from pathlib import Path

from omegaconf import DictConfig

from turngym_trainer.config import ConfigError, stored

SUMMARY = "summary.json"  # the last file that a run writes
_ASKED = "asked.yaml"  # the configuration as the command line gave it, before anything was made


class NoCheckpoint(LookupError):
    """A run has no checkpoint yet. The message is one line."""


def folder_for(named: Path | None, task: str, config: DictConfig) -> Path:
    """The run's folder: the one named, or the last of the task if it is unfinished and the same, or a new one."""
    if named is not None:
        folder = named.resolve()
        if (folder / SUMMARY).exists():
            raise ConfigError(f"{named} is a finished run, and is kept; name another: RUN=…")
        if (folder / _ASKED).exists() and (folder / _ASKED).read_text() != stored(config):
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
        asked = folder / _ASKED
        same = last and asked.exists() and asked.read_text() == stored(config)
        if not same or (folder / SUMMARY).exists():
            folder = base / f"{task}-{last + 1}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _ASKED).write_text(stored(config))
    return folder


def steps_done(folder: Path) -> int:
    """The training step of the last checkpoint, 0 before the first."""
    latest = folder / "checkpoints" / "latest_checkpointed_iteration.txt"
    return int(latest.read_text()) if latest.exists() else 0


def trained(folder: Path) -> Path:
    """The Hugging Face folder of the last checkpoint. Raises NoCheckpoint."""
    found = folder / "checkpoints" / f"global_step_{steps_done(folder)}" / "actor" / "huggingface"
    if not (found / "config.json").is_file():
        raise NoCheckpoint(f"there is no checkpoint in {folder / 'checkpoints'}")
    return found

"""A run's configuration: composed by Hydra from ``configs/`` and verl's own, checked before anything starts.

:func:`compose` and :func:`validate` need no accelerator and start nothing; ``DRY_RUN=1`` is these two and a printout.
:func:`for_verl` is the last step: the same configuration without what verl's own schema does not know.
"""

import contextlib
import io
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_module
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from turngym.schema import Metadata
from turngym_trainer.schedule import ScheduleError, schedule
from turngym_trainer.settings import EpisodeSettings, SettingError

_OURS = ("task", "run", "hardware", "starter", "evaluation")
_MUST_BE_SET = ("run.", "task.", "starter.", "evaluation.", "data.", "actor_rollout_ref.")
_MOVED = ("max_tokens", "rollout_log_dir")


class ConfigError(ValueError):
    """The configuration can't be run. The message is one line that names the key and what would be right."""


def compose(overrides: Iterable[str] = ()) -> DictConfig:
    """The configuration with the overrides applied, in Hydra's grammar (``data.train_batch_size=8``, ``task=textcraft``).

    :raises ConfigError: for a key that does not exist, or an override that can't be read.
    """
    try:
        with initialize_config_module("turngym_trainer.configs", version_base=None):
            return hydra_compose(
                "train", overrides=[f"hydra.searchpath=[file://{_verl_configs()}]", *overrides]
            )
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_reason(error)) from None


def for_task(
    task: str,
    metadata: Metadata | None,
    settings: Mapping[str, Any],
    *,
    algorithm: str = "grpo",
    hardware: str = "cpu",
    overrides: Iterable[str] = (),
) -> DictConfig:
    """The configuration for an environment, by its preset or, where it has none, by what its service says of itself.

    :param metadata: the service's; None where none is running yet, which only a task with a preset can do without.
    :param settings: key -> value, before the ``overrides`` in Hydra's grammar; None is left out.
    :raises ConfigError: as :func:`compose`, and for a task that is unknown.
    """
    preset = has_preset(task)
    if not preset and metadata is None:
        raise ConfigError(f"there is no preset for task {task}, and no service that says what it is")
    own = _from_metadata(metadata) if metadata is not None and not preset else {}
    groups = [f"algorithm={algorithm}", f"hardware={hardware}", f"task={task if preset else 'any'}"]
    return compose([*groups, *overrides_of({**own, **settings}), *overrides])


def has_preset(task: str) -> bool:
    """Whether ``configs/task`` knows the environment."""
    return resources.files("turngym_trainer.configs").joinpath("task", f"{task}.yaml").is_file()


def _from_metadata(metadata: Metadata) -> dict[str, Any]:
    """The presets of an environment that has none: its own default horizon, reached in three stages."""
    longest = metadata.default_max_turns
    return {
        "task.name": metadata.name,
        "algorithm.rounds_ctrl.rounds": sorted({max(1, longest // 3), max(1, 2 * longest // 3), longest}),
    }


def _verl_configs() -> Path:
    """Where verl keeps its configuration, found without importing verl, which takes seconds."""
    found = find_spec("verl")
    if found is None or found.origin is None:
        raise ConfigError("verl is not installed; install this package with its extra: turngym-trainer[cpu]")
    return Path(found.origin).parent / "trainer" / "config"


def prepare_environment(config: DictConfig) -> None:
    """Set the hardware preset's environment variables for this process and its children. Must run before verl is imported."""
    os.environ.update({str(name): str(value) for name, value in config.hardware.environment.items()})


def for_verl(config: DictConfig) -> DictConfig:
    """The configuration as verl takes it: resolved, and without the parts that are this package's alone.

    The published keys ``actor_rollout_ref.rollout.max_tokens`` and ``.rollout_log_dir`` are unknown to verl's rollout and
    go to ``actor_rollout_ref.agentgym``.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    for name in _OURS:
        del plain[name]
    rollout, ours = plain["actor_rollout_ref"]["rollout"], plain["actor_rollout_ref"]["agentgym"]
    for key in _MOVED:
        ours[key] = rollout.pop(key)
    with resources.as_file(resources.files("turngym_trainer.configs") / "agent_loop.yaml") as registry:
        rollout["agent"]["agent_loop_config_path"] = str(registry)
    made: DictConfig = OmegaConf.create(plain)
    return made


def check(config: DictConfig) -> None:
    """Refuse what can be known to be wrong at once: missing values, ranges, the schedule, a model that is not there.

    :raises ConfigError: with the first thing that is wrong.
    """
    missing = [key for key in config.run if OmegaConf.is_missing(config.run, key)]
    if missing:
        raise ConfigError(f"run.{missing[0]} is not set")
    try:
        resolved = for_verl(config)
        schedule(resolved.algorithm.rounds_ctrl)
        settings = EpisodeSettings.of(resolved)
    except (ScheduleError, SettingError) as error:
        raise ConfigError(str(error)) from None
    except OmegaConfBaseException as error:
        raise ConfigError(_reason(error)) from None
    _check_model(str(config.run.model))
    _check(resolved, settings)


def validate(config: DictConfig) -> None:
    """:func:`check`, and verl's own checks. Imports verl, so :func:`prepare_environment` comes first.

    :raises ConfigError: with the first thing that is wrong.
    """
    check(config)
    _check_with_verl(for_verl(config))


def _check_model(model: str) -> None:
    """A model is a Hugging Face folder, or a name of the hub, which has no more than one slash."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        lacks = [name for name in ("config.json", "tokenizer_config.json") if not (folder / name).is_file()]
        if lacks:
            raise ConfigError(f"run.model is {model}, which is no model folder: {lacks[0]} is not in it")
    elif model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise ConfigError(f"run.model is {model}; there is no such folder")


def _check(config: DictConfig, settings: EpisodeSettings) -> None:
    data, rollout = config.data, config.actor_rollout_ref.rollout
    for key in ("train_batch_size", "max_prompt_length", "max_response_length"):
        if not isinstance(data[key], int) or data[key] < 1:
            raise ConfigError(f"data.{key} is {data[key]!r}; it must be a whole number of at least 1")
    if settings.max_tokens > data.max_response_length:
        raise ConfigError(
            f"actor_rollout_ref.rollout.max_tokens is {settings.max_tokens}, more than the whole response may have "
            f"(data.max_response_length={data.max_response_length})"
        )
    if config.algorithm.adv_estimator == "grpo" and rollout.n < 2:
        raise ConfigError(
            f"actor_rollout_ref.rollout.n is {rollout.n}; GRPO compares episodes and needs at least 2"
        )
    if config.algorithm.filter_groups.enable:
        raise ConfigError(
            "algorithm.filter_groups.enable is true; the replay buffer for episodes does not filter groups"
        )
    steps = config.trainer.total_training_steps
    if not isinstance(steps, int) or steps < 1:
        raise ConfigError(
            f"trainer.total_training_steps is {steps!r}; it must be a whole number of at least 1"
        )


def _check_with_verl(config: DictConfig) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            validate_config(
                config=config,
                use_reference_policy=need_reference_policy(config),
                use_critic=need_critic(config),
            )
    except Exception as error:  # verl asserts, and raises whatever its dataclasses raise
        raise ConfigError(f"verl refuses the configuration: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """What Hydra or verl has to say, in one line; the cause of a chain says it best."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:4]) or type(error).__name__


def stored(config: DictConfig) -> str:
    """The configuration as ``config.yaml`` holds it: values put in, so that it reads the same anywhere."""
    text: str = OmegaConf.to_yaml(config, resolve=True)
    return text


def overrides_of(settings: Mapping[str, Any]) -> list[str]:
    """Hydra overrides from keys and values; None is left out."""
    return [f"{key}={_written(value)}" for key, value in settings.items() if value is not None]


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ",".join(_written(entry) for entry in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower() if isinstance(value, bool) else str(value)

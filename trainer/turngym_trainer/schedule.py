"""Horizon schedules: how many turns an episode may take at a training step (ScalingInter-RL, arXiv 2509.08755).

A schedule is a pure function of the global step, so there is nothing to save: a resumed run has the right horizon by
construction. Steps count from 1; verl validates at step 0 before the first one, which reads as the first stage. The horizon
goes to the environment as the session's ``max_turns``; what an episode is worth is not this module's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class ScheduleError(ValueError):
    """The settings describe no schedule. The message names the key, the value and what would be right."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Horizons by stage. Stage ``(step - 1) // every``, clamped to the stages there are.

    :param stages: turns in each stage, at least one stage, each at least 1.
    :param every: training steps a stage lasts, at least 1.
    """

    stages: tuple[int, ...]
    every: int = 1

    def stage(self, step: int) -> int:
        """The stage at a global step, from 0."""
        return min(max(step - 1, 0) // self.every, len(self.stages) - 1)

    def __call__(self, step: int) -> int:
        """The horizon at a global step, in turns."""
        return self.stages[self.stage(step)]

    @property
    def final(self) -> int:
        """The last stage's horizon: the one for validation and evaluation."""
        return self.stages[-1]


def schedule(settings: Mapping[str, Any]) -> Schedule:
    """The schedule that ``algorithm.rounds_ctrl`` describes.

    :param settings: ``type`` "fixed" with ``rounds`` (one number); "scaling_inter_stepwise" with ``rounds`` (a list) and
        ``steps_scaling_inter``; or "scaling_inter_linear" with ``init_rounds``, ``round_increment``, ``max_rounds`` and
        ``steps_scaling_inter``.
    :raises ScheduleError: if a key is missing or a value makes no sense.
    """
    kind = settings.get("type")
    if kind == "fixed":
        return Schedule((_count(settings, "rounds"),))
    if kind == "scaling_inter_stepwise":
        return Schedule(_counts(settings, "rounds"), _count(settings, "steps_scaling_inter"))
    if kind == "scaling_inter_linear":
        first, more, last = (
            _count(settings, key) for key in ("init_rounds", "round_increment", "max_rounds")
        )
        if last < first:
            raise ScheduleError(f"{_KEY}max_rounds is {last}, below init_rounds {first}")
        stages = (*range(first, last, more), last)
        return Schedule(stages, _count(settings, "steps_scaling_inter"))
    raise ScheduleError(f"{_KEY}type is {kind!r}; it must be one of {', '.join(TYPES)}")


TYPES = ("fixed", "scaling_inter_stepwise", "scaling_inter_linear")
_KEY = "algorithm.rounds_ctrl."


def _count(settings: Mapping[str, Any], key: str) -> int:
    value = settings.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ScheduleError(f"{_KEY}{key} is {value!r}; it must be a whole number of at least 1")
    return value


def _counts(settings: Mapping[str, Any], key: str) -> tuple[int, ...]:
    values = settings.get(key)
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise ScheduleError(f"{_KEY}{key} is {values!r}; it must be a list such as [10,20,30]")
    return tuple(_count({key: value}, key) for value in values)

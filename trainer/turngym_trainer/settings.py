"""The settings of an episode: ``actor_rollout_ref.agentgym.*``, checked once, read by every episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


class SettingError(ValueError):
    """A setting is wrong. The message names the key, its value and what would be right."""


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """How episodes are played and paid.

    :ivar addresses: base URLs of the environment's replicas.
    :ivar max_tokens: of one turn.
    :ivar max_observation_tokens: an observation with more is cut in the middle, and says so.
    :ivar reward: where the reward goes (:mod:`turngym_trainer.rewards`).
    :ivar reward_range: the range of an episode's value that is mapped to [-1, 1], or None to leave it as it is.
    :ivar invalid_penalty: taken off at the last token of a turn whose action was refused.
    :ivar deadline_s: seconds for an episode, from its opening.
    :ivar reopen: how often a lost session is opened again before the episode counts as failed.
    :ivar use_stop_strings: whether the sampler stops at the strings that the service names.
    :ivar log_dir: where episodes are written, or None.
    """

    addresses: tuple[str, ...]
    max_tokens: int
    max_observation_tokens: int
    reward: Literal["outcome", "per_turn"]
    reward_range: tuple[float, float] | None
    invalid_penalty: float
    deadline_s: float
    reopen: int
    use_stop_strings: bool
    log_dir: str | None

    @classmethod
    def of(cls, config: Any) -> "EpisodeSettings":
        """The settings in a run's configuration.

        :raises SettingError: if one is missing or out of range.
        """
        section = config.actor_rollout_ref.agentgym
        span = section.reward_range
        found = cls(
            addresses=addresses(section.env_addr),
            max_tokens=_least(section, "max_tokens", 1),
            max_observation_tokens=_least(section, "max_observation_tokens", 2),
            reward=_one_of(section, "reward", ("outcome", "per_turn")),
            reward_range=None if span is None else (float(span[0]), float(span[1])),
            invalid_penalty=_least(section, "invalid_penalty", 0.0),
            deadline_s=_least(section, "deadline_s", 1.0),
            reopen=_least(section, "reopen", 0),
            use_stop_strings=bool(section.use_stop_strings),
            log_dir=section.rollout_log_dir,
        )
        if found.reward_range is not None and found.reward_range[0] >= found.reward_range[1]:
            raise SettingError(
                f"{_KEY}reward_range is {list(found.reward_range)}; it must be [least, greatest]"
            )
        return found


_KEY = "actor_rollout_ref.agentgym."


def addresses(value: str | Sequence[str]) -> tuple[str, ...]:
    """One URL, several with commas between, or a list of them."""
    found = value.split(",") if isinstance(value, str) else list(value or [])
    urls = tuple(url.strip().rstrip("/") for url in found if url.strip())
    wrong = [url for url in urls if not url.startswith(("http://", "https://"))]
    if wrong or not urls:
        raise SettingError(
            f"{_KEY}env_addr is {value!r}; it must be a URL such as http://127.0.0.1:8003, or several"
        )
    return urls


def _least(section: Any, key: str, least: Any) -> Any:
    value = section.get(key)
    whole = isinstance(least, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < least:
        raise SettingError(
            f"{_KEY}{key} is {value!r}; it must be a {'whole ' if whole else ''}number of at least {least}"
        )
    return value


def _one_of(section: Any, key: str, choices: tuple[str, ...]) -> Any:
    value = section.get(key)
    if value not in choices:
        raise SettingError(f"{_KEY}{key} is {value!r}; it must be one of {', '.join(choices)}")
    return value

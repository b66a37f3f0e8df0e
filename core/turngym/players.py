"""Players within a service's own process: each is asked for the next turn's text of an environment, and for no more."""

from collections.abc import Callable
from random import Random
from typing import Any

from turngym.environment import Environment

LOCAL_POLICIES = ("expert", "novice", "random", "null")
NOTHING = "I do nothing."

LocalPolicy = Callable[[Environment, Random], Any]
"""The text of the next turn from an environment's present state; awaitable where the environment's methods are."""


def local_policy(name: str, rate: float) -> LocalPolicy:
    """The policy of that name: "expert", "novice" (useless with probability ``rate``), "random" or "null"."""
    policies: dict[str, LocalPolicy] = {
        "expert": lambda environment, rng: environment.expert(),
        "novice": lambda environment, rng: environment.novice(rng, rate),
        "random": lambda environment, rng: environment.random(rng),
        "null": lambda environment, rng: NOTHING,
    }
    if name not in policies:
        raise ValueError(f"there is no policy {name!r}; there are: {', '.join(LOCAL_POLICIES)}")
    return policies[name]

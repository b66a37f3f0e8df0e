"""A viewer as tests start it, and waiting until it has read a run."""

import time
from collections.abc import Callable

import httpx

Starter = Callable[..., str]


def indexed(address: str, run: str, episodes: int = 1) -> None:
    """Wait until the run's index is complete and has at least so many episodes."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        state = httpx.get(f"{address}/api/runs/{run}").json()["index"]
        if state["done"] == state["size"] and state["episodes"] >= episodes:
            return
        time.sleep(0.1)
    raise AssertionError(f"the index of {run} does not get complete: {state}")

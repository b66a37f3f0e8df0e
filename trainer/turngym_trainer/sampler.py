"""The way from an episode to the sampler.

verl asks its load balancer, an actor of its own, before and after every turn. Where there is one sampler to choose from, its
answer is known after the first time; with turns of a dozen tokens from a tiny model, asking costs as much as sampling.
"""

from typing import Any

from verl.workers.rollout.llm_server import LLMServerClient


class OneSampler(LLMServerClient):
    """verl's client for a run with a single sampler."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._only: tuple[str, Any] | None = None

    async def _acquire_server(self, request_id: str, **extra: Any) -> tuple[str, Any]:
        if self._only is None:
            self._only = await super()._acquire_server(request_id, **extra)
        return self._only

    def _release_server(self, server_id: str, request_id: str | None = None) -> None:
        """Nothing to give back: there is no count to keep."""

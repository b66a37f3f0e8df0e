"""A service as a ``gymnasium.Env``, for code that expects one. Needs the extra ``gym``: ``pip install 'turngym[gym]'``.

Sessions are single-use, so every ``reset`` opens a new one. Observations and actions are texts; the first observation is
the whole opening chat.
"""

import string
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

from turngym.client.sync import Client, Episode
from turngym.schema import Split, StepResult

LONGEST_TEXT = 1_000_000  # characters


class AnyText(spaces.Text):
    """Any text up to a length, whatever its characters; samples are short and printable.

    gymnasium's own Text wants a list of the characters, and what an environment says knows no such list.
    """

    def __init__(self, max_length: int = LONGEST_TEXT) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text of the space."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A printable text of at most 32 characters."""
        letters = list(string.ascii_letters + string.digits + " ")
        return "".join(self.np_random.choice(letters, size=int(self.np_random.integers(1, 33))))


class TurnGymEnv(gymnasium.Env[str, str]):
    """One service's tasks, an episode a reset.

    :param client: a client, or the address of the service.
    :param split: the split whose tasks ``reset`` draws from, by its seed.
    :param max_turns: the horizon; None means the service's default.
    :param options: options of the sessions.

    ``reset(options={"task_id": …})`` or ``{"index": …}`` chooses the task. ``info`` says what a StepResult says beside text
    and reward, but for ids and timings: equal seeds and actions give equal infos. The whole is ``env.episode.result``. A
    problem of the service is raised and is never a reward.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 (gymnasium's own declaration)

    def __init__(
        self,
        client: Client | str,
        split: Split = "train",
        *,
        max_turns: int | None = None,
        options: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._own = isinstance(client, str)
        self.client = Client(client) if isinstance(client, str) else client
        self.split: Split = split
        self.max_turns = max_turns
        self.options = dict(options or {})
        self.render_mode = render_mode
        about = self.client.metadata()
        self.count = about.splits.get(split, 0)
        if self.count == 0:
            raise ValueError(f"{about.name} has no {split} tasks")
        self.reward_range = about.reward_range
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Open an episode; the one before is closed. The opening chat, and the info."""
        super().reset(seed=seed)
        if self.episode is not None:
            self.episode.close()
        chosen = dict(options or {})
        if unknown := chosen.keys() - {"task_id", "index"}:
            raise ValueError(f"reset knows the options task_id and index, not {', '.join(sorted(unknown))}")
        drawn = int(self.np_random.integers(self.count))
        selector: dict[str, Any] = (
            chosen if "task_id" in chosen else {"split": self.split, "index": drawn} | chosen
        )
        self.episode = Episode.open(
            self.client,
            seed=int(self.np_random.integers(2**31)),
            max_turns=self.max_turns,
            options=self.options,
            **selector,
        )
        opening = "\n\n".join(message.content for message in self.episode.messages)
        return opening, _info(self.episode.result)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one turn: observation, reward, terminated, truncated, info."""
        if self.episode is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        result = self.episode.step(action)
        return result.observation.text, result.reward, result.terminated, result.truncated, _info(result)

    def render(self) -> str | None:
        """The latest observation, with the render mode "ansi"."""
        if self.render_mode is None or self.episode is None:
            return None
        return self.episode.result.observation.text

    def close(self) -> None:
        """End the episode, and the connections where they are the environment's own."""
        if self.episode is not None:
            self.episode.close()
            self.episode = None
        if self._own:
            self.client.shut()


def _info(result: StepResult) -> dict[str, Any]:
    return {
        "task_id": result.task.task_id,
        "goal": result.task.goal,
        "turn": result.turn,
        "max_turns": result.max_turns,
        "score": result.score,
        "success": result.success,
        "stop_reason": str(result.stop_reason) if result.stop_reason is not None else None,
        "invalid_action": result.info.get("invalid_action"),
    }

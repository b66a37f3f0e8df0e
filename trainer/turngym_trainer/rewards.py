"""Where an episode's reward goes: on which sampled tokens, and rescaled how.

``outcome`` places the episode's score on its last sampled token. ``per_turn`` places each step's reward on the last token of
its turn. A reward on a token that was not sampled would be removed by the loss mask (and the advantages be 0), so none is.
"""

from turngym_trainer.settings import EpisodeSettings


class Rewards:
    """Collects the turns of one episode and gives one number per response token at its end."""

    def __init__(self, settings: EpisodeSettings) -> None:
        self._settings = settings
        self._turns: list[tuple[int, float, bool]] = []

    def turn(self, response_length: int, *, reward: float, invalid: bool) -> None:
        """Note a turn: the response's length at its last sampled token, its reward, whether its action was refused."""
        self._turns.append((response_length - 1, reward, invalid))

    def on_tokens(self, length: int, score: float) -> list[float]:
        """One reward per response token.

        :param length: of the response; its last token is sampled.
        :param score: of the episode, 0..1.
        """
        placed = [0.0] * length
        for at, reward, invalid in self._turns:
            at = min(at, length - 1)
            if self._settings.reward == "per_turn":
                placed[at] += self._scaled(reward)
            if invalid:
                placed[at] -= self._settings.invalid_penalty
        if self._settings.reward == "outcome":
            placed[-1] += self._ranged(score)
        return placed

    def _ranged(self, value: float) -> float:
        """A whole episode's value from ``reward_range`` into [-1, 1]."""
        if self._settings.reward_range is None:
            return value
        low, high = self._settings.reward_range
        return 2 * (value - low) / (high - low) - 1

    def _scaled(self, value: float) -> float:
        """A turn's reward by the range's greatest size: 0 stays 0, so that an idle turn earns nothing."""
        if self._settings.reward_range is None:
            return value
        return value / max(abs(bound) for bound in self._settings.reward_range)

"""An advantage estimator for episodes of several turns, registered with verl as ``grpo_turn``.

GRPO gives every token of an episode the same advantage: the episode's score against its group's. Over several turns that
misjudges the late ones: an agent that wins early has none, so they are found in lost episodes above all and are blamed for
it. ``grpo_turn`` compares like with like. A turn's return is what the episode earns from it on, and its baseline the mean
return of the group's episodes that reached a turn of that number: a baseline that depends on the turn's number and not on
its action (Sutton and Barto, 2nd ed., section 13.4). As in GRPO, the mean has the episode itself in it.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from verl.trainer.ppo.core_algos import register_adv_est

_EPSILON = 1e-6  # GRPO's own


@register_adv_est("grpo_turn")
def by_turn(
    token_level_rewards: Tensor, response_mask: Tensor, index: np.ndarray, config: Any = None, **_: Any
) -> tuple[Tensor, Tensor]:
    """Each sampled token's advantage, equal within a turn.

    :param token_level_rewards: (episodes, tokens), on sampled tokens.
    :param response_mask: (episodes, tokens), 1 on sampled tokens. A turn is a run of ones.
    :param index: (episodes,), the group that each belongs to.
    :param config: ``gamma`` discounts by turns, so that a detour costs something even where every episode of the group is
        won. ``norm_adv_by_std_in_grpo`` divides by the standard deviation of the group's returns about their turns'
        baselines, pooled over its turns; with one turn that is GRPO's.
    :returns: advantages and returns, (episodes, tokens) each, 0 where nothing was sampled. A turn that no other episode of
        its group reached has nothing to be compared with, and advantage 0.
    """
    sampled = response_mask.bool()
    starts = sampled & ~torch.nn.functional.pad(sampled, (1, 0))[:, :-1]
    turn = (starts.cumsum(1) - 1).clamp(min=0)  # the turn that each token belongs to or follows
    turns = max(int(starts.sum(1).max()), 1)
    reached = torch.arange(turns) < starts.sum(1, keepdim=True)
    returns = torch.zeros(len(index), turns, dtype=token_level_rewards.dtype)
    returns.scatter_add_(1, turn, token_level_rewards * sampled)
    discount = 1.0 if config is None else config.get("gamma", 1.0)
    for number in reversed(range(turns - 1)):
        returns[:, number] += discount * returns[:, number + 1]

    advantages = torch.zeros_like(returns)
    normed = config is None or config.get("norm_adv_by_std_in_grpo", True)
    for group in dict.fromkeys(index.tolist()):
        members = torch.from_numpy(index == group)
        there, earned = reached[members], returns[members]
        baseline = (earned * there).sum(0) / there.sum(0).clamp(min=1)
        apart = (earned - baseline) * there
        if normed:
            freedom = (there.sum(0) - 1).clamp(min=0).sum().clamp(min=1)
            apart = apart / ((apart.square().sum() / freedom).sqrt() + _EPSILON)
        advantages[members] = apart
    return advantages.gather(1, turn) * sampled, returns.gather(1, turn) * sampled

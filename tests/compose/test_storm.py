"""A slice of ``make test-faults`` for every change: some hundred episodes while the network and the containers break."""

import asyncio
from dataclasses import replace

import pytest
from composed import Composition
from episodes import recorded
from faults.storm import OUTCOMES, storm

pytestmark = [pytest.mark.compose, pytest.mark.slow]


def test_no_episode_is_lost_in_a_storm(composed: Composition) -> None:
    batch = recorded(160, seed=1)
    unplayable = replace(batch[0], seen=())
    found = asyncio.run(storm(composed, [*batch, unplayable], replicas=2, seed=1))
    for number in (1, 2):
        composed.restarted(number)
    counted = sum(found["episodes"][outcome] for outcome in OUTCOMES)
    assert counted == len(batch), found
    assert found["episodes"]["same"] > 0.98 * len(batch), found
    assert found["episodes"]["error ValueError"] == 1, "the error of the one that can't be played is a loss"
    assert found["network"].total() and found["containers"].total(), found

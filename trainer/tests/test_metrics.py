"""The numbers of a step, from its episodes."""

import time

import pytest

from turngym_trainer import metrics
from turngym_trainer.agent_loop import Idle


def episode(worker: int, idle: tuple[float, float], **facts: object) -> dict[str, object]:
    known: dict[str, object] = {
        "turns": 2,
        "horizon": 4,
        "invalid": 1,
        "success": True,
        "score": 1.0,
        "reward": 1.0,
        "reopened": 0,
        "stop_reason": "success",
        "timings": {"env": 1.0, "generate": 3.0, "slot": 0.0, "total": 5.0},
        "worker": worker,
        "idle": idle,
    }
    return known | facts


def test_the_rollouts_time_is_split_by_what_the_sampler_waited_for() -> None:
    episodes = [episode(1, (0.0, 0.5)), episode(1, (0.2, 1.0)), episode(2, (7.0, 10.0))]
    made = metrics.of_step(episodes, {"gen": 10.0, "step": 15.0, "update_actor": 4.0})
    assert made["wall_s/wait_env"] == pytest.approx(2.0)  # of 1.0 and 3.0 in two processes
    assert made["wall_s/generate"] == pytest.approx(8.0)
    assert made["env/wait_share"] == pytest.approx(0.25)


def test_shares_are_of_episodes_and_of_turns() -> None:
    lost = episode(
        1, (0.0, 0.0), success=False, score=0.0, reward=0.0, stop_reason="max_turns", turns=6, invalid=3
    )
    made = metrics.of_step([episode(1, (0.0, 0.0)), lost], {})
    assert (made["rollout/success"], made["stop/max_turns"], made["rollout/invalid_share"]) == (0.5, 0.5, 0.5)


def test_the_sampler_is_idle_only_while_episodes_wait_and_none_is_sampled() -> None:
    idle = Idle()
    with idle.sampling():
        with idle.acting():
            time.sleep(0.01)
        assert idle.seconds == 0.0
    time.sleep(0.01)
    assert idle.seconds == 0.0
    with idle.acting():
        time.sleep(0.01)
        assert idle.seconds >= 0.01
        with idle.sampling():
            before = idle.seconds
            time.sleep(0.01)
            assert idle.seconds == before

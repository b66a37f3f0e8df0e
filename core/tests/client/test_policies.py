"""Policies over HTTP, a language model's endpoint, and the gymnasium environment."""

from typing import Any

import pytest
from completions import endpoint, says
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from served import Served

from turngym.client.aio import AsyncClient
from turngym.client.errors import InfrastructureFailure
from turngym.client.gym import TurnGymEnv
from turngym.client.policies import ExpertPolicy, NullPolicy, OpenAIPolicy, Policy, RandomPolicy
from turngym.evaluate import Tally, Trial, evaluate
from turngym.problems import ProblemError


async def played(server: Served, policy: Policy, **trial: Any) -> dict[str, Any]:
    """The report of a short evaluation."""
    async with AsyncClient(server.url, patience_s=10) as client:
        metadata, tally, plan = await client.metadata(), Tally(), Trial(**{"n": 20, **trial})
        await evaluate([client], metadata, policy, plan, tally)
        return tally.report(metadata, "it", plan)


async def test_the_expert_succeeds_random_play_does_by_luck_and_null_never(shared: Served) -> None:
    expert = await played(shared, ExpertPolicy(), max_turns=12)
    assert (expert["success"], expert["n"], expert["tasks"]) == (1.0, 20, 20)
    assert expert["stop_reasons"] == {"success": 20} and expert["ci95"][0] > 0.8
    null = await played(shared, NullPolicy())
    assert (null["success"], null["score"], null["ci95"][0]) == (0.0, 0.0, 0.0) and null["ci95"][1] < 0.2
    random = await played(shared, RandomPolicy(3), n=30)
    assert random == await played(shared, RandomPolicy(3), n=30)
    assert random["success"] > 0


async def test_an_expert_that_is_not_served_is_the_callers_mistake(serve: Any) -> None:
    with pytest.raises(ProblemError, match="TURNGYM_EXPERTS=1"):
        await played(serve(), ExpertPolicy())


class Crasher:
    """Crashes the environment on the tasks with an odd index."""

    async def act(self, messages: Any, result: Any, episode: Any) -> str:
        """An action."""
        return "crash" if result.task.index % 2 else "add 20"


async def test_lost_episodes_are_counted_apart_and_are_no_failures_of_the_policy(shared: Served) -> None:
    report = await played(shared, Crasher(), reopen=1, n=10, concurrency=4)
    assert (report["success"], report["n"], report["infra_failures"]) == (1.0, 5, 5)


async def test_a_language_model_plays_through_its_endpoint_and_a_busy_one_is_asked_again(
    shared: Served,
) -> None:
    answers = [(503, {}), (429, {}), (200, says("Thought: all of it\nAction: add 20"))]
    with endpoint(answers) as (url, seen):
        async with OpenAIPolicy("m", url, "secret", stop=["Observation:"], seed=1) as policy:
            report = await played(shared, policy, n=3, concurrency=1)
    assert report["success"] == 1.0 and len(seen) == 5
    assert (seen[0]["path"], seen[0]["key"], seen[0]["model"]) == (
        "/v1/chat/completions",
        "Bearer secret",
        "m",
    )
    assert (seen[0]["stop"], seen[0]["seed"]) == (["Observation:"], 1)
    assert [message["role"] for message in seen[0]["messages"]] == ["system", "user"]


@pytest.mark.parametrize("answer", [(401, {"error": "no"}), (200, {"choices": []}), (200, {"other": 1})])
async def test_an_endpoint_that_gives_nothing_is_the_infrastructures_failure(
    shared: Served, answer: Any
) -> None:
    with endpoint([answer]) as (url, _):
        async with OpenAIPolicy("m", url) as policy:
            with pytest.raises(InfrastructureFailure, match=r"endpoint|choice|completion"):
                await played(shared, policy, n=4, concurrency=1)


def test_gymnasium_finds_nothing_wrong(shared: Served) -> None:
    env = TurnGymEnv(shared.url, "test")
    check_env(env)
    env.close()


def test_an_episode_in_gymnasium(shared: Served) -> None:
    env = TurnGymEnv(shared.url, "test", max_turns=3, options={"step": 2}, render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.step("add 1")
    text, info = env.reset(seed=1, options={"index": 2})
    assert "Count to 5." in text and info["task_id"] == "toy/test/2"
    assert env.step("add")[0] == env.render() == "The count is 2."
    env.step("add")
    text, _, terminated, truncated, info = env.step("add")
    assert (terminated, truncated, info["success"]) == (True, False, True)
    assert env.reset(options={"task_id": "toy/train/0"})[1]["task_id"] == "toy/train/0"
    with pytest.raises(ValueError, match="not tsak"):
        env.reset(options={"tsak": 1})
    env.close()


def test_resets_draw_tasks_by_the_seed(shared: Served) -> None:
    env = TurnGymEnv(shared.url, "train")
    first = [env.reset(seed=5 if number == 0 else None)[0] for number in range(6)]
    assert first == [env.reset(seed=5 if number == 0 else None)[0] for number in range(6)]
    assert len(set(first)) > 1
    env.close()

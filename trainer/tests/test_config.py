"""The configuration: published keys work, and what can't be run is refused in one line before anything starts."""

from pathlib import Path

import pytest
import tiny
from omegaconf import OmegaConf

from turngym_trainer.config import ConfigError, compose, for_task, for_verl, overrides_of, stored, validate
from turngym_trainer.schedule import schedule
from turngym_trainer.settings import EpisodeSettings


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("run")
    model = tiny.model(folder / "model")
    return ["run.name=tests", f"run.dir={folder}", f"run.model={model}", "trainer.total_training_steps=3"]


def refused(overrides: list[str]) -> str:
    with pytest.raises(ConfigError) as error:
        validate(compose(overrides))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_cpu_preset_is_accepted_by_verl(run: list[str]) -> None:
    validate(compose(run))


def test_the_hardware_names_an_algorithm_and_the_user_another(run: list[str]) -> None:
    assert for_task("textcraft", None, {}, overrides=run).algorithm.adv_estimator == "grpo_turn"
    asked = for_task("textcraft", None, {}, algorithm="grpo", overrides=run)
    validate(asked)
    assert (asked.algorithm.adv_estimator, asked.algorithm.gamma) == ("grpo", 1.0)
    alone = [*run, "actor_rollout_ref.rollout.n=1"]
    assert "needs at least 2" in refused(alone)


def test_the_published_keys_work(run: list[str]) -> None:
    config = for_verl(
        compose(
            [
                *run,
                "algorithm.rounds_ctrl.type=scaling_inter_stepwise",
                "algorithm.rounds_ctrl.rounds=[10,20,30]",
                "algorithm.rounds_ctrl.steps_scaling_inter=100",
                "actor_rollout_ref.agentgym.task_name=textcraft",
                "actor_rollout_ref.agentgym.env_addr=http://one:1",
                "data.max_prompt_length=750",
                "data.max_response_length=1024",
                "actor_rollout_ref.rollout.max_tokens=200",
                "actor_rollout_ref.rollout.rollout_log_dir=/logs",
            ]
        )
    )
    settings = EpisodeSettings.of(config)
    assert (settings.addresses, settings.max_tokens, settings.log_dir) == (("http://one:1",), 200, "/logs")
    assert schedule(config.algorithm.rounds_ctrl)(101) == 20
    assert (
        config.actor_rollout_ref.rollout.prompt_length,
        config.actor_rollout_ref.rollout.response_length,
    ) == (750, 1024)


def test_the_linear_schedule_works_too(run: list[str]) -> None:
    values = {"init_rounds": 5, "round_increment": 5, "max_rounds": 30}
    config = compose(
        [
            *run,
            "algorithm.rounds_ctrl.type=scaling_inter_linear",
            *(f"algorithm.rounds_ctrl.{key}={value}" for key, value in values.items()),
        ]
    )
    assert schedule(for_verl(config).algorithm.rounds_ctrl).final == 30


def test_several_replicas_may_be_named() -> None:
    config = compose(["run.name=a", "run.dir=b", "run.model=c", "task.env_addr='http://a:1, http://b:2/'"])
    assert EpisodeSettings.of(for_verl(config)).addresses == ("http://a:1", "http://b:2")


def test_the_stored_configuration_reads_back_as_the_same(run: list[str]) -> None:
    config = compose(run)
    again = OmegaConf.create(stored(config))
    assert for_verl(again) == for_verl(config)


@pytest.mark.parametrize(
    ("override", "names"),
    [
        ("data.train_batch_sizes=4", "train_batch_sizes"),
        ("task=chess", "chess"),
        ("algorithm.rounds_ctrl.rounds=[0]", "rounds is 0"),
        ("algorithm.rounds_ctrl.type=sudden", "type is 'sudden'"),
        ("actor_rollout_ref.agentgym.reward=shaped", "reward is 'shaped'"),
        ("actor_rollout_ref.agentgym.reward_range=[1,1]", "reward_range is [1.0, 1.0]"),
        ("actor_rollout_ref.agentgym.deadline_s=0", "deadline_s is 0"),
        ("actor_rollout_ref.agentgym.env_addr=localhost", "env_addr is 'localhost'"),
        ("actor_rollout_ref.rollout.max_tokens=100000", "max_tokens is 100000"),
        ("actor_rollout_ref.rollout.n=1", "GRPO compares episodes"),
        ("algorithm.filter_groups.enable=true", "filter_groups"),
        ("trainer.total_training_steps=0", "total_training_steps is 0"),
        ("data.train_batch_size=-1", "train_batch_size is -1"),
        ("run.model=/no/such/folder", "no such folder"),
        ("actor_rollout_ref.actor.ppo_mini_batch_size=1000", "verl refuses"),
        ("run.model=???", "run.model is not set"),
    ],
)
def test_what_is_wrong_is_named(run: list[str], override: str, names: str) -> None:
    assert names in refused([*run, override])


def test_a_folder_that_is_no_model_is_refused(run: list[str], tmp_path: Path) -> None:
    assert "config.json is not in it" in refused([*run, f"run.model={tmp_path}"])


def test_overrides_are_written_in_hydras_grammar() -> None:
    made = overrides_of(
        {"run.name": 'a "b", c', "algorithm.rounds_ctrl.rounds": [1, 2], "x": None, "y": True}
    )
    assert made == ['run.name="a \\"b\\", c"', "algorithm.rounds_ctrl.rounds=[1,2]", "y=true"]

"""Horizon schedules: pure in the step, clamped at both ends, right after a resume."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym_trainer.schedule import Schedule, ScheduleError, schedule

STEPWISE = {"type": "scaling_inter_stepwise", "rounds": [10, 20, 30], "steps_scaling_inter": 100}
LINEAR = {
    "type": "scaling_inter_linear",
    "init_rounds": 5,
    "round_increment": 5,
    "max_rounds": 30,
    "steps_scaling_inter": 100,
}

stages = st.lists(st.integers(1, 200), min_size=1, max_size=8)
schedules = st.builds(lambda turns, every: Schedule(tuple(turns), every), stages, st.integers(1, 500))


def test_fixed_is_the_same_at_every_step() -> None:
    horizon = schedule({"type": "fixed", "rounds": 15})
    assert {horizon(step) for step in range(1000)} == {15}


def test_stepwise_has_each_stage_for_exactly_its_steps() -> None:
    horizon = schedule(STEPWISE)
    assert [horizon(step) for step in (1, 100, 101, 200, 201, 300, 10_000)] == [10, 10, 20, 20, 30, 30, 30]


def test_linear_grows_by_its_increment_up_to_its_greatest() -> None:
    horizon = schedule(LINEAR)
    assert [horizon(step) for step in (1, 100, 101, 501, 601)] == [5, 5, 10, 30, 30]
    uneven = schedule(LINEAR | {"max_rounds": 12})
    assert [uneven(step) for step in (1, 101, 201, 301)] == [5, 10, 12, 12]


def test_the_validation_before_the_first_step_reads_the_first_stage() -> None:
    assert schedule(STEPWISE)(0) == 10


@given(schedules, st.integers(0, 5000))
def test_every_horizon_is_one_of_the_stages_and_none_is_skipped(horizon: Schedule, step: int) -> None:
    assert horizon(step) in horizon.stages
    assert horizon.stage(step + 1) - horizon.stage(step) in (0, 1)


@given(schedules, st.integers(1, 300), st.integers(0, 300))
def test_a_run_resumed_at_any_step_has_the_horizons_of_one_that_never_stopped(
    horizon: Schedule, steps: int, at: int
) -> None:
    whole = [horizon(step) for step in range(1, steps + 1)]
    before = [horizon(step) for step in range(1, min(at, steps) + 1)]
    again = Schedule(
        horizon.stages, horizon.every
    )  # another process, which knows the settings and the step alone
    assert before + [again(step) for step in range(len(before) + 1, steps + 1)] == whole


@given(schedules)
def test_the_final_horizon_is_the_one_that_stays(horizon: Schedule) -> None:
    assert horizon(horizon.every * len(horizon.stages) * 2) == horizon.final


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"type": "sudden"}, "type is 'sudden'"),
        ({}, "type is None"),
        ({"type": "fixed", "rounds": 0}, "rounds is 0"),
        ({"type": "fixed"}, "rounds is None"),
        (STEPWISE | {"rounds": []}, "rounds is []"),
        (STEPWISE | {"rounds": [10, True]}, "rounds is True"),
        (STEPWISE | {"rounds": 10}, "rounds is 10"),
        (STEPWISE | {"steps_scaling_inter": 0}, "steps_scaling_inter is 0"),
        (LINEAR | {"max_rounds": 4}, "max_rounds is 4"),
        (LINEAR | {"round_increment": -1}, "round_increment is -1"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(settings: dict[str, object], names: str) -> None:
    with pytest.raises(ScheduleError) as error:
        schedule(settings)
    assert names in str(error.value)

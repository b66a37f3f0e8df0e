"""Intervals: never degenerate, never narrower for repeats, and they cover."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym.statistics import clustered_interval, student_quantile


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_at_0_and_100_percent_the_interval_is_wilsons_on_the_clusters(value: float) -> None:
    mean, low, high = clustered_interval([value] * 60, [number % 20 for number in range(60)])
    assert mean == value and high - low == pytest.approx(0.1611, abs=1e-3)  # Wilson, 20 of 20


def test_without_repeats_it_is_close_to_wilsons() -> None:
    mean, low, high = clustered_interval([1.0] * 30 + [0.0] * 70, list(range(100)))
    assert (mean, low, high) == (
        pytest.approx(0.3),
        pytest.approx(0.2189, abs=5e-3),
        pytest.approx(0.3958, abs=5e-3),
    )


def test_repeats_that_say_the_same_add_nothing() -> None:
    values = [float(number % 3 == 0) for number in range(60)]
    once = clustered_interval(values, range(60))
    thrice = clustered_interval(values * 3, list(range(60)) * 3)
    assert thrice == pytest.approx(once, abs=1e-9)


def test_one_cluster_says_next_to_nothing() -> None:
    _, low, high = clustered_interval([1.0, 0.0, 1.0, 1.0], ["a"] * 4)
    assert low < 0.2 and high > 0.9


def test_values_beyond_0_and_1_get_the_t_interval() -> None:
    mean, low, high = clustered_interval([1.0, 2.0, 3.0, 4.0, 5.0], range(5))
    half = 2.776 * (2.5 / 5) ** 0.5
    assert (mean, low, high) == (3.0, pytest.approx(3 - half, rel=2e-3), pytest.approx(3 + half, rel=2e-3))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 8)), min_size=1, max_size=60))
def test_the_interval_lies_within_0_and_1_around_the_mean(pairs: list[tuple[float, int]]) -> None:
    mean, low, high = clustered_interval([value for value, _ in pairs], [cluster for _, cluster in pairs])
    assert 0 <= low <= mean <= high <= 1 and high - low > 1e-3


def test_it_covers_where_episodes_of_a_task_go_together() -> None:
    rng = Random(1)
    covered = 0
    for _ in range(600):
        values, clusters = [], []
        for task in range(30):
            chance = rng.betavariate(1.2, 0.8)
            values += [float(rng.random() < chance) for _ in range(5)]
            clusters += [task] * 5
        _, low, high = clustered_interval(values, clusters)
        covered += low <= 0.6 <= high
    assert covered / 600 > 0.92


@pytest.mark.parametrize(
    ("freedom", "value"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)],
)
def test_quantiles_of_student_are_those_of_the_table(freedom: int, value: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(value, rel=1.5e-3)


@pytest.mark.parametrize(("values", "clusters"), [([], []), ([1.0], []), ([float("nan")], [1])])
def test_what_makes_no_sense_is_refused(values: list[float], clusters: list[int]) -> None:
    with pytest.raises(ValueError, match=r"values|finite"):
        clustered_interval(values, clusters)

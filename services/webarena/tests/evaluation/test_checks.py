"""Reading a task's ``eval``: every form of the published task file, and a clear refusal of anything else."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from turngym_webarena.evaluation.checks import HELPERS, CheckError, HelperCall, parse_call, read_checks
from turngym_webarena.evaluation.pages import post_url

OWN = Path(__file__).parent / "forms.json"


def forms(tasks: list[dict[str, Any]]) -> Counter[str]:
    """How often each form of a check comes up, every one of them read."""
    found: Counter[str] = Counter()
    for task in tasks:
        checks = read_checks(task["eval"])
        found["+".join(task["eval"]["eval_types"])] += 1
        if checks.answer is not None:
            found["exact_match"] += checks.answer.exact is not None
            found["must_include"] += bool(checks.answer.include)
            found["fuzzy_match"] += bool(checks.answer.fuzzy)
            found["unachievable"] += checks.answer.unachievable
        for page in checks.pages:
            found["at a helper's address" if isinstance(page.url, HelperCall) else "at an address"] += (
                page.url != "last"
            )
            found["at the last page"] += page.url == "last"
            found["prepared"] += bool(page.prepare)
            found["content exact" if page.required.exact is not None else "content included"] += 1
            if isinstance(page.locator, HelperCall):
                found[page.locator.name] += 1
            else:
                found["script" if page.locator else "whole page"] += 1
    return found


def test_every_form_in_a_small_file_of_our_own_is_read() -> None:
    found = forms(json.loads(OWN.read_text()))
    for form in (
        "string_match", "url_match", "program_html", "url_match+program_html", "string_match+url_match", "exact_match",
        "must_include", "fuzzy_match", "unachievable", "at a helper's address", "at an address", "at the last page",
        "prepared", "content exact", "content included", "script", "whole page",
        "shopping_get_sku_latest_review_rating", "shopping_get_sku_latest_review_author",
        "gitlab_get_project_memeber_role",
    ):  # fmt: skip
        assert found[form] >= 1, form


def test_every_official_task_is_read(official: list[dict[str, Any]]) -> None:
    found = forms(official)
    assert len(official) == 812
    kinds = ("string_match", "program_html", "url_match+program_html", "url_match", "string_match+url_match")
    assert [found[kind] for kind in kinds] == [325, 282, 129, 66, 10]
    assert found["at an address"] + found["at a helper's address"] + found["at the last page"] == 651
    assert (found["at the last page"], found["at a helper's address"], found["prepared"]) == (238, 75, 10)
    assert (found["content exact"], found["content included"], found["whole page"]) == (188, 463, 105)
    assert found["gitlab_get_project_memeber_role"] == 12
    assert (
        found["shopping_get_sku_latest_review_rating"] == found["shopping_get_sku_latest_review_author"] == 5
    )
    assert found["unachievable"] == 36


@pytest.mark.parametrize(
    ("evaluation", "said"),
    [
        ({}, "eval_types"),
        ({"eval_types": ["magic"]}, "unknown eval type 'magic'"),
        ({"eval_types": ["string_match"]}, "reference_answers"),
        (
            {"eval_types": ["string_match"], "reference_answers": {"near": "x"}},
            "unknown kind of answer 'near'",
        ),
        ({"eval_types": ["string_match"], "reference_answers": {"must_include": "x"}}, "a list of strings"),
        ({"eval_types": ["url_match"], "reference_url": ""}, "reference_url"),
        ({"eval_types": ["url_match"], "reference_url": "x", "url_note": "EXACT"}, "url_note"),
        ({"eval_types": ["program_html"], "program_html": []}, "names no page"),
    ],
)
def test_what_nobody_could_check_is_refused(evaluation: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckError, match=said):
        read_checks(evaluation)


@pytest.mark.parametrize(
    "call",
    [
        "func:__import__('os').system('true')",
        "func:open('/etc/passwd')",
        "func:reddit_get_post_url(open('x'))",
        "func:reddit_get_post_url('a', 'b')",
        "func:reddit_get_post_url(url='a')",
        "func:shopping_get_latest_order_url() or 1",
        "func:reddit_get_post_url('a'",
        "func:",
    ],
)
def test_a_string_of_a_task_file_is_never_run(call: str) -> None:
    with pytest.raises(CheckError):
        parse_call(call)


def test_helpers_are_read_with_their_arguments() -> None:
    assert parse_call("func:reddit_get_post_url('__last_url__')") == HelperCall(
        "reddit_get_post_url", ("__last_url__",)
    )
    said = parse_call("func:gitlab_get_project_memeber_role(__page__, 'ann')")
    assert said == HelperCall("gitlab_get_project_memeber_role", ("ann",))
    assert parse_call("func:shopping_get_latest_order_url()").arguments == ()
    assert all(count in (0, 1) for count in HELPERS.values())


def test_a_post_s_address_is_found_in_those_of_its_pages() -> None:
    assert post_url("http://forum.test/f/books/12/a-title/-/comment/3") == "http://forum.test/f/books/12/"
    assert post_url("http://forum.test/f/books") == ""
    assert post_url("http://forum.test/submit/books") == ""

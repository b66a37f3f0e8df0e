"""The verdict on real pages: answers, addresses and contents, read once the agent has stopped."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")
Opener = Callable[..., Awaitable[Any]]


def contents(url: str, locator: str, **required: Any) -> dict[str, Any]:
    """A task's ``eval`` with one page check."""
    entry = {"url": url, "locator": locator, "required_contents": required}
    return {"eval_types": ["program_html"], "program_html": [entry]}


async def verdict(page: Any, answer: str = "") -> float:
    """Stop with the answer; the score."""
    await page.do(f"stop [{answer}]")
    assert page.outcome.reward == page.outcome.score == page.env.score
    assert page.outcome.success is (page.outcome.score == 1.0)
    return float(page.outcome.score)


@pytest.mark.parametrize(("answer", "score"), [("4 items", 1), ("four items", 1), ("5 items", 0), ("", 0)])
async def test_an_answer_decides(open_at: Opener, answer: str, score: float) -> None:
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "4 items"}}
    assert await verdict(await open_at("/", evaluation), answer) == score


async def test_it_cannot_be_done_counts_once_something_was_looked_at(open_at: Opener) -> None:
    evaluation = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}
    assert await verdict(await open_at("/", evaluation), "N/A") == 0
    page = await open_at("/", evaluation)
    await page.do("goto [/form]")
    await page.do("goto [/form]")
    await page.do("goto [/menu]")
    assert page.env.moves == 2
    assert await verdict(page, "N/A") == 1


async def test_the_address_where_the_agent_ends_decides(open_at: Opener) -> None:
    evaluation = {"eval_types": ["url_match"], "reference_url": "__SITE__/form |OR| __SITE__/menu"}
    for path, score in (("/form", 1), ("/menu", 1), ("/form2", 0), ("/", 0)):
        page = await open_at("/", evaluation)
        await page.do(f"goto [{path}]")
        assert await verdict(page) == score, path


@pytest.mark.parametrize(
    ("evaluation", "score"),
    [
        (contents("__SITE__/form", "document.querySelector('[name=\"name\"]').value", exact_match="Ann"), 1),
        (contents("__SITE__/form", "document.querySelector('[name=\"name\"]').value", exact_match="Bob"), 0),
        (contents("__SITE__/form", "document.querySelector('select').selectedIndex", exact_match="0"), 1),
        (contents("__SITE__/form", "document.querySelector('[name=gift]').checked.toString()", exact_match="false"), 1),
        (contents("__SITE__/form", "document.querySelector('.nowhere').outerText", must_include=["x"]), 0),
        (contents("__SITE__/form", "document.querySelector('.nowhere').outerText", exact_match=""), 1),
        (contents("__SITE__/form", "document.querySelector('h1'", must_include=["form"]), 0),
        (contents("__SITE__/", "", must_include=["Hard pages", "it's here"]), 1),
        (contents("__SITE__/", "", must_include=["Hard page"]), 0),
        (contents("last", "document.querySelector('h1').outerText", exact_match="Hard pages"), 1),
        (
            contents("__SITE__/", "[...document.querySelectorAll('li')].map(one => one.innerText).join(' ')",
                     must_include=["One", "Two"]),
            1,
        ),
        (contents("func:reddit_get_post_url('http://site.test/x')", "", must_include=["x"]), 0),
    ],
)  # fmt: skip
async def test_what_a_page_holds_decides(open_at: Opener, evaluation: dict[str, Any], score: float) -> None:
    assert await verdict(await open_at("/", evaluation)) == score


async def test_the_agent_s_own_page_is_read_as_it_stands_and_first(open_at: Opener) -> None:
    evaluation = {
        "eval_types": ["program_html"],
        "program_html": [
            {"url": "__SITE__/menu", "locator": "", "required_contents": {"must_include": ["Menu"]}},
            {
                "url": "last",
                "locator": "document.querySelector('[name=\"name\"]').value",
                "required_contents": {"exact_match": "Ann Miller"},
            },
        ],
    }
    page = await open_at("/form", evaluation)
    await page.do("type [{textbox 'Name'}] [ Miller] [0]")
    assert await verdict(page) == 1
    assert [tab.page.url for tab in page.env.tabs.tabs] == ["http://site.test/form"]
    assert page.env.tabs.tab is page.env.tabs.tabs[0]


async def test_a_page_is_prepared_before_it_is_read(open_at: Opener) -> None:
    evaluation = contents("__SITE__/odd", "document.querySelector('#said').outerText", exact_match="toggled")
    evaluation["program_html"][0]["prep_actions"] = ["document.querySelector('[type=checkbox]').click()"]
    assert await verdict(await open_at("/", evaluation)) == 1


async def test_every_check_must_hold(open_at: Opener) -> None:
    evaluation = {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"must_include": ["12"]},
        "reference_url": "__SITE__/form",
    }
    for path, answer, score in (("/form", "12", 1), ("/form", "13", 0), ("/", "12", 0)):
        assert await verdict(await open_at(path, evaluation), answer) == score


async def test_unreadable_actions_say_why_and_leave_the_page(open_at: Opener) -> None:
    page = await open_at("/form")
    before = page.text.split("\n\n", 1)[1]
    await page.do("klick [3]")
    assert page.outcome.unreadable
    assert page.text.startswith("Unreadable: unknown action")
    assert page.text.endswith(before)

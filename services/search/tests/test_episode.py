"""One episode: what a turn shows, what ends it, what it earns."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from searched import Small

from turngym.environment import BackendUnavailable, Outcome
from turngym.parsing import UnreadableAction, read_action
from turngym.schema import StopReason
from turngym_search.engine import Engine, open_engine
from turngym_search.env import GRAMMAR, INSTRUCTION, REACT_INSTRUCTION, DeepSearch, SearchOptions, shown
from turngym_search.passages import Passage
from turngym_search.questions import Gold, Question
from turngym_search.retrieval import Hit

QUESTION = Question(
    "What is the capital of Peru?", ("Lima", "Lima City"), (Gold("gov-4", "Peru: Government"),), {"hops": 1}
)


def episode(engine: Engine, question: Question = QUESTION, **options: Any) -> DeepSearch:
    async def search(query: str, k: int) -> Sequence[Hit]:
        (hits,) = await engine.search([query], k)
        return hits

    return DeepSearch(question, SearchOptions(**options), search)


async def play(env: DeepSearch, text: str) -> Outcome:
    """A turn, read by the grammar as the server does."""
    try:
        action = read_action(text, GRAMMAR)
    except UnreadableAction as error:
        return env.unreadable(str(error))
    return await env.step(action)


def test_the_opening_is_one_user_message(engine: Engine) -> None:
    (message,) = episode(engine).start()
    assert (message.role, message.content) == (
        "user",
        f"{INSTRUCTION}\n\nQuestion: What is the capital of Peru?",
    )
    (react,) = episode(engine, form="react").start()
    assert react.content.startswith(REACT_INSTRUCTION)
    (bare,) = episode(engine, instructions="none").start()
    assert bare.content == "Question: What is the capital of Peru?"


async def test_an_episode_with_tags(engine: Engine) -> None:
    env = episode(engine, topk=2)
    first = await play(env, "I should look.\n<search>capital of Peru</search>")
    assert first.text == (
        '<information>Doc 1(Title: "Peru: Government") The capital of Peru is Lima. It sits in parliament.\n'
        'Doc 2(Title: "Peru: Geography") Peru has mountains, rivers and a long coast.</information>'
    )
    assert (first.reward, first.stop, first.invalid) == (0, None, False)
    assert first.info == {"documents": ["gov-4", "geo-4"], "recall": 1.0}
    last = await play(env, "So it is <answer> the lima. </answer>")
    assert (last.text, last.reward, last.score, last.stop) == (
        "The answer is right",
        1.0,
        1.0,
        StopReason.SUCCESS,
    )
    assert last.info == {"exact_match": True, "f1": 1.0, "recall": 1.0}


async def test_an_episode_in_react_form(engine: Engine) -> None:
    env = episode(engine, form="react", topk=1)
    first = await play(env, "Thought: look it up\nAction: search[capital of Peru [the country]]")
    assert (
        first.text == 'Doc 1(Title: "Peru: Government") The capital of Peru is Lima. It sits in parliament.'
    )
    assert (await play(env, "Action: Answer[Lima City]")).stop is StopReason.SUCCESS


async def test_a_wrong_answer_ends_the_episode(engine: Engine) -> None:
    env = episode(engine)
    last = await play(env, "<answer>Lima, the city of kings</answer>")
    assert (last.text, last.reward, last.score, last.stop) == (
        "The answer is wrong",
        0,
        0,
        StopReason.FAILURE,
    )
    assert last.info == {"exact_match": False, "f1": pytest.approx(2 / 3, abs=1e-4), "recall": 0.0}
    again = await play(env, "<answer>Lima</answer>")
    assert again.invalid and again.reward == 0 and env.score == 0


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", "Neither a search nor an answer"),
        ("The capital is Lima.", "Neither a search nor an answer"),
        ("Action: dance[now]", "Unknown action: dance[now]. Use search or answer"),
        ("Action: search Peru", "Unknown action: search Peru. Use search or answer"),
        ("<search> \n\t </search>", "The query is empty"),
        ("<search>\x00\x07\u200b</search>", "The query is empty"),
        ("<answer></answer>", "The answer is empty"),
        ("Action: search[]", "The query is empty"),
    ],
)
async def test_what_is_neither_costs_a_turn_and_says_what_is_wanted(
    engine: Engine, text: str, answer: str
) -> None:
    env = episode(engine)
    outcome = await play(env, text)
    assert outcome.text.startswith(answer)
    assert outcome.invalid and not outcome.stop and outcome.score == 0
    assert not env.seen


async def test_the_words_for_what_is_wanted_are_in_the_form_that_is_taught(engine: Engine) -> None:
    assert "<search>words to look for</search>" in (await play(episode(engine), "")).text
    assert "Action: search[words to look for]" in (await play(episode(engine, form="react"), "")).text


@pytest.mark.parametrize(
    ("texts", "score"),
    [
        (["<search>x</search>", "<answer>no</answer>"], 0.2),
        (["mumble", "<answer>no</answer>"], 0),
        (["<search></search>", "<answer>no</answer>"], 0),
        (["mumble", "<answer>Lima</answer>"], 1),
    ],
)
async def test_form_is_paid_only_where_every_turn_had_it(
    engine: Engine, texts: list[str], score: float
) -> None:
    env = episode(engine, format_score=0.2)
    outcomes = [await play(env, text) for text in texts]
    assert outcomes[-1].score == score == sum(outcome.reward for outcome in outcomes)
    assert outcomes[-1].stop is (StopReason.SUCCESS if score == 1 else StopReason.FAILURE)


async def test_long_binary_and_foreign_queries_are_answered(engine: Engine) -> None:
    env = episode(engine)
    for query in (
        "Peru " * 20000,
        "\x00\x01Peru\x1b[0m",
        "ペルーの首都はどこですか",
        "Столица Перу?",
        "🦙" * 500,
        "'; --",
    ):
        outcome = await play(env, f"<search>{query}</search>")
        assert not outcome.invalid and len(outcome.info["documents"]) == 3


async def test_a_copy_goes_its_own_way(engine: Engine) -> None:
    env = episode(engine)
    copy = env.fork()
    await play(copy, "<search>capital of Peru</search>")
    assert (env.recall(), copy.recall()) == (0, 1)
    await play(copy, "<answer>no</answer>")
    assert (await play(env, "<answer>Lima</answer>")).stop is StopReason.SUCCESS


async def test_a_search_that_can_t_be_done_changes_nothing() -> None:
    async def search(query: str, k: int) -> Sequence[Hit]:
        raise BackendUnavailable("gone")

    env = DeepSearch(QUESTION, SearchOptions(format_score=0.5), search)
    with pytest.raises(BackendUnavailable):
        await env.step("<search>Peru</search>")
    assert not env.seen and not env.searches and env.well_formed


async def test_nothing_found_is_said(small: Small) -> None:
    sparse = open_engine(small.settings(retriever="bm25", index=None))
    outcome = await play(episode(sparse), "<search>quantum chromodynamics</search>")
    assert outcome.text == "<information>Nothing was found</information>"
    sparse.close()


async def test_without_gold_passages_there_is_no_recall(engine: Engine) -> None:
    env = episode(engine, Question("What is the capital of Peru?", ("Lima",)))
    assert (await play(env, "<search>Peru</search>")).info.keys() == {"documents"}


@pytest.mark.parametrize(
    "options",
    [
        {"topk": 0},
        {"topk": 21},
        {"observation_chars": 99},
        {"form": "xml"},
        {"format_score": 1},
        {"form_score": 0.1},
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SearchOptions(**options)


HITS = st.lists(
    st.tuples(st.text("ab c", max_size=30), st.text("xyz \n", max_size=3000)), min_size=1, max_size=6
)


@settings(max_examples=200, deadline=None)
@given(HITS, st.integers(600, 3000))
def test_passages_fit_their_room_and_short_ones_are_whole(parts: list[tuple[str, str]], limit: int) -> None:
    hits = [Hit(Passage(str(n), f'"{title}"\n{text}'), 0.0) for n, (title, text) in enumerate(parts)]
    lines = shown(hits, limit).split("\n")
    assert len("\n".join(lines)) <= limit
    assert len(lines) == len(hits)
    texts = [" ".join(text.split()) for _, text in parts]
    cut = [len(line) - line.index(") ") - 2 for line in lines if line.endswith("…")]
    for line, text, (title, _) in zip(lines, texts, parts, strict=True):
        assert f'(Title: "{title}") ' in line
        if not line.endswith("…"):
            assert line.endswith(text)
            assert not cut or len(text) <= max(cut)
    assert len(set(cut)) <= 1, "those that are cut are cut to the same length"


PARTS = st.sampled_from(
    [
        "<search>",
        "</search>",
        "<answer>",
        "</answer>",
        "Action: search[",
        "]",
        "Peru",
        "\n",
        " ",
        "\x00",
        "東",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(PARTS, max_size=8).map("".join), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_no_text_breaks_an_episode(texts: list[str], random: Random) -> None:
    async def search(query: str, k: int) -> Sequence[Hit]:
        assert query.strip() and query.isprintable()
        return [Hit(Passage("gov-4", f'"T"\n{query}'), 1.0)][: random.randint(0, 1)]

    async def playing() -> None:
        env = DeepSearch(QUESTION, SearchOptions(), search)
        for text in texts:
            over = env.done
            outcome = await play(env, text)
            assert outcome.text
            assert not (over and (outcome.stop or outcome.reward))
            assert outcome.stop is None or env.done

    asyncio.run(playing())

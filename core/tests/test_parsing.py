"""From a turn's text to its action: the form "tags", and line breaks. (Other forms are tested with games.)"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym.parsing import UnreadableAction, read_action
from turngym.schema import ActionGrammar, Command

GRAMMAR = ActionGrammar(
    forms=["tags", "react"],
    tags=["search", "answer"],
    commands=[Command(template="<search>{q}</search>", description="look", example="<search>cats</search>")],
)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("<search>cats</search>", "<search>cats</search>"),
        ("I wonder.\n<search>\n cats \n</search>\n", "<search>cats</search>"),
        ("<search>a</search><answer>b</answer>", "<search>a</search>"),
        ("<search>a</search>\nAction: search[b]", "<search>a</search>"),
        ("maybe <search> or rather <answer>x</answer>", "<answer>x</answer>"),
        ("I could <search>, so: <search>b</search>", "<search>b</search>"),
        ("</search> no: <search>b</search>", "<search>b</search>"),
        ("<search></search>", "<search></search>"),
        ("<search>a</answer>\nAction: search[b]", "search[b]"),
        ("Thought: hm\nAction: answer[x]", "answer[x]"),
    ],
)
def test_the_tag_that_is_closed_first_is_the_action(text: str, action: str) -> None:
    assert read_action(text, GRAMMAR) == action


@pytest.mark.parametrize(
    "text", ["", "cats", "<search>cats", "cats</search>", "<Search>cats</Search>", "<search>a</answer>"]
)
def test_without_a_closed_tag_nothing_is_read(text: str) -> None:
    with pytest.raises(UnreadableAction, match="<search>cats</search>"):
        read_action(text, GRAMMAR)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("hm <search>cats\n", "<search>cats</search>"),
        ("<search> or <answer>cats", "<answer>cats</answer>"),
        ("<search>a</search><answer>b", "<search>a</search>"),
        ("<search>a</answer>\nAction: search[b]", "search[b]"),
        ("<search>", "<search></search>"),
    ],
)
def test_a_closing_tag_that_the_sampler_stopped_at_may_be_missing(text: str, action: str) -> None:
    assert read_action(text, GRAMMAR.model_copy(update={"stop": ["</search>", "</answer>"]})) == action


@given(
    st.lists(st.sampled_from(["<search>", "</search>", "<answer>", "</answer>", "a", " ", "\n"]), max_size=12)
)
def test_what_follows_the_first_closed_tag_changes_nothing(parts: list[str]) -> None:
    text = "".join(parts)
    try:
        action = read_action(text, GRAMMAR)
    except UnreadableAction:
        return
    assert read_action(text + " and <answer>more</answer>", GRAMMAR) == action
    assert any(action.startswith(f"<{tag}>") and action.endswith(f"</{tag}>") for tag in GRAMMAR.tags)


COMMANDS = [Command(template="say [text]", description="say it", example="say [hello]")]
LINES = ActionGrammar(forms=["react", "fenced", "bare"], commands=COMMANDS)
BLOCKS = ActionGrammar(forms=["react", "fenced", "bare"], commands=COMMANDS, multiline=True)


@pytest.mark.parametrize(
    "text",
    [
        "say [one\ntwo]",
        "```\nsay [one\ntwo]\n```",
        "Thought: two lines.\nAction: say [one\ntwo]",
        "Thought: two lines.\nAction:\n```\nsay [one\ntwo]\n```",
        "Action: say [one\ntwo]\nObservation: it was said",
        "Action: say [one\ntwo]\nThought: what next?",
    ],
)
def test_an_action_may_hold_line_breaks_where_the_grammar_says_so(text: str) -> None:
    assert read_action(text, BLOCKS) == "say [one\ntwo]"


@pytest.mark.parametrize("text", ["say [one]\nsay [two]", "```\nsay [one]\nsay [two]\n```"])
def test_lines_are_actions_of_their_own_where_it_does_not(text: str) -> None:
    with pytest.raises(UnreadableAction, match="more than one action"):
        read_action(text, LINES)


@pytest.mark.parametrize(
    "text", ["Action: say [one]\nAction: say [two]", "```\nsay [one]\n```\n```\nsay [two]\n```"]
)
def test_two_blocks_are_two_actions(text: str) -> None:
    with pytest.raises(UnreadableAction, match="more than one action"):
        read_action(text, BLOCKS)


@pytest.mark.parametrize("grammar", [LINES, BLOCKS])
@pytest.mark.parametrize("text", ["", " \n ", "Action:", "Action:\nThought: hm", "Thought: hm", "```\n```"])
def test_no_action_is_unreadable(text: str, grammar: ActionGrammar) -> None:
    with pytest.raises(UnreadableAction, match="no action found"):
        read_action(text, grammar)

"""Reading an action from a turn's text, where an action may hold line breaks and where it may not."""

import pytest

from turngym.parsing import UnreadableAction, read_action
from turngym.schema import ActionGrammar, Command

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

"""The action grammar: every form that agents write is read as it is meant, and what can't be read is answered precisely."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym.parsing import read_action
from turngym_webarena.actions import GRAMMAR, Action, ActionError, Verb, parse_action, parse_keys


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("click [12]", Action(Verb.CLICK, 12)),
        ("CLICK [12]", Action(Verb.CLICK, 12)),
        ("click 12", Action(Verb.CLICK, 12)),
        ("click[12]", Action(Verb.CLICK, 12)),
        ("click [id=12]", Action(Verb.CLICK, 12)),
        ("hover [3]", Action(Verb.HOVER, 3)),
        ("clear [3]", Action(Verb.CLEAR, 3)),
        ("type [7] [blue mug]", Action(Verb.TYPE, 7, "blue mug")),
        ("type [7] [blue mug] [1]", Action(Verb.TYPE, 7, "blue mug", True)),
        ("type [7] [blue mug] [0]", Action(Verb.TYPE, 7, "blue mug", False)),
        ("type [7] [blue mug] [press_enter_after=0]", Action(Verb.TYPE, 7, "blue mug", False)),
        ("type [7] blue mug", Action(Verb.TYPE, 7, "blue mug")),
        ("type [7] []", Action(Verb.TYPE, 7, "")),
        ("type [7] [] [0]", Action(Verb.TYPE, 7, "", False)),
        ("type [7] [ two blanks ]", Action(Verb.TYPE, 7, " two blanks ")),
        ("type [7] [a [b] c]] [0]", Action(Verb.TYPE, 7, "a [b] c]", False)),
        ("type [7] [two\nlines] [0]", Action(Verb.TYPE, 7, "two\nlines", False)),
        ("type [7] ['\"`𝒳 😀\\]", Action(Verb.TYPE, 7, "'\"`𝒳 😀\\")),
        ("type [7] [0] [1]", Action(Verb.TYPE, 7, "0", True)),
        ("select [9] [Price: low to high]", Action(Verb.SELECT, 9, "Price: low to high")),
        ("press [Ctrl+a]", Action(Verb.PRESS, text="Control+a")),
        ("press Enter", Action(Verb.PRESS, text="Enter")),
        ("press [key_comb=ctrl+v]", Action(Verb.PRESS, text="Control+v")),
        ("scroll [down]", Action(Verb.SCROLL, text="down")),
        ("scroll [direction=down]", Action(Verb.SCROLL, text="down")),
        ("scroll Up", Action(Verb.SCROLL, text="up")),
        ("goto [http://market.test/x?a=1&b=[2]]", Action(Verb.GOTO, text="http://market.test/x?a=1&b=[2]")),
        ("goto /x", Action(Verb.GOTO, text="/x")),
        ("new_tab", Action(Verb.NEW_TAB)),
        ("new_tab []", Action(Verb.NEW_TAB)),
        ("new tab", Action(Verb.NEW_TAB)),
        ("tab_focus [1]", Action(Verb.TAB_FOCUS, 1)),
        ("tab focus [tab_index=1]", Action(Verb.TAB_FOCUS, 1)),
        ("close_tab", Action(Verb.CLOSE_TAB)),
        ("go_back", Action(Verb.GO_BACK)),
        ("go back", Action(Verb.GO_BACK)),
        ("go_forward", Action(Verb.GO_FORWARD)),
        ("stop", Action(Verb.STOP)),
        ("stop []", Action(Verb.STOP)),
        ("stop [$279.49]", Action(Verb.STOP, text="$279.49")),
        ("stop [one\ntwo]", Action(Verb.STOP, text="one\ntwo")),
        ("stop [a [b] c]", Action(Verb.STOP, text="a [b] c")),
        ("stop N/A", Action(Verb.STOP, text="N/A")),
    ],
)
def test_a_command_is_read_as_it_is_meant(command: str, action: Action) -> None:
    assert parse_action(command) == action


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "unknown action"),
        ("klick [1]", "unknown action"),
        ("[12]", "unknown action"),
        ("click", "click is written click [id]"),
        ("click [mug]", 'there was "[mug]"'),
        ("click [-1]", "click is written"),
        ("click [1] [2]", "click is written"),
        ("type [7]", "type is written"),
        ("type [mug] [x]", "type is written"),
        ("select [9] []", "select is written"),
        ("press", "press which keys"),
        ("press [Hyper+a]", "unknown modifier"),
        ("press [hello]", "to write a text, use type"),
        ("scroll [left]", "scroll is written"),
        ("goto", "goto is written"),
        ("goto [two words]", "goto is written"),
        ("new_tab [http://market.test/]", "takes nothing after it"),
        ("tab_focus [last]", "tab_focus is written"),
        ("click [1]\nclick [2]", "more than one action"),
        ("type [1] [a]\nclick [2]", "more than one action"),
    ],
)
def test_what_cannot_be_read_is_said_precisely(command: str, said: str) -> None:
    with pytest.raises(ActionError) as refusal:
        parse_action(command)
    assert said in str(refusal.value)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("Enter", "Enter"),
        ("return", "Enter"),
        ("ctrl+shift+Tab", "Control+Shift+Tab"),
        ("Meta+A", "Control+a"),
        ("cmd+c", "Control+c"),
        ("Ctrl++", "Control++"),
        ("+", "+"),
        ("PgDn", "PageDown"),
        ("F5", "F5"),
        ("é", "é"),
        ("A", "A"),
        ("shift", "Shift"),
    ],
)
def test_keys_have_many_names(keys: str, named: str) -> None:
    assert parse_keys(keys) == named


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=80).filter(
        lambda text: "]\n" not in text and "\x0b" not in text
    )
)
def test_any_text_is_typed_as_it_was_written(text: str) -> None:
    assert parse_action(f"type [3] [{text}] [0]") == Action(Verb.TYPE, 3, text, False)


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        action = parse_action(text)
    except ActionError as error:
        said = str(error)
    else:
        said = action.verb
    assert said


def test_every_example_of_the_grammar_is_read() -> None:
    for command in GRAMMAR.commands:
        for text in (command.example, f"```{command.example}```", f"Thought: so.\nAction: {command.example}"):
            assert parse_action(read_action(text, GRAMMAR)).verb == command.template.split()[0]

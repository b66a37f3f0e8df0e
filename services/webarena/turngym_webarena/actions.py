"""The action grammar: from one command to an :class:`Action`, and what exactly was wrong where it can't be read.

The commands are WebArena's (Zhou et al. 2023, arXiv 2307.13854, table 1) and two of our own, ``select`` and ``clear``. The
published parser fails on empty texts, line breaks, closing brackets within a text, keys it has no name for, other cases, and
on the very form ``scroll [direction=down]`` that its prompt shows; this one takes all of them. It knows no page: whether an
element is there is the browser's to say.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from turngym.schema import ActionGrammar, Command


class Verb(StrEnum):
    """What an action does."""

    CLICK = "click"  # the element's centre, with the left button
    HOVER = "hover"  # the pointer over the element's centre
    TYPE = "type"  # a text at the end of a field, then Enter unless told not to
    CLEAR = "clear"  # empty a field
    SELECT = "select"  # an option of a native list
    PRESS = "press"  # a key or a combination of keys
    SCROLL = "scroll"  # one screen up or down
    GOTO = "goto"  # an address, within the sites
    NEW_TAB = "new_tab"  # an empty tab
    TAB_FOCUS = "tab_focus"  # another tab
    CLOSE_TAB = "close_tab"  # the current tab
    GO_BACK = "go_back"  # one page back in the tab's history
    GO_FORWARD = "go_forward"  # one page forward
    STOP = "stop"  # the end, with an answer or none


@dataclass(frozen=True, slots=True)
class Action:
    """One action. ``element`` is an id of the last observation, or a tab's number; ``text`` what is typed, pressed, opened,
    selected or answered ("up" or "down" for a scroll); ``enter`` whether typing ends with Enter, None where it wasn't said."""

    verb: Verb
    element: int = -1
    text: str = ""
    enter: bool | None = None


class ActionError(ValueError):
    """A command that can't be read. The message says what is wrong and what would be right."""


GRAMMAR = ActionGrammar(
    forms=["react", "fenced", "bare"],
    multiline=True,
    commands=[
        Command(template="click [id]", description="click an element", example="click [12]"),
        Command(template="hover [id]", description="point at an element", example="hover [12]"),
        Command(
            template="type [id] [text] [enter]",
            description="type into a field; Enter follows unless the last is 0",
            example="type [7] [blue mug] [1]",
        ),
        Command(template="clear [id]", description="empty a field", example="clear [7]"),
        Command(
            template="select [id] [option]", description="choose from a list", example="select [9] [Price]"
        ),
        Command(template="press [keys]", description="press keys", example="press [Ctrl+a]"),
        Command(template="scroll [direction]", description="one screen up or down", example="scroll [down]"),
        Command(template="goto [url]", description="open an address", example="goto [http://market.test/]"),
        Command(template="new_tab", description="open an empty tab", example="new_tab"),
        Command(template="tab_focus [index]", description="go to a tab", example="tab_focus [0]"),
        Command(template="close_tab", description="close the current tab", example="close_tab"),
        Command(template="go_back", description="the page before this one", example="go_back"),
        Command(template="go_forward", description="undo go_back", example="go_forward"),
        Command(
            template="stop [answer]",
            description="end the task, with the answer if one is asked for",
            example="stop [$279.49]",
        ),
    ],
    stop=["\nObservation:"],
)

_FORMS = {command.template.split()[0]: command for command in GRAMMAR.commands}
_ALIASES = {
    "newtab": "new_tab",
    "tabfocus": "tab_focus",
    "page_focus": "tab_focus",
    "closetab": "close_tab",
    "page_close": "close_tab",
    "goback": "go_back",
    "goforward": "go_forward",
    "select_option": "select",
}
_PLAIN = (Verb.NEW_TAB, Verb.CLOSE_TAB, Verb.GO_BACK, Verb.GO_FORWARD)
_HEAD = re.compile(
    r"\s*(new tab|tab focus|close tab|go back|go forward|[a-z_]+)\b\s*(.*)", re.DOTALL | re.IGNORECASE
)
_ID = re.compile(r"\[?\s*(?:id\s*=\s*)?\[?(\d{1,9})\]?\s*\]?")
_TAB = re.compile(r"\[?\s*(?:tab_index\s*=\s*)?(\d{1,9})\s*\]?")
_WITH_TEXT = re.compile(r"(\[\s*(?:id\s*=\s*)?\d{1,9}\s*\]|\d{1,9}(?=\s))\s*(.*)", re.DOTALL)
_ENTER = re.compile(r"(.*\])\s*\[\s*(?:press_enter_after\s*=\s*)?([01])\s*\]", re.DOTALL)
_DIRECTION = re.compile(r"\[?\s*(?:direction\s*=\s*)?(up|down)\s*\]?", re.IGNORECASE)
_NEXT = re.compile(rf"\]\s*\n\s*(?:{'|'.join(_FORMS)})\b", re.IGNORECASE)
_SHOWN = 60  # characters of an agent's own text that are repeated to it

_MODIFIERS = {
    "ctrl": "Control",
    "control": "Control",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
    # the sites' agents were told of both systems; on this one the editing keys go with Control
    "meta": "Control",
    "cmd": "Control",
    "command": "Control",
    "super": "Control",
    "win": "Control",
}
_KEYS = {
    "enter": "Enter", "return": "Enter", "tab": "Tab", "escape": "Escape", "esc": "Escape", "space": "Space",
    "backspace": "Backspace", "delete": "Delete", "del": "Delete", "insert": "Insert", "home": "Home", "end": "End",
    "pageup": "PageUp", "pgup": "PageUp", "pagedown": "PageDown", "pgdn": "PageDown", "pgdown": "PageDown",
    "arrowup": "ArrowUp", "up": "ArrowUp", "arrowdown": "ArrowDown", "down": "ArrowDown", "arrowleft": "ArrowLeft",
    "left": "ArrowLeft", "arrowright": "ArrowRight", "right": "ArrowRight", "plus": "+", "minus": "-",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}  # fmt: skip


def parse_action(command: str) -> Action:
    """The action that ``command`` says, as :data:`GRAMMAR` has read it from the turn's text.

    :raises ActionError: if it can't be read.
    """
    head = _HEAD.fullmatch(command)
    if head is None:
        raise ActionError(f"unknown action {_short(command)}. {_all_forms()}")
    name = "_".join(head[1].lower().split())
    name = _ALIASES.get(name, name)
    rest = head[2].strip()
    if name not in _FORMS:
        raise ActionError(f"unknown action {_short(command)}. {_all_forms()}")
    if _NEXT.search(command):
        raise ActionError("more than one action in one turn; write one, look at the page, then the next")
    verb = Verb(name)
    if verb in _PLAIN:
        return _plain(verb, rest)
    return _READERS[verb](verb, rest)


def parse_keys(text: str) -> str:
    """A key or combination such as ``Ctrl+Shift+a`` in Playwright's words. Raises ActionError."""
    wanted = text.strip()
    parts = [part for part in re.split(r"(?<=.)\+(?=.)", wanted) if part.strip()]
    if not parts:
        raise ActionError('press which keys? For example "press [Enter]" or "press [Ctrl+a]"')
    *modifiers, key = (part.strip() for part in parts)
    named = []
    for modifier in modifiers:
        if modifier.lower() not in _MODIFIERS:
            raise ActionError(f"unknown modifier {_short(modifier)}; there are Ctrl, Alt, Shift and Meta")
        named.append(_MODIFIERS[modifier.lower()])
    named = list(dict.fromkeys(named))
    lower = key.lower()
    if lower in _KEYS:
        return "+".join([*named, _KEYS[lower]])
    if lower in _MODIFIERS:
        return "+".join(dict.fromkeys([*named, _MODIFIERS[lower]]))
    if len(key) == 1 and key.isprintable():
        return "+".join([*named, key.lower() if named and key.isalpha() else key])
    raise ActionError(
        f"unknown key {_short(key)}; keys are single characters, {', '.join(sorted(set(_KEYS.values())))}; "
        "to write a text, use type"
    )


def _plain(verb: Verb, rest: str) -> Action:
    if rest.strip("[] \t"):
        raise ActionError(f"{verb} takes nothing after it, and there was {_short(rest)}")
    return Action(verb)


def _element(verb: Verb, rest: str) -> Action:
    match = _ID.fullmatch(rest)
    if match is None:
        raise _wants(verb, rest)
    return Action(verb, element=int(match[1]))


def _tab(verb: Verb, rest: str) -> Action:
    match = _TAB.fullmatch(rest)
    if match is None:
        raise _wants(verb, rest)
    return Action(verb, element=int(match[1]))


def _typing(verb: Verb, rest: str) -> Action:
    element, text = _with_text(verb, rest)
    enter: bool | None = None
    if flagged := _ENTER.fullmatch(text):
        text, enter = flagged[1], flagged[2] == "1"
    return Action(verb, element=element, text=_unwrapped(text), enter=enter)


def _selecting(verb: Verb, rest: str) -> Action:
    element, text = _with_text(verb, rest)
    option = _unwrapped(text).strip()
    if not option:
        raise _wants(verb, rest)
    return Action(verb, element=element, text=option)


def _with_text(verb: Verb, rest: str) -> tuple[int, str]:
    """The element's id and what stands after it. A text that is missing altogether is an error; ``[]`` is an empty one."""
    match = _WITH_TEXT.fullmatch(rest)
    if match is None or not match[2]:
        raise _wants(verb, rest)
    return int(re.sub(r"\D", "", match[1])), match[2].strip()


def _pressing(verb: Verb, rest: str) -> Action:
    keys = re.sub(r"^key_comb\s*=\s*", "", _unwrapped(rest).strip())
    return Action(verb, text=parse_keys(keys))


def _scrolling(verb: Verb, rest: str) -> Action:
    match = _DIRECTION.fullmatch(rest)
    if match is None:
        raise _wants(verb, rest)
    return Action(verb, text=match[1].lower())


def _going(verb: Verb, rest: str) -> Action:
    url = re.sub(r"^url\s*=\s*", "", _unwrapped(rest).strip())
    if not url or re.search(r"\s", url):
        raise _wants(verb, rest)
    return Action(verb, text=url)


def _stopping(verb: Verb, rest: str) -> Action:
    return Action(verb, text=_unwrapped(rest).strip())


_READERS = {
    Verb.CLICK: _element,
    Verb.HOVER: _element,
    Verb.CLEAR: _element,
    Verb.TYPE: _typing,
    Verb.SELECT: _selecting,
    Verb.PRESS: _pressing,
    Verb.SCROLL: _scrolling,
    Verb.GOTO: _going,
    Verb.TAB_FOCUS: _tab,
    Verb.STOP: _stopping,
}


def _unwrapped(text: str) -> str:
    """What stands between the outermost brackets, or the text itself where there are none."""
    return text[1:-1] if len(text) >= 2 and text[0] == "[" and text[-1] == "]" else text


def _wants(verb: Verb, rest: str) -> ActionError:
    form = _FORMS[verb]
    found = f", and there was {_short(rest)}" if rest else ", and there was nothing after it"
    return ActionError(f"{verb} is written {form.template}, as in {form.example}{found}")


def _all_forms() -> str:
    return "The actions are: " + ", ".join(command.template for command in GRAMMAR.commands)


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return f'"{one_line[:_SHOWN]}…"' if len(one_line) > _SHOWN else f'"{one_line}"'

"""From the model's raw turn text to one action, by the grammar that a service declares.

A turn may be free text that ends in a line ``Action: …`` (ReAct, Yao et al. 2023), a fenced block, a tag such as
``<search>…</search>``, or the bare command. Exactly one action must stand in it: none, or more than one, is unreadable, and
what is wrong is said in words that the agent can act on. Of tags the first that is closed counts, as a sampler stops there.
Parsing an action's own arguments is the environment's business.
"""

import re

from turngym.schema import ActionGrammar

_REACT = re.compile(r"^[ \t]*action[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(r"^[ \t]*thought[ \t]*:", re.IGNORECASE | re.MULTILINE)
_AFTER = re.compile(r"^[ \t]*(?:observation|thought)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```|```([^\n`]+)```", re.DOTALL)


class UnreadableAction(ValueError):
    """The turn holds no single action. The message says what is wrong and what is expected."""


def expected(grammar: ActionGrammar) -> str:
    """One sentence on what a turn should hold, with an example of each command."""
    examples = "; ".join(command.example for command in grammar.commands)
    return f"Expected exactly one action, for example: {examples}"


def read_action(text: str, grammar: ActionGrammar) -> str:
    """The one action in ``text``, stripped.

    :param text: what the model wrote in this turn.
    :param grammar: the forms to try, in order; the first form that is present decides.
    :returns: the command; for the form "tags" in its tag (``<search>query</search>``).
    :raises UnreadableAction: if there is no action or more than one.
    """
    found: list[str] | None = None
    for form in grammar.forms:
        found = _FORMS[form](text, grammar)
        if found is not None:
            break
    actions = [action for action in found or [] if action]
    if len(actions) == 1:
        return actions[0]
    wrong = "more than one action in one turn" if actions else "no action found"
    raise UnreadableAction(f"Unreadable: {wrong}. {expected(grammar)}")


def _react(text: str, grammar: ActionGrammar) -> list[str] | None:
    marks = list(_REACT.finditer(text))
    if not marks:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    actions: list[str] = []
    for mark, end in zip(marks, ends, strict=True):
        body = _AFTER.split(text[mark.end() : end], maxsplit=1)[0].strip()
        fenced = _fenced(body, grammar)
        actions += fenced if fenced is not None else [_one(body, grammar)]
    return actions


def _one(body: str, grammar: ActionGrammar) -> str:
    return body if grammar.multiline else body.split("\n", 1)[0].strip()


def _fenced(text: str, grammar: ActionGrammar) -> list[str] | None:
    blocks = [(match[1] if match[1] is not None else match[2]) for match in _FENCE.finditer(text)]
    if not blocks:
        return None
    if grammar.multiline:
        return [block.strip() for block in blocks]
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def _tags(text: str, grammar: ActionGrammar) -> list[str] | None:
    """What stands in the tag that is closed first. A sampler that stops there writes no more, so what follows is not read.

    Many endpoints take the stop string off what they return: where a closing tag is one, it may be missing at the end.
    """
    names = "|".join(re.escape(name) for name in grammar.tags)
    for closing in re.finditer(rf"</({names})>", text):
        opening = f"<{closing[1]}>"
        begin = text.rfind(opening, 0, closing.start())
        if begin >= 0:
            content = text[begin + len(opening) : closing.start()]
            return [f"{opening}{content.strip()}{closing[0]}"]
    *_, last = [None, *re.finditer(rf"</?({names})>", text)]
    if last is not None and not last[0].startswith("</") and f"</{last[1]}>" in grammar.stop:
        return [f"{last[0]}{text[last.end() :].strip()}</{last[1]}>"]
    return None


def _bare(text: str, grammar: ActionGrammar) -> list[str] | None:
    if _THOUGHT.search(text):
        return None
    if grammar.multiline:
        return [text.strip()]
    return [line.strip() for line in text.splitlines() if line.strip()]


_FORMS = {"react": _react, "fenced": _fenced, "tags": _tags, "bare": _bare}

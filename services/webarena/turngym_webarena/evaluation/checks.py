"""The ``eval`` part of a task, read from WebArena's JSON and refused where it says something that nobody could check.

Strings of a task file are never run as Python: a helper call is parsed to a name of :data:`HELPERS` and constant arguments.
Locators are JavaScript and run in the page alone.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OR = " |OR| "
AND = " |AND| "
LAST = "last"
LAST_URL = "__last_url__"
PAGE = "__page__"
EVAL_TYPES = ("string_match", "url_match", "program_html")
HELPERS = {
    # name: arguments beside the page
    "shopping_get_latest_order_url": 0,
    "shopping_get_sku_latest_review_author": 1,
    "shopping_get_sku_latest_review_rating": 1,
    "shopping_get_sku_latest_review_text": 1,
    "reddit_get_post_url": 1,
    # spelt as in the published task file
    "gitlab_get_project_memeber_role": 1,
}


class CheckError(ValueError):
    """A task's ``eval`` can't be checked. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class HelperCall:
    """A call of a named helper; ``arguments`` may hold :data:`LAST_URL`."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Required:
    """What a text must be (``exact``) or contain (each of ``include``, one of whose alternatives, and none of ``exclude``)."""

    exact: str | None = None
    include: tuple[tuple[str, ...], ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PageCheck:
    """One entry of ``program_html``: where (an address with placeholders, :data:`LAST`, or a helper), which part of the page
    (a JavaScript expression, a helper, or "" for all of it) and what must be there. ``prepare`` runs in the page before."""

    url: str | HelperCall
    locator: str | HelperCall
    required: Required
    prepare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """``reference_answers``: what the answer must be, hold, or amount to. ``note`` says why a task can't be done.

    ``fuzzy`` holds alternatives of which all must be met, as in the published evaluator; "N/A" alone marks a task that can't
    be done.
    """

    exact: str | None = None
    include: tuple[tuple[str, ...], ...] = ()
    fuzzy: tuple[str, ...] = ()
    note: str = ""

    @property
    def unachievable(self) -> bool:
        """Whether the right answer is that it can't be done."""
        return self.fuzzy == ("N/A",) or self.exact == "N/A"


@dataclass(frozen=True, slots=True)
class Checks:
    """All that decides on an episode. ``urls`` are alternatives, with placeholders."""

    answer: AnswerCheck | None
    urls: tuple[str, ...]
    pages: tuple[PageCheck, ...]


def read_checks(evaluation: Mapping[str, Any]) -> Checks:
    """The checks that a task's ``eval`` asks for. Raises CheckError."""
    types = evaluation.get("eval_types")
    if not isinstance(types, list) or not types:
        raise CheckError(f"eval_types must be a list of {', '.join(EVAL_TYPES)}, not {types!r}")
    unknown = [kind for kind in types if kind not in EVAL_TYPES]
    if unknown:
        raise CheckError(f"unknown eval type {unknown[0]!r}; there are {', '.join(EVAL_TYPES)}")
    answer: AnswerCheck | None = None
    urls: tuple[str, ...] = ()
    pages: tuple[PageCheck, ...] = ()
    if "string_match" in types:
        answer = _answer(evaluation)
    if "url_match" in types:
        urls = _urls(evaluation)
    if "program_html" in types:
        pages = tuple(_page(entry) for entry in evaluation.get("program_html") or ())
        if not pages:
            raise CheckError("program_html names no page")
    # the page that the agent ended at is looked at before any other is opened
    pages = tuple(sorted(pages, key=lambda check: check.url != LAST))
    return Checks(answer, urls, pages)


def parse_call(text: str) -> HelperCall:
    """The helper call after ``func:``. Raises CheckError."""
    try:
        tree = ast.parse(text.removeprefix("func:").strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise CheckError(f"not a call of a helper: {text!r}") from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.keywords:
        raise CheckError(f"not a call of a helper: {text!r}")
    arguments = []
    for node in tree.args:
        if isinstance(node, ast.Name) and node.id == PAGE:
            continue
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise CheckError(f"the arguments of a helper are strings: {text!r}")
        arguments.append(node.value)
    name = tree.func.id
    if name not in HELPERS:
        raise CheckError(f"unknown helper {name!r}; there are {', '.join(HELPERS)}")
    if len(arguments) != HELPERS[name]:
        raise CheckError(f"{name} takes {HELPERS[name]} arguments: {text!r}")
    return HelperCall(name, tuple(arguments))


def _answer(evaluation: Mapping[str, Any]) -> AnswerCheck:
    references = evaluation.get("reference_answers")
    if not isinstance(references, dict) or not references:
        raise CheckError("string_match needs reference_answers")
    unknown = references.keys() - {"exact_match", "must_include", "fuzzy_match"}
    if unknown:
        raise CheckError(f"unknown kind of answer {sorted(unknown)[0]!r}")
    exact = references.get("exact_match")
    if exact is not None and not isinstance(exact, str):
        raise CheckError(f"exact_match is a string, not {exact!r}")
    fuzzy = references.get("fuzzy_match", ())
    return AnswerCheck(
        exact,
        _alternatives(references.get("must_include", ())),
        (fuzzy,) if isinstance(fuzzy, str) else tuple(_strings(fuzzy)),
        str(evaluation.get("string_note") or ""),
    )


def _urls(evaluation: Mapping[str, Any]) -> tuple[str, ...]:
    reference = evaluation.get("reference_url")
    if not isinstance(reference, str) or not reference:
        raise CheckError("url_match needs reference_url")
    note = evaluation.get("url_note") or "GOLD in PRED"
    if note != "GOLD in PRED":
        raise CheckError(f"unknown url_note {note!r}")
    return tuple(part.strip() for part in reference.split(OR.strip()))


def _page(entry: Mapping[str, Any]) -> PageCheck:
    url, locator = entry.get("url"), entry.get("locator", "")
    if not isinstance(url, str) or not url or not isinstance(locator, str):
        raise CheckError(f"a page check has url and locator: {entry!r}")
    if not (locator == "" or locator.startswith(("func:", "document.", "[...document."))):
        raise CheckError(f"unknown form of locator: {locator!r}")
    return PageCheck(
        parse_call(url) if url.startswith("func:") else url,
        parse_call(locator) if locator.startswith("func:") else locator.strip(),
        _required(entry.get("required_contents")),
        tuple(_strings(entry.get("prep_actions") or ())),
    )


def _required(contents: Any) -> Required:
    if not isinstance(contents, dict) or not contents:
        raise CheckError(f"required_contents is missing: {contents!r}")
    unknown = contents.keys() - {"exact_match", "must_include", "must_exclude"}
    if unknown:
        raise CheckError(f"unknown kind of content {sorted(unknown)[0]!r}")
    exact = contents.get("exact_match")
    if exact is not None and not isinstance(exact, str):
        raise CheckError(f"exact_match is a string, not {exact!r}")
    return Required(
        exact,
        _alternatives(contents.get("must_include", ())),
        tuple(_strings(contents.get("must_exclude", ()))),
    )


def _alternatives(values: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(value.split(OR)) for value in _strings(values))


def _strings(values: Any) -> Sequence[str]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise CheckError(f"a list of strings is expected, not {values!r}")
    return values

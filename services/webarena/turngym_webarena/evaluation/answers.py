"""Whether an answer is right: as the published evaluator says it, or with its known defects mended.

Known defects, each mended in profile "fixed" and kept in "webarena":

- alternatives (`` |OR| ``) are not read in an answer's references, so that one published task can't be passed;
- "0" is not found in "$0.00", nor "90 minutes" in "1 hour 30 minutes": values are compared as texts;
- a short reference is found within longer words and numbers ("10" in "2010"), and every reference in a dumped page;
- an unachievable task is solved by saying "N/A" at once, before anything was looked at.
"""

import re

from turngym_webarena.evaluation.checks import OR, AnswerCheck, Required
from turngym_webarena.evaluation.values import contains, normalise, same, tokens, values
from turngym_webarena.settings import Profile

MOVES_BEFORE_NA = 2  # actions that showed something new before "it can't be done" is believed
DUMP_TOKENS = 40  # words that an answer may have beside four times those of its references
DUMP_VALUES = 4  # amounts that an answer may name beside twice those of its references
FUZZY_SHARE = 0.8  # share of a fuzzy reference's words that the answer must hold
_NOT_APPLICABLE = re.compile(r"(?:n\s*/\s*a|not applicable|n\.a)\b")
_PUBLISHED_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+|[^\w\s]")
_COMMON = frozenset(  # words of a fuzzy reference that say nothing by themselves
    """a an the is are was were be to of in on at for and or it its this that there you i my your with by as
    from""".split()  # noqa: SIM905
)


def answer_matches(check: AnswerCheck, answer: str, profile: Profile, moves: int) -> bool:
    """Whether the answer passes, as far as no judge is asked.

    :param moves: how many of the episode's actions showed something new.
    """
    if profile == "webarena":
        return _published(check, answer)
    if check.unachievable:
        return says_not_applicable(answer) and moves >= MOVES_BEFORE_NA
    if not answer.strip() or is_dump(check, answer):
        return False
    if check.exact is not None and not any(same(part, answer) for part in check.exact.split(OR)):
        return False
    return all(any(contains(answer, part) for part in parts) for parts in check.include)


def amounts_to(reference: str, answer: str) -> bool:
    """Whether an answer says what a fuzzy reference says: all of its values, and most of its words."""
    if any(same(part, answer) for part in reference.split(OR)):
        return True
    have_words, have_values = set(tokens(answer)), values(answer)
    for part in reference.split(OR):
        words = {
            word for word in tokens(part) if word not in _COMMON and not re.fullmatch(r"[\d.,:/-]+", word)
        }
        held = len(words & have_words) / len(words) if words else 1.0
        if held >= FUZZY_SHARE and all(value in have_values for value in values(part)):
            return bool(words or values(part))
    return False


def says_not_applicable(answer: str) -> bool:
    """Whether the answer begins by saying that it can't be done."""
    return _NOT_APPLICABLE.match(normalise(answer)) is not None


def is_dump(check: AnswerCheck, answer: str) -> bool:
    """Whether an answer is so much longer than what it should say that it was not chosen, but copied."""
    references = [check.exact or "", *(max(parts, key=len) for parts in check.include), *check.fuzzy]
    expected = " ".join(references)
    too_long = len(tokens(answer)) > DUMP_TOKENS + 4 * len(tokens(expected))
    named, wanted = values(answer), values(expected)
    return too_long or (bool(wanted) and len(set(named)) > DUMP_VALUES + 2 * len(wanted))


def content_matches(required: Required, content: str, profile: Profile) -> bool:
    """Whether a part of a page is, or holds, what is required."""
    if profile == "webarena":
        is_exact = required.exact is None or _clean(required.exact) == _clean(content)
        return is_exact and all(
            any(_clean(p) in _clean(content) for p in parts) for parts in required.include
        )
    if required.exact is not None and not any(same(part, content) for part in required.exact.split(OR)):
        return False
    if any(_stands_in(part, content) for part in required.exclude):
        return False
    return all(any(_stands_in(part, content) for part in parts) for parts in required.include)


def _stands_in(part: str, content: str) -> bool:
    """Whether a part stands in a page's text, not within a longer word or number."""
    wanted, held = normalise(part), " ".join(content.casefold().split())
    if not wanted:
        return not held
    before = r"(?<!\w)" if wanted[0].isalnum() else ""
    after = r"(?!\w)" if wanted[-1].isalnum() else ""
    return re.search(f"{before}{re.escape(wanted)}{after}", held) is not None


def _published(check: AnswerCheck, answer: str) -> bool:
    """The published rules, but for fuzzy references, which a judge or :func:`amounts_to` decides."""
    answered = _clean(answer)
    if check.exact is not None and _clean(check.exact) != answered:
        return False
    if check.fuzzy == ("N/A",):
        return says_not_applicable(answer)
    for parts in check.include:
        reference = _clean(OR.join(parts))
        single = len(check.include) == 1 and len(_PUBLISHED_TOKEN.findall(reference)) == 1
        if reference not in (_PUBLISHED_TOKEN.findall(answered) if single else answered):
            return False
    return True


def _clean(text: str) -> str:
    plain = text.strip()
    for quote in "'\"":
        if len(plain) >= 2 and plain[0] == plain[-1] == quote:
            plain = plain[1:-1]
    return plain.lower()

"""Texts as values: amounts, dates, durations and lengths that are the same however they are written.

A pure comparison without a language model: the same two texts compare the same on every machine.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_DATES = (
    (re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:t[\d:.]+z?)?\b"), (1, 2, 3)),
    (
        re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b"),
        (3, 1, 2),
    ),  # as the sites, which are American, write it
    (re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b"), (3, 1, 2)),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(\d{{4}})\b"), (3, 2, 1)),
)
_UNITS: dict[str, tuple[str, int | Decimal]] = {
    "s": ("duration", 1), "sec": ("duration", 1), "secs": ("duration", 1), "second": ("duration", 1),
    "seconds": ("duration", 1), "min": ("duration", 60), "mins": ("duration", 60), "minute": ("duration", 60),
    "minutes": ("duration", 60), "h": ("duration", 3600), "hr": ("duration", 3600), "hrs": ("duration", 3600),
    "hour": ("duration", 3600), "hours": ("duration", 3600), "day": ("duration", 86400), "days": ("duration", 86400),
    "m": ("length", 1), "meter": ("length", 1), "meters": ("length", 1), "metre": ("length", 1), "metres": ("length", 1),
    "km": ("length", 1000), "kilometer": ("length", 1000), "kilometers": ("length", 1000),
    "kilometre": ("length", 1000), "kilometres": ("length", 1000), "mi": ("length", Decimal("1609.344")),
    "mile": ("length", Decimal("1609.344")), "miles": ("length", Decimal("1609.344")),
}  # fmt: skip
_MEASURE = re.compile(
    rf"(?<![\w.])({_NUMBER})\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![a-z])"
)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,3}):(\d{2}):(\d{2})(?![\d:])")
_AMOUNT = re.compile(
    rf"(?<![\w.])(?:us\$|[$€£¥]|usd\s*|eur\s*)?\s?({_NUMBER})(?:\s?(?:%|usd|eur|dollars?|euros?))?(?![\w]|\.\d)"
)
_SIGNED = re.compile(r"(?<!\w)-\s*[$€£¥]\s*")
_COUNTED = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_WORDS = {word: str(number) for number, word in enumerate(_COUNTED)}
_TOKEN = re.compile(r"\w+(?:[.,'’:/-]\w+)*")


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text. ``kind`` is "amount", "date", "duration" (seconds) or "length" (metres)."""

    kind: str
    size: Decimal


def normalise(text: str) -> str:
    """Lower case, one kind of blank and quote, no marks around the whole and no full stop at its end."""
    plain = unicodedata.normalize("NFKC", text).translate(str.maketrans("‘’“”–—−", "''\"\"---"))
    plain = " ".join(plain.casefold().split()).rstrip(".").strip()
    while len(plain) >= 2 and plain[0] == plain[-1] and plain[0] in "'\"`":
        plain = plain[1:-1].strip()
    return plain


def tokens(text: str) -> list[str]:
    """Words and numbers of a text, normalised: amounts without separators and idle zeros, small numbers as digits."""
    found = []
    for match in _TOKEN.finditer(normalise(text)):
        word = _WORDS.get(match[0], match[0])
        found.append(_plain_number(word) or word)
    return found


def values(text: str) -> list[Value]:
    """Every value in a text, in the order of kinds: dates, durations and lengths, then amounts."""
    return _scan(text)[0]


def whole(text: str) -> Value | None:
    """The one value that a text is, and nothing besides; None for any other text."""
    found, rest = _scan(text)
    return found[0] if len(found) == 1 and not re.search(r"\w", rest.replace(" and ", " ")) else None


def _scan(text: str) -> tuple[list[Value], str]:
    """Every value in a text, and the text without them."""
    rest = _SIGNED.sub("-", normalise(text))
    rest = re.sub(r"[a-z]+", lambda match: _WORDS.get(match[0], match[0]), rest)
    found: list[Value] = []
    for pattern, order in _DATES:
        rest = pattern.sub(lambda match, order=order: _take(found, _dated(match, order), match[0]), rest)  # type: ignore[misc]
    rest = _CLOCK.sub(lambda match: _take(found, _clocked(match), match[0]), rest)
    found += _measures(rest)
    rest = _MEASURE.sub(" ", rest)
    found += [
        Value("amount", size) for match in _AMOUNT.finditer(rest) if (size := _size(match[1])) is not None
    ]
    return found, _AMOUNT.sub(" ", rest)


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: the same value where both are one, else the same words."""
    first, second = whole(one), whole(other)
    if first is not None and second is not None:
        return first == second
    return normalise(one) == normalise(other) or (tokens(one) == tokens(other) != [])


def contains(text: str, part: str) -> bool:
    """Whether ``part`` stands in ``text``: as a value where it is one, else as whole words in a row."""
    value = whole(part)
    if value is not None:
        return value in values(text) or _in_row(tokens(text), tokens(part))
    wanted = tokens(part)
    return _in_row(tokens(text), wanted) if wanted else normalise(part) in normalise(text)


def _in_row(words: list[str], wanted: list[str]) -> bool:
    size = len(wanted)
    return size > 0 and any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def _take(found: list[Value], value: Value | None, text: str) -> str:
    """Keep a value and blank it out, so that it isn't read as another kind too."""
    if value is None:
        return text
    found.append(value)
    return " "


def _dated(match: re.Match[str], order: tuple[int, int, int]) -> Value | None:
    year, month, day = (match[index] for index in order)
    number = _MONTHS.index(month[:3]) + 1 if month[0].isalpha() else int(month)
    try:
        full = int(year) + (2000 if len(year) == 2 else 0)
        return Value("date", Decimal(date(full, number, int(day)).toordinal()))
    except ValueError:
        return None


def _clocked(match: re.Match[str]) -> Value:
    return Value("duration", Decimal(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])))


def _measures(text: str) -> Iterator[Value]:
    """Measures, where several of one kind in a row ("1 h 20 min") are one."""
    kind, total, end = "", Decimal(0), -1
    for match in _MEASURE.finditer(text):
        number, unit = _size(match[1]), _UNITS[match[2]]
        if number is None:
            continue
        follows = (
            end >= 0 and unit[0] == kind and re.fullmatch(r"[\s,]*(?:and\s+)?", text[end : match.start()])
        )
        if not follows and kind:
            yield Value(kind, total)
            total = Decimal(0)
        kind, end = unit[0], match.end()
        total += number * unit[1]
    if kind:
        yield Value(kind, total)


def _size(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", "")).normalize()
    except ArithmeticError:  # not a number, or one of more digits than a Decimal has
        return None


def _plain_number(word: str) -> str | None:
    if not re.fullmatch(_NUMBER, word):
        return None
    size = _size(word)
    return None if size is None else f"{size:f}"

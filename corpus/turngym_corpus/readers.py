"""From a text of the factbook to an answer: a reader for each form in which the book puts a single plain fact.

A reader gives the answer as it stands in the text, then other ways to write it; nothing where the text has several values, a
remark that changes the meaning, or none at all.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import partial

Answers = tuple[str, ...]
Reader = Callable[[str], Answers]

_NOT_A_NAME = re.compile(r"unnamed|location|elevation|\d|note -|along|junction|confluence", re.IGNORECASE)
_HEIGHT = re.compile(r"^(?P<name>[^\d;(]+?)\s*(?:\((?P<other>[^)]*)\))?\s+(?P<metres>-?[\d,]+)(?: m\b.*)?$")
_NUMBER = re.compile(r"^(?P<number>-?\$?\d[\d,.]*)(?P<rest>%?.*)$")
_TITLES = re.compile(
    r"^(?:(?:Acting|Interim|Transitional|Federal|Co-)\s*)*(?:President|Prime Minister|Chancellor|Premier|King|Queen|Emperor|"
    r"Sultan|Amir|Prince|Grand Duke|Governor|Chief Minister|Taoiseach|Captain Regents?)\s+(?:of the \w+ \w+\s+)?"
)
_SMALL = re.compile(r"^(?:on|in|at|of|the|also|located|a|an|formerly|highest|near|is)\b", re.IGNORECASE)


def fold(text: str) -> str:
    """Without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def aliases(*answers: str) -> Answers:
    """The answers, and each without accents; no empty one and none twice."""
    every = [answer.strip(" \"'") for answer in answers]
    return tuple(dict.fromkeys(a for answer in every for a in (answer, fold(answer)) if a))


def plain_name(text: str) -> Answers:
    """A name that may have other names in brackets behind it; nothing for lists and remarks."""
    found = re.fullmatch(r"(?P<name>[^;,(:/]+?)\s*(?:\((?P<other>[^();]*)\))?", text.strip())
    if (
        not found
        or _NOT_A_NAME.search(found["name"])
        or found["name"].lower() in ("none", "no official capital")
    ):
        return ()
    return aliases(found["name"], *_others(found["other"]))


def _others(bracket: str | None) -> list[str]:
    parts = [part.removeprefix("aka ").strip() for part in re.split(r"[,/]| or ", bracket or "")]
    return [part for part in parts if part[:1].isupper() and not _SMALL.match(part) and len(part.split()) < 5]


def summit(text: str) -> Answers:
    """The name of an extreme point from "name 1,234 m"."""
    found = _HEIGHT.match(re.split(r"; note|; ", text)[0])
    if not found or _NOT_A_NAME.search(found["name"]):
        return ()
    return aliases(found["name"].strip(" ,"), *_others(found["other"]))


def metres(text: str) -> Answers:
    """The height of an extreme point; nothing at sea level, where so many are."""
    found = _HEIGHT.match(re.split(r"; note|; ", text)[0])
    if not found or found["metres"].strip("-") == "0":
        return ()
    height = found["metres"]
    return aliases(f"{height} m", height, f"{height} meters", f"{height} metres")


def amount(*units: str) -> Reader:
    """A reader of a number with a unit; the first is the factbook's, the others other ways to write it."""
    return partial(_amount, units)


def _amount(units: tuple[str, ...], text: str) -> Answers:
    found = _NUMBER.match(text)
    if not found or found["number"].strip("0,.$-") == "":
        return ()
    number, rest = found["number"].rstrip(",."), found["rest"].lstrip()
    if re.match(r"(?:million|billion|trillion)\b", rest):
        number += f" {rest.split()[0]}"
        rest = rest.partition(" ")[2]
    if units and not rest.startswith(units[0]):
        return ()
    join = "" if units and units[0].startswith("%") else " "
    return aliases(*(f"{number}{join}{unit}" for unit in units), number)


def currency(text: str) -> Answers:
    """The currency from "Algerian dinars (DZD) per US dollar -"."""
    found = re.match(r"(?P<name>[^(/]+?)(?:\s*\((?P<code>[A-Z]{3})\))?\s+per US dollar", text)
    if not found:
        return ()
    name = found["name"]
    single = re.sub(r"s$", "", name)
    return aliases(name, single, found["code"] or "", name.split()[-1], single.split()[-1])


def anthem(text: str) -> Answers:
    """An anthem's title, and its translation, from '"title" (translation)'."""
    found = re.fullmatch(r"\"(?P<title>[^\"]+)\"\s*(?:\((?P<other>[^()\"]+)\))?", text)
    return aliases(found["title"], found["other"] or "") if found else ()


def lyricist(text: str) -> Answers:
    """Who wrote the words, from "words/music"."""
    found = re.fullmatch(r"(?P<words>[^/;,()]+)/[^/;()]+", text)
    if not found or "unknown" in found["words"].lower() or "traditional" in found["words"].lower():
        return ()
    return aliases(found["words"])


def person_in_office(text: str) -> Answers:
    """Who holds an office, with and without the title, from "President Ann SMITH (since 2020)"."""
    found = re.fullmatch(r"(?P<name>[^();,]+?)\s*\(since [^)]*\)", text)
    if not found:
        return ()
    bare = _TITLES.sub("", found["name"])
    return aliases(found["name"], bare) if bare != found["name"] and len(bare.split()) > 1 else ()


def date(text: str) -> Answers:
    """A day from "5 July 1962 (from France)"."""
    found = re.match(r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+) (?P<year>\d{4})(?: \(|$)", text)
    if not found or ";" in text:
        return ()
    return aliases(found[0].rstrip(" ("), f"{found['month']} {found['day']}, {found['year']}")


def freed_from(text: str) -> Answers:
    """The former ruler from "5 July 1962 (from France)"."""
    found = re.fullmatch(r"[^;(]*\(from (?:the )?(?P<ruler>[^();,]+)\)", text)
    if not found:
        return ()
    full = {"UK": "United Kingdom", "US": "United States"}.get(found["ruler"], "")
    return aliases(found["ruler"], full)


def first_share(text: str) -> Answers:
    """The first of a list by shares: "Italy 29%, France 14%"."""
    found = re.match(r"(?P<name>[^\d,;%]+?) (?P<share>\d+)%, [^\d,;%]+ (?P<next>\d+)%", text)
    if not found or int(found["share"]) <= int(found["next"]):
        return ()
    full = {
        "UK": "United Kingdom",
        "USA": "United States",
        "UAE": "United Arab Emirates",
        "NZ": "New Zealand",
    }
    return aliases(found["name"], full.get(found["name"], ""))


def first_listed(text: str) -> Answers:
    """The first of a list by rank."""
    found = re.match(r"(?P<name>[^,;(]+), ", text)
    return aliases(found["name"]) if found else ()


def demonym(text: str) -> Answers:
    """A single inhabitant from "Algerian(s)"."""
    found = re.fullmatch(r"(?P<name>[A-Z][\w' -]+?)\(s\)", text)
    return aliases(found["name"], f"{found['name']}s") if found else ()


def adjective(text: str) -> Answers:
    """The adjective of a nationality, where there is one."""
    return aliases(text) if re.fullmatch(r"[A-Z][\w -]+", text) else ()


def code(text: str) -> Answers:
    """A short code; nothing where there are several."""
    return aliases(text) if re.fullmatch(r"\.?[A-Z0-9a-z]{1,4}", text) else ()


def sites(text: str) -> Answers:
    """The number at the head of "7 (6 cultural, 1 mixed)"."""
    found = re.match(r"(?P<number>\d+) \(", text)
    return aliases(found["number"]) if found and int(found["number"]) > 2 else ()


def former_name(text: str) -> Answers:
    """The one former name; nothing where there are several."""
    return plain_name(text) if len(text.split()) < 6 else ()


def agency(text: str) -> Answers:
    """An agency's name, and what stands in brackets, without the remarks on its founding."""
    found = re.match(r"(?P<name>[A-Z][^();,]+?) \((?P<other>[^();]+)[;)]", text)
    if not found:
        return ()
    others = [part.removeprefix("aka ").strip() for part in found["other"].split(",")]
    return aliases(found["name"], *(part for part in others if re.fullmatch(r"[A-Z][A-Z.a-z]{1,9}", part)))

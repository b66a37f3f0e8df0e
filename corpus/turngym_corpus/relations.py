"""What can be asked about a country: where the factbook says it, how the answer is read out of it, and how one asks.

A relation reads a field's text into the answer as it stands there and other ways to write it, or into nothing where the text
has no single plain answer. Its patterns take any noun phrase for a country, so that hops can be put in front of it.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

Answers = tuple[str, ...]
Reader = Callable[[str], Answers]

_NOT_A_NAME = re.compile(r"unnamed|location|elevation|\d|note -|along|junction|confluence", re.IGNORECASE)
_HEIGHT = re.compile(r"^(?P<name>[^\d;(]+?)\s*(?:\((?P<other>[^)]*)\))?\s+(?P<metres>-?[\d,]+)(?: m\b.*)?$")
_NUMBER = re.compile(r"^(?P<number>-?\$?\d[\d,.]*)(?P<rest>%?.*)$")
_TITLES = re.compile(
    r"^(?:(?:Acting|Interim|Transitional|Federal|Co-)\s*)*(?:President|Prime Minister|Chancellor|Premier|King|Queen|Emperor|Sultan|Amir|"
    r"Prince|Grand Duke|Governor|Chief Minister|Taoiseach|Captain Regents?)\s+(?:of the \w+ \w+\s+)?"
)
_SMALL = re.compile(r"^(?:on|in|at|of|the|also|located|a|an|formerly|highest|near|is)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Relation:
    """A country's attribute.

    :param name: for the template's name.
    :param field: the factbook's field, and ``label`` its part.
    :param read: from the text to answers, empty where there is none that is plain.
    :param ask: patterns with ``{x}`` for the country.
    :param last: fit for the end of a chain; the others are asked of countries alone.
    :param identifies: a pattern with ``{answer}`` for "the country whose …", where an answer tells the country.
    """

    name: str
    field: str
    label: str
    read: Reader
    ask: tuple[str, ...]
    last: bool = False
    identifies: str = ""


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


_YEARS = ("years",)
_KM = ("km", "kilometers", "kilometres")
_SQ_KM = ("sq km", "square kilometers", "square kilometres", "km2", "km²")

RELATIONS: tuple[Relation, ...] = (
    Relation("capital", "Capital", "name", plain_name,
             ("What is the capital of {x}?", "Which city is the capital of {x}?", "Name the capital city of {x}."),
             last=True, identifies="the country whose capital is {answer}"),
    Relation("currency", "Exchange rates", "Currency", currency,
             ("What is the currency of {x}?", "Which currency is used in {x}?"), last=True),
    Relation("highest_point", "Elevation", "highest point", summit,
             ("What is the highest point of {x}?", "Which summit is the highest point in {x}?"),
             last=True, identifies="the country whose highest point is {answer}"),
    Relation("highest_elevation", "Elevation", "highest point", metres,
             ("How high, in meters, is the highest point of {x}?", "What is the elevation of the highest point in {x}?"), last=True),
    Relation("lowest_point", "Elevation", "lowest point", summit, ("What is the lowest point of {x}?",), last=True),
    Relation("mean_elevation", "Elevation", "mean elevation", amount("m", "meters", "metres"),
             ("What is the mean elevation of {x}?",), last=True),
    Relation("area", "Area", "total", amount(*_SQ_KM),
             ("What is the total area of {x}?", "What is the area, in square kilometers, of {x}?"), last=True),
    Relation("coastline", "Coastline", "", amount(*_KM),
             ("How long is the coastline of {x}?", "What is the length of the coastline of {x}?"), last=True),
    Relation("borders", "Land boundaries", "total", amount(*_KM),
             ("What is the total length of the land boundaries of {x}?", "How long altogether are the land borders of {x}?"), last=True),
    Relation("population", "Population", "total", amount(),
             ("What is the total population of {x}?", "How many people live in {x}?"), last=True),
    Relation("median_age", "Median age", "total", amount(*_YEARS), ("What is the median age in {x}?",), last=True),
    Relation("life_expectancy", "Life expectancy at birth", "total population", amount(*_YEARS),
             ("What is the life expectancy at birth of the total population of {x}?",)),
    Relation("fertility", "Total fertility rate", "", amount("children born/woman", "children per woman"),
             ("What is the total fertility rate of {x}, in children born per woman?",)),
    Relation("birth_rate", "Birth rate", "", amount("births/1,000 population", "births per 1,000 population"),
             ("What is the birth rate of {x} per 1,000 population?",)),
    Relation("urban", "Urbanization", "urban population", amount("% of total population", "%", " percent"),
             ("What share of the population of {x} is urban?",)),
    Relation("internet_users", "Internet users", "percent of population", amount("% of population", "%", " percent"),
             ("What percentage of the population of {x} are internet users?",)),
    Relation("airports", "Airports", "", amount(), ("How many airports does {x} have?",)),
    Relation("railways", "Railways", "total", amount(*_KM), ("How long is the railway network of {x} in total?",)),
    Relation("irrigated", "Irrigated land", "", amount(*_SQ_KM), ("How much irrigated land does {x} have?",)),
    Relation("gdp", "GDP (official exchange rate)", "", amount(),
             ("What is the GDP of {x} at the official exchange rate?",)),
    Relation("heritage", "National heritage", "total World Heritage Sites", sites,
             ("How many World Heritage Sites does {x} have in total?",)),
    Relation("internet_code", "Internet country code", "", code,
             ("What is the internet country code of {x}?", "Which top-level internet domain belongs to {x}?"),
             last=True, identifies="the country whose internet country code is {answer}"),
    Relation("aircraft_prefix", "Civil aircraft registration country code prefix", "", code,
             ("What is the civil aircraft registration prefix of {x}?",), last=True,
             identifies="the country whose civil aircraft registration prefix is \"{answer}\""),
    Relation("anthem", "National anthem(s)", "title", anthem,
             ("What is the title of the national anthem of {x}?", "What is the name of the national anthem of {x}?"),
             last=True, identifies="the country whose national anthem is \"{answer}\""),
    Relation("anthem_words", "National anthem(s)", "lyrics/music", lyricist,
             ("Who wrote the lyrics of the national anthem of {x}?",), last=True),
    Relation("symbol", "National symbol(s)", "", plain_name, ("What is the national symbol of {x}?",), last=True),
    Relation("head_of_state", "Executive branch", "chief of state", person_in_office,
             ("Who is the chief of state of {x}?",), last=True),
    Relation("head_of_government", "Executive branch", "head of government", person_in_office,
             ("Who is the head of government of {x}?",), last=True),
    Relation("legislature", "Legislative branch", "legislature name", plain_name,
             ("What is the name of the legislature of {x}?",), last=True),
    Relation("independence", "Independence", "", date,
             ("What is the date of independence of {x}?", "What is the day, month and year of independence of {x}?"), last=True),
    Relation("freed_from", "Independence", "", freed_from, ("From which country did {x} gain independence?",)),
    Relation("long_form", "Country name", "conventional long form", plain_name,
             ("What is the conventional long form of the name of {x}?",)),
    Relation("former_name", "Country name", "former", former_name,
             ("What is the former name of {x}?",), last=True),
    Relation("local_name", "Country name", "local short form", plain_name,
             ("What is {x} called in its own language, in short form?",)),
    Relation("demonym", "Nationality", "noun", demonym, ("What do you call someone who comes from {x}?",)),
    Relation("government", "Government type", "", plain_name, ("What type of government does {x} have?",)),
    Relation("export_partner", "Exports - partners", "", first_share, ("Which country buys the largest share of the exports of {x}?",)),
    Relation("export_good", "Exports - commodities", "", first_listed, ("What is the top export commodity of {x}?",)),
    Relation("import_good", "Imports - commodities", "", first_listed, ("What is the top import commodity of {x}?",)),
    Relation("crop", "Agricultural products", "", first_listed, ("Which agricultural product is the most important one of {x}?",)),
    Relation("space_agency", "Space agency/agencies", "", agency, ("What is the name of the space agency of {x}?",), last=True),
)  # fmt: skip

MEASURES: dict[str, tuple[str, str]] = {
    "area": ("has the larger area", "has the smaller area"),
    "coastline": ("has the longer coastline", "has the shorter coastline"),
    "population": ("has more inhabitants", "has fewer inhabitants"),
    "highest_elevation": ("has the higher highest point", "has the lower highest point"),
    "median_age": ("has the higher median age", "has the lower median age"),
    "mean_elevation": ("has the higher mean elevation", "has the lower mean elevation"),
}
"""Relations by which two countries can be compared, with words for either outcome."""

_WITH_ARTICLE = re.compile(
    r"^(?:United |Dominican Republic|Central African|Republic of|Democratic Republic|European Union|Isle of|West Bank|Gaza Strip|"
    r"Netherlands|Philippines|Bahamas|Gambia|Maldives|Comoros|Faroe|Vatican|British )|Islands$|Territory$|Ocean$"
)


def with_article(name: str) -> str:
    """A country's name as it stands in a sentence: "France", "the Gambia"."""
    return f"the {name}" if _WITH_ARTICLE.search(name) else name

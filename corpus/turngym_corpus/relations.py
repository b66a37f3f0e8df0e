"""What can be asked about a country: where the factbook says it, how the answer is read out of it, and how one asks.

A pattern takes any noun phrase for a country, so that hops can be put in front of it; where that is done, it stands last.
"""

import re
from dataclasses import dataclass

from turngym_corpus import readers
from turngym_corpus.readers import Reader, amount


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


_YEARS = ("years",)
_KM = ("km", "kilometers", "kilometres")
_SQ_KM = ("sq km", "square kilometers", "square kilometres", "km2", "km²")

RELATIONS: tuple[Relation, ...] = (
    Relation(
        "capital",
        "Capital",
        "name",
        readers.plain_name,
        ("What is the capital of {x}?", "Which city is the capital of {x}?", "Name the capital city of {x}."),
        last=True,
        identifies="the country whose capital is {answer}",
    ),
    Relation(
        "currency",
        "Exchange rates",
        "Currency",
        readers.currency,
        ("What is the currency of {x}?", "Which currency is used in {x}?"),
        last=True,
    ),
    Relation(
        "highest_point",
        "Elevation",
        "highest point",
        readers.summit,
        ("What is the highest point of {x}?", "Which summit is the highest point in {x}?"),
        last=True,
        identifies="the country whose highest point is {answer}",
    ),
    Relation(
        "highest_elevation",
        "Elevation",
        "highest point",
        readers.metres,
        (
            "How high, in meters, is the highest point of {x}?",
            "What is the elevation of the highest point in {x}?",
        ),
        last=True,
    ),
    Relation(
        "lowest_point",
        "Elevation",
        "lowest point",
        readers.summit,
        ("What is the lowest point of {x}?",),
        last=True,
    ),
    Relation(
        "mean_elevation",
        "Elevation",
        "mean elevation",
        amount("m", "meters", "metres"),
        ("What is the mean elevation of {x}?",),
        last=True,
    ),
    Relation(
        "area",
        "Area",
        "total",
        amount(*_SQ_KM),
        ("What is the total area of {x}?", "What is the area, in square kilometers, of {x}?"),
        last=True,
    ),
    Relation(
        "coastline",
        "Coastline",
        "",
        amount(*_KM),
        ("How long is the coastline of {x}?", "What is the length of the coastline of {x}?"),
        last=True,
    ),
    Relation(
        "borders",
        "Land boundaries",
        "total",
        amount(*_KM),
        (
            "What is the total length of the land boundaries of {x}?",
            "How long altogether are the land borders of {x}?",
        ),
        last=True,
    ),
    Relation(
        "population",
        "Population",
        "total",
        amount(),
        ("What is the total population of {x}?", "How many people live in {x}?"),
        last=True,
    ),
    Relation(
        "median_age", "Median age", "total", amount(*_YEARS), ("What is the median age in {x}?",), last=True
    ),
    Relation(
        "life_expectancy",
        "Life expectancy at birth",
        "total population",
        amount(*_YEARS),
        ("What is the life expectancy at birth of the total population of {x}?",),
    ),
    Relation(
        "fertility",
        "Total fertility rate",
        "",
        amount("children born/woman", "children per woman"),
        ("What is the total fertility rate of {x}, in children born per woman?",),
    ),
    Relation(
        "birth_rate",
        "Birth rate",
        "",
        amount("births/1,000 population", "births per 1,000 population"),
        ("What is the birth rate of {x} per 1,000 population?",),
    ),
    Relation(
        "urban",
        "Urbanization",
        "urban population",
        amount("% of total population", "%", " percent"),
        ("What share of the population of {x} is urban?",),
    ),
    Relation(
        "internet_users",
        "Internet users",
        "percent of population",
        amount("% of population", "%", " percent"),
        ("What percentage of the population of {x} are internet users?",),
    ),
    Relation("airports", "Airports", "", amount(), ("How many airports does {x} have?",)),
    Relation(
        "railways", "Railways", "total", amount(*_KM), ("How long is the railway network of {x} in total?",)
    ),
    Relation("irrigated", "Irrigated land", "", amount(*_SQ_KM), ("How much irrigated land does {x} have?",)),
    Relation(
        "gdp",
        "GDP (official exchange rate)",
        "",
        amount(),
        ("What is the GDP of {x} at the official exchange rate?",),
    ),
    Relation(
        "heritage",
        "National heritage",
        "total World Heritage Sites",
        readers.sites,
        ("How many World Heritage Sites does {x} have in total?",),
    ),
    Relation(
        "internet_code",
        "Internet country code",
        "",
        readers.code,
        ("What is the internet country code of {x}?", "Which top-level internet domain belongs to {x}?"),
        last=True,
        identifies="the country whose internet country code is {answer}",
    ),
    Relation(
        "aircraft_prefix",
        "Civil aircraft registration country code prefix",
        "",
        readers.code,
        ("What is the civil aircraft registration prefix of {x}?",),
        last=True,
        identifies='the country whose civil aircraft registration prefix is "{answer}"',
    ),
    Relation(
        "anthem",
        "National anthem(s)",
        "title",
        readers.anthem,
        (
            "What is the title of the national anthem of {x}?",
            "What is the name of the national anthem of {x}?",
        ),
        last=True,
        identifies='the country whose national anthem is "{answer}"',
    ),
    Relation(
        "anthem_words",
        "National anthem(s)",
        "lyrics/music",
        readers.lyricist,
        ("Who wrote the lyrics of the national anthem of {x}?",),
        last=True,
    ),
    Relation(
        "symbol",
        "National symbol(s)",
        "",
        readers.plain_name,
        ("What is the national symbol of {x}?",),
        last=True,
    ),
    Relation(
        "head_of_state",
        "Executive branch",
        "chief of state",
        readers.person_in_office,
        ("Who is the chief of state of {x}?",),
        last=True,
    ),
    Relation(
        "head_of_government",
        "Executive branch",
        "head of government",
        readers.person_in_office,
        ("Who is the head of government of {x}?",),
        last=True,
    ),
    Relation(
        "legislature",
        "Legislative branch",
        "legislature name",
        readers.plain_name,
        ("What is the name of the legislature of {x}?",),
        last=True,
    ),
    Relation(
        "independence",
        "Independence",
        "",
        readers.date,
        (
            "What is the date of independence of {x}?",
            "What is the day, month and year of independence of {x}?",
        ),
        last=True,
    ),
    Relation(
        "freed_from",
        "Independence",
        "",
        readers.freed_from,
        ("From which country did {x} gain independence?",),
    ),
    Relation(
        "long_form",
        "Country name",
        "conventional long form",
        readers.plain_name,
        ("What is the conventional long form of the name of {x}?",),
    ),
    Relation(
        "former_name",
        "Country name",
        "former",
        readers.former_name,
        ("What is the former name of {x}?",),
        last=True,
    ),
    Relation(
        "local_name",
        "Country name",
        "local short form",
        readers.plain_name,
        ("What is {x} called in its own language, in short form?",),
    ),
    Relation(
        "demonym", "Nationality", "noun", readers.demonym, ("What do you call someone who comes from {x}?",)
    ),
    Relation(
        "government", "Government type", "", readers.plain_name, ("What type of government does {x} have?",)
    ),
    Relation(
        "export_partner",
        "Exports - partners",
        "",
        readers.first_share,
        ("Which country buys the largest share of the exports of {x}?",),
    ),
    Relation(
        "export_good",
        "Exports - commodities",
        "",
        readers.first_listed,
        ("What is the top export commodity of {x}?",),
    ),
    Relation(
        "import_good",
        "Imports - commodities",
        "",
        readers.first_listed,
        ("What is the top import commodity of {x}?",),
    ),
    Relation(
        "crop",
        "Agricultural products",
        "",
        readers.first_listed,
        ("Which agricultural product is the most important one of {x}?",),
    ),
    Relation(
        "space_agency",
        "Space agency/agencies",
        "",
        readers.agency,
        ("What is the name of the space agency of {x}?",),
        last=True,
    ),
)

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
    r"^(?:United |Dominican Republic|Central African|Republic of|Democratic Republic|European Union|Isle of|"
    r"West Bank|Gaza Strip|Netherlands|Philippines|Bahamas|Gambia|Maldives|Comoros|Faroe|Vatican|"
    r"British )|Islands$|Territory$|Ocean$"
)


def with_article(name: str) -> str:
    """A country's name as it stands in a sentence: "France", "the Gambia"."""
    return f"the {name}" if _WITH_ARTICLE.search(name) else name

"""The sources joined: which passages ship, what is known of countries, people, elements and places, and how they link.

A fact knows the passage that it stands in. A reference is a way to speak of a country without its name ("the country where
gallium was discovered") with the passages that resolve it. The questions' templates are elsewhere.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from turngym_corpus.passage import Passage, unique_titles
from turngym_corpus.readers import Answers, fold
from turngym_corpus.relations import RELATIONS, Relation, with_article
from turngym_corpus.sources.elements import Element, elements
from turngym_corpus.sources.factbook import Country, countries
from turngym_corpus.sources.places import Airport, City, airports, cities, iso_by_factbook_code
from turngym_corpus.sources.wordnet import Named, named_things

_BIG_CITY = 300_000  # inhabitants; smaller ones have a passage where a kept airport serves them
_AIRPORT_CITY = (
    100_000  # inhabitants; smaller ones' airports have a passage where the name doesn't tell the city
)
_NEIGHBOUR = re.compile(r"^(?P<name>.+?)\s+(?P<km>[\d,.]+) km")
_OTHER_NAMES = {  # as lists of borders have them
    "Cote d'Ivoire": "Côte d'Ivoire",
    "Czech Republic": "Czechia",
    "DRC": "Democratic Republic of the Congo",
    "Holy See": "Vatican City",
    "Macedonia": "North Macedonia",
    "UAE": "United Arab Emirates",
    "UK": "United Kingdom",
    "US": "United States",
}
_DISCOVERED_IN = {
    "England": "United Kingdom",
    "Scotland": "United Kingdom",
    "Great Britain": "United Kingdom",
}


@dataclass(frozen=True)
class Fact:
    """What a relation of a country is, and the passage that says so."""

    relation: Relation
    answers: Answers
    passage: Passage


@dataclass(frozen=True)
class Reference:
    """A noun phrase for a country.

    :param start: what the phrase starts from; decides the split.
    :param through: everything that the phrase passes through and the country itself, as keys of the split.
    :param names: what the phrase names, which must not be the answer.
    """

    phrase: str
    country: str
    gold: tuple[Passage, ...]
    template: str
    start: str
    through: frozenset[str]


@dataclass(frozen=True)
class Neighbour:
    """A country across a land border, and the border's length in km."""

    name: str
    km: float


@dataclass
class World:
    """Everything that the questions are made from. Keys of countries are their names."""

    passages: list[Passage]
    countries: dict[str, Country]
    facts: dict[str, dict[str, Fact]]
    neighbours: dict[str, list[Neighbour]]
    elements: list[Element]
    people: list[Named]
    cities: list[City]
    airports: list[Airport]
    city_country: dict[int, str]
    nationality: dict[str, str] = field(default_factory=dict)

    def phrase(self, country: str) -> str:
        """A country's name as it stands in a sentence."""
        return with_article(country)


def build_world(dictionary: Path, keep: Callable[[str], bool] = lambda group: True) -> World:
    """Reads all sources and joins them.

    :param dictionary: the folder of WordNet's ``data.noun``.
    :param keep: which groups to read: a country (``factbook/fr``), ``wordnet``, ``elements``, ``places``.
    """
    book = list(countries(lambda code: keep(f"factbook/{code}")))
    named = list(named_things(dictionary)) if keep("wordnet") else []
    every_element = list(elements()) if keep("elements") else []
    kept_cities, kept_airports = _places() if keep("places") else ([], [])
    everything: list[Iterable[Passage]] = [country.passages for country in book]
    everything += [element.passages.values() for element in every_element]
    everything += [[thing.passage for thing in named]]
    everything += [[city.passage for city in kept_cities], [airport.passage for airport in kept_airports]]
    passages = list(unique_titles(passage for group in everything for passage in group))
    ids = {passage.id for passage in passages}
    by_code = iso_by_factbook_code()
    states = {country.name: country for country in book if country.value("Population", "total")}
    states.pop("World", None)
    country_of_iso = {by_code[c.code]: c.name for c in states.values() if c.code in by_code}
    facts = {name: dict(_facts(country)) for name, country in states.items()}
    world = World(
        passages=passages,
        countries=states,
        facts=facts,
        neighbours={name: _neighbours(country, states) for name, country in states.items()},
        elements=every_element,
        people=[thing for thing in named if thing.is_person and thing.passage.id in ids],
        cities=[city for city in kept_cities if city.passage.id in ids],
        airports=[airport for airport in kept_airports if airport.passage.id in ids],
        city_country={c.key: country_of_iso[c.country] for c in kept_cities if c.country in country_of_iso},
    )
    world.nationality = _nationalities(world)
    return world


def _places() -> tuple[list[City], list[Airport]]:
    every = list(cities())
    known = {(city.name.casefold(), city.country): city for city in every}
    served = [
        airport
        for airport in airports(known)
        if airport.city.population >= _AIRPORT_CITY
        or airport.city.name.casefold() not in airport.name.casefold()
    ]
    keys = {airport.city.key for airport in served}
    return [city for city in every if city.population >= _BIG_CITY or city.key in keys], served


def _facts(country: Country) -> Iterator[tuple[str, Fact]]:
    for relation in RELATIONS:
        answers = relation.read(country.value(relation.field, relation.label))
        passage = country.passage_of(relation.field, answers[0]) if answers else None
        if passage is not None:
            yield relation.name, Fact(relation, answers, passage)


def _neighbours(country: Country, states: dict[str, Country]) -> list[Neighbour]:
    """The countries across its land borders; none at all where one of them can't be told."""
    found = []
    text = re.sub(r"\([^)]*\)", "", country.value("Land boundaries", "border countries"))
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = _NEIGHBOUR.match(part)
        name = (
            _OTHER_NAMES.get(match["name"].strip(), match["name"].strip()).removeprefix("The ")
            if match
            else ""
        )
        if match is None or name not in states:
            return []
        found.append(Neighbour(name, float(match["km"].replace(",", ""))))
    return found


def _nationalities(world: World) -> dict[str, str]:
    """From adjectives to the one country that they belong to."""
    found: dict[str, list[str]] = {}
    for name, country in world.countries.items():
        text = country.value("Nationality", "adjective")
        if re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*", text):
            found.setdefault(text, []).append(name)
    single = {adjective: names[0] for adjective, names in found.items() if len(names) == 1}
    return {**single, "United States": "United States"}


def references(world: World) -> Iterator[Reference]:
    """Every way to speak of a country, by one hop and by two. A phrase that fits two countries isn't among them."""
    direct = list(_direct(world))
    yield from direct
    # one more hop: the neighbour with the longest common border
    named = [
        Reference(world.phrase(name), name, (), "country", f"country/{name}", frozenset({f"country/{name}"}))
        for name in world.countries
    ]
    for reference in named + direct:
        borders = sorted(world.neighbours[reference.country], key=lambda n: -n.km)
        passage = world.countries[reference.country].passage_of("Land boundaries")
        if len(borders) < 2 or borders[0].km == borders[1].km or passage is None:
            continue
        neighbour = borders[0].name
        yield Reference(
            f"the country that shares the longest land border with {reference.phrase}",
            neighbour,
            (*reference.gold, passage),
            f"{reference.template}>neighbour",
            reference.start,
            reference.through | {f"country/{neighbour}"},
        )


def _direct(world: World) -> Iterator[Reference]:
    for relation in RELATIONS:
        if relation.identifies:
            every = {n: f[relation.name] for n, f in world.facts.items() if relation.name in f}
            count = Counter(fold(fact.answers[0]).casefold() for fact in every.values())
            for name, fact in every.items():
                if count[fold(fact.answers[0]).casefold()] == 1:
                    yield _reference(
                        relation.identifies.format(answer=fact.answers[0]),
                        name,
                        (fact.passage,),
                        relation.name,
                        f"country/{name}",
                    )
    for element in world.elements:
        country = _DISCOVERED_IN.get(element.location, element.location)
        if country in world.countries and "Discovery" in element.passages:
            phrase = f"the country where the element {element.name.lower()} was discovered"
            if country == element.location:
                yield _reference(
                    phrase, country, (element.passages["Discovery"],), "element", f"element/{element.name}"
                )
    same_name = Counter(city.name.casefold() for city in world.cities)
    for city in world.cities:
        if city.key in world.city_country and same_name[city.name.casefold()] == 1:
            country = world.city_country[city.key]
            yield _reference(
                f"the country where the city of {city.name} lies",
                country,
                (city.passage,),
                "city",
                f"country/{country}",
            )
    for airport in world.airports:
        if airport.city.key in world.city_country and same_name[airport.city.name.casefold()] == 1:
            country = world.city_country[airport.city.key]
            phrase = f"the country whose city is served by {airport.name}"
            yield _reference(
                phrase, country, (airport.passage, airport.city.passage), "airport", f"country/{country}"
            )
    for person in world.people:
        country = home_country(world, person) or ""
        if country:
            phrase = f"the home country of {person.passage.title}"
            yield _reference(phrase, country, (person.passage,), "person", f"person/{person.passage.id}")


def _reference(phrase: str, country: str, gold: tuple[Passage, ...], template: str, start: str) -> Reference:
    return Reference(phrase, country, gold, template, start, frozenset({start, f"country/{country}"}))


def home_country(world: World, person: Named) -> str | None:
    """The country whose adjective a person's gloss begins with; None where the gloss tells of another one too."""
    words = person.gloss.split()
    if re.search(r"\bborn in\b|\bborn of\b|-born\b", person.gloss):
        return None
    for length in (2, 1):
        country = world.nationality.get(" ".join(words[:length]))
        if (
            country
            and len(words) > length
            and words[length][0].islower()
            and words[length] not in ("and", "or")
        ):
            return country
    return None

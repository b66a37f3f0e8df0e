"""Players that know nothing of a task: they read the elements of a page and act at random. The floor that figures stand on."""

from collections.abc import Mapping
from random import Random

from turngym_webarena.observation import Element

_CLICKED = frozenset(
    (
        "link",
        "button",
        "checkbox",
        "radio",
        "menuitem",
        "tab",
        "option",
        "switch",
        "treeitem",
        "DisclosureTriangle",
    )
)
_WRITTEN = frozenset(("textbox", "searchbox", "spinbutton"))
_POINTED = frozenset(("heading", "StaticText", "img", "cell", "listitem"))
_STOP_RATE = 0.05
_WRITE_RATE = 0.5  # of turns that chose a field


def actions(elements: Mapping[int, Element], tabs: int) -> list[str]:
    """The actions on what is shown that need no text of one's own."""
    found = [f"click [{number}]" for number, element in elements.items() if element.role in _CLICKED]
    found += [f"clear [{number}]" for number, element in elements.items() if element.role in _WRITTEN]
    found += ["scroll [down]", "scroll [up]", "go_back", "new_tab", "stop []"]
    return found + [f"tab_focus [{index}]" for index in range(tabs)]


def random_action(rng: Random, elements: Mapping[int, Element], tabs: int) -> str:
    """An action drawn at random: a field gets a name of the page, a stop answers with one."""
    names = [" ".join(element.name.split()) for element in elements.values() if element.name.strip()]
    chosen = rng.random()
    if chosen < _STOP_RATE:
        return f"stop [{_answer(rng, names)}]"
    fields = [number for number, element in elements.items() if element.role in _WRITTEN]
    if fields and chosen < _STOP_RATE + _WRITE_RATE * len(fields) / len(elements):
        return f"type [{rng.choice(fields)}] [{_answer(rng, names)}]"
    able = [action for action in actions(elements, tabs) if not action.startswith("stop")]
    return rng.choice(able)


def useless_action(rng: Random, elements: Mapping[int, Element]) -> str:
    """A well-formed action that brings no task forward: pointing at a text, or looking up and down."""
    pointed = [number for number, element in elements.items() if element.role in _POINTED]
    if pointed and rng.random() < 0.7:
        return f"hover [{rng.choice(pointed)}]"
    return rng.choice(["scroll [down]", "scroll [up]", "tab_focus [0]"])


def _answer(rng: Random, names: list[str]) -> str:
    return rng.choice(names)[:60] if names else ""

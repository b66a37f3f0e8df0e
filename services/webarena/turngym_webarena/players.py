"""Players: the oracle, made to answer at any turn of an episode, and those that know nothing of a task and act at random."""

import re
from collections.abc import Mapping
from random import Random
from typing import Protocol

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
_LINE = re.compile(r"^\t*\[(\d+)\] (.*)$", re.MULTILINE)
_STOP_RATE = 0.05
_WRITE_RATE = 0.5  # of turns that chose a field


class Oracle(Protocol):
    """Plays one task from its beginning by reading observations; every answer is taken as played."""

    def act(self, observation: str) -> str:
        """The next action from what is seen."""
        ...


class Guide:
    """An oracle that can be asked at any turn, twice, or never: also after other actions, and after a replay.

    What it advises follows from the episode's observations and actions alone. Advice that was not followed stands until it is,
    with the id that its element has by then.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._past: list[tuple[str, str]] = []
        self._standing: tuple[str, str] | None = None  # what was seen, and what was advised there

    def record(self, observation: str, action: str) -> None:
        """A turn was played: what was seen before it, and what was done."""
        self._past.append((observation, action))

    def advise(self, observation: str) -> str:
        """What to do now."""
        for seen, done in self._past:
            if self._advise(seen) == done:
                self._standing = None
        self._past.clear()
        return self._advise(observation)

    def _advise(self, observation: str) -> str:
        if self._standing is None:
            self._standing = observation, self._oracle.act(observation).strip()
        else:
            seen, action = self._standing
            self._standing = observation, carried(action, seen, observation)
        return self._standing[1]


def carried(action: str, before: str, after: str) -> str:
    """The same action on the same element of a later observation; unchanged where there is none."""
    named = re.match(r"(?:click|hover|type|clear|select) \[(\d+)\]", action)
    if named is None or before == after:
        return action
    old, new = _LINE.findall(before), _LINE.findall(after)
    body = next((body for number, body in old if number == named[1]), None)
    nth = [number for number, found in old if found == body].index(named[1]) if body is not None else 0
    same = [number for number, found in new if found == body]
    if nth >= len(same):
        return action
    return f"{action[: named.start(1)]}{same[nth]}{action[named.end(1) :]}"


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

"""Players: the oracle asked at any turn, and random ones whose actions can all be read."""

from random import Random

import pytest

from turngym_webarena.actions import parse_action
from turngym_webarena.observation import Element
from turngym_webarena.players import Guide, actions, carried, random_action, useless_action

HOME = "Tab 0 (current): A\n\n[1] RootWebArea 'A'\n\t[2] link 'Mugs'\n\t[3] link 'Hats'\n\t[4] link 'Mugs'"
MOVED = "Refused: no.\n\nTab 0 (current): A\n\n[1] RootWebArea 'A'\n\t[2] img 'new'\n\t[3] link 'Mugs'\n\t[4] link 'Mugs'"


class Script:
    """A player that says one thing after another and remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def act(self, observation: str) -> str:
        """The next of its lines."""
        self.shown.append(observation)
        return ["click [4]", "type [2] [x]", "stop [y]"][len(self.shown) - 1]


def test_advice_does_not_change_by_being_asked_for() -> None:
    guide = Guide(Script())
    assert guide.advise(HOME) == guide.advise(HOME) == "click [4]"


def test_followed_advice_leads_on_and_other_actions_do_not() -> None:
    guide = Guide(Script())
    guide.advise(HOME)
    guide.record(HOME, "scroll [down]")
    assert guide.advise(HOME) == "click [4]"
    guide.record(HOME, "click [4]")
    assert guide.advise("page 2") == "type [2] [x]"


def test_a_replay_leads_to_the_same_advice_without_having_been_asked() -> None:
    played = [(HOME, "scroll [down]"), (HOME, "click [4]"), ("page 2", "go_back"), ("page 2", "type [2] [x]")]
    guide, script = Guide(Script()), Script()
    for seen, done in played:
        guide.record(seen, done)
    assert guide.advise("page 3") == "stop [y]"
    asked = Guide(script)
    for seen, done in played:
        asked.advise(seen)
        asked.record(seen, done)
    assert asked.advise("page 3") == "stop [y]"
    assert script.shown == [HOME, "page 2", "page 3"]


@pytest.mark.parametrize(
    ("action", "moved"),
    [
        ("click [2]", "click [3]"),
        ("click [4]", "click [4]"),
        ("type [2] [[2]] [0]", "type [3] [[2]] [0]"),
        ("click [3]", "click [3]"),
        ("click [9]", "click [9]"),
        ("press [2]", "press [2]"),
        ("stop [2]", "stop [2]"),
    ],
)
def test_advice_keeps_to_its_element_when_ids_move(action: str, moved: str) -> None:
    assert carried(action, HOME, MOVED) == moved


def test_every_random_action_can_be_read() -> None:
    elements = {
        1: Element(1, "RootWebArea", "A shop"),
        2: Element(2, "textbox", "Search"),
        3: Element(3, "link", "it's [odd]\n"),
        4: Element(4, "option", "Red"),
        5: Element(None, "StaticText", ""),
    }
    rng = Random(0)
    for action in [random_action(rng, elements, 2) for _ in range(300)] + actions(elements, 2):
        parse_action(action)
    assert {useless_action(rng, elements).split()[0] for _ in range(100)} == {"hover", "scroll", "tab_focus"}
    assert random_action(rng, {}, 1)

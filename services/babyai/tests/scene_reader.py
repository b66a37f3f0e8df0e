"""Reads a scene back from its text, by what the README says of it and with none of the code that writes it."""

import re
from dataclasses import dataclass, field

_THING = re.compile(
    r"(?P<name>\w+ (?:door|key|ball|box) \d+)(?:, (?P<state>open|closed|locked))?: (?P<place>.+)"
)
_PLACE = re.compile(r"(\d+) (ahead|behind|left|right)")


@dataclass
class Scene:
    """What a text says. Places are (ahead, right) in cells; walls go by their side."""

    in_sight: dict[str, tuple[int, int]] = field(default_factory=dict)
    before: dict[str, tuple[int, int]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    standing_in: str | None = None
    walls: dict[str, int] = field(default_factory=dict)
    carrying: str | None = None
    offers: list[str] | None = None


def read(text: str) -> Scene:
    """The scene of an observation. Raises ValueError for a line that fits nothing."""
    scene = Scene()
    listed: dict[str, tuple[int, int]] | None = None
    for line in text.splitlines():
        head, _, rest = line.partition(":")
        rest = rest.strip()
        if head in ("In sight", "Seen before"):
            listed = scene.in_sight if head == "In sight" else scene.before
            if rest not in ("", "nothing"):
                raise ValueError(line)
        elif head == "Standing in":
            scene.standing_in, _, state = rest.partition(", ")
            scene.states[scene.standing_in] = state
        elif head == "Walls":
            scene.walls = {side: int(n) for n, side in _PLACE.findall(rest)}
        elif head == "Carrying":
            scene.carrying = None if rest == "nothing" else rest
        elif head == "You can":
            scene.offers = rest.split("; ")
        elif (match := _THING.fullmatch(line)) and listed is not None:
            found = {side: int(n) for n, side in _PLACE.findall(match["place"])}
            listed[match["name"]] = (
                found.get("ahead", 0) - found.get("behind", 0),
                found.get("right", 0) - found.get("left", 0),
            )
            if match["state"]:
                scene.states[match["name"]] = match["state"]
        elif not line.startswith("Mission: "):
            raise ValueError(line)
    return scene

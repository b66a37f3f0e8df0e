"""The two sets of actions: what the agent may write, what it does in the game, and what is possible now.

``primitive`` has minigrid's own six actions. ``high-level`` adds those that name a thing and plan a way over what has been
seen; each takes as many of minigrid's steps as it needs. A primitive action is always a step of the game, even where it has
no effect; a high-level one that can't be done is refused and the game doesn't move.
"""

import re
from dataclasses import dataclass
from typing import Any

from turngym.schema import ActionGrammar, Command
from turngym_babyai.view import DIRECTIONS, Cell
from turngym_babyai.world import DROP, FORWARD, LEFT, NOTHING, PICKUP, RIGHT, TOGGLE, World

GRAMMAR = ActionGrammar(
    forms=["react", "fenced", "bare"],
    commands=[
        Command(template="turn left", description="turn by a quarter", example="turn left"),
        Command(template="turn right", description="turn by a quarter", example="turn right"),
        Command(template="move forward", description="one step ahead", example="move forward"),
        Command(
            template="pick up", description="take what is 1 ahead; hands must be free", example="pick up"
        ),
        Command(template="drop", description="put down what you carry, 1 ahead", example="drop"),
        Command(
            template="toggle",
            description="open, close or unlock the door that is 1 ahead, or open the box there",
            example="toggle",
        ),
        Command(
            template="go to {thing}",
            description="walk up to a thing that you have seen and face it",
            example="go to red ball 1",
        ),
        Command(
            template="pick up {thing}",
            description="walk up to a thing and take it; hands must be free",
            example="pick up red ball 1",
        ),
        Command(
            template="go through {door}",
            description="walk through an open door",
            example="go through green door 1",
        ),
        Command(
            template="toggle and go through {door}",
            description="open a door, with its key if it is locked, and walk through",
            example="toggle and go through green door 1",
        ),
    ],
    stop=["\nObservation:"],
)

PRIMITIVE = {
    "turn left": LEFT,
    "turn right": RIGHT,
    "move forward": FORWARD,
    "pick up": PICKUP,
    "drop": DROP,
    "toggle": TOGGLE,
}
WORDS = {action: word for word, action in PRIMITIVE.items()}
_NAMED = re.compile(r"(go to|pick up|go through|toggle and go through) (?:the )?(.+)")
_SPELLINGS = (
    (re.compile(r"^pickup\b"), "pick up"),
    (re.compile(r"^goto\b"), "go to"),
    (re.compile(r"^(?:go|move) ahead$|^(?:go )?forward$"), "move forward"),
)
_SHOWN = 60  # characters of an agent's own text that are repeated to it


class Impossible(Exception):
    """The action can't be done in the present state, or isn't one. The message says why; the game did not move."""


@dataclass(frozen=True, slots=True)
class Order:
    """What an action comes to: minigrid's actions one after another, then ``through`` more steps ahead where free."""

    actions: list[int]
    through: int = 0


def read(text: str) -> str:
    """An action in its plain spelling: lower case, single spaces, ``pick up`` for ``pickup``."""
    plain = " ".join(text.lower().split()).rstrip(".")
    for pattern, spelling in _SPELLINGS:
        plain = pattern.sub(spelling, plain)
    return plain


def ordered(world: World, text: str, high_level: bool) -> Order:
    """What the agent's action comes to in this state.

    :param text: the action as :func:`read` gives it.
    :raises Impossible: if there is no such action, no such thing, or no way.
    """
    if text in PRIMITIVE:
        return Order([PRIMITIVE[text]])
    match = _NAMED.fullmatch(text)
    if match is None or not high_level:
        known = ", ".join(PRIMITIVE) + (", go to, go through, toggle and go through" if high_level else "")
        raise Impossible(f"Unknown action: {_short(text)}. Use {known}")
    verb, thing, cell = match[1], *_resolve(world, match[2])
    name = world.names[thing]
    if verb == "go to":
        return Order(_way(world.way_to_face(cell), f"go to {name}") or [NOTHING])
    if verb == "pick up":
        return _pick_up(world, thing, cell)
    return _pass(world, thing, cell, verb)


def _pick_up(world: World, thing: Any, cell: Cell) -> Order:
    name, carried = world.names[thing], world.game.carrying
    if not thing.can_pickup():
        raise Impossible(f"Can't pick up {name}: it can't be carried")
    if carried is not None:
        raise Impossible(f"Can't pick up {name}: you carry {world.names[carried]}")
    return Order([*_way(world.way_to_face(cell), f"pick up {name}"), PICKUP])


def _pass(world: World, door: Any, cell: Cell, verb: str) -> Order:
    name = world.names[door]
    if door.type != "door":
        raise Impossible(f"Can't {verb} {name}: it is no door")
    if door is world.under:
        raise Impossible(f"Can't {verb} {name}: you stand in it; move forward")
    if verb == "go through":
        if not door.is_open:
            raise Impossible(f"Can't {verb} {name}: it is {'locked' if door.is_locked else 'closed'}")
        return Order(_way(world.way_into(cell), f"{verb} {name}"), through=1)
    if door.is_open:
        raise Impossible(f"Can't {verb} {name}: it is open; go through it")
    if not opens(world, door):
        raise Impossible(f"Can't {verb} {name}: it is locked, and you don't carry a {door.color} key")
    return Order([*_way(world.way_to_face(cell), f"{verb} {name}"), TOGGLE], through=2)


def opens(world: World, door: Any) -> bool:
    """Whether the agent could open the door with what it carries."""
    carried = world.game.carrying
    return not door.is_locked or (
        carried is not None and carried.type == "key" and carried.color == door.color
    )


def carry_out(world: World, order: Order) -> bool:
    """Do it, up to the game's end. Returns whether anything changed."""
    changed = False
    for action in order.actions:
        if world.verdict is None:
            changed |= world.act(action)
    for _ in range(order.through):
        if world.verdict is None and (world.facing is None or world.facing.can_overlap()):
            changed |= world.act(FORWARD)
    return changed


def hindrance(world: World, action: int) -> str:
    """Why one of minigrid's actions has no effect now."""
    thing, carried = world.facing, world.game.carrying
    ahead = "nothing" if thing is None else world.names.get(thing, "a wall")
    if action == FORWARD:
        return f"Can't move forward: {ahead} is in the way"
    if action == PICKUP:
        if thing is not None and thing.can_pickup() and carried is not None:
            return f"Can't pick up {ahead}: you carry {world.names[carried]}"
        return f"Can't pick up: {ahead} is 1 ahead" if thing is None else f"Can't pick up {ahead}"
    if action == DROP:
        return "Can't drop: you carry nothing" if carried is None else f"Can't drop: {ahead} is in the way"
    if thing is not None and thing.type == "door":
        return f"Can't toggle {ahead}: it is locked, and you don't carry a {thing.color} key"
    return f"Can't toggle: {ahead} is 1 ahead"


def offers(world: World, high_level: bool) -> list[str]:
    """Every action that can be done now, the plain ones first; what names a thing in the order of first sight."""
    thing, carried = world.facing, world.game.carrying
    found = ["turn left", "turn right"]
    if thing is None or thing.can_overlap():
        found.append("move forward")
    if thing is not None and thing.can_pickup() and carried is None:
        found.append("pick up")
    if thing is None and carried is not None:
        found.append("drop")
    if thing is not None and (thing.type == "box" or (thing.type == "door" and opens(world, thing))):
        found.append("toggle")
    if not high_level:
        return found
    near = world.reachable()
    for known, (x, y) in world.known().items():
        if known is world.under:
            continue
        name = world.names[known]
        if any((x + dx, y + dy) in near for dx, dy in DIRECTIONS):
            found.append(f"go to {name}")
            if known.can_pickup() and carried is None:
                found.append(f"pick up {name}")
            if known.type == "door" and not known.is_open and opens(world, known):
                found.append(f"toggle and go through {name}")
            if known.type == "door" and known.is_open:
                found.append(f"go through {name}")
    return found


def _resolve(world: World, words: str) -> tuple[Any, Cell]:
    """The known thing of that name; the number may be left out where there is but one of its kind."""
    known = world.known()
    exact = [thing for thing in known if world.names[thing] == words]
    alike = exact or [thing for thing in known if world.names[thing].rpartition(" ")[0] == words]
    if len(alike) == 1:
        return alike[0], known[alike[0]]
    if alike:
        raise Impossible(f"Which one: {', '.join(world.names[thing] for thing in alike)}?")
    carried = world.game.carrying
    if carried is not None and words in (world.names[carried], world.names[carried].rpartition(" ")[0]):
        raise Impossible(f"You carry {world.names[carried]}")
    raise Impossible(f"You have seen no {_short(words)}")


def _way(actions: list[int] | None, what: str) -> list[int]:
    if actions is None:
        raise Impossible(f"Can't {what}: you know of no free way there")
    return actions


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"

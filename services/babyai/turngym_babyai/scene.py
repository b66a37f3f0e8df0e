"""The state of a game in words: what is in sight and where, what was seen before, walls, what is carried.

Each thing has a line of its own, ``red ball 1: 3 ahead, 1 right``, a door with its state, ``green door 1, locked: 2 ahead``.
Distances count cells from the agent, so a thing ``1 ahead`` is faced. All of it is read off the grid.
"""

from collections.abc import Iterable
from typing import Any

from turngym_babyai.view import Cell
from turngym_babyai.world import World


def door_state(door: Any) -> str:
    """ "open", "closed" or "locked"."""
    if door.is_open:
        return "open"
    return "locked" if door.is_locked else "closed"


def place(ahead: int, right: int) -> str:
    """A place from the agent's point of view: ``3 ahead, 1 right``; ``2 behind``; ``1 left``."""
    parts = []
    if ahead:
        parts.append(f"{abs(ahead)} {'ahead' if ahead > 0 else 'behind'}")
    if right:
        parts.append(f"{abs(right)} {'right' if right > 0 else 'left'}")
    return ", ".join(parts)


def described(world: World, offers: Iterable[str] | None, memory: bool) -> str:
    """The scene, several lines.

    :param offers: the actions to list as possible, or None to list none.
    :param memory: also say where the things are that were seen before and are out of sight.
    """
    spots = world.things()
    lines = _listed("In sight", [(spot.thing, spot.ahead, spot.right) for spot in spots], world)
    if memory:
        in_sight = {spot.thing for spot in spots} | {world.under}
        before = [(thing, *world.relative(cell)) for thing, cell in _sorted(world) if thing not in in_sight]
        lines += _listed("Seen before", before, world) if before else []
    if world.under is not None:
        lines.append(f"Standing in: {world.names[world.under]}, {door_state(world.under)}")
    lines.append(f"Walls: {walls(world)}")
    carried = world.game.carrying
    lines.append(f"Carrying: {world.names[carried] if carried is not None else 'nothing'}")
    if offers is not None:
        lines.append(f"You can: {'; '.join(offers)}")
    return "\n".join(lines)


def walls(world: World) -> str:
    """How far the nearest visible wall is straight ahead, to the left and to the right: ``4 ahead, 2 left``."""
    straight: dict[str, int] = {}
    for spot in world.spots:
        if spot.thing is None or spot.thing.type != "wall" or (spot.ahead and spot.right):
            continue
        side = "ahead" if spot.ahead else "left" if spot.right < 0 else "right"
        straight[side] = min(spot.distance, straight.get(side, spot.distance))
    found = [f"{straight[side]} {side}" for side in ("ahead", "left", "right") if side in straight]
    return ", ".join(found) or "none"


def _listed(head: str, things: list[tuple[Any, int, int]], world: World) -> list[str]:
    if not things:
        return [f"{head}: nothing"]
    lines = [f"{head}:"]
    for thing, ahead, right in things:
        state = f", {door_state(thing)}" if thing.type == "door" else ""
        lines.append(f"{world.names[thing]}{state}: {place(ahead, right)}")
    return lines


def _sorted(world: World) -> list[tuple[Any, Cell]]:
    """The known things, the near before the far."""

    def far(entry: tuple[Any, Cell]) -> tuple[int, int, int]:
        ahead, right = world.relative(entry[1])
        return abs(ahead) + abs(right), ahead, right

    return sorted(world.known().items(), key=far)

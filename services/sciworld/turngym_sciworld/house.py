"""The house, and walks through all of its rooms: what the simulator's solutions search by where they have to find something.

The simulator draws one of the shortest such walks at random, at the first solution that starts in a room, and keeps it for
all later ones; so a solution would depend on the solutions before it, and the first of them takes seconds. Here each room
has one walk, found in no time, which the simulator is given instead. Every task has the same house.
"""

from collections import deque
from collections.abc import Sequence

DOORS = {
    "art studio": ("hallway",),
    "bathroom": ("kitchen",),
    "bedroom": ("hallway",),
    "foundry": ("outside",),
    "greenhouse": ("hallway", "outside"),
    "hallway": ("art studio", "bedroom", "greenhouse", "kitchen", "living room", "workshop"),
    "kitchen": ("bathroom", "hallway", "outside"),
    "living room": ("hallway",),
    "outside": ("foundry", "greenhouse", "kitchen"),
    "workshop": ("hallway",),
}


def walk(start: str) -> Sequence[str]:
    """A shortest walk from ``start`` that comes through every room, without ``start`` itself; of several the first by name."""
    queue: deque[tuple[str, ...]] = deque([(start,)])
    seen = {(start, frozenset([start]))}
    while True:
        rooms = queue.popleft()
        if len(set(rooms)) == len(DOORS):
            return rooms[1:]
        for room in DOORS[rooms[-1]]:
            state = room, frozenset((*rooms, room))
            if state not in seen:
                seen.add(state)
                queue.append((*rooms, room))

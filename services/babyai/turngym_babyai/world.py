"""A game with a memory: what the agent has seen so far, the names of things, and the ways that can be planned over that.

Nothing in a game moves but by the agent's own hand, and that it sees. So whatever was seen once is known for good, and a way
over seen cells never fails. A thing gets its name, ``red ball 1``, when it is first seen, and keeps it.
"""

from collections import deque
from typing import Any

from minigrid.core.actions import Actions

from turngym_babyai.levels import dispose, new_game
from turngym_babyai.view import DIRECTIONS, Cell, Spot, at, front, position, visible

LEFT, RIGHT, FORWARD = int(Actions.left), int(Actions.right), int(Actions.forward)
PICKUP, DROP, TOGGLE, NOTHING = int(Actions.pickup), int(Actions.drop), int(Actions.toggle), int(Actions.done)


class World:
    """One game in progress.

    :ivar game: minigrid's environment.
    :ivar spots: what is in sight now.
    :ivar seen: every cell that was in sight at some time.
    :ivar names: every thing that was in sight at some time (walls apart), with its name, in the order of first sight.
    :ivar log: minigrid's actions so far.
    :ivar reward: what minigrid paid for success, 0 before.
    :ivar verdict: "success", "failure" or "timeout" once the game is over, else None.
    """

    def __init__(self, level: str, seed: int) -> None:
        self.level = level
        self.seed = seed
        self.game = new_game(level, seed)
        self.seen: set[Cell] = set()
        self.names: dict[Any, str] = {}
        self.log: list[int] = []
        self.reward = 0.0
        self.verdict: str | None = None
        if self.game.carrying is not None:
            self._name(self.game.carrying)
        self.spots: list[Spot] = []
        self._look()

    def act(self, action: int) -> bool:
        """Carry out one of minigrid's actions. Returns whether it changed anything.

        Must not be called once the game is over.
        """
        before = self._state()
        _, reward, terminated, truncated, _ = self.game.step(action)
        self.log.append(action)
        if terminated:
            self.reward = float(reward)
            self.verdict = "success" if reward > 0 else "failure"
        elif truncated:
            self.verdict = "timeout"
        changed = self._state() != before
        if changed:
            self._look()
        return changed

    def follow(self, actions: list[int]) -> None:
        """Carry out actions one after another, up to the game's end."""
        for action in actions:
            if self.verdict is not None:
                return
            self.act(action)

    def close(self) -> None:
        """Free the game."""
        self.names.clear()
        self.spots = []
        dispose(self.game)

    @property
    def facing(self) -> Any:
        """The thing in the cell ahead, or None."""
        return at(self.game, front(self.game))

    @property
    def under(self) -> Any:
        """The thing in the agent's own cell (an open door), or None."""
        return at(self.game, position(self.game))

    def known(self) -> dict[Any, Cell]:
        """Where each named thing is; what is carried or gone is left out."""
        width, grid = self.game.width, self.game.grid.grid
        found = {thing: (i % width, i // width) for i, thing in enumerate(grid) if thing in self.names}
        return {thing: found[thing] for thing in self.names if thing in found}

    def relative(self, cell: Cell) -> tuple[int, int]:
        """How far a cell is ahead (negative: behind) and to the right (negative: left)."""
        (x, y), (dx, dy) = position(self.game), DIRECTIONS[self.game.agent_dir]
        i, j = cell[0] - x, cell[1] - y
        return i * dx + j * dy, j * dx - i * dy

    def reachable(self) -> set[Cell]:
        """The cells that the agent can walk to over seen, free cells, its own among them."""
        start = position(self.game)
        found, queue = {start}, [start]
        while queue:
            x, y = queue.pop()
            for dx, dy in DIRECTIONS:
                cell = (x + dx, y + dy)
                if cell not in found and self.free(cell):
                    found.add(cell)
                    queue.append(cell)
        return found

    def free(self, cell: Cell) -> bool:
        """Whether a cell was seen and can be walked on."""
        if cell not in self.seen:
            return False
        thing = at(self.game, cell)
        return thing is None or bool(thing.can_overlap())

    def way_to_face(self, target: Cell) -> list[int] | None:
        """The fewest actions after which the agent stands beside ``target`` and faces it, or None if there is no way."""
        return self._way(lambda cell, ahead: ahead == target)

    def way_into(self, target: Cell) -> list[int] | None:
        """The fewest actions after which the agent stands in ``target``, or None if there is no way."""
        return self._way(lambda cell, ahead: cell == target)

    def _way(self, arrived: Any) -> list[int] | None:
        start = (position(self.game), int(self.game.agent_dir))
        came: dict[tuple[Cell, int], tuple[tuple[Cell, int], int] | None] = {start: None}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            (x, y), way = state
            ahead = (x + DIRECTIONS[way][0], y + DIRECTIONS[way][1])
            if arrived((x, y), ahead):
                return _unwound(came, state)
            turns = (((x, y), (way - 1) % 4), LEFT), (((x, y), (way + 1) % 4), RIGHT)
            for after, action in (((ahead, way), FORWARD), *turns):
                if after not in came and (action != FORWARD or self.free(ahead)):
                    came[after] = (state, action)
                    queue.append(after)
        return None

    def _state(self) -> tuple[Any, ...]:
        game = self.game
        thing = at(game, front(game))
        return (
            position(game),
            int(game.agent_dir),
            game.carrying,
            thing,
            thing.encode() if thing is not None else None,
        )

    def _look(self) -> None:
        self.spots = visible(self.game)
        self.seen.update(spot.cell for spot in self.spots)
        for spot in self.things():
            if spot.thing not in self.names:
                self._name(spot.thing)

    def things(self) -> list[Spot]:
        """What is in sight, walls and the agent's own cell apart: the near before the far, then from left to right."""
        found = [
            spot
            for spot in self.spots
            if spot.thing is not None and spot.thing.type != "wall" and spot.distance
        ]
        return sorted(found, key=lambda spot: (spot.distance, spot.right))

    def _name(self, thing: Any) -> None:
        kind = f"{thing.color} {thing.type}"
        alike = sum(1 for other in self.names if f"{other.color} {other.type}" == kind)
        self.names[thing] = f"{kind} {alike + 1}"


def _unwound(came: dict[Any, Any], state: Any) -> list[int]:
    """The actions that led to a state of the search."""
    actions: list[int] = []
    while (step := came[state]) is not None:
        state, action = step
        actions.append(action)
    return actions[::-1]

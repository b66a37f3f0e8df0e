"""Players of BabyAI: minigrid's bot, lifted to either action set, and the useless actions of a novice.

The bot plans minigrid's actions and mends its plan after whatever was done. It plays along in a game of its own that takes the
same actions, so the expert's word depends on the episode's history alone and asking never touches the episode. Where the bot
loses its thread (other actions than its own can bring that about) a fresh one goes on with what is left of the mission.

Three levels are not claimed (:data:`EXCLUDED`).
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from minigrid.envs.babyai.core.verifier import ObjDesc, OpenInstr, PutNextInstr, SeqInstr
from minigrid.utils.baby_ai_bot import (
    BabyAIBot,
    DisappearedBoxError,
    DropSubgoal,
    ExploreSubgoal,
    GoNextToSubgoal,
    OpenSubgoal,
    PickupSubgoal,
)

from turngym_babyai.commands import WORDS, offers
from turngym_babyai.view import Cell, at, position
from turngym_babyai.world import FORWARD, LEFT, NOTHING, PICKUP, RIGHT, World

# A strict clause "open the red door" fails once another door is toggled. In minigrid 3.2.0 a mission of two strict clauses
# puts the toggle that fulfils the first to the second as well, which fails at it: nobody can accomplish such a mission.
_STRICT = "missions of two doors fail in minigrid itself at the toggle that opens the first one rightly"
EXCLUDED = {
    "KeyInBox": "the only key is in a box, and minigrid's bot opens no boxes",
    "OpenDoorsOrderN2Debug": _STRICT,
    "OpenDoorsOrderN4Debug": _STRICT,
}

# How the bot fails: its own assertions, and what comes of paths and things that aren't there.
_LOST = (AssertionError, DisappearedBoxError, AttributeError, IndexError, TypeError)
_SEARCHES = 60  # and changes of mind per plan; a dozen are usual, and a bot that needs more runs in a circle
_MOVES = (LEFT, RIGHT, FORWARD)


class _Circling(AssertionError):
    """The bot searches without end."""


class Bot(BabyAIBot):  # type: ignore[misc]
    """minigrid's bot, able to start in the middle of a game: it leaves out what is done, and puts down what is in the way."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.searches = 0
        super().__init__(world.game)
        for cell in world.seen:
            self.vis_mask[cell] = True
        if world.game.carrying is not None and not self._wanted(world.game.carrying):
            drop = self._find_drop_pos()
            if drop is not None:
                self.stack += [DropSubgoal(self), GoNextToSubgoal(self, drop)]

    def plan(self, done: int | None = None) -> int:
        """The next of minigrid's actions after ``done`` was carried out; NOTHING where the bot thinks that it is through.

        The original's loop, but for exploring, where it may run in a circle between a locked door and a key that it doesn't
        know of. Raises one of :data:`_LOST`.
        """
        self.searches = 0
        self._process_obs()
        self._check_erroneous_box_opening(done)
        for goal in self.stack:
            goal.update_agent_attributes()
        if self.stack:
            self.stack[-1].replan_after_action(done)
        while self.stack and self.stack[-1].is_exploratory():
            self.stack.pop()
        action = None
        while self.stack and action is None:
            self._count()
            goal = self.stack[-1]
            if isinstance(goal, ExploreSubgoal):
                self._explore()
            else:
                action = goal.replan_before_action()
        self._remember_current_state()
        return NOTHING if action is None else int(action)

    def _explore(self) -> None:
        """Plan to go to the nearest place that was not seen or, where all that can be reached was, to open the nearest door
        that can be opened: one that isn't locked before one whose key is known."""
        _, unseen, _ = self._shortest_path(
            lambda cell, _: cell not in self.world.seen, try_with_blockers=True
        )
        if unseen is not None:
            self.stack.append(GoNextToSubgoal(self, unseen, reason="Explore"))
            return
        carried = self.world.game.carrying
        keys = {thing.color for thing in self.world.known() if thing.type == "key"}
        if carried is not None and carried.type == "key":
            keys.add(carried.color)
        for locked in (False, True):
            _, place, _ = self._shortest_path(
                lambda _, thing, locked=locked: (
                    thing is not None
                    and thing.type == "door"
                    and not thing.is_open
                    and thing.is_locked == locked
                    and (not locked or thing.color in keys)
                ),
                try_with_blockers=True,
            )
            if place is not None:
                door = at(self.world.game, place)
                held = (
                    locked and carried is not None and carried.type == "key" and carried.color == door.color
                )
                self.stack.pop()
                self.stack.append(OpenSubgoal(self, reason="KeepKey" if held else None))
                self.stack.append(GoNextToSubgoal(self, door, reason="Open"))
                return
        raise AssertionError("nothing is left to explore")

    def destination(self) -> tuple[Any, Cell] | None:
        """The thing (None for a bare place) and the place that the bot is on its way to, or None if it isn't."""
        goal = self.stack[-1] if self.stack else None
        if not isinstance(goal, GoNextToSubgoal):
            return None
        if isinstance(goal.datum, ObjDesc):
            thing, cell = self._find_obj_pos(goal.datum, goal.reason == "PutNext")
        elif hasattr(goal.datum, "cur_pos"):
            thing, cell = goal.datum, goal.datum.cur_pos
        else:
            thing, cell = None, goal.datum
        if goal.reason == "PutNext":
            thing = None
        return None if cell is None else (thing, (int(cell[0]), int(cell[1])))

    def next_purpose(self) -> Any:
        """What the bot will do at its destination: the class of its next goal, or None."""
        return type(self.stack[-2]) if len(self.stack) > 1 else None

    def crossed(self, target: Cell) -> list[Cell]:
        """The cells on the bot's way to a place, in order."""
        path, _, _ = self._shortest_path(lambda cell, thing: cell == target)
        return [(int(x), int(y)) for x, y in path or []]

    def _process_instr(self, instr: Any) -> None:
        if isinstance(instr, SeqInstr):
            left = [
                part
                for part, done in ((instr.instr_a, instr.a_done), (instr.instr_b, instr.b_done))
                if done != "success"
            ]
            if len(left) == 1:
                self._process_instr(left[0])
                return
        if isinstance(instr, PutNextInstr) and self.mission.carrying in instr.desc_move.obj_set:
            self.stack += [DropSubgoal(self), GoNextToSubgoal(self, instr.desc_fixed, reason="PutNext")]
            return
        super()._process_instr(instr)

    def _wanted(self, carried: Any) -> bool:
        """Whether the first thing to be done is to put down what is carried beside something."""
        if len(self.stack) < 2 or not isinstance(self.stack[-2], DropSubgoal):
            return False
        return getattr(self.stack[-1], "reason", None) == "PutNext"

    def _process_obs(self) -> None:
        """Take over what the world has seen; the original works it out from a picture of its own."""
        for spot in self.world.spots:
            self.vis_mask[spot.cell] = True

    def _breadth_first_search(
        self,
        initial_states: Iterable[tuple[int, int, int, int]],
        accept_fn: Callable[[Cell, Any], bool],
        ignore_blockers: bool,
    ) -> tuple[list[Cell] | None, Cell | None, dict[Cell, Cell | None]]:
        """Like the original (its answers are the same), in a tenth of the time: the way back from a place that is accepted,
        that place, and each visited place's forerunner."""
        game, seen = self.mission, self.world.seen
        forerunners: dict[Cell, Cell | None] = {}
        queue: deque[tuple[Cell, Cell, Cell | None]] = deque(
            ((int(x), int(y)), (int(dx), int(dy)), None) for x, y, dx, dy in initial_states
        )
        while queue:
            here, (dx, dy), came = queue.popleft()
            if here in forerunners:
                continue
            forerunners[here] = came
            thing = at(game, here)
            if accept_fn(here, thing):
                way, back = [here], came
                while back is not None:
                    way.append(back)
                    back = forerunners[back]
                return way, here, forerunners
            if here not in seen or _stops(thing, ignore_blockers):
                continue
            for turned in ((dx, dy), (dy, dx), (-dy, -dx), (-dx, -dy)):  # straight on before turns
                queue.append(((here[0] + turned[0], here[1] + turned[1]), turned, here))
        return None, None, forerunners

    def _shortest_path(self, *args: Any, **kwargs: Any) -> Any:
        self._count()
        return super()._shortest_path(*args, **kwargs)

    def _count(self) -> None:
        self.searches += 1
        if self.searches > _SEARCHES:
            raise _Circling


def _stops(thing: Any, ignore_blockers: bool) -> bool:
    """Whether a way can't lead on over a thing."""
    if thing is None:
        return False
    if thing.type == "wall":
        return True
    return not thing.is_open if thing.type == "door" else not ignore_blockers


class Advisor:
    """The bot beside an episode, in a game of its own."""

    def __init__(self, level: str, seed: int) -> None:
        self.world = World(level, seed)
        self.bot: Bot | None = None
        self.next = self._afresh()

    def advise(self, log: list[int], high_level: bool) -> str:
        """The next action after minigrid's actions ``log``, which only ever grows."""
        for action in log[len(self.world.log) :]:
            self.world.act(action)
            self.next = self._after(action)
        if self.next == NOTHING:
            return self._touch(high_level)
        return (self._lifted() if high_level else None) or WORDS[self.next]

    def close(self) -> None:
        """Free the game."""
        self.bot = None
        self.world.close()

    def _after(self, action: int) -> int:
        if self.world.verdict is not None:
            return NOTHING
        try:
            planned = self.bot.plan(action) if self.bot is not None else NOTHING
        except _LOST:
            planned = NOTHING
        return planned if planned != NOTHING else self._afresh()

    def _afresh(self) -> int:
        """Start a bot from here. NOTHING where it sees nothing to do or is lost."""
        try:
            self.bot = Bot(self.world)
            return self.bot.plan()
        except _LOST:
            self.bot = None
            return NOTHING

    def _touch(self, high_level: bool) -> str:
        """For a bot with nothing to do: what it is to go to may be 1 ahead already, and counts once the agent acts."""
        name = self.world.names.get(self.world.facing)
        if name is not None and high_level:
            return f"go to {name}"
        return "move forward" if name is not None else "turn right"

    def _lifted(self) -> str | None:
        """The action that names a thing and does what the bot is about to do, or None where none does just that."""
        bot, world = self.bot, self.world
        if bot is None or self.next not in _MOVES:
            return self._in_hand()
        try:
            bot.searches = 0
            aim = bot.destination()
            cells = bot.crossed(aim[1]) if aim is not None else []
        except _LOST:
            return None
        if aim is None:
            return None
        possible = offers(world, high_level=True)
        name = world.names.get(aim[0])
        wishes = [f"go through {world.names[door]}" for door in self._doors(cells)] if name is None else []
        if name is not None:
            purpose = bot.next_purpose()
            if purpose is PickupSubgoal:
                wishes.append(f"pick up {name}")
            if purpose is OpenSubgoal and not self._to_be_opened(aim[0]):
                wishes.append(f"toggle and go through {name}")
            if aim[0] is not world.facing:
                wishes.append(f"go to {name}")
            wishes += [f"go through {world.names[door]}" for door in self._doors(cells)]
        return next((wish for wish in wishes if wish in possible), None)

    def _in_hand(self) -> str | None:
        """The pickup of the thing ahead by its name."""
        thing = self.world.facing
        return f"pick up {self.world.names[thing]}" if self.next == PICKUP and thing is not None else None

    def _doors(self, cells: list[Cell]) -> list[Any]:
        """The known doors on a way, the first first; the last cell of the way is where it leads, not on it."""
        here = position(self.world.game)
        things = [at(self.world.game, cell) for cell in cells[:-1] if cell != here]
        return [
            thing
            for thing in things
            if thing is not None and thing.type == "door" and thing in self.world.names
        ]

    def _to_be_opened(self, door: Any) -> bool:
        """Whether the mission is to open this door; then it is faced and toggled, and nobody walks through."""
        named = [part for part in _clauses(self.world.game.instrs) if isinstance(part, OpenInstr)]
        return any(door is thing for part in named for thing in part.desc.obj_set)


def useless(world: World, possible: list[str], best: str, rng: Random) -> str:
    """A possible action that is not the expert's and names nothing of the mission."""
    mission = {
        world.names[thing]
        for part in _clauses(world.game.instrs)
        for description in (getattr(part, key, None) for key in ("desc", "desc_move", "desc_fixed"))
        if description is not None
        for thing in description.obj_set
        if thing in world.names
    }
    idle = [
        action
        for action in possible
        if action != best and not any(action.endswith(f" {name}") for name in mission)
    ]
    return rng.choice(idle or [action for action in possible if action != best] or [best])


def _clauses(instr: Any) -> list[Any]:
    if isinstance(instr, SeqInstr):
        return _clauses(instr.instr_a) + _clauses(instr.instr_b)
    return [instr]

"""One episode of BabyAI: a mission in a world of rooms, told in words.

The agent sees a square of seven by seven cells ahead of it. It turns, walks, carries and opens, by minigrid's own six actions
or by actions that name a thing and find the way. Rules, missions and the reward are minigrid's; what is made here is text.
"""

import io
from copy import deepcopy
from random import Random
from typing import Any, Literal

from turngym.environment import Environment, Options, Outcome
from turngym.schema import Message, StopReason
from turngym_babyai import commands, expert
from turngym_babyai.commands import Impossible
from turngym_babyai.scene import described
from turngym_babyai.view import encoded
from turngym_babyai.world import World

_HEAD = """\
You are in a world of rooms and have a mission. You see a part of the room ahead of you and walls, doors, keys, balls and \
boxes in it; a place such as "3 ahead, 1 right" counts cells from you. One action per turn:
- turn left, turn right: turn by a quarter
- move forward: one step ahead
- pick up: take what is 1 ahead; you can carry one thing
- drop: put it down 1 ahead
- toggle: open or close the door that is 1 ahead, or open the box there; a locked door needs a key of its colour"""

_NAMING = """
- go to {thing}: walk up to a thing that you have seen, and face it
- pick up {thing}: walk up to it and take it
- go through {door}: walk through an open door
- toggle and go through {door}: open it, with its key if it is locked, and walk through"""

_TAIL = """
Where a mission says "then" or "after you", the order counts. To go to a thing is to face it from the next cell.
Reply with one line of thought and one action:
Thought: what to do next, and why
Action: """

INSTRUCTIONS = {
    "high-level": f"{_HEAD}{_NAMING}{_TAIL}go to red ball 1",
    "primitive": f"{_HEAD}{_TAIL}move forward",
}


class BabyAIOptions(Options):
    """Options of a session.

    ``actions`` "high-level" has actions that name a thing and plan a way ("go to red ball 1") beside minigrid's own,
    "primitive" those alone. ``instructions`` "full" explains the game before the mission, "none" gives the mission alone.
    ``listing`` ends each observation with the actions that are possible. ``memory`` also tells where the things are that
    were seen before. ``reward`` "minigrid" pays 1 - 0.9 steps/limit for success, "goal" pays 1.
    """

    actions: Literal["high-level", "primitive"] = "high-level"
    instructions: Literal["full", "none"] = "full"
    listing: bool = True
    memory: bool = True
    reward: Literal["minigrid", "goal"] = "minigrid"


class BabyAI(Environment):
    """One episode. Same level, seed, options and actions: same texts."""

    def __init__(self, level: str, seed: int, options: BabyAIOptions) -> None:
        self.world = World(level, seed)
        self.options = options
        self.advisor: expert.Advisor | None = None

    @property
    def high_level(self) -> bool:
        """Whether actions may name things."""
        return self.options.actions == "high-level"

    @property
    def score(self) -> float:
        """0 until the mission is accomplished; then minigrid's reward, or 1."""
        if self.world.verdict != "success":
            return 0.0
        return 1.0 if self.options.reward == "goal" else self.world.reward

    def start(self) -> list[Message]:
        """One user message: the instruction where it is asked for, the mission in minigrid's words, the scene."""
        text = f"Mission: {self.world.game.mission}\n{self._scene()}"
        if self.options.instructions == "full":
            text = f"{INSTRUCTIONS[self.options.actions]}\n\n{text}"
        return [Message(role="user", content=text)]

    def opening_data(self) -> dict[str, Any]:
        """The view as symbols; see :meth:`data`."""
        return self.data()

    def step(self, action: str) -> Outcome:
        """Do one action. What can't be done is said."""
        world = self.world
        if world.verdict is not None:
            return self._refuse("The episode is over")
        text = commands.read(action)
        try:
            order = commands.ordered(world, text, self.high_level)
        except Impossible as error:
            return self._refuse(str(error))
        reason = commands.hindrance(world, order.actions[0]) if text in commands.PRIMITIVE else ""
        changed = commands.carry_out(world, order)
        if world.verdict is not None:
            return self._ended()
        if not changed and reason:
            return self._refuse(reason)
        return Outcome(self._scene(), data=self.data(), info=self._info())

    def data(self) -> dict[str, Any]:
        """minigrid's own observation: ``grid`` [column][row] of [object, colour, state] in its encoding (rows from the far
        edge, zeros unseen), ``direction`` 0..3 (right, down, left, up); and its clock, ``steps`` of ``limit``."""
        game = self.world.game
        return {
            "grid": encoded(game, self.world.spots),
            "direction": int(game.agent_dir),
            "steps": int(game.step_count),
            "limit": int(game.max_steps),
        }

    def actions(self) -> list[str]:
        """Every action that can be done now."""
        return commands.offers(self.world, self.high_level) if self.world.verdict is None else []

    def expert(self) -> str:
        """The next action of minigrid's bot, in the words of the session's action set."""
        if self.advisor is None:
            self.advisor = expert.Advisor(self.world.level, self.world.seed)
        return self.advisor.advise(self.world.log, self.high_level)

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's action or, with probability ``rate``, a well-formed useless one."""
        best = self.expert()
        return best if rng.random() >= rate else expert.useless(self.world, self.actions(), best, rng)

    def fork(self) -> "BabyAI":
        """An independent copy of the state."""
        copy = object.__new__(BabyAI)
        copy.world, copy.options, copy.advisor = deepcopy(self.world), self.options, None
        return copy

    def render(self) -> bytes:
        """minigrid's picture of the whole world as a PNG, the agent's field of view lightened."""
        import pygame  # minigrid's own dependency; slow to import

        frame = self.world.game.get_frame(tile_size=TILE_PIXELS)
        file = io.BytesIO()
        pygame.image.save(pygame.surfarray.make_surface(frame.swapaxes(0, 1)), file, "frame.png")
        return file.getvalue()

    def close(self) -> None:
        """Free the world at once."""
        self.world.close()
        if self.advisor is not None:
            self.advisor.close()

    def _scene(self) -> str:
        listed = self.actions() if self.options.listing else None
        return described(self.world, listed, self.options.memory)

    def _info(self) -> dict[str, Any]:
        return {"steps": int(self.world.game.step_count)}

    def _ended(self) -> Outcome:
        verdict, limit = self.world.verdict, self.world.game.max_steps
        words, stop = {
            "success": ("Mission accomplished", StopReason.SUCCESS),
            "failure": ("Mission failed", StopReason.FAILURE),
            "timeout": (f"Mission failed: its {limit} steps are used up", StopReason.FAILURE),
        }[verdict or ""]
        score = self.score
        return Outcome(words, reward=score, score=score, stop=stop, data=self.data(), info=self._info())

    def _refuse(self, reason: str) -> Outcome:
        return Outcome(reason, score=self.score, invalid=True, data=self.data(), info=self._info())


TILE_PIXELS = 32

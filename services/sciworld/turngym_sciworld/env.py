"""One episode of ScienceWorld: a task, a house to walk about in, and what the simulator says of each action.

The simulator's score, up to 100, is brought to 0..1. A wrong answer (it says −100) ends the episode as a failure with score
0. Texts are the simulator's, in canonical order; what it can't read is an invalid action and costs a turn.
"""

from random import Random
from typing import Any, Literal

from pydantic import Field

from turngym.environment import BackendDied, Environment, Options, Outcome
from turngym.schema import ActionGrammar, Command, Message, StopReason
from turngym_sciworld import expert
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.jvm import Jvm, Simulation, SimulatorFailure
from turngym_sciworld.pool import Pool
from turngym_sciworld.tasks import ELECTRICAL
from turngym_sciworld.text import canonical

Simplification = Literal[
    "easy", "teleportAction", "openDoors", "openContainers", "selfWateringFlowerPots", "noElectricalAction"
]

_COMMANDS = (
    ("look around", "describe the room", "look around"),
    ("look at {object}", "describe an object", "look at thermometer"),
    ("look in {container}", "describe what a container holds", "look in cupboard"),
    ("inventory", "list what you carry", "inventory"),
    ("task", "read the task again", "task"),
    ("go to {place}", "move to a room next to this one", "go to kitchen"),
    ("open {object}", "open a door or a container", "open door to kitchen"),
    ("close {object}", "close a door or a container", "close fridge"),
    ("pick up {object}", "put an object into your inventory", "pick up metal pot"),
    ("move {object} to {container}", "put an object somewhere", "move metal pot to stove"),
    ("pour {liquid} into {container}", "pour a liquid", "pour cup into metal pot"),
    ("dunk {container} into {liquid}", "fill a container from a liquid", "dunk cup into water"),
    ("mix {container}", "mix what a container holds", "mix metal pot"),
    ("activate {device}", "switch on", "activate stove"),
    ("deactivate {device}", "switch off", "deactivate stove"),
    ("use {tool} on {object}", "use a tool", "use thermometer in inventory on water"),
    (
        "connect {object} to {object}",
        "connect electrical parts",
        "connect battery anode to orange wire terminal 1",
    ),
    ("disconnect {object}", "disconnect an electrical part", "disconnect orange wire"),
    ("read {object}", "read a note or a book", "read recipe in inventory"),
    ("eat {object}", "eat something", "eat apple"),
    ("flush {object}", "flush a toilet", "flush toilet"),
    ("focus on {object}", "name the object that the task asks for", "focus on red box"),
    ("wait", "let ten moments pass", "wait"),
    ("wait1", "let one moment pass", "wait1"),
)

GRAMMAR = ActionGrammar(
    forms=["react", "fenced", "bare"],
    commands=[Command(template=form, description=does, example=like) for form, does, like in _COMMANDS],
    stop=["\nObservation:"],
)

INSTRUCTION = """\
You do experiments in a house with a kitchen, a workshop, a foundry, a greenhouse and other rooms, one action per turn:
look around; look at OBJ; look in OBJ; inventory; task; go to PLACE; open OBJ; close OBJ; pick up OBJ; move OBJ to OBJ;
pour OBJ into OBJ; dunk OBJ into OBJ; mix OBJ; activate OBJ; deactivate OBJ; use OBJ on OBJ; connect OBJ to OBJ;
disconnect OBJ; read OBJ; eat OBJ; flush OBJ; focus on OBJ; wait (ten moments); wait1 (one moment).
OBJ is an object that you see or carry, as it is named ("door to kitchen", "thermometer in inventory"). Where several
things could be meant you are asked for a number: answer with the number alone.
Focus only on what the task asks for: focusing on anything else ends it as failed.
Reply with one line of thought and one action:
Thought: what to do next, and why
Action: open door to kitchen"""

MAX_ACTION = 300  # characters; the simulator's parser tries every reading of an action
_UNREAD = ("No known action matches that input", "Unknown action.")
_OPENINGS = 3  # tries to open an episode in a JVM that lives


class SciWorldOptions(Options):
    """Options of a session.

    ``instructions`` "full" explains the game before the task, "none" gives the task alone. ``simplifications`` are the
    simulator's own; "easy" stands for all of them but open containers, and keeps electrical actions for the tasks that need
    them. ``reward`` "score" pays each gain of the simulator's score (and takes it back on failure), "success" pays 1 for a
    full score alone.
    """

    instructions: Literal["full", "none"] = "full"
    simplifications: list[Simplification] = Field(default_factory=list)
    reward: Literal["score", "success"] = "score"


def simplification_string(names: list[Simplification], kind: str) -> str:
    """What the simulator takes: names joined by commas. Raises ValueError where they rule the task out."""
    chosen = {str(name) for name in names}
    if "easy" in chosen:
        chosen |= {"teleportAction", "openDoors", "selfWateringFlowerPots"}
        chosen |= set() if kind in ELECTRICAL else {"noElectricalAction"}
    if "noElectricalAction" in chosen and kind in ELECTRICAL:
        raise ValueError(f"{kind} needs electrical actions; leave the simplification noElectricalAction out")
    return ",".join(sorted(chosen - {"easy"}))


class SciWorld(Environment):
    """One episode. Same variation, options and actions: same texts."""

    def __init__(
        self, pool: Pool, gold: GoldPaths, kind: str, variation: int, options: SciWorldOptions
    ) -> None:
        self.kind = kind
        self.variation = variation
        self.options = options
        self.simplifications = simplification_string(options.simplifications, kind)
        self.done: list[str] = []
        self.points = 0
        self.stop: StopReason | None = None
        self._pool = pool
        self._gold = gold
        self._jvm: Jvm | None = None
        self._simulation: Simulation | None = None

    @property
    def score(self) -> float:
        """The simulator's score, 0..1; 0 after a failure."""
        return self.points / 100

    def start(self) -> list[Message]:
        """One user message: the instruction where it is asked for, the task, and the first look around."""
        for left in reversed(range(_OPENINGS)):
            jvm = self._pool.freest()
            try:
                simulation = jvm.open(self.kind, self.variation, self.simplifications)
                self._jvm, self._simulation = jvm, simulation
                task = jvm.describe(simulation)
                look, *_ = jvm.step(simulation, "look around")
            except BackendDied:
                if not left:
                    raise
                continue
            break
        text = f"{task.strip()}\n\n{canonical(look)}"
        if self.options.instructions == "full":
            text = f"{INSTRUCTION}\n\n{text}"
        return [Message(role="user", content=text)]

    def step(self, action: str) -> Outcome:
        """Do one action. What the simulator can't read changes nothing."""
        if self.stop is not None:
            return Outcome("The episode is over.", score=self.score, stop=self.stop, invalid=True)
        command = " ".join(action.split())
        if len(command) > MAX_ACTION:
            said = f"That is too long for an action: {len(command)} characters, at most {MAX_ACTION}."
            return Outcome(said, score=self.score, invalid=True)
        jvm, simulation = self._place()
        try:
            text, score, completed = jvm.step(simulation, command.encode(errors="replace").decode())
        except SimulatorFailure as error:
            return self._fail(f"The experiment can't go on: {error}", {"simulator_error": str(error)})
        self.done.append(command)
        if score < 0:
            return self._fail(canonical(text), {})
        before, self.points = self.points, round(100 * score)
        if completed:
            self.stop = StopReason.SUCCESS if self.points == 100 else StopReason.FAILURE
        return Outcome(
            text=canonical(text),
            reward=self._reward(before),
            score=self.score,
            stop=self.stop,
            invalid=text.startswith(_UNREAD),
        )

    def _fail(self, text: str, info: dict[str, Any]) -> Outcome:
        before, self.points, self.stop = self.points, 0, StopReason.FAILURE
        return Outcome(text, reward=self._reward(before), score=0.0, stop=self.stop, info=info)

    def _reward(self, before: int) -> float:
        if self.options.reward == "success":
            return float(self.stop is StopReason.SUCCESS)
        return (self.points - before) / 100

    def actions(self) -> list[str]:
        """Every valid action now, sorted. It costs far more than a step."""
        jvm, simulation = self._place()
        return sorted({" ".join(found.split()) for found in jvm.actions(simulation)})

    def expert(self) -> str:
        """The next action of the simulator's own solution."""
        path = self._gold.find(self.kind, self.variation, self.simplifications)
        return expert.next_action(path, self.done)

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's action or, with probability ``rate``, one that changes nothing."""
        return expert.novice(self.expert(), rng, rate)

    def close(self) -> None:
        """Give the simulation's memory back."""
        if self._jvm is not None and self._simulation is not None:
            self._jvm.close(self._simulation)

    def _place(self) -> tuple[Jvm, Simulation]:
        if self._jvm is None or self._simulation is None:
            raise BackendDied("the episode was not started", acted=False)
        return self._jvm, self._simulation

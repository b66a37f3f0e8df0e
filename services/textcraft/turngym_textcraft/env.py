"""One episode of TextCraft: a goal, a list of crafting commands, an inventory.

The agent fetches what can't be crafted by the listed commands, and crafts the rest. Three commands::

    get 2 oak log
    craft 4 oak planks using 1 oak log
    inventory

An ingredient that names a family ("planks") takes any of its members. An action that can't be done changes nothing,
costs a turn and is answered with the reason.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any, Literal

from pydantic import Field

from turngym.environment import Environment, Options, Outcome
from turngym.schema import ActionGrammar, Command, Message, StopReason
from turngym_textcraft import expert
from turngym_textcraft.recipes import FAMILIES, MAX_COUNT, Recipe, items, members, recipes
from turngym_textcraft.tree import Action, Tree, share_done

GRAMMAR = ActionGrammar(
    forms=["react", "fenced", "bare"],
    commands=[
        Command(
            template="get {count} {item}", description="fetch what no command makes", example="get 2 oak log"
        ),
        Command(
            template="craft {count} {item} using {ingredients}",
            description="use one of the crafting commands exactly as it is listed",
            example="craft 4 oak planks using 1 oak log",
        ),
        Command(template="inventory", description="look at what you have", example="inventory"),
    ],
    stop=["\nObservation:"],
)

INSTRUCTION = """\
You craft items as in Minecraft. You are given crafting commands and a goal; reach the goal by one action per turn:
- get {count} {item}: fetch an item that none of the commands makes, at most 64 at a time
- craft {count} {item} using {ingredients}: one of the commands, as it is listed; you must hold the ingredients
- inventory: look at what you have
Where a command asks for a kind of item, such as planks or wool, any item of that kind will do, and its kind's name too.
Not every command is needed. Reply with one line of thought and one action:
Thought: what to do next, and why
Action: get 2 oak log"""

_GET = re.compile(r"get\s+(\d{1,9})\s+(.+)", re.IGNORECASE)
_CRAFT = re.compile(r"craft\s+(\d{1,9})\s+(.+?)\s+using\s+(.+)", re.IGNORECASE)
_PART = re.compile(r"(\d{1,9})\s+(.+)")
_BETWEEN = re.compile(r"\s*(?:,|\band\b)\s*(?=\d)")  # "book and quill" is one item
_SHOWN = 60  # characters of an agent's own text that are repeated to it


class TextCraftOptions(Options):
    """Options of a session.

    ``instructions`` "full" explains the game before the task, "none" gives the task alone. ``distractors`` is the number of
    listed commands that aren't needed. ``rename`` gives every item another item's name, by the seed, so that recipes must
    be read and can't be remembered; families are then spelt out as one item. ``order`` "tree" lists the goal's command
    first and parents before their parts, distractors anywhere below, which a small model learns to read sooner. ``reward``
    "shaped" pays each part of the tree.
    """

    instructions: Literal["full", "none"] = "full"
    distractors: int = Field(default=4, ge=0, le=32)
    rename: bool = False
    order: Literal["shuffled", "tree"] = "shuffled"
    reward: Literal["goal", "shaped"] = "goal"


class TextCraft(Environment):
    """One episode. Same tree, seed, options and actions: same texts."""

    def __init__(self, tree: Tree, seed: int, options: TextCraftOptions) -> None:
        rng = Random(f"textcraft {tree.goal} {tree.depth} {seed}")
        self.tree = tree
        self.options = options
        self.names: Mapping[str, str] | None = None
        self.known: Mapping[str, str] | None = None
        if options.rename:
            shuffled = list(items())
            rng.shuffle(shuffled)
            self.names = dict(zip(items(), shuffled, strict=True))
            self.known = dict(zip(shuffled, items(), strict=True))
        self.commands = _commands(tree, rng, options)
        self.raw = _raw(self.commands)
        self.inventory: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.done = False

    @property
    def score(self) -> float:
        """1 with the goal made; before that 0, or the share of the tree made if the reward is shaped."""
        if self.done:
            return 1.0
        return share_done(self.tree, self.made) if self.options.reward == "shaped" else 0.0

    def start(self) -> list[Message]:
        """One user message: the instruction where it is asked for, the goal and the commands."""
        lines = [self.line(recipe) for recipe in self.commands.values()]
        task = f"Goal: craft {self.name(self.tree.goal)}\n\nCrafting commands:\n" + "\n".join(lines)
        text = f"{INSTRUCTION}\n\n{task}" if self.options.instructions == "full" else task
        return [Message(role="user", content=text)]

    def opening_data(self) -> dict[str, Any]:
        """See :meth:`data`."""
        return self.data()

    def data(self) -> dict[str, Any]:
        """``inventory``: the number of pieces of each item held, by the name that the agent sees; sorted."""
        held = ((self.name(item), count) for item, count in self.inventory.items() if count)
        return {"inventory": dict(sorted(held))}

    def step(self, action: str) -> Outcome:
        """Do one command. What can't be done is said and changes nothing."""
        if self.done:
            return self._refuse("The goal is reached and the episode is over")
        before = self.score
        text = " ".join(action.split()).rstrip(".")
        if text.lower() == "inventory":
            return Outcome(self._inventory(), score=before, data=self.data())
        if match := _GET.fullmatch(text):
            return self._get(int(match[1]), match[2].lower())
        if match := _CRAFT.fullmatch(text):
            return self._craft(int(match[1]), match[2].lower(), match[3].lower())
        return self._refuse(f"Unknown action: {_short(text)}. Use get, craft or inventory")

    def unreadable(self, reason: str) -> Outcome:
        """A turn without a single action changes nothing either."""
        return self._refuse(reason)

    def actions(self) -> list[str]:
        """Every action that would work now, with 1 and the needed number of pieces for a fetch; sorted."""
        counts = {1} | {count for recipe in self.commands.values() for count in recipe.needs.values()}
        found = {f"get {count} {self.name(item)}" for item in self.raw for count in counts}
        found |= {
            self.line(recipe) for recipe in self.commands.values() if self.take(recipe.needs) is not None
        }
        return sorted(found | {"inventory"})

    def expert(self) -> str:
        """The next action on the shortest way from here."""
        return self.command(expert.expert(self))

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's action or, with probability ``rate``, a well-formed useless one."""
        return expert.novice(self, rng, rate)

    def random(self, rng: Random) -> str:
        """A random listed or fetching command, whether or not it works now."""
        return expert.random(self, rng)

    def fork(self) -> "TextCraft":
        """An independent copy of the state."""
        copy = object.__new__(TextCraft)
        copy.__dict__.update(self.__dict__)
        copy.inventory, copy.made = dict(self.inventory), dict(self.made)
        return copy

    def name(self, thing: str) -> str:
        """An item's or family's name as the agent sees it."""
        if self.names is None:
            return thing
        return self.names[self.tree.choice.get(thing, members(thing)[0])]

    def line(self, recipe: Recipe) -> str:
        """A crafting command as it is listed, and as the agent writes it."""
        parts = ", ".join(f"{count} {self.name(need)}" for need, count in recipe.needs.items())
        return f"craft {recipe.count} {self.name(recipe.item)} using {parts}"

    def command(self, action: Action) -> str:
        """An expert's action as the agent writes it."""
        if action.verb == "craft":
            return self.line(self.commands[action.item])
        return f"get {action.count} {self.name(action.item)}"

    def take(self, needs: Mapping[str, int]) -> dict[str, int] | None:
        """What is left of the inventory once ``needs`` are taken, or None if it has not enough.

        Single items are taken before families, and of a family's members first those that are held in greatest number.
        """
        left = dict(self.inventory)
        for need, count in sorted(needs.items(), key=lambda entry: len(members(entry[0]))):
            for item in sorted(members(need), key=lambda member: (-left.get(member, 0), member)):
                used = min(count, left.get(item, 0))
                count -= used
                if used:
                    left[item] -= used
            if count:
                return None
        return {item: count for item, count in left.items() if count}

    def _get(self, count: int, shown: str) -> Outcome:
        item = self._resolve(shown)
        if item is None:
            return self._refuse(f"Could not get {_short(shown)}: there is no such item in the recipe book")
        if not 1 <= count <= MAX_COUNT:
            return self._refuse(f"Could not get {count} {shown}: fetch 1 to {MAX_COUNT} at a time")
        if item not in self.raw:
            why = "craft it" if self._made_here(item) else "no command here needs it"
            return self._refuse(f"Could not get {shown}: {why}")
        concrete = self.tree.choice.get(item, members(item)[0]) if item in FAMILIES else item
        self.inventory[concrete] = self.inventory.get(concrete, 0) + count
        return Outcome(f"Got {count} {self.name(concrete)}", score=self.score, data=self.data())

    def _craft(self, count: int, shown: str, using: str) -> Outcome:
        item = self._resolve(shown)
        recipe = self.commands.get(item) if item is not None else None
        if recipe is None:
            return self._refuse(f"Could not craft {_short(shown)}: no command makes it")
        needs = self._needs(recipe, using)
        if count != recipe.count or needs is None:
            return self._refuse(f"Could not craft {shown} like that: the command is {self.line(recipe)}")
        left = self.take(needs)
        if left is None:
            return self._refuse(f"Could not craft {count} {shown}: not enough ingredients")
        before = self.score
        self.inventory = left
        self.inventory[recipe.item] = left.get(recipe.item, 0) + recipe.count
        self.made[recipe.item] = self.made.get(recipe.item, 0) + 1
        self.done = recipe.item == self.tree.goal
        stop = StopReason.SUCCESS if self.done else None
        reward = self.score - before
        said = f"Crafted {count} {shown}"
        return Outcome(said, reward=reward, score=self.score, stop=stop, data=self.data())

    def _needs(self, recipe: Recipe, using: str) -> dict[str, int] | None:
        """What the agent wants to use, if it fits the recipe: each part is an ingredient or one of its family, no part is
        missing, the numbers add up."""
        open_needs = dict(recipe.needs)
        wanted: dict[str, int] = {}
        for part in _BETWEEN.split(using):
            match = _PART.fullmatch(part)
            item = self._resolve(match[2]) if match else None
            if match is None or item is None:
                return None
            fits = [
                n for n in open_needs if item == n or item in members(n) or self.name(item) == self.name(n)
            ]
            if not fits or open_needs[fits[0]] < int(match[1]) or int(match[1]) < 1:
                return None
            open_needs[fits[0]] -= int(match[1])
            exact = item if item in members(fits[0]) else fits[0]
            wanted[exact] = wanted.get(exact, 0) + int(match[1])
        return None if any(open_needs.values()) else wanted

    def _made_here(self, item: str) -> bool:
        """Whether a listed command makes the item, one of its family's members, or one of its own kind."""
        return any(product in _kin(item) or product in members(item) for product in self.commands)

    def _resolve(self, shown: str) -> str | None:
        """The item or family behind a name that an agent wrote; a plural's s is forgiven."""
        for name in (shown, shown.removesuffix("s")):
            if self.known is not None:
                if name in self.known:
                    return self.known[name]
            elif name in _BOOK:
                return name
        return None

    def _inventory(self) -> str:
        held = ", ".join(
            f"{count} {self.name(item)}" for item, count in sorted(self.inventory.items()) if count
        )
        return f"Inventory: {held or 'empty'}"

    def _refuse(self, reason: str) -> Outcome:
        return Outcome(reason, score=self.score, invalid=True, data=self.data())


_BOOK = frozenset(items()) | frozenset(FAMILIES) | frozenset(recipes())


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _kin(item: str) -> set[str]:
    """The item, and all the families it belongs to with their members."""
    return {item}.union(*(({name} | set(kin)) for name, kin in FAMILIES.items() if item in kin))


def _raw(commands: Mapping[str, Recipe]) -> frozenset[str]:
    """What can be fetched: an ingredient by its own name unless a listed command makes it, a family with all its members
    unless a listed command makes one of them."""
    needed = {need for recipe in commands.values() for need in recipe.needs}
    named = {need for need in needed if need not in FAMILIES and need not in commands}
    kinds = {need for need in needed if need in FAMILIES and not commands.keys() & set(members(need))}
    return frozenset(named | kinds | {item for kind in kinds for item in members(kind)} - commands.keys())


def _commands(tree: Tree, rng: Random, options: TextCraftOptions) -> dict[str, Recipe]:
    """The tree's commands and the distractors', in the order asked for. No distractor makes what the tree fetches."""
    needed = {
        name for recipe in tree.crafted.values() for need in recipe.needs for name in (need, *members(need))
    }
    barred = needed | {name for item in tree.crafted for name in _kin(item)}
    listed = list(tree.crafted.values())
    uses: set[str] = set().union(*(recipe.needs for recipe in listed))
    others = list(recipes().values())
    while len(listed) < len(tree.crafted) + options.distractors:
        pick = rng.choice(others)
        if pick.item in barred or pick in listed or _makes_used(pick, uses, listed):
            continue
        listed.append(pick)
        uses |= set(pick.needs)
    if options.order == "shuffled":
        rng.shuffle(listed)
    else:
        for pick in [listed.pop() for _ in range(options.distractors)]:
            listed.insert(rng.randint(1, len(listed)), pick)
    return {recipe.item: recipe for recipe in listed}


def _makes_used(pick: Recipe, uses: set[str], listed: list[Recipe]) -> bool:
    """Whether the pick makes a part of a listed command, or needs what one of them makes: distractors stay apart."""
    products = {name for recipe in listed for name in _kin(recipe.item)}
    return bool(_kin(pick.item) & uses) or any(set(members(need)) & products for need in pick.needs)

"""Players of TextCraft: the expert, the novice who plays like the expert but for useless actions, and the random player.

The novice is what a starter model is taught on: every command it writes is well formed, so that each bad choice is one
decision away from a good one.
"""

from random import Random
from typing import TYPE_CHECKING

from turngym_textcraft.tree import Action, next_action

if TYPE_CHECKING:
    from turngym_textcraft.env import TextCraft

MAX_USELESS = 4  # pieces that a novice fetches in vain


def expert(env: "TextCraft") -> Action:
    """The next action towards the goal from the present inventory."""
    return next_action(env.tree, env.inventory)


def novice(env: "TextCraft", rng: Random, rate: float) -> str:
    """The expert's command or, with probability ``rate`` (0..1), a useless one: a look at the inventory, a fetch of what
    isn't needed now, or a listed command that can't work yet."""
    best = env.expert()
    if rng.random() >= rate:
        return best
    kind = rng.random()
    if kind < 1 / 3:
        return "inventory"
    if kind < 2 / 3:
        needed = expert(env).item
        raw = sorted({env.name(item) for item in env.raw} - {env.name(needed)})
        return f"get {rng.randint(1, MAX_USELESS)} {rng.choice(raw)}" if raw else "inventory"
    early = [env.line(recipe) for recipe in env.commands.values() if env.take(recipe.needs) is None]
    return rng.choice(early) if early else "inventory"


def random(env: "TextCraft", rng: Random) -> str:
    """A random well-formed command: a fetch, a listed command, or a look at the inventory."""
    raw = sorted({env.name(item) for item in env.raw})
    lines = sorted(env.line(recipe) for recipe in env.commands.values())
    return rng.choice([*(f"get {rng.randint(1, MAX_USELESS)} {item}" for item in raw), *lines, "inventory"])

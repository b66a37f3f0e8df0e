"""Players of TextCraft: the expert, the novice who plays like the expert but for useless actions, and the random player.

The novice is what a starter model is taught on: every command it writes is well formed, so that each bad choice is one
decision away from a good one.
"""

from random import Random
from typing import TYPE_CHECKING

from turngym_textcraft.recipes import items
from turngym_textcraft.tree import Action, next_action

if TYPE_CHECKING:
    from turngym_textcraft.env import TextCraft

MAX_USELESS = 4  # pieces that a novice fetches in vain
SLIP = 0.05  # the share of :data:`SLIPS` among a novice's useless commands


def expert(env: "TextCraft") -> Action:
    """The next action towards the goal from the present inventory."""
    return next_action(env.tree, env.inventory)


def novice(env: "TextCraft", rng: Random, rate: float) -> str:
    """The expert's command or, with probability ``rate`` (0..1), a useless one: mostly a look at the inventory or the goal's
    command before its ingredients are there, now and then (:data:`SLIP`) any of the mistakes below."""
    best = env.expert()
    if rng.random() >= rate:
        return best
    kinds = SLIPS if rng.random() < SLIP else IDLE
    return rng.choice(kinds)(env, rng) or "inventory"


def _look(env: "TextCraft", rng: Random) -> str | None:
    return "inventory"


def _craft_the_goal_too_early(env: "TextCraft", rng: Random) -> str | None:
    goal = env.tree.crafted[env.tree.goal]
    return env.line(goal) if env.take(goal.needs) is None else None


def _fetch_what_is_not_needed(env: "TextCraft", rng: Random) -> str | None:
    """An ingredient of a command that the goal doesn't need, or one more of what is held."""
    needed = {need for recipe in env.tree.crafted.values() for need in recipe.needs}
    useless = [
        f"get {count} {env.name(need)}"
        for recipe in env.commands.values()
        for need, count in recipe.needs.items()
        if need in env.raw and (need not in needed or env.inventory.get(need))
    ]
    return rng.choice(useless) if useless else None


def _fetch_what_is_crafted(env: "TextCraft", rng: Random) -> str | None:
    recipe = rng.choice(list(env.tree.crafted.values()))
    return f"get {recipe.count} {env.name(recipe.item)}"


def _fetch_what_no_command_needs(env: "TextCraft", rng: Random) -> str | None:
    return f"get {rng.randint(1, MAX_USELESS)} {env.name(rng.choice(items()))}"


def _copy_a_command_wrongly(env: "TextCraft", rng: Random) -> str | None:
    """A listed command with one ingredient exchanged for another item of the list."""
    wrong = rng.choice(list(env.commands.values()))
    parts = [(count, env.name(need)) for need, count in wrong.needs.items()]
    others = sorted({env.name(item) for item in (*env.raw, *env.commands)} - {name for _, name in parts})
    at = rng.randrange(len(parts))
    parts[at] = (parts[at][0], rng.choice(others))
    using = ", ".join(f"{count} {name}" for count, name in parts)
    command = f"craft {wrong.count} {env.name(wrong.item)} using {using}"
    return (
        command if env.fork().step(command).invalid else None
    )  # a member of the ingredient's family is right


IDLE = (_look, _craft_the_goal_too_early)
# With these a novice meets every answer that a well-formed command can get. With many, a model learns from it not to copy.
SLIPS = (
    _fetch_what_is_not_needed,
    _fetch_what_is_crafted,
    _fetch_what_no_command_needs,
    _copy_a_command_wrongly,
)


def random(env: "TextCraft", rng: Random) -> str:
    """A random well-formed command: a fetch, a listed command, or a look at the inventory."""
    raw = sorted({env.name(item) for item in env.raw})
    lines = sorted(env.line(recipe) for recipe in env.commands.values())
    return rng.choice([*(f"get {rng.randint(1, MAX_USELESS)} {item}" for item in raw), *lines, "inventory"])

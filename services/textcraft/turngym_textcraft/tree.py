"""The crafting tree of a goal, and the way through it from whatever the inventory holds.

A tree of depth d expands the goal's recipe d levels down: the items on these levels are crafted, everything below is
fetched. Depth 1 is a single recipe. Where a recipe takes a family (any planks), the tree settles on one member.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from turngym_textcraft.recipes import FAMILIES, MAX_COUNT, Recipe, members, recipes

MAX_TURNS = 30


@dataclass(frozen=True, slots=True)
class Action:
    """One command of the expert: ``get`` of a number of pieces, or ``craft`` of one recipe."""

    verb: str
    count: int
    item: str


@dataclass(frozen=True, slots=True)
class Tree:
    """What a task is about. ``crafted``: item -> its recipe, the goal first, parents before their parts.

    ``choice`` gives the member that the tree settles on for each family it needs. ``turns`` is the expert's number of
    turns from an empty inventory.
    """

    goal: str
    depth: int
    crafted: Mapping[str, Recipe]
    choice: Mapping[str, str]
    turns: int


def _expand(
    item: str, levels: int, path: tuple[str, ...], crafted: dict[str, Recipe], choice: dict[str, str]
) -> int:
    """Add the item's recipe and those below it; returns how many levels were really there."""
    if levels == 0 or item not in recipes() or item in path:
        return 0
    recipe = recipes()[item]
    crafted.setdefault(item, recipe)
    deepest = 0
    for need in recipe.needs:
        part = choice.setdefault(need, members(need)[0])
        deepest = max(deepest, _expand(part, levels - 1, (*path, item), crafted, choice))
    return deepest + 1


@cache
def tree(goal: str, depth: int) -> Tree | None:
    """The goal's tree of exactly this depth, or None where there is none that can be played.

    None: the recipes don't go that deep, run in a circle (ingot, block, ingot), need more than 64 pieces at once, or take
    the expert more than 30 turns.
    """
    crafted: dict[str, Recipe] = {}
    choice: dict[str, str] = {}
    _expand(goal, depth, (), crafted, choice)
    choice = _preferred(crafted)
    crafted = {}
    if _expand(goal, depth, (), crafted, choice) != depth or _circular(goal, crafted, choice):
        return None
    turns = _play(Tree(goal, depth, crafted, choice, 0))
    return None if turns is None else Tree(goal, depth, crafted, choice, turns)


def _preferred(crafted: Mapping[str, Recipe]) -> dict[str, str]:
    """For each family that the tree needs, the member it needs by name anyway: a mangrove fence's sticks are of mangrove."""
    needs = {need: None for recipe in crafted.values() for need in recipe.needs}
    named = [need for need in needs if need not in FAMILIES]
    found = {need: [name for name in named if name in members(need)] for need in needs if need in FAMILIES}
    return {family: names[0] for family, names in found.items() if names}


def _circular(
    item: str, crafted: Mapping[str, Recipe], choice: Mapping[str, str], path: tuple[str, ...] = ()
) -> bool:
    if item in path:
        return True
    if item not in crafted:
        return False
    return any(_circular(choice[need], crafted, choice, (*path, item)) for need in crafted[item].needs)


def _play(task: Tree) -> int | None:
    """The expert's number of turns from nothing, or None if it passes a bound."""
    inventory: dict[str, int] = {}
    for turn in range(1, MAX_TURNS + 1):
        action = next_action(task, inventory)
        if action.count > MAX_COUNT:
            return None
        if action.verb == "get":
            inventory[action.item] = inventory.get(action.item, 0) + action.count
            continue
        recipe = task.crafted[action.item]
        for need, count in recipe.needs.items():
            inventory[task.choice[need]] -= count
        inventory[action.item] = inventory.get(action.item, 0) + recipe.count
        if action.item == task.goal:
            return turn
    return None


def next_action(task: Tree, inventory: Mapping[str, int]) -> Action:
    """The next action towards the goal from this inventory: parts first, each fetched or crafted when it is needed."""
    action = _toward(task, task.goal, 1, dict(inventory))
    return action or Action("craft", task.crafted[task.goal].count, task.goal)


def _toward(task: Tree, item: str, count: int, free: dict[str, int]) -> Action | None:
    """The first action still missing for ``count`` pieces of ``item``; None where ``free`` has them (then reserved)."""
    lack = count - free.get(item, 0)
    if lack <= 0:
        free[item] -= count
        return None
    recipe = task.crafted.get(item)
    if recipe is None:
        return Action("get", lack, item)
    times = -(-lack // recipe.count)
    for need, pieces in recipe.needs.items():
        action = _toward(task, task.choice[need], pieces * times, free)
        if action is not None:
            return action
    return Action("craft", recipe.count, item)


def share_done(task: Tree, made: Mapping[str, int]) -> float:
    """The share of the tree's crafted items that were made at least once, 0..1."""
    return sum(1 for item in task.crafted if made.get(item)) / len(task.crafted)

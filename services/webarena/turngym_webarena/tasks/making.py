"""Makes the tasks from the worlds, and proves them by playing. Run as a program; the service itself never does.

A draft becomes a task only if the oracle scores 1 on it within the horizon, ``stop []`` and a wrong answer score 0, what is
asked doesn't stand on the first page, and the play changed no table but those that its family names. The tasks of a split
come from templates and worlds that no other split has.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from turngym_webarena.sites.worlds import Worlds
from turngym_webarena.tasks.families import TEMPLATES
from turngym_webarena.tasks.families.model import BASE, Draft, Template, World

WORLDS_OF = {
    "train": ("market-1", "market-2", "market-3"),
    "validation": ("market-4",),
    "test": ("market-5", "market-6"),
}
DATA = Path(__file__).parent / "data"
SHORT_TURNS, SHORT_NODES = 6, 220


def drafts(worlds: Worlds, split: str) -> Iterator[tuple[Template, str, Draft]]:
    """Every draft of a split: its template, its world, and what it says. No two of a world ask the same."""
    with ExitStack() as stack:
        opened: dict[str, World] = {}
        for world in WORLDS_OF[split]:
            session = worlds.open(f"drafts-{world}", world)
            stack.callback(worlds.close, f"drafts-{world}")
            opened[world] = World(stack.enter_context(session.read()))
        for template in TEMPLATES.values():
            if template.split == split:
                for world in WORLDS_OF[split]:
                    yield from ((template, world, draft) for draft in _drafts(template, opened[world], world))


def _drafts(template: Template, opened: World, world: str) -> Iterator[Draft]:
    rng = Random(f"tasks {template.number} {world}")
    seen: set[str] = set()
    for draft in template.drafts(opened, rng):
        key = json.dumps([draft.params, draft.start], sort_keys=True)
        if len(seen) == template.most:
            return
        if key not in seen:
            seen.add(key)
            yield draft


def raw(template: Template, draft: Draft) -> dict[str, Any]:
    """The draft in WebArena's JSON, without a number yet: :func:`write` numbers a split's tasks."""
    return {
        "sites": [template.site], "task_id": 0, "require_login": True, "storage_state": None,
        "start_url": draft.start or BASE[template.site], "geolocation": None, "intent_template": template.intent,
        "instantiation_dict": draft.params, "intent": template.words(draft.params), "require_reset": bool(template.touches),
        "eval": draft.eval, "intent_template_id": template.number,
    }  # fmt: skip


def write(split: str, entries: list[dict[str, Any]], folder: Path = DATA) -> None:
    """Keep a split's tasks in ``folder``, one a line, numbered in their order."""
    lines = []
    for number, entry in enumerate(entries):
        entry["raw"]["task_id"] = number
        lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    (folder / f"{split}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def family_table(official: dict[int, int]) -> str:
    """The table of families for people: WebArena's templates with how many tasks they have there, and ours.

    :param official: tasks of each of WebArena's templates.
    """
    rows = ["| family | split | site | WebArena's templates (tasks) | ours |", "|---|---|---|---|---|"]
    for template in TEMPLATES.values():
        theirs = ", ".join(f"{number} ({official[number]})" for number in template.official) or "–"
        rows.append(
            f"| {template.family} | {template.split} | {template.site} | {theirs} | {template.number} |"
        )
    return "\n".join(rows)

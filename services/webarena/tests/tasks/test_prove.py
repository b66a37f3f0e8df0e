"""The order in which tasks are proven, and what is kept of a proof that was interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest

from turngym_webarena import prove
from turngym_webarena.tasks.families import TEMPLATES

FIRST, SECOND = list(TEMPLATES)[:2]


def candidate(template: int, world: str, intent: str) -> prove.Candidate:
    """A task of that template and world."""
    task = {"intent_template_id": template, "start_url": "__SHOPPING__", "intent": intent, "eval": {}}
    return prove.Candidate("train", world, task)


def order(listed: list[prove.Candidate]) -> list[str]:
    return [one.task["intent"] for one in prove.by_turns(listed)]


def test_templates_and_their_worlds_take_turns() -> None:
    listed = [candidate(FIRST, world, f"{world}{n}") for world in ("a", "b") for n in (1, 2)]
    listed += [candidate(SECOND, "a", f"other{n}") for n in (1, 2, 3)]
    assert order(listed) == ["a1", "other1", "b1", "other2", "a2", "other3", "b2"]
    assert order([]) == []


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_what_an_interrupted_proof_has_shown_is_kept(tmp_path: Path, cut: int) -> None:
    listed = [candidate(FIRST, "a", name) for name in ("one", "two", "three")]
    problems: list[list[str]] = [["it failed"], [], []]
    entries: list[dict[str, Any]] = [
        {"key": one.key, "problems": found, "turns": 3, "nodes": 90}
        for one, found in zip(listed, problems, strict=True)
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries[: cut + 1]))
    prove.keep(listed, log, tmp_path)
    kept = json.loads((tmp_path / "train.json").read_text()) if (tmp_path / "train.json").exists() else []
    assert [entry["raw"]["intent"] for entry in kept] == ["two", "three"][:cut]
    assert [entry["raw"]["task_id"] for entry in kept] == list(range(cut))


def test_a_proof_that_was_tried_again_counts_as_it_came_out_last(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert prove.proven(log) == {}
    entries = [{"key": "k", "problems": problems} for problems in (["the browser died"], [])]
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert prove.proven(log)["k"]["problems"] == []

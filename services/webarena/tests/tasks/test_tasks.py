"""The shipped tasks: their form, their splits, their families."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from turngym_webarena.evaluation import read_checks
from turngym_webarena.tasks import SPLITS, WebTask, load, making
from turngym_webarena.tasks.families import TEMPLATES
from turngym_webarena.tasks.families.model import BASE

OFFICIAL_FIELDS = {
    "sites", "task_id", "require_login", "storage_state", "start_url", "geolocation", "intent_template",
    "instantiation_dict", "intent", "require_reset", "eval", "intent_template_id",
}  # fmt: skip
TABLE = Path(__file__).parents[2] / "TASKS.md"


def every() -> list[tuple[str, WebTask]]:
    return [(split, task) for split in SPLITS for task in load(split)]


def test_there_are_enough_templates_and_tasks() -> None:
    assert len(TEMPLATES) >= 45
    assert len(every()) >= 600
    assert {task.raw["intent_template_id"] for _, task in every()} == set(TEMPLATES)
    assert min(len(load(split)) for split in SPLITS) >= 40


def test_splits_share_no_template_and_no_world() -> None:
    templates = {split: {task.raw["intent_template_id"] for task in load(split)} for split in SPLITS}
    worlds = {split: {task.world for task in load(split)} for split in SPLITS}
    for held in (templates, worlds):
        assert sum(len(values) for values in held.values()) == len(set().union(*held.values()))
    assert all(set(worlds[split]) <= set(making.WORLDS_OF[split]) for split in SPLITS)


def test_every_split_has_short_tasks_of_both_sites() -> None:
    for split in SPLITS:
        assert {site for task in load(split) if task.short for site in task.raw["sites"]} == set(BASE)


def test_a_short_task_is_short() -> None:
    for _, task in every():
        assert task.short == (task.turns <= making.SHORT_TURNS and task.nodes <= making.SHORT_NODES)
        assert task.turns <= 30


def test_every_task_has_webarenas_form() -> None:
    for split in SPLITS:
        for number, task in enumerate(load(split)):
            assert set(task.raw) == OFFICIAL_FIELDS
            assert task.raw["task_id"] == number
            read_checks(task.raw["eval"])
            assert all(url.startswith("__SHOPPING") for url in task.raw["start_url"].split(" |AND| "))


def test_all_that_the_oracle_is_told_stands_in_the_intent() -> None:
    for _, task in every():
        raw = task.raw
        assert "{{" not in raw["intent"]
        for key, value in raw["instantiation_dict"].items():
            assert "{{" + key + "}}" in raw["intent_template"]
            assert value in raw["intent"]


def test_no_task_is_there_twice() -> None:
    counts = Counter(json.dumps([t.world, t.raw["start_url"], t.raw["intent"]]) for _, t in every())
    assert max(counts.values()) == 1


def test_some_tasks_can_t_be_done() -> None:
    impossible = [
        task
        for _, task in every()
        if (task.raw["eval"]["reference_answers"] or {}).get("fuzzy_match") == "N/A"
    ]
    assert 0.01 <= len(impossible) / len(every()) <= 0.1


def test_the_table_of_families_is_up_to_date() -> None:
    text = TABLE.read_text(encoding="utf-8")
    counts = {int(number): int(count) for number, count in re.findall(r"(\d+) \((\d+)\)", text)}
    assert making.family_table(counts) in text


def test_webarenas_own_numbers_are_those_of_its_task_file(official: list[dict[str, Any]]) -> None:
    text = TABLE.read_text(encoding="utf-8")
    counts = Counter(task["intent_template_id"] for task in official if set(task["sites"]) <= set(BASE))
    assert making.family_table(counts) in text
    asked = {number for template in TEMPLATES.values() for number in template.official}
    left = ", ".join(f"{number} ({counts[number]})" for number in sorted(counts.keys() - asked))
    assert " ".join(text.split("\n\n")[1].split()).startswith(
        f"WebArena has {counts.total()} tasks on its shop and its back office alone, from {len(counts)} templates."
        f" Our {len(TEMPLATES)} templates ask the like of {len(asked)} of them"
        f" ({sum(counts[number] for number in asked)} tasks there); those left out are {left}:"
    )


@pytest.mark.parametrize("split", SPLITS)
def test_worlds_of_a_split_exist(split: str) -> None:
    from turngym_webarena.sites.seeding import WORLDS

    assert set(making.WORLDS_OF[split]) <= set(WORLDS)

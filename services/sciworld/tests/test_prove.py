"""The survey: variations in an order that covers every kind early, results that outlive an interruption, a comparison."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from sciworlds import sample

from turngym_sciworld.prove import Result, in_turn, kept, play, worked
from turngym_sciworld.tasks import KINDS


def test_the_first_ninety_are_one_of_each_kind_and_split() -> None:
    assert set(in_turn()[:90]) == {(kind, variation) for _, kind, variation in sample()}
    assert len(set(in_turn())) == len(in_turn()) == sum(kind.variations for kind in KINDS)


def test_a_played_result_is_kept_whatever_comes_before_and_after(tmp_path: Path) -> None:
    seen, played, again = (Result("boil", 0, "goal", turns) for turns in (None, 0, 7))
    for lines, last in [([seen], seen), ([seen, played], played), ([played, again, seen], again)]:
        file = tmp_path / "results"
        file.write_text("".join(json.dumps(asdict(line)) + "\n" for line in lines))
        assert kept(file) == {("boil", 0): last}
    assert kept(tmp_path / "none") == {}


def test_a_variation_that_cannot_be_started_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(worked("solutions", [("boil", -1)], tmp_path / "results", play)) == []
    assert "lost: boil -1: " in capsys.readouterr().err


def test_what_is_played_is_compared_with_the_survey(tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [sys.executable, "-m", "turngym_sciworld.prove", "--results", results, "--first", "2"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all 2 are as the survey says" in run.stdout
    assert list(kept(results)) == in_turn()[:2]
    lines = results.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"turns": 3})
    results.write_text("\n".join(lines))
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert "1 differ from the survey" in run.stderr

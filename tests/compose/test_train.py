"""A training run in miniature, in a container, on the composition's own environment. Minutes, and its image some gigabytes:
``make test-train-container``."""

import json
import os
from pathlib import Path

import pytest
from composed import composition

OWNER = 12345  # neither root nor the image's own user

pytestmark = [pytest.mark.compose, pytest.mark.training]


def test_a_run_is_trained_in_a_container_and_left_to_the_owner_of_its_folder(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    os.chown(runs, OWNER, OWNER)
    for folder in (tmp_path.parent, tmp_path):
        folder.chmod(0o755)
    with composition("turngym-train", "gateway", "textcraft", RUNS=str(runs)) as composed:
        composed.compose("--profile", "train", "build", "train")
        composed.compose("--profile", "train", "run", "--rm", "-T", "train", "TASK=textcraft", "SMOKE=1")
    (run,) = runs.iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["infra_failures"] == 0
    assert {"before", "after"} <= summary.keys() and (run / "curve.png").stat().st_size > 0
    assert {path.stat().st_uid for path in run.rglob("*")} == {OWNER}

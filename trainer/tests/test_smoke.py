"""The main job in miniature, for real: service, starter, verl over HTTP, evaluations, report. Minutes, not seconds."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

TURNGYM = Path(sys.executable).parents[2] / "services" / "bin" / "turngym"
COMMAND = [sys.executable, "-m", "turngym_trainer.train", "--task", "textcraft"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TURNGYM.exists(), reason="needs the services' environment: make services-env"),
]


def start(folder: Path, *more: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TURNGYM_COMMAND": str(TURNGYM), "TURNGYM_CACHE": str(folder / "cache")}
    with (folder / "said.txt").open("a") as said:
        return subprocess.Popen(
            [*COMMAND, "--smoke", *more], cwd=folder, env=environment, stdout=said, stderr=said, text=True
        )


def wait_until(holds: Callable[[], Any], process: "subprocess.Popen[str]") -> None:
    while not holds():
        assert process.poll() is None, "the run ended too early"
        time.sleep(0.2)


def metrics(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A run that is stopped in the middle, its service killed before that, and finished by the same command."""
    made = folder / "runs" / "textcraft-1"
    process = start(folder)
    try:
        wait_until(lambda: list((made / "rollouts").glob("train-*.jsonl")), process)
        (service,) = [
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if "serve" in child.cmdline()
        ]
        service.send_signal(signal.SIGKILL)
        wait_until(lambda: (made / "metrics.jsonl").exists() and metrics(made), process)
        process.send_signal(signal.SIGINT)
        assert process.wait() in (130, 0), (folder / "said.txt").read_text()
    finally:
        process.kill()
        process.wait()
    if not (made / "summary.json").exists():
        assert start(folder).wait() == 0, (folder / "said.txt").read_text()
    return made


def test_the_run_leaves_its_proof(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    assert summary["task"] == "textcraft" and summary["steps"] == 2
    assert summary["before"]["n"] == summary["after"]["n"] == 24
    assert set(summary["after"]["by_depth"]) == {"1", "2"}
    assert summary["expert_taught"]["n"] == 24
    assert {"setup", "starter", "generate", "wait_env", "update", "eval"} <= set(summary["wall_s"])
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "greedy" in (run / "report.md").read_text()


def test_the_horizon_grows(run: Path) -> None:
    assert [row["rollout/horizon"] for row in metrics(run)] == [2, 3]


def test_what_was_sampled_is_what_is_trained(run: Path) -> None:
    assert all(row["training/rollout_probs_diff_max"] < 1e-4 for row in metrics(run))


def test_a_killed_service_costs_no_episode_its_reward(run: Path) -> None:
    """Every group is whole, or dropped and counted; the service came back and went on from its journal."""
    for row in metrics(run):
        assert row["rollout/episodes"] + 8 * row["env/dropped_groups"] == 4 * 8
    rows = [json.loads(line) for file in run.glob("rollouts/train-*.jsonl") for line in file.open()]
    assert all(row["error"] or row["stop_reason"] for row in rows)


def test_nothing_of_the_run_is_left_running(run: Path, folder: Path) -> None:
    lines = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    left = [line for line in lines if str(folder) in line]
    assert left == []


def test_a_finished_run_is_kept(run: Path, folder: Path) -> None:
    process = start(folder, "--run", str(run))
    assert process.wait() == 1
    assert "is a finished run" in (folder / "said.txt").read_text()

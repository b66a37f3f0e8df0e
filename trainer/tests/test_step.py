"""Real steps: verl, Ray, FSDP2 and vLLM on this machine, against a real TextCraft server in a process of its own.

Slow. The model is random, so nothing is learned; what is tested is that every part does what it says.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import tiny

from turngym.client.aio import AsyncClient
from turngym_trainer import learn, rows, trajectories
from turngym_trainer.config import compose, stored

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
START_S, RUN_S = 120, 1500


class Server:
    """A TextCraft server on a port of its own, with a journal that outlives it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.journal = folder / "journal"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        settings = {"TURNGYM_PORT": str(self.port), "TURNGYM_JOURNAL": str(self.journal)}
        self.process = subprocess.Popen([*_turngym(), "serve", "textcraft"], env=os.environ | settings)
        ends = time.monotonic() + START_S
        while time.monotonic() < ends:
            try:
                if httpx.get(f"{self.url}/ready").status_code == 200:
                    return
            except httpx.TransportError:
                assert self.process.poll() is None, "the server ended at its start"
            time.sleep(0.1)
        raise TimeoutError(f"{self.url} is not ready")

    def kill(self) -> None:
        """``kill -9``: no farewell, no flush."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def actions(self) -> int:
        """Steps that the server has served since its start."""
        lines = httpx.get(f"{self.url}/metrics").text.splitlines()
        return int(
            sum(float(line.split()[-1]) for line in lines if line.startswith("turngym_step_seconds_count"))
        )


def _turngym() -> list[str]:
    """The service's command line; its environment has no torch, the trainer's has no service."""
    found = ROOT / ".venv" / "services" / "bin" / "turngym"
    command = os.environ.get("TURNGYM_COMMAND") or (str(found) if found.exists() else shutil.which("turngym"))
    if command is None:
        pytest.skip("no turngym command: make install")
    return command.split()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    served = Server(tmp_path)
    served.start()
    yield served
    served.kill()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.model(tmp_path_factory.mktemp("model"))


def prepared(folder: Path, server: Server, model: Path, *overrides: str) -> Path:
    """A run's folder with its configuration and rows."""

    run = folder / "run"
    run.mkdir()
    config = compose(
        [
            "run.name=run",
            f"run.dir={run}",
            f"run.model={model}",
            f"task.env_addr={server.url}",
            "data.train_batch_size=4",
            "data.max_prompt_length=1024",
            "actor_rollout_ref.actor.ppo_mini_batch_size=4",
            "actor_rollout_ref.rollout.n=4",
            "actor_rollout_ref.rollout.max_tokens=32",
            "algorithm.rounds_ctrl.rounds=[3,4]",
            "algorithm.rounds_ctrl.steps_scaling_inter=1",
            "algorithm.rollout_correction.bypass_mode=false",
            *overrides,
        ]
    )

    async def make() -> None:
        async with AsyncClient(server.url) as client:
            await rows.prepare(client, config)

    asyncio.run(make())
    (run / "config.yaml").write_text(stored(config))
    return run


def trainer(run: Path) -> "subprocess.Popen[bytes]":
    """The training process, its log in the run's folder."""
    log = (run / "train.log").open("ab")
    command = [sys.executable, "-m", "turngym_trainer.learn", str(run)]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def finished(process: "subprocess.Popen[bytes]", run: Path) -> int:
    """Its exit code, with the end of its log in sight if it is not the expected one."""
    code = process.wait(timeout=RUN_S)
    if code not in (learn.DONE, learn.STOPPED):
        print((run / "train.log").read_text(errors="replace")[-6000:])
    return code


def metrics(run: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run / "metrics.jsonl").read_bytes().splitlines()]


def processes_of(run: Path) -> list[str]:
    """Command lines on this machine that name the run."""
    import psutil

    lines = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [line for line in lines if str(run) in line]


def test_two_steps_train_on_what_was_sampled_and_a_resumed_run_goes_on(
    tmp_path: Path, server: Server, model: Path
) -> None:
    run = prepared(tmp_path, server, model, "trainer.total_training_steps=2", "trainer.save_freq=1")
    assert finished(trainer(run), run) == learn.DONE
    first, second = metrics(run)
    for step in (first, second):
        assert step["training/rollout_probs_diff_max"] < 1e-4
        assert step["training/rollout_actor_probs_pearson_corr"] > 0.9999
        assert step["rollout/episodes"] == 16
        assert step["env/infra_failures"] == 0
    assert (first["rollout/horizon"], second["rollout/horizon"]) == (3, 4)
    _episodes_are_kept(run)
    assert not processes_of(run)

    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("total_training_steps: 2", "total_training_steps: 3"))
    assert finished(trainer(run), run) == learn.DONE
    assert [step["step"] for step in metrics(run)] == [1, 2, 3]
    assert metrics(run)[-1]["rollout/horizon"] == 4
    assert not processes_of(run)


def _episodes_are_kept(run: Path) -> None:
    episodes = trajectories.read(trajectories.path(run / "rollouts", "train", 1))
    assert len(episodes) == 16
    for group in {episode["group"] for episode in episodes}:
        of_group = [episode for episode in episodes if episode["group"] == group]
        assert len(of_group) == 4
        assert len({(e["task_id"], e["seed"], tuple(e["prompt_ids"])) for e in of_group}) == 1
    for episode in episodes:
        ids, mask = trajectories.response(episode)
        assert len(ids) == len(mask) <= 512
        assert mask[-1] == 1
        for turn in episode["turns"]:
            assert len(turn["advantages"]) == len(turn["token_ids"]) == len(turn["log_probs"]) <= 32


def test_a_server_killed_in_the_middle_of_a_step_costs_nothing_but_time(
    tmp_path: Path, server: Server, model: Path
) -> None:
    run = prepared(
        tmp_path,
        server,
        model,
        "trainer.total_training_steps=1",
        "trainer.save_freq=-1",
        "data.max_response_length=1024",
        "algorithm.rounds_ctrl.rounds=[12]",
    )
    process = trainer(run)
    ends = time.monotonic() + RUN_S
    while server.actions() < 20 and time.monotonic() < ends:
        assert process.poll() is None, (run / "train.log").read_text(errors="replace")[-4000:]
        time.sleep(0.02)
    server.kill()
    server.start()
    assert finished(process, run) == learn.DONE
    (step,) = metrics(run)
    episodes = trajectories.read(trajectories.path(run / "rollouts", "train", 1))
    lost = [episode for episode in episodes if episode["error"]]
    assert step["env/infra_failures"] == len(lost)
    assert step["rollout/episodes"] == 16 - 4 * len({episode["group"] for episode in lost})
    for episode in episodes:
        if not episode["error"]:
            assert episode["stop_reason"] in ("max_turns", "token_limit", "token_budget", "success")
            assert len(episode["turns"]) == 12 or episode["stop_reason"] != "max_turns"


def test_a_run_ends_in_one_line_when_a_part_of_ray_dies(tmp_path: Path, server: Server, model: Path) -> None:
    import psutil

    run = prepared(tmp_path, server, model, "trainer.total_training_steps=50", "trainer.save_freq=-1")
    process = trainer(run)
    ends = time.monotonic() + RUN_S
    while not server.actions() and time.monotonic() < ends:
        assert process.poll() is None, (run / "train.log").read_text(errors="replace")[-4000:]
        time.sleep(0.2)
    (raylet,) = [each for each in psutil.Process(process.pid).children() if each.name() == "raylet"]
    raylet.kill()
    assert process.wait(timeout=120) == learn.FAILED
    assert "error: raylet, a part of Ray, died" in (run / "train.log").read_text(errors="replace")
    assert not processes_of(run)

"""The process that trains: ``python -m turngym_trainer.learn RUN_DIR``. Its parent keeps the log and shows the progress.

It reads ``config.yaml`` and ``data/`` in the run's folder and leaves ``metrics.jsonl``, ``tensorboard/``, ``rollouts/`` and
``checkpoints/``; where there is a checkpoint it goes on from there. SIGINT or SIGTERM ends the run after the step it is in,
with a checkpoint; a second one ends it at once, and the last checkpoint stays. Ray, vLLM and whatever they start are gone
when it exits.

Exit codes: 0 the last step is done, 1 an error, 3 stopped on request (the same command goes on), 130 ended at once.
"""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import DictConfig, OmegaConf
from tenacity import retry, stop_after_attempt, wait_fixed

from turngym_trainer.config import for_verl, prepare_environment

DONE, FAILED, STOPPED, ABORTED = 0, 1, 3, 130
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_RAY_SERVERS = ("raylet", "gcs_server")
_LEAVE_S = 5.0  # seconds that what is left has to end when told to


def main(run: Path) -> int:
    """Train the run to its end and return the exit code."""
    loaded = OmegaConf.load(run / "config.yaml")
    assert isinstance(loaded, DictConfig)
    prepare_environment(loaded)
    os.environ["TENSORBOARD_DIR"] = str(run / "tensorboard")
    config = for_verl(loaded)
    for folder in ("rollouts", "checkpoints"):
        (run / folder).mkdir(exist_ok=True)
    stop = threading.Event()
    with _no_process_left():
        try:
            return _train(config, run, stop)
        except KeyboardInterrupt:
            print("ended at once; the last checkpoint stays", flush=True)
            return ABORTED


def _train(config: DictConfig, run: Path, stop: threading.Event) -> int:
    import ray
    import transfer_queue as tq
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ

    from turngym_trainer.ppo import EpisodeTrainer, Stopped
    from turngym_trainer.replay import EpisodesFailed

    config.transfer_queue.enable = True
    _start_ray(_ray_settings(config))
    _listen(stop)  # after Ray, which sets handlers of its own
    over = threading.Event()
    threading.Thread(target=_watch_ray, args=(over,), daemon=True).start()
    tq.init(config.transfer_queue)
    try:
        trainer = EpisodeTrainer(config, run, stop)
        trainer.init()
        episodes = AgentLoopManagerTQ.create(
            config=config,
            llm_client=trainer.get_llm_client(),
            teacher_client=trainer.get_teacher_client(),
            reward_loop_worker_handles=trainer.get_reward_handles(),
        )
        trainer.fit(episodes)
        trainer.logger.finish()
        return DONE
    except EpisodesFailed as failure:
        print(f"error: {failure}", flush=True)
        return FAILED
    except Stopped as request:
        print(request, flush=True)
        return STOPPED
    finally:
        over.set()
        tq.close()
        ray.shutdown()


def _ray_settings(config: DictConfig) -> dict[str, Any]:
    """Ray's arguments, as verl would have them."""
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env

    settings: Any = OmegaConf.to_container(config.ray_kwargs.ray_init)
    own = {key: value for key, value in settings["runtime_env"].items() if value is not None}
    environment = get_ppo_ray_runtime_env(config)
    environment["env_vars"]["TRANSFER_QUEUE_ENABLE"] = "1"
    return {**settings, "runtime_env": environment | own}


@retry(stop=stop_after_attempt(3), wait=wait_fixed(5), reraise=True)
def _start_ray(settings: dict[str, Any]) -> None:
    """Ray gives its own processes 30 s to come up, which a busy machine may not manage at once."""
    import ray

    try:
        ray.init(**settings)
    except Exception:
        ray.shutdown()
        raise


def _watch_ray(over: threading.Event) -> None:
    """End this process when one of Ray's servers dies before it is ``over``: what waits for their answer waits for ever."""
    import psutil

    def died(server: Any) -> None:
        if not over.is_set():
            print(f"error: {server.name()}, a part of Ray, died; was the machine out of memory?", flush=True)
            _end_descendants()
            os._exit(FAILED)  # the main thread may be inside Ray, where no exception reaches it

    psutil.wait_procs(
        [each for each in psutil.Process().children() if each.name() in _RAY_SERVERS], callback=died
    )


def _listen(stop: threading.Event) -> None:
    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        print("stopping after this step; once more to end at once", flush=True)

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)


@contextmanager
def _no_process_left() -> Iterator[None]:
    """Adopt orphaned descendants, and kill at the end what is still there."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _end_descendants()


def _end_descendants() -> None:
    import psutil

    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(left, timeout=_LEAVE_S)
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=_LEAVE_S)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "config.yaml").is_file():
        sys.exit("usage: python -m turngym_trainer.learn RUN_DIR (a folder with config.yaml in it)")
    sys.exit(main(Path(sys.argv[1]).resolve()))

"""What every vLLM process of a CPU run must change: an entry point of ``vllm.general_plugins``.

vLLM on a CPU packs each linear layer's weight for oneDNN and drops the original, so new weights from the trainer have
nowhere to go. With the packing off, plain matrix products read the weights as they are loaded.

Its processes are woken through a queue that drops a notice while another is on its way, and then sleep for five seconds in
which nobody needs them; here they look after a fiftieth of one.

They also spin for a second on the queues between them before they sleep, and torch's threads spin between two products.
With a core for each that saves microseconds; on a few shared cores it takes the time from those they wait for. Measured on
two cores with a model of a million parameters: a rollout takes 8 to 11 s without, 14 to 18 s with.
"""

import os

_THREADS = "TURNGYM_SAMPLER_THREADS"
_LOOK_AGAIN_MS = 20


def prepare() -> None:
    """Make the changes where the run's platform is the CPU. Elsewhere it does nothing."""
    if os.environ.get("VERL_PLATFORM") != "cpu":
        return
    import torch
    import vllm._custom_ops
    from vllm.distributed.device_communicators.shm_broadcast import SpinCondition

    vllm._custom_ops._supports_onednn = False
    SpinCondition.__init__.__defaults__ = (0.0,)  # busy_loop_s
    wait = SpinCondition.wait
    SpinCondition.wait = lambda self, timeout_ms=None: wait(
        self, _LOOK_AGAIN_MS if timeout_ms is None else min(timeout_ms, _LOOK_AGAIN_MS)
    )
    if os.environ.get(_THREADS):
        torch.set_num_threads(int(os.environ[_THREADS]))

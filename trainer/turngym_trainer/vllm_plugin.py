"""What every vLLM process of a CPU run must change: an entry point of ``vllm.general_plugins``.

vLLM on a CPU packs each linear layer's weight for oneDNN and drops the original, so new weights from the trainer have
nowhere to go. With the packing off, plain matrix products read the weights as they are loaded.
"""

import os


def keep_weights() -> None:
    """Switch oneDNN's packing off where the run's platform is the CPU. Elsewhere it does nothing."""
    if os.environ.get("VERL_PLATFORM") != "cpu":
        return
    import vllm._custom_ops

    vllm._custom_ops._supports_onednn = False

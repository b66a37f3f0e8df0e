"""A server in a process of its own, as a user starts it: for tests, measurements and screenshots that need a real one."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from served import free_port

LOADING_S = 300  # an index, a JVM, a browser
COMMANDS = Path(sys.executable).parent
# Whoever runs this may have settings of a service of their own; what counts of them is where this machine's programs are.
KEPT = ("TURNGYM_CHROMIUM", "TURNGYM_JAVA")


@contextmanager
def started(command: str, *arguments: str, there: str = "/ready", **settings: object) -> Iterator[str]:
    """``COMMAND ARGUMENTS`` of this environment on a free port; its address, once ``there`` answers. Stopped on leaving.

    :param settings: ``TURNGYM_…`` variables, in lower case and without the prefix; those of the caller's environment
        are left out.
    :raises RuntimeError: it ends, or takes longer than ``LOADING_S``.
    """
    port = free_port()
    known = {f"TURNGYM_{name.upper()}": str(value) for name, value in {"port": port, **settings}.items()}
    own = {
        name: value for name, value in os.environ.items() if name in KEPT or not name.startswith("TURNGYM_")
    }
    process = subprocess.Popen([COMMANDS / command, *arguments], env=own | known)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + LOADING_S
        while not _answers(f"{address}{there}"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command} {' '.join(arguments)} did not get ready")
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False

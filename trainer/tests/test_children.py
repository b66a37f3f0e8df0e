"""Children end with their parent, however it ends."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from turngym_trainer.children import child

PARENT = """
import sys, time
from turngym_trainer import children
with open(sys.argv[1], "a") as log:
    started = children.start([sys.executable, "-c", "import time; time.sleep(600)"], log=log)
print(started.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's doing, and Linux's alone")
def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        started = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    psutil.wait_procs([started], timeout=30)
    assert not started.is_running() or started.status() == psutil.STATUS_ZOMBIE


def test_what_a_child_leaves_running_is_ended_with_the_block(tmp_path: Path) -> None:
    grandchild = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    with (tmp_path / "log").open("w") as log:
        with child([sys.executable, "-c", grandchild], log=log, piped=True) as process:
            assert process.stdout is not None
            left = psutil.Process(int(process.stdout.readline()))
            assert process.wait() == 0
            assert left.is_running()
        psutil.wait_procs([left], timeout=30)
        assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE

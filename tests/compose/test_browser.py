"""Webarena's browser in its container: it is killed and comes back, and leaves no zombie."""

import pytest
from composed import Composition
from episodes import finish

from turngym.client.sync import Client
from turngym.schema import SessionRequest, StopReason

pytestmark = [pytest.mark.compose, pytest.mark.slow]

KILL_BROWSER = """
import os, signal
for pid in filter(str.isdigit, os.listdir('/proc')):
    line = open(f'/proc/{pid}/cmdline', 'rb').read()
    if b'--host-resolver-rules' in line and b'--type=' not in line and int(pid) != os.getpid():
        os.kill(int(pid), signal.SIGKILL)
"""
ZOMBIES = """
import os, time
def zombies():
    states = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            states.append(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0])
        except OSError:
            pass
    return states.count('Z')
for _ in range(100):
    if not zombies():
        break
    time.sleep(0.1)
print(zombies())
"""


def test_a_browser_plays_in_its_container_and_leaves_nothing_behind(composed: Composition) -> None:
    with Client(f"{composed.gateway}/webarena") as client:
        client.wait_ready()
        for index in range(2):
            result = finish(client, client.create(SessionRequest(split="test", index=index)))
            assert (result.stop_reason, result.score) == (StopReason.AGENT_STOP, 1)
            composed.compose("exec", "-T", "webarena", "python", "-c", KILL_BROWSER)
    zombies = composed.compose("exec", "-T", "webarena", "python", "-c", ZOMBIES)
    assert zombies.strip() == "0"

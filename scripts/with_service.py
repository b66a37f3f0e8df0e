"""Runs a command beside a service of its own: ``python scripts/with_service.py textcraft turngym eval URL --n 50``.

The word ``URL`` in the command becomes the service's address. The service listens on a free port of this machine, keeps no
journal, serves its expert, and ends with the command. For evaluations and tests; a service that stays is ``turngym serve``.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from socket import socket

import httpx

READY_S = 120  # the slowest service's own loading; most take under a second


def main() -> int:
    """Returns the command's exit code, or 1 where the service didn't start."""
    if len(sys.argv) < 3:
        print("usage: with_service.py NAME COMMAND [ARGUMENT | URL] …", file=sys.stderr)
        return 2
    name, command = sys.argv[1], sys.argv[2:]
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    settings = {"TURNGYM_PORT": str(port), "TURNGYM_EXPERTS": "1", "TURNGYM_JOURNAL": "off"}
    turngym = str(Path(sys.executable).parent / "turngym")
    with tempfile.TemporaryFile() as log:
        service = subprocess.Popen(
            [turngym, "serve", name], env={**os.environ, **settings}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            if not wait_ready(url, service):
                log.seek(0)
                said = log.read().decode(errors="replace").strip().splitlines()
                print(
                    f"the service {name} didn't start: {said[-1] if said else 'no message'}", file=sys.stderr
                )
                return 1
            return subprocess.run([url if word == "URL" else word for word in command]).returncode
        except KeyboardInterrupt:
            return 130
        finally:
            service.terminate()
            service.wait()


def wait_ready(url: str, service: subprocess.Popen[bytes]) -> bool:
    """Whether the service says within READY_S seconds that it is ready."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and service.poll() is None:
        try:
            if httpx.get(f"{url}/ready", timeout=5).status_code == 200:
                return True
        except httpx.TransportError:
            pass  # it doesn't listen yet
        time.sleep(0.1)
    return False


if __name__ == "__main__":
    sys.exit(main())

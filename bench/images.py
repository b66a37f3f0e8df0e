"""The images of the compose file: how large each is, and how long a container takes from nothing to healthy.

    python bench/images.py                       # builds what isn't built, then measures the default services
    python bench/images.py textcraft gateway     # these alone

Cold: the container is made anew with an empty volume, as on a machine's first start, but the image is there. Warm: it is
started again with the volume that it has. Both end when the health check of the image says healthy, so they are rounded up to
its interval.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from composed import Composition, docker, said, unstarted

PROJECT = "turngym-images"


def size_mb(image: str) -> float:
    """The size of an image on disk, in MB."""
    return float(docker("image", "inspect", "--format", "{{.Size}}", image)) / 1e6


def healthy(container: str) -> bool:
    """Whether the engine finds a container healthy."""
    return docker("inspect", "--format", "{{.State.Health.Status}}", container).strip() == "healthy"


def start(composed: Composition, service: str) -> float:
    """Start a service; seconds until it is healthy."""
    begun = time.monotonic()
    composed.compose("up", "--detach", "--no-build", "--no-deps", service)
    while not healthy(composed.container(1, service)):
        if time.monotonic() - begun > 600:
            raise SystemExit(
                f"{service} is not healthy after ten minutes: {composed.compose('logs', service)[-2000:]}"
            )
        time.sleep(0.2)
    return time.monotonic() - begun


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument(
        "services", nargs="*", help="of the compose file (default: those that start by default)"
    )
    asked = parser.parse_args().services
    composed = unstarted(PROJECT)
    described = json.loads(composed.compose("config", "--format", "json"))["services"]
    services = asked or list(described)
    print(f"{'image':24} {'MB':>6} {'cold s':>7} {'warm s':>7}")
    try:
        for service in services:
            said(["docker", "compose", "build", "--quiet", service], composed.environ)
            image = described[service]["image"]
            cold = start(composed, service)
            composed.compose("stop", "--timeout", "10", service)
            warm = start(composed, service)
            composed.compose("stop", "--timeout", "10", service)
            print(f"{image:24} {size_mb(image):6.0f} {cold:7.1f} {warm:7.1f}", flush=True)
    finally:
        composed.compose("down", "--volumes", "--timeout", "5")


if __name__ == "__main__":
    main()

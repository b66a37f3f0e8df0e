"""The images of the compose file: how large each is, and how long a container takes from nothing to ready.

    python bench/images.py                       # builds what isn't built, then measures the default services
    python bench/images.py textcraft gateway     # these alone

Cold: the container is made anew with an empty volume, as on a machine's first start, but the image is there. Warm: it is
started again with the volume that it has. Both end with the first answer that says ready; the image's own health check tells
the engine at its next turn, up to ten seconds later.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from composed import ENVIRONMENTS, Composition, answers, composition, docker, wait

PROJECT = "turngym-images"
READY = {"gateway": "8404/health", "viewer": "8010/health"} | {
    name: f"{port}/ready" for name, port in ENVIRONMENTS.items()
}


def size_mb(image: str) -> float:
    """The size of an image on disk, in MB."""
    return float(docker("image", "inspect", "--format", "{{.Size}}", image)) / 1e6


def start(composed: Composition, service: str) -> float:
    """Start a service; seconds until it says that it is ready."""
    begun = time.monotonic()
    composed.compose("up", "--detach", "--no-build", "--no-deps", service)
    url = f"http://{composed.host(1, service)}:{READY[service]}"
    wait(lambda: answers(url), f"an answer of {service}", seconds=600)
    return time.monotonic() - begun


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument(
        "services", nargs="*", help="of the compose file (default: those that start by default)"
    )
    asked = parser.parse_args().services
    with composition(PROJECT, "gateway") as composed:
        described = json.loads(composed.compose("config", "--format", "json"))["services"]
        print(f"{'image':24} {'MB':>6} {'cold s':>7} {'warm s':>7}")
        for service in asked or described:
            composed.compose("build", "--quiet", service)
            image = described[service]["image"]
            composed.compose("rm", "--force", "--stop", service)
            cold = start(composed, service)
            composed.compose("stop", "--timeout", "10", service)
            warm = start(composed, service)
            composed.compose("stop", "--timeout", "10", service)
            print(f"{image:24} {size_mb(image):6.0f} {cold:7.1f} {warm:7.1f}", flush=True)


if __name__ == "__main__":
    main()

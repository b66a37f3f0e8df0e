"""Makes sure that a Chromium is here, for the tasks that play in a browser: ``.venv/services/bin/python scripts/browser.py``.

In this order: the one that TURNGYM_CHROMIUM names, one on the PATH, Playwright's own, Playwright's own downloaded now, and on
Debian or Ubuntu as root the system's package. Does nothing where there is one; ends with one line on stderr and status 1 where
none can be had.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from turngym_webarena.browser import PROGRAMS

PACKAGES = ("chromium-headless-shell", "chromium")  # the first is smaller and faster, and not everywhere
ADVICE = "install Chromium (Debian: sudo apt install chromium-headless-shell), or name one by CHROMIUM=/path/to/chromium"
DOWNLOAD_S = 900


def main() -> int:
    """Returns the exit code."""
    named = os.environ.get("TURNGYM_CHROMIUM")
    if named:
        if shutil.which(named):
            return 0
        print(f"browser: TURNGYM_CHROMIUM={named} is not a program that can be run", file=sys.stderr)
        return 1
    if any(shutil.which(name) for name in PROGRAMS) or has_own():
        return 0
    print("Installing Chromium …", file=sys.stderr, flush=True)
    if (download_own() and has_own()) or install_package():
        return 0
    print(f"browser: there is no Chromium here and none could be fetched; {ADVICE}", file=sys.stderr)
    return 1


def has_own() -> bool:
    """Whether Playwright has downloaded its own browser, and it has the libraries that it needs."""
    with sync_playwright() as playwright:
        program = Path(playwright.chromium.executable_path)
    return os.access(program, os.X_OK) and runs([str(program), "--version"], 60)


def download_own() -> bool:
    """Have Playwright download its own browser."""
    return runs([sys.executable, "-m", "playwright", "install", "chromium"], DOWNLOAD_S)


def install_package() -> bool:
    """Install the system's package, where that is ours to do."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    apt = ["apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300"]
    install = [*apt, "install", "--no-install-recommends"]
    installed = runs([*apt, "update"], DOWNLOAD_S) and any(
        runs([*install, package], DOWNLOAD_S) for package in PACKAGES
    )
    return installed and any(shutil.which(name) for name in PROGRAMS)


def runs(command: list[str], longest_s: float) -> bool:
    """Whether a command ends well in that time; where it does not, its last line is shown."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=longest_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"browser: {' '.join(command[:3])}: {error}", file=sys.stderr)
        return False
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        print(
            f"browser: {' '.join(command[-3:])} failed: {said[-1] if said else 'no message'}", file=sys.stderr
        )
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

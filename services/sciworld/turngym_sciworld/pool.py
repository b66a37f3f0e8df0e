"""The JVMs of a service: started when they are needed, filled evenly, replaced when they die.

A simulation stays in the JVM that it was opened in. When that is gone its calls raise BackendDied, the runtime opens the
episode again, and the pool gives it a place in another JVM, started for it where none is left.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from turngym.problems import ProblemError
from turngym_sciworld.java import classpath, find_java
from turngym_sciworld.jvm import Jvm
from turngym_sciworld.settings import JvmSettings


class Pool:
    """A few JVMs. Every method may be called from any thread."""

    def __init__(self, settings: JvmSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._jvms: list[Jvm] = []
        self._paths: tuple[Path, str] | None = None
        self._closed = False
        self.replaced = 0

    def start(self, progress: Callable[[str, float], None]) -> None:
        """Find Java and the simulator and start every JVM. Raises JavaError, whose one line says what to do."""
        with self._lock:
            for number in range(self._settings.jvms):
                progress(f"JVM {number + 1} of {self._settings.jvms}", number / self._settings.jvms)
                self._start()

    def freest(self, scratch: bool = False) -> Jvm:
        """A live JVM with room for one more simulation, or for a short one beside those. Raises ProblemError where all are
        full."""
        with self._lock:
            alive = [jvm for jvm in self._jvms if jvm.alive]
            self.replaced += len(self._jvms) - len(alive)
            self._jvms = alive
            while len(self._jvms) < self._settings.jvms and not self._closed:
                self._start()
            if not self._jvms:
                raise ProblemError("not_ready", "the service is stopping")
            found = min(self._jvms, key=lambda jvm: jvm.simulations)
            if not scratch and found.simulations >= self._settings.jvm_sessions:
                room = len(self._jvms) * self._settings.jvm_sessions
                detail = (
                    f"all {room} places in the JVMs are taken; TURNGYM_JVMS and TURNGYM_JVM_SESSIONS make more, "
                    f"and TURNGYM_MAX_SESSIONS should not be above them"
                )
                raise ProblemError("at_capacity", detail, retry_after=1)
            return found

    def _start(self) -> None:
        if self._paths is None:
            self._paths = find_java(self._settings.java, self._settings.jvm_start_timeout_s), classpath()
        self._jvms.append(Jvm(*self._paths, self._settings))

    @property
    def jvms(self) -> list[Jvm]:
        """The JVMs that were last known to live."""
        return list(self._jvms)

    def close(self) -> None:
        """End every JVM."""
        self._closed = True
        with self._lock:
            for jvm in self._jvms:
                jvm.kill()
            self._jvms = []

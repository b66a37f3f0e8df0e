"""ScienceWorld as a service: what ``turngym serve sciworld`` serves."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar

from turngym.environment import Environment, Mode, Progress, Service, Spec
from turngym.problems import ProblemError
from turngym.schema import TaskInfo
from turngym.server.settings import read_settings
from turngym_sciworld import __version__
from turngym_sciworld.env import GRAMMAR, INSTRUCTION, SciWorld, SciWorldOptions
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.java import JAR_SHA256
from turngym_sciworld.jvm import resident_bytes
from turngym_sciworld.pool import Pool
from turngym_sciworld.settings import JvmSettings
from turngym_sciworld.tasks import SciWorldTasks, survey_hash, variation_of

DEFAULT_MAX_TURNS = 100  # the step limit of the official wrapper
MAX_TURNS = 400


class SciWorldService(Service):
    """Science experiments as text, in JVMs that many episodes share. Calls wait for Java in threads."""

    Options: ClassVar = SciWorldOptions
    defaults: ClassVar = {"port": 8005, "max_sessions": 128}

    def __init__(self) -> None:
        self.tasks = SciWorldTasks()
        self.spec = Spec(
            name="sciworld",
            version=__version__,
            description="Do experiments of elementary school science in a simulated house",
            instruction=INSTRUCTION,
            grammar=GRAMMAR,
            default_max_turns=DEFAULT_MAX_TURNS,
            max_turns=MAX_TURNS,
            data_hash=sha256(f"{JAR_SHA256} {survey_hash()}".encode()).hexdigest(),
            mode=Mode.THREAD,
            reward_range=(-1.0, 1.0),
            risky=True,
        )
        self._settings = read_settings(JvmSettings)
        self._pool = Pool(self._settings)
        self._gold = GoldPaths(self._pool)

    def load(self, progress: Progress) -> None:
        """Start the JVMs. Raises JavaError, whose one line says what is missing."""
        self._pool.start(progress)

    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task. The simulator seeds itself by the variation, so ``seed`` changes nothing.
        Raises ProblemError (invalid_request) where the options rule the task out."""
        try:
            return SciWorld(self._pool, self._gold, *variation_of(task), options)
        except ValueError as error:
            raise ProblemError("invalid_request", str(error)) from None

    def gauges(self) -> Mapping[str, float]:
        """How many JVMs live, died and are in use, and their resident memory."""
        jvms = self._pool.jvms
        return {
            "jvms": float(sum(jvm.alive for jvm in jvms)),
            "jvms_replaced": float(self._pool.replaced),
            "jvm_simulations": float(sum(jvm.simulations for jvm in jvms)),
            "jvm_resident_bytes": float(sum(resident_bytes(jvm.pid) for jvm in jvms)),
        }

    def close(self) -> None:
        """End the JVMs."""
        self._pool.close()

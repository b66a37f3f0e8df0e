"""One JVM that runs many simulations, as if each had the JVM to itself.

The simulator keeps in globals: a random generator, a counter of object ids, the simplifications in force, and a cache of
walks through the house. So calls take turns (a lock per JVM), and before a simulation's call its own generator, counter and
simplifications are put in place. The cache serves the simulator's solutions alone, and is filled at the start with walks
that do not depend on chance (see house.py). Sets of objects are ordered by their identity hash, which HotSpot draws at
random: it is told to give all objects the same one, and the sets keep the order in which they were filled. With that, a
simulation's texts depend on its task and actions alone.

The process ends with this one, however this one ends: it reads a pipe that only this process writes to. Its gateway
listens on the loopback interface and wants a secret. Output goes nowhere but for the last lines, which say why it died. The
simulator leaves a file in its working folder, so that is a temporary one.
"""

import logging
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayClient, GatewayParameters, JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError

from turngym.environment import BackendDied
from turngym_sciworld.house import DOORS, walk
from turngym_sciworld.java import JavaError
from turngym_sciworld.settings import JvmSettings

logger = logging.getLogger("turngym.sciworld")

JVM_OPTIONS = (
    "-XX:+UseSerialGC",  # a third of the memory of the default collector, and no threads that compete with the server
    "-Xss16m",  # the parser recurses
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",  # every object the same identity hash: sets keep the order they were filled in
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+ExitOnOutOfMemoryError",  # the simulator would take it for an agent's failure
    "-XX:-UsePerfData",  # no file in /tmp
    "-Dfile.encoding=UTF-8",
)
_WARM_UP = ("boil", 0)  # any task loads nearly every class


class SimulatorFailure(RuntimeError):
    """The simulator raised. The message is Java's."""


@dataclass(slots=True, eq=False)
class Simulation:
    """One episode inside a JVM: its interface, its random generator and its counter of object ids."""

    interface: Any
    random: Any
    simplifications: str
    ids: int = 0
    closed: bool = False


class _Client(GatewayClient):  # type: ignore[misc]
    """Sends each command once, and waits ``patience_s`` for the answer. py4j's own client would act again when an answer is
    lost, and has one time limit for all commands."""

    patience_s: float

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:
        """The answer to one command. Raises Py4JNetworkError."""
        connection = self._get_connection()
        connection.socket.settimeout(self.patience_s)
        try:
            response: str = connection.send_command(command)
        except BaseException:
            connection.close(False)
            raise
        self._give_back_connection(connection)
        return response


class _Gateway(JavaGateway):  # type: ignore[misc]
    def _create_gateway_client(self) -> _Client:
        self.client = _Client(gateway_parameters=self.gateway_parameters)
        self.client.patience_s = self.gateway_parameters.read_timeout
        return self.client


class Jvm:
    """A running JVM. Every method may be called from any thread; BackendDied means that it is gone for good."""

    def __init__(self, java: Path, jars: str, settings: JvmSettings) -> None:
        """Start it and load the simulator's classes. Raises JavaError where it does not come up."""
        self._settings = settings
        self._lines: deque[str] = deque(maxlen=20)
        self._lock = threading.Lock()
        self._current: Simulation | None = None
        self._simplifications = ""
        self._death = ""
        self.simulations = 0
        self._folder = tempfile.TemporaryDirectory(prefix="turngym-jvm-")
        command = [str(java), f"-Xmx{settings.jvm_heap_mb}m", *JVM_OPTIONS, "-cp", jars, "py4j.GatewayServer"]
        self._process = subprocess.Popen(
            [*command, "--enable-auth", "--die-on-broken-pipe", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=self._folder.name,
            start_new_session=True,  # Ctrl-C is for the service: it closes its sessions first
        )
        try:
            self._gateway = self._connect()
            self._prepare()
            self._gateway.client.patience_s = settings.jvm_call_timeout_s
        except (Py4JError, BackendDied, SimulatorFailure) as error:
            self.kill()
            raise JavaError(
                f"the simulator does not start on {java}: {self._last_words() or error}"
            ) from error
        except BaseException:
            self.kill()
            raise

    def _connect(self) -> _Gateway:
        """Reads the gateway's port and secret, which it prints, and connects."""
        greeting: list[str] = []
        ready = threading.Event()

        def listen() -> None:
            assert self._process.stdout is not None
            for line in self._process.stdout:
                if (greeting and len(greeting) < 2) or (line.strip().isdigit() and not greeting):
                    greeting.append(line.strip())
                    if len(greeting) == 2:
                        ready.set()
                else:
                    self._lines.append(line.strip())
            ready.set()

        self._listener = threading.Thread(target=listen, name="turngym-jvm", daemon=True)
        self._listener.start()
        ready.wait(self._settings.jvm_start_timeout_s)
        if len(greeting) < 2:
            said = self._last_words() or f"it said nothing within {self._settings.jvm_start_timeout_s:g} s"
            raise JavaError(f"the JVM does not start: {said}")
        return _Gateway(
            gateway_parameters=GatewayParameters(
                port=int(greeting[0]),
                auth_token=greeting[1],
                enable_memory_management=False,  # its finalizers would call Java from whichever thread they run in
                read_timeout=self._settings.jvm_start_timeout_s,
            )
        )

    def _prepare(self) -> None:
        """Silences the simulator, finds its globals, and loads its classes by a first episode."""
        java = self._gateway.jvm.java
        java.lang.System.setOut(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))
        self._interface = self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface
        self._generator = java.util.Random
        self._join = java.lang.String.join
        self._random_owner, self._random = self._global("scala.util.Random$", "self", "scala.util.Random")
        self._ids_owner, self._ids = self._global("util.UniqueIdentifier$", "count")
        self._processor, _ = self._global(
            "main.scala.scienceworld.runtime.SimplifierProcessor$", "simplifications"
        )
        walks, _ = self._global("scienceworld.goldagent.PathFinder$", "precomputedExhaustivePaths")
        for room in DOORS:
            walks.precomputedExhaustivePaths().update(room, self._walk(room))
        warm = self.open(*_WARM_UP, "")
        self.step(warm, "look around")
        self.close(warm)

    def _global(self, module: str, field: str, declared_in: str | None = None) -> tuple[Any, Any]:
        """A Scala object and the handle of a field of it."""
        named = self._gateway.jvm.java.lang.Class.forName
        owner = named(module).getDeclaredField("MODULE$").get(None)
        handle = named(declared_in or module).getDeclaredField(field)
        handle.setAccessible(True)
        return owner, handle

    def _walk(self, start: str) -> Any:
        """The walk through all rooms as the simulator keeps it: an array of the actions for each room."""
        rooms = walk(start)
        found = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(rooms), 2)
        for actions, room in zip(found, rooms, strict=True):
            actions[0], actions[1] = f"open door to {room}", f"go to {room}"
        return found

    @property
    def alive(self) -> bool:
        """Whether it can still be called."""
        return not self._death and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def open(self, task: str, variation: int, simplifications: str) -> Simulation:
        """A fresh episode of a task's variation. ``simplifications`` are names joined by commas."""
        with self._calling():
            simulation = Simulation(self._interface(), self._generator(), simplifications)
            try:
                self._enter(simulation)
                simulation.interface.load(task, variation, simplifications, False)
            except Py4JJavaError:  # of any other error the whole JVM dies
                self._leave(simulation)
                raise
            self.simulations += 1
        return simulation

    def describe(self, simulation: Simulation) -> str:
        """What the agent is told to do."""
        with self._calling(simulation):
            return str(simulation.interface.getTaskDescription())

    def step(self, simulation: Simulation, action: str) -> tuple[str, float, bool]:
        """Do one action: the observation, the score so far (-1..1), and whether the task is over."""
        with self._calling(simulation):
            text = simulation.interface.step(action)
            return text, float(simulation.interface.getScore()), bool(simulation.interface.getCompleted())

    def actions(self, simulation: Simulation) -> list[str]:
        """Every valid action now, in the simulator's order."""
        with self._calling(simulation):
            return self._strings(simulation.interface.getValidActionObjectCombinations())

    def gold_path(self, task: str, variation: int, simplifications: str) -> list[str]:
        """The simulator's own solution of a variation. It may take as long as a start: the simulator plays it to the end."""
        with self._calling(), self._patient():
            simulation = Simulation(self._interface(), self._generator(), simplifications)
            try:
                self._enter(simulation)
                simulation.interface.load(task, variation, simplifications, True)
                return self._strings(simulation.interface.getGoldActionSequence())
            finally:
                self._leave(simulation)

    def variations(self, task: str) -> tuple[list[int], list[int], list[int]]:
        """The official variations of a task for training, development and test."""
        with self._calling():
            simulation = Simulation(self._interface(), self._generator(), "")
            try:
                self._enter(simulation)
                simulation.interface.load(task, 0, "", False)
                found = simulation.interface
                asked = (found.getVariationsTrain, found.getVariationsDev, found.getVariationsTest)
                train, dev, test = (self._numbers(ask()) for ask in asked)
                return train, dev, test
            finally:
                self._leave(simulation)

    def close(self, simulation: Simulation) -> None:
        """Give an episode's memory back."""
        with self._lock:
            if not simulation.closed:
                simulation.closed = True
                self.simulations -= 1
                self._leave(simulation)

    def heap_bytes(self) -> int:
        """The heap in use."""
        with self._calling():
            runtime = self._gateway.jvm.java.lang.Runtime.getRuntime()
            used = runtime.totalMemory() - runtime.freeMemory()
            self._gateway.detach(runtime)
        return int(used)

    def collect(self) -> None:
        """Run Java's garbage collector."""
        with self._calling():
            self._gateway.jvm.java.lang.System.gc()

    def kill(self) -> None:
        """End the process now. Calls that are under way raise BackendDied."""
        self._death = self._death or "it was stopped"
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    @contextmanager
    def _calling(self, simulation: Simulation | None = None) -> Iterator[None]:
        """The JVM for oneself, with a simulation's globals in place."""
        with self._lock:
            if not self.alive or (simulation is not None and simulation.closed):
                raise BackendDied(f"the JVM is gone: {self._last_words()}", acted=False)
            try:
                if simulation is not None:
                    self._enter(simulation)
                yield
            except Py4JJavaError as error:
                message = str(error.java_exception.toString())
                self._gateway.detach(error.java_exception)
                raise SimulatorFailure(message) from None
            except (Py4JError, OSError) as error:
                self._bury(error)
                raise BackendDied(f"the JVM died: {self._last_words()}") from None

    @contextmanager
    def _patient(self) -> Iterator[None]:
        self._gateway.client.patience_s = self._settings.jvm_start_timeout_s
        try:
            yield
        finally:
            self._gateway.client.patience_s = self._settings.jvm_call_timeout_s

    def _bury(self, error: Exception) -> None:
        """The JVM does not answer, or not what was asked: there is no telling what state it is in."""
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, TimeoutError):
            self._death = "a call was not answered in time"
        else:
            try:
                code = self._process.wait(timeout=2)  # it may be on its way out, with something to say
                self._listener.join(timeout=2)  # its output ends with it
            except subprocess.TimeoutExpired:
                self._death = f"{type(cause).__name__}: {cause}"
            else:
                self._death = f"exit status {code}"
        self.kill()
        logger.warning("JVM %d is gone: %s", self.pid, self._last_words())

    def _last_words(self) -> str:
        errors = [line for line in self._lines if "rror" in line or "nvalid" in line or "nrecognized" in line]
        said = (errors or list(self._lines)[-1:])[:1]
        return "; ".join([*([self._death] if self._death else []), *said])

    def _enter(self, simulation: Simulation) -> None:
        """Put the simulation's globals in place of the last one's."""
        last = self._current
        if last is simulation:
            return
        if last is not None:
            last.ids = self._ids.getLong(self._ids_owner)
        self._current = simulation
        self._ids.setLong(self._ids_owner, simulation.ids)
        self._random.set(self._random_owner, simulation.random)
        if self._simplifications != simulation.simplifications:
            self._gateway.detach(self._processor.parseSimplificationStr(simulation.simplifications))
            self._simplifications = simulation.simplifications

    def _leave(self, simulation: Simulation) -> None:
        """Forget a simulation, on both sides."""
        if self._current is simulation:
            self._current = None
        if not self.alive:
            return
        try:
            self._gateway.detach(simulation.interface)
            self._gateway.detach(simulation.random)
        except (Py4JError, OSError) as error:
            self._bury(error)

    def _strings(self, found: Any) -> list[str]:
        try:
            text = str(self._join("\n", found))
        finally:
            self._gateway.detach(found)
        return text.split("\n") if text else []

    def _numbers(self, found: Any) -> list[int]:
        try:
            text = str(found.toString())  # "[0, 1, 2]"
        finally:
            self._gateway.detach(found)
        return [int(item) for item in text.strip("[]").split(", ") if item]


def resident_bytes(pid: int) -> int:
    """The resident memory of a process; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)

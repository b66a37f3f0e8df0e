"""Many episodes in one JVM: each as if alone, from any thread, after the death of the JVM, and with its memory given back."""

import os
import signal
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sciworlds import Opener, play

from turngym.environment import BackendDied
from turngym_sciworld.env import SciWorld, SciWorldOptions
from turngym_sciworld.expert import GoldPaths
from turngym_sciworld.house import DOORS, walk
from turngym_sciworld.java import JavaError, classpath, find_jar, find_java
from turngym_sciworld.jvm import Jvm, SimulatorFailure
from turngym_sciworld.pool import Pool
from turngym_sciworld.service import SciWorldService
from turngym_sciworld.settings import JvmSettings

# Genetics and growth draw at random as they go, the others keep the parser and the order of sets busy.
BUSY = [
    ("mendelian-genetics-known-plant", 3),
    ("grow-plant", 7),
    ("boil", 5),
    ("chemistry-mix", 2),
    ("find-animal", 11),
]


def texts_of(env: SciWorld, turns: int) -> list[str]:
    texts = [env.start()[-1].content]
    return texts + [f"{outcome.text} {outcome.score}" for outcome in play(env, SciWorld.expert, turns)]


def test_the_simulator_s_globals_are_those_that_are_exchanged(service: SciWorldService) -> None:
    """Every Scala object of the simulator that can change is known: another release with one more must not go unnoticed."""
    jvm = service._pool.freest()
    java = jvm._gateway.jvm.java.lang
    loader = java.ClassLoader.getSystemClassLoader()
    found = set()
    for name in zipfile.ZipFile(find_jar()).namelist():
        if not name.endswith("$.class") or name.startswith(("scala/", "py4j/")):
            continue
        module = java.Class.forName(name.removesuffix(".class").replace("/", "."), False, loader)
        for field in module.getDeclaredFields():
            final = java.reflect.Modifier.isFinal(field.getModifiers())
            if field.getName() != "MODULE$" and (not final or "mutable" in field.getType().getName()):
                found.add(f"{name.removesuffix('$.class').rpartition('/')[2]}.{field.getName()}")
    assert found == {
        "SimplifierProcessor.simplifications",
        "PathFinder.precomputedExhaustivePaths",
        "UniqueIdentifier.count",
        "UniqueTypeID.lut",  # numbers of classes, which no text shows
        "UniqueTypeID.nextID",
    }


def test_interleaved_episodes_say_what_they_say_alone(open_task: Opener) -> None:
    alone = {}
    for kind, variation in BUSY:
        env = open_task(kind, variation)
        alone[kind] = texts_of(env, 25)
        env.close()
    envs = {kind: open_task(kind, variation, simplifications=[]) for kind, variation in BUSY}
    other = open_task("find-plant", 1, simplifications=["easy"])
    other.start()
    together = {kind: [env.start()[-1].content] for kind, env in envs.items()}
    for _ in range(25):
        for kind, env in envs.items():
            if env.stop is None:
                outcome = env.step(env.expert())
                together[kind].append(f"{outcome.text} {outcome.score}")
            other.step("wait1")
    assert together == alone


def test_threads_may_play_at_once(open_task: Opener) -> None:
    envs = [open_task(*BUSY[index % 5]) for index in range(10)]
    with ThreadPoolExecutor(10) as threads:
        texts = list(threads.map(lambda env: texts_of(env, 10), envs))
    assert texts[:5] == texts[5:]


def test_another_jvm_says_the_same(open_task: Opener, service: SciWorldService) -> None:
    pool = Pool(JvmSettings(jvms=1, jvm_heap_mb=512))
    try:
        for kind, variation in BUSY[:3]:
            first = texts_of(open_task(kind, variation), 15)
            other = SciWorld(pool, service._gold, kind, variation, SciWorldOptions())
            assert texts_of(other, 15) == first
            other.close()
    finally:
        pool.close()


def test_a_dead_jvm_is_replaced() -> None:
    pool = Pool(JvmSettings(jvms=1, jvm_heap_mb=512))
    try:
        env = SciWorld(pool, GoldPaths(pool), "boil", 0, SciWorldOptions())
        env.start()
        first = pool.freest()
        os.kill(first.pid, signal.SIGKILL)
        with pytest.raises(BackendDied):
            env.step("look around")
        with pytest.raises(BackendDied) as found:
            env.step("look around")
        assert not found.value.acted
        env.close()
        again = SciWorld(pool, GoldPaths(pool), "boil", 0, SciWorldOptions())
        assert again.start()
        assert pool.freest().pid != first.pid
        assert pool.replaced == 1
    finally:
        pool.close()


def test_a_jvm_that_does_not_answer_is_killed() -> None:
    jvm = Jvm(find_java(), classpath(), JvmSettings(jvm_call_timeout_s=1, jvm_heap_mb=512))
    simulation = jvm.open("boil", 0, "")
    os.kill(jvm.pid, signal.SIGSTOP)
    with pytest.raises(BackendDied, match="not answered in time"):
        jvm.step(simulation, "look around")
    assert not Path(f"/proc/{jvm.pid}").exists()


def test_a_jvm_without_memory_ends_with_a_word_about_it() -> None:
    jvm = Jvm(find_java(), classpath(), JvmSettings(jvm_heap_mb=64))

    def fill() -> None:
        for variation in range(300):
            jvm.open("boil", variation % 30, "")

    with pytest.raises(BackendDied, match="OutOfMemoryError"):
        fill()
    assert not jvm.alive
    jvm.kill()


def test_a_heap_too_small_to_start_is_said() -> None:
    with pytest.raises(JavaError, match="does not start"):
        Jvm(find_java(), classpath(), JvmSettings().model_copy(update={"jvm_heap_mb": 2}))


def handles(jvm: Jvm) -> int:
    """How many of Java's objects are held for Python."""
    held = [jvm._gateway.java_gateway_server.getGateway()]
    try:
        held.append(held[0].getClass())
        held.append(held[1].getDeclaredField("bindings"))
        held[2].setAccessible(True)
        held.append(held[2].get(held[0]))
        return len(held[3])
    finally:
        for found in held:
            jvm._gateway.detach(found)


def test_an_episode_that_cannot_be_opened_leaves_nothing_in_the_jvm(service: SciWorldService) -> None:
    jvm = service._pool.freest()
    before = handles(jvm), jvm.simulations
    with pytest.raises(SimulatorFailure):
        jvm.open("boil", -1, "")
    assert (handles(jvm), jvm.simulations) == before


def test_memory_is_given_back(open_task: Opener, service: SciWorldService) -> None:
    jvm = service._pool.freest()
    used = []
    for _ in range(3):
        for number in range(25):
            env = open_task("find-animal", number)
            env.start()
            env.step("look around")
            env.close()
        jvm.collect()
        used.append(jvm.heap_bytes())
    assert used[2] - used[0] < 5_000_000


def test_the_jvm_ends_when_its_owner_lets_go() -> None:
    jvm = Jvm(find_java(), classpath(), JvmSettings(jvm_heap_mb=512))
    assert jvm._process.stdin is not None
    jvm._process.stdin.close()
    assert jvm._process.wait(30) is not None
    with pytest.raises(BackendDied):
        jvm.open("boil", 0, "")
    jvm.kill()


def test_a_walk_is_as_short_as_the_simulator_s_own_and_can_be_walked(
    open_task: Opener, service: SciWorldService
) -> None:
    jvm = service._pool.freest()
    env = open_task("boil", simplifications=["openDoors", "teleportAction"])
    env.start()
    assert env._simulation is not None
    universe = env._simulation.interface.agentInterface().get().universe()
    finder, _ = jvm._global("scienceworld.goldagent.PathFinder$", "precomputedExhaustivePaths")
    own = finder.createActionSequenceSearchPattern(universe, None, "foundry")
    given = finder.precomputedExhaustivePaths().apply("foundry")
    rooms = walk("foundry")
    assert len(given) == len(own) == len(rooms)
    assert [list(actions) for actions in given] == [
        [f"open door to {room}", f"go to {room}"] for room in rooms
    ]
    env.step("teleport to foundry")
    for room in rooms:
        env.step(f"go to {room}")
        assert f" called the {room}." in env.step("look around").text
    assert {"foundry", *rooms} == set(DOORS)


def test_a_solution_does_not_depend_on_those_before_it(service: SciWorldService) -> None:
    wanted = ("test-conductivity", 3, "")
    pool = Pool(JvmSettings(jvms=1, jvm_heap_mb=512))
    try:
        fresh = GoldPaths(pool).find(*wanted)
    finally:
        pool.close()
    later = GoldPaths(service._pool)
    later.find("chemistry-mix-paint-secondary-color", 0, "")
    assert later.find(*wanted) == fresh

"""A small deterministic service for the tests of the core: count to a target, with ways to misbehave on demand.

The goal is to reach ``target`` by ``add N``. Other commands: ``echo TEXT``, ``give up``, ``stop`` (the agent's own verdict),
``sleep SECONDS``, ``flood MEGABYTES`` (of text), ``crash`` (raises), ``die`` (kills the process it runs in), ``lose`` (the
backend is gone), ``stray N`` (it is found gone N times), ``consult`` (refused as often as the toy's ``refusals`` say), ``bad
score``, ``bad data``, ``mumble`` (unreadable to the environment alone). Run as a program it serves itself:
``python toy.py '{"mode": "thread"}' port=8123 journal=/tmp/x``; the first argument holds the fields of :class:`Toy`.
"""

import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

from turngym.environment import (
    BackendDied,
    BackendUnavailable,
    Environment,
    Mode,
    NotSupported,
    Outcome,
    Progress,
    Service,
    Spec,
    TaskSet,
)
from turngym.environment import Options as BaseOptions
from turngym.schema import ActionGrammar, Command, Message, Split, StopReason, TaskInfo
from turngym.server.http import Call, Reply, json_reply
from turngym.server.routes import RouteDoc

COUNTS = {"train": 40, "validation": 10, "test": 20}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6360"
    "00000002000148afa4710000000049454e44ae426082"
)


class ToyOptions(BaseOptions):
    """``step`` is what ``add`` without a number adds."""

    step: int = 1


class ToyTasks(TaskSet):
    """Targets 3 to 12; the splits differ in their ids."""

    def count(self, split: Split) -> int:
        return COUNTS[split]

    def at(self, split: Split, index: int) -> TaskInfo:
        if not 0 <= index < COUNTS[split]:
            raise IndexError(index)
        target = 3 + index % 10
        return TaskInfo(
            task_id=f"toy/{split}/{index}", split=split, index=index, goal=f"Count to {target}.", info={}
        )

    def get(self, task_id: str) -> TaskInfo:
        parts = task_id.split("/")
        if len(parts) != 3 or parts[0] != "toy" or parts[1] not in COUNTS or not parts[2].isdecimal():
            raise KeyError(task_id)
        index = int(parts[2]) if len(parts[2]) < 9 else 10**9
        if str(index) != parts[2] or index >= COUNTS[parts[1]]:
            raise KeyError(task_id)
        return self.at(parts[1], index)  # type: ignore[arg-type]


class ToyEnvironment(Environment):
    """Counts. ``salt`` makes its texts differ between processes where the toy is to drift."""

    def __init__(self, target: int, options: ToyOptions, toy: "Toy", seed: int) -> None:
        self.target = target
        self.options = options
        self.toy = toy
        self.seed = seed
        self.count = 0

    def start(self) -> list[Message]:
        text = f"Count to {self.target}. The count is 0. Seed {self.seed}.{self.toy.salt}"
        return [Message(role="system", content=self.toy.spec.instruction), Message(role="user", content=text)]

    def opening_data(self) -> dict[str, Any] | None:
        return {"count": 0}

    @property
    def score(self) -> float:
        return min(1.0, self.count / self.target)

    def step(self, action: str) -> Outcome:
        word, _, rest = action.partition(" ")
        if word == "add":
            return self._add(rest)
        if word == "echo":
            return self._say(rest)
        if word == "flood":
            return self._say("flood " * (int(rest) * 10**6 // 6))
        if word == "sleep":
            time.sleep(float(rest))
            return self._say(f"slept {rest}")
        if action == "give up":
            return Outcome("You gave up.", score=self.score, stop=StopReason.FAILURE)
        if action == "stop":
            good = self.count == self.target - 1
            return Outcome(
                "You stopped.", score=1.0 if good else self.score, stop=StopReason.AGENT_STOP, success=good
            )
        return self._misbehave(action)

    def _add(self, rest: str) -> Outcome:
        try:
            amount = int(rest or self.options.step)
        except ValueError:
            return Outcome(f"{rest!r} is not a number.", score=self.score, invalid=True)
        before = self.score
        self.count = max(0, min(self.target, self.count + amount))
        if self.count == self.target:
            return Outcome(
                "Done.", reward=1.0 - before, score=1.0, stop=StopReason.SUCCESS, data={"count": self.count}
            )
        return self._say(f"The count is {self.count}.{self.toy.salt}", self.score - before)

    def _say(self, text: str, reward: float = 0.0) -> Outcome:
        return Outcome(text, reward=reward, score=self.score, data={"count": self.count})

    def _misbehave(self, action: str) -> Outcome:
        if action == "crash":
            raise RuntimeError("the toy crashed")
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "lose":
            raise BackendDied("the toy's backend is gone")
        if action == "consult":
            if self.toy.refusals:
                self.toy.refusals -= 1
                raise BackendUnavailable("the toy's oracle is busy", retry_after=2)
            return self._say("the oracle has spoken")
        if action.startswith("stray "):
            self.toy.strayed += 1
            if self.toy.strayed <= int(action.split()[1]):
                raise BackendDied("the toy's backend was gone before", acted=False)
            return self._say("found again")
        if action == "mumble":
            return Outcome("What?", score=self.score, invalid=True, unreadable=True)
        if action == "bad score":
            return Outcome("?", score=7.0)
        if action == "bad data":
            return Outcome("?", data={"x": object()})
        return Outcome(f"Unknown command: {action}", score=self.score, invalid=True)

    def actions(self) -> list[str]:
        if self.toy.mute:
            raise NotSupported("this toy can't list its actions")
        return [f"add {amount}" for amount in range(1, self.target - self.count + 1)]

    def expert(self) -> str:
        return "add 1"

    def novice(self, rng: Random, rate: float) -> str:
        return "echo hm" if rng.random() < rate else self.expert()

    def fork(self) -> "ToyEnvironment":
        if not self.toy.forkable:
            raise NotSupported("this toy can't be copied")
        copy = ToyEnvironment(self.target, self.options, self.toy, self.seed)
        copy.count = self.count
        return copy

    def render(self) -> bytes | None:
        return PNG


class AsyncToyEnvironment(ToyEnvironment):
    """The same with coroutines."""

    async def step(self, action: str) -> Outcome:  # type: ignore[override]
        if action.startswith("sleep "):
            await asyncio.sleep(float(action.split()[1]))
            return self._say("slept")
        return super().step(action)

    async def start(self) -> list[Message]:  # type: ignore[override]
        return super().start()


@dataclass
class Toy(Service):
    """The toy service. Plain data, so that it can be sent to a worker process."""

    mode: str = "inline"
    risky: bool = False
    deterministic: bool = True
    forkable: bool = False
    mute: bool = False
    version: str = "1"
    salt: str = ""
    data_hash: str = "d" * 64
    load_s: float = 0.0
    load_until: str = ""  # a file that somebody makes
    load_error: str = ""
    broken_gauges: bool = False
    refusals: int = 0
    strayed: int = 0
    invalid_limit: int | None = 3
    defaults: dict[str, Any] = field(default_factory=lambda: {"port": 8099})  # type: ignore[misc]

    Options = ToyOptions

    def __post_init__(self) -> None:
        self.tasks = ToyTasks()
        self.spec = Spec(
            name="toy",
            version=self.version,
            description="Count to a target.",
            instruction="Reach the target. Write one action per turn.",
            grammar=ActionGrammar(
                forms=["react", "fenced", "bare"],
                commands=[Command(template="add {n}", description="add to the count", example="add 2")],
                stop=["Observation:"],
            ),
            default_max_turns=8,
            max_turns=50,
            data_hash=self.data_hash,
            mode=Mode(self.mode),
            deterministic=self.deterministic,
            forkable=self.forkable,
            risky=self.risky,
            invalid_limit=self.invalid_limit,
        )

    def load(self, progress: Progress) -> Any:
        if self.load_error:
            raise RuntimeError(self.load_error)
        progress("the toy's parts", 0.5)
        if self.mode == "async":
            return self._load_in_loop()
        time.sleep(self.load_s)
        while self.load_until and not os.path.exists(self.load_until):
            time.sleep(0.02)

    async def _load_in_loop(self) -> None:
        await asyncio.sleep(self.load_s)
        self.loop = asyncio.get_running_loop()

    def close(self) -> Any:
        return self._close_in_loop() if self.mode == "async" else None

    async def _close_in_loop(self) -> None:
        if asyncio.get_running_loop() is not self.loop:
            print("the toy was closed in another event loop", file=sys.stderr, flush=True)

    def open(self, task: TaskInfo, seed: int, options: ToyOptions) -> ToyEnvironment:
        kind = AsyncToyEnvironment if self.mode == "async" else ToyEnvironment
        if self.mode == "async":
            assert self.loop is asyncio.get_running_loop(), "the toy was not loaded in this event loop"
        return kind(3 + task.index % 10, options, self, seed)

    def routes(self) -> list[RouteDoc]:
        return [RouteDoc("POST", "/toys", self.toys, "Send toys", {200: None}, ("too_large", "internal"))]

    async def toys(self, call: Call) -> Reply:
        if (body := await call.body()) == b"broken":
            raise RuntimeError("the toy is broken")
        return json_reply({"toys": len(body)})

    def gauges(self) -> dict[str, float]:
        if self.broken_gauges:
            raise RuntimeError("the gauges are broken")
        return {"toys": 1.0}


@dataclass
class AsyncToy(Toy):
    """The toy as coroutines, for what makes it without arguments."""

    mode: str = "async"


def main(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Serve a toy in the foreground."""
    from turngym.server.app import serve
    from turngym.server.settings import SettingsError, load_settings

    toy = Toy(**fields)
    try:
        settings = load_settings(toy.defaults, **given)
    except SettingsError as error:
        raise SystemExit(f"toy: {error}") from None
    serve(toy, settings, ready=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), dict(item.split("=", 1) for item in sys.argv[2:]))

"""BabyAI as a service: what ``turngym serve babyai`` serves."""

from typing import Any, ClassVar

from turngym.environment import Environment, Service, Spec
from turngym.schema import TaskInfo
from turngym_babyai import __version__
from turngym_babyai.commands import GRAMMAR
from turngym_babyai.env import INSTRUCTIONS, BabyAI, BabyAIOptions
from turngym_babyai.tasks import BabyAITasks, data_hash


class BabyAIService(Service):
    """minigrid's BabyAI levels. A step takes a fraction of a millisecond of pure Python, so it runs in the event loop."""

    Options: ClassVar = BabyAIOptions
    defaults: ClassVar = {"port": 8004}

    def __init__(self) -> None:
        self.tasks = BabyAITasks()
        self.spec = Spec(
            name="babyai",
            version=__version__,
            description="Carry out a mission in a world of rooms, doors, keys, balls and boxes",
            instruction=INSTRUCTIONS["high-level"],
            grammar=GRAMMAR,
            default_max_turns=64,
            max_turns=1024,
            data_hash=data_hash(),
            forkable=True,
        )

    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task. Level and layout are the task's; ``seed`` changes nothing."""
        return BabyAI(task.info["level"], task.info["seed"], options)

"""TextCraft as a service: what ``turngym serve textcraft`` serves."""

from typing import Any, ClassVar

from turngym.environment import Environment, Service, Spec
from turngym.schema import TaskInfo
from turngym_textcraft import __version__
from turngym_textcraft.env import GRAMMAR, INSTRUCTION, TextCraft, TextCraftOptions
from turngym_textcraft.recipes import data_hash
from turngym_textcraft.tasks import TextCraftTasks, tree_of
from turngym_textcraft.tree import MAX_TURNS


class TextCraftService(Service):
    """Crafting in Minecraft's recipe graph. Pure Python, microseconds a step, so it runs in the event loop."""

    Options: ClassVar = TextCraftOptions
    defaults: ClassVar = {"port": 8003}

    def __init__(self) -> None:
        self.tasks = TextCraftTasks()
        self.spec = Spec(
            name="textcraft",
            version=__version__,
            description="Craft a goal item from raw materials in Minecraft's recipe graph",
            instruction=INSTRUCTION,
            grammar=GRAMMAR,
            default_max_turns=MAX_TURNS,
            max_turns=100,
            data_hash=data_hash(),
            forkable=True,
        )

    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task."""
        return TextCraft(tree_of(task), seed, options)

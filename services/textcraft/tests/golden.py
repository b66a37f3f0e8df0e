"""Prints the sha256 over every task's id, opening and expert episode, plain and renamed; run as a program.

The tests run it in processes of its own with different hash seeds and compare with the digest that they hold. After a
change of tasks or texts that is meant: run it, put the new digest into test_tasks.py and raise the service's version.
"""

from hashlib import sha256
from typing import get_args

from turngym.schema import Split
from turngym_textcraft.env import TextCraftOptions
from turngym_textcraft.service import TextCraftService


def digest() -> str:
    """The digest over all splits in their order."""
    service, content = TextCraftService(), sha256()
    for split in get_args(Split):
        for task in service.tasks.page(split, 0, service.tasks.count(split)):
            content.update(task.model_dump_json().encode())
            for options in (
                TextCraftOptions(),
                TextCraftOptions(rename=True, reward="shaped", distractors=2),
            ):
                env = service.open(task, task.index, options)
                content.update("".join(message.model_dump_json() for message in env.start()).encode())
                for _ in range(task.info["expert_turns"]):
                    outcome = env.step(env.expert())
                    content.update(
                        f"{outcome.text}\n{outcome.reward}\n{outcome.stop}\n{env.actions()}\n".encode()
                    )
    return content.hexdigest()


if __name__ == "__main__":
    print(digest())

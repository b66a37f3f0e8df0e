"""Prints the sha256 over openings and turns of every level, with both sets of actions; run as a program.

The tests run it in processes of its own with different hash seeds and compare with the digest that they hold. After a
change of texts that is meant: run it, put the new digest into test_tasks.py and raise the service's version.
"""

from hashlib import sha256
from random import Random

import orjson

from turngym_babyai.env import BabyAI, BabyAIOptions
from turngym_babyai.levels import levels

TURNS = 8


def digest() -> str:
    """The digest over all levels in their order."""
    content = sha256()
    for level in levels():
        for seed, actions in ((0, "high-level"), (7, "primitive")):
            env = BabyAI(level, seed, BabyAIOptions.model_validate({"actions": actions}))
            rng = Random(seed)
            content.update("".join(message.model_dump_json() for message in env.start()).encode())
            for turn in range(TURNS):
                outcome = env.step(env.expert() if turn % 2 else env.random(rng))
                content.update(f"{outcome.text}\n{outcome.reward}\n{outcome.stop}\n".encode())
                content.update(orjson.dumps(outcome.data))
                if outcome.stop is not None:
                    break
            env.close()
    return content.hexdigest()


if __name__ == "__main__":
    print(digest())

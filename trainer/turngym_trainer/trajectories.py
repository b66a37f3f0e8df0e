"""What a run keeps of every episode: one JSON object a line in ``rollouts/``, schema version 1.

``train-000012.jsonl`` has the episodes of training step 12, ``validation-000010.jsonl`` those of the validation after step
10. An episode that the environment's failure cut short is there too, with ``error`` set; it was not trained on.

====================  ==================================================================================================
field                 meaning
====================  ==================================================================================================
schema                1
run, step             the run's name; the global training step (0 for the validation before the first)
partition             "train" or "validation"
group, sample         the prompt's id in verl, shared by the samples of a group; the sample's number in it
session_id            the environment's session (the last one, if it was opened again)
task_id, seed         what was played; shared by a group
options, horizon      the session's options; its greatest number of turns
messages              the chat that opened the episode
prompt_ids            its token ids
turns                 one object per turn, see below
reward                what training saw: the sum of the rewards placed on tokens, after rescaling and penalties
score, success        the environment's own words at the end
stop_reason           the protocol's, or "token_limit" (the last turn was cut), "token_budget" (no room for another turn)
reopened              how often the session was opened again
timings               seconds: ``slot`` (waiting for a free session), ``env``, ``generate``, ``total``
error                 null, or what went wrong
====================  ==================================================================================================

A turn has ``action`` (text), ``token_ids`` (sampled), ``log_probs`` (the sampler's), ``observation`` (text as the agent read
it, null after the last turn), ``context_ids`` (what was appended after the sampled ids), ``reward`` (the environment's),
``invalid``, ``generate_s``, ``env_s``, and ``advantages`` (one per sampled id, once training has computed them).
The response that was trained on is the turns' ``token_ids`` and ``context_ids`` in order, without those after the last turn;
its mask is 1 on ``token_ids`` and 0 on ``context_ids`` (:func:`response`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

SCHEMA = 1


@dataclass
class Turn:
    """One turn; the module's docstring says what each field holds."""

    turn: int
    action: str
    token_ids: list[int]
    log_probs: list[float]
    observation: str | None = None
    context_ids: list[int] = field(default_factory=list)
    reward: float = 0.0
    invalid: bool = False
    generate_s: float = 0.0
    env_s: float = 0.0


@dataclass
class Trajectory:
    """One episode; the module's docstring says what each field holds."""

    run: str
    step: int
    partition: str
    group: str
    sample: int
    task_id: str
    seed: int
    options: dict[str, Any]
    horizon: int
    session_id: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    prompt_ids: list[int] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    reward: float = 0.0
    score: float = 0.0
    success: bool | None = None
    stop_reason: str | None = None
    reopened: int = 0
    timings: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("slot", "env", "generate", "total"), 0.0)
    )
    error: str | None = None
    schema: int = SCHEMA


def path(folder: str | Path, partition: str, step: int) -> Path:
    """The file that holds a step's episodes."""
    return Path(folder) / f"{partition}-{step:06d}.jsonl"


def append(folder: str | Path, trajectory: Trajectory) -> None:
    """Write one episode at the end of its step's file; one write, so that several workers may share it."""
    line = orjson.dumps(asdict(trajectory), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
    with path(folder, trajectory.partition, trajectory.step).open("ab", buffering=0) as file:
        file.write(line)


def read(file: Path) -> list[dict[str, Any]]:
    """The episodes of a file, in the order in which they ended."""
    return [orjson.loads(line) for line in file.read_bytes().splitlines()]


def response(trajectory: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Token ids and mask of the response, as they were trained on."""
    ids: list[int] = []
    mask: list[int] = []
    for turn in trajectory["turns"]:
        ids += turn["token_ids"]
        mask += [1] * len(turn["token_ids"])
        if turn is not trajectory["turns"][-1]:
            ids += turn["context_ids"]
            mask += [0] * len(turn["context_ids"])
    return ids, mask


def join_advantages(file: Path, advantages: Mapping[tuple[str, int], Iterable[float]]) -> None:
    """Add to each turn of a step's episodes the advantages of its sampled ids; replaces the file in one move.

    :param advantages: by group and sample, one number per response token.
    """
    lines = []
    for trajectory in read(file):
        known = advantages.get((trajectory["group"], trajectory["sample"]))
        if known is not None and trajectory["error"] is None:
            values, at = [round(float(value), 6) for value in known], 0
            for turn in trajectory["turns"]:
                turn["advantages"] = values[at : at + len(turn["token_ids"])]
                at += len(turn["token_ids"]) + len(turn["context_ids"])
        lines.append(orjson.dumps(trajectory, option=orjson.OPT_APPEND_NEWLINE))
    new = file.with_suffix(".jsonl.new")
    new.write_bytes(b"".join(lines))
    new.replace(file)

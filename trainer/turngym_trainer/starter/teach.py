"""Teaches a small model from nothing on episodes: next-token prediction on one core, in minutes.

    python -m turngym_trainer.starter.teach EXPERT NOVICE TOKENIZER OUT '{"tokens": 3000000}'

Input are two files of ``turngym collect``, of the expert's episodes and the novice's; output is a plain Hugging Face folder
(qwen3 architecture: its loader keeps the folder's own tokenizer). What the assistant writes counts fully; observations count
half, since an observation that repeats the last action is an easy lesson in copying. Progress goes to stdout, one JSON object
a line.

The lesson begins mostly with the expert and ends mostly with the novice: what is hard, to read and copy, is learned soonest
from one who makes each choice for a reason; how often to waste a turn is learned late and at once. Novices are there from
the beginning, since what only they see would otherwise come as a surprise that upsets the rest.
"""

import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from turngym_trainer.starter import induction
from turngym_trainer.starter.muon import Muon
from turngym_trainer.starter.tokenizer import END, START

IGNORED = 0.0
REPORT_S = 1.0
_WINDOW = 256  # episodes that are drawn and sorted by length at once


@dataclass(frozen=True, slots=True)
class Lesson:
    """How a model is built and taught.

    :ivar hidden: width; ``layers`` and ``head_dim`` as usual. 128 x 4 are about 0.8 million parameters.
    :ivar tokens: how many tokens are read in all, padding included: with this, lessons take the same time.
    :ivar expert_share: the expert's share of the episodes in the first half of the lesson, and at its end; between them it
        falls evenly.
    :ivar batch_tokens: tokens per update, padding included.
    :ivar matrix_rate: Muon's learning rate; ``vector_rate`` AdamW's, for embeddings and norms.
    :ivar observation_weight: what a token of an observation counts in the loss.
    """

    hidden: int = 128
    layers: int = 4
    head_dim: int = 32
    tokens: int = 3_000_000
    expert_share: tuple[float, float] = (0.9, 0.0)
    batch_tokens: int = 1_600
    matrix_rate: float = 0.02
    vector_rate: float = 3e-3
    warmup: float = 0.03
    observation_weight: float = 0.5
    seed: int = 0


Episode = tuple[list[int], list[float]]


def encode(tokenizer: PreTrainedTokenizerFast, messages: Sequence[Mapping[str, str]], seen: float) -> Episode:
    """Token ids of a ChatML dialogue and each token's weight in the loss, both of the same length.

    The ids equal those of the chat template on the whole dialogue. The opening message has weight 0, later observations
    ``seen``, what the assistant writes (with its closing token) 1.
    """
    parts: list[tuple[str, float]] = []
    for position, message in enumerate(messages):
        worth = 1.0 if message["role"] == "assistant" else seen if position else IGNORED
        parts += [
            (f"{START}{message['role']}\n", IGNORED),
            (message["content"] + END, worth),
            ("\n", IGNORED),
        ]
    ids: list[int] = []
    weights: list[float] = []
    pieces = tokenizer([text for text, _ in parts], add_special_tokens=False)["input_ids"]
    for tokens, (_, weight) in zip(pieces, parts, strict=True):
        ids += tokens
        weights += [weight] * len(tokens)
    return ids, weights


def new_model(tokenizer: PreTrainedTokenizerFast, lesson: Lesson) -> Qwen3ForCausalLM:
    """A fresh model for this tokenizer, random but for its induction heads. Its embeddings are large enough to be told apart
    from the start, which is half of copying."""
    heads = lesson.hidden // lesson.head_dim
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=lesson.hidden,
            intermediate_size=2 * lesson.hidden,
            num_hidden_layers=lesson.layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            head_dim=lesson.head_dim,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            attn_implementation="sdpa",
            bos_token_id=None,
            eos_token_id=tokenizer.convert_tokens_to_ids(END),
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    torch.nn.init.normal_(model.model.embed_tokens.weight, std=lesson.hidden**-0.5)
    induction.plant(model)
    return model


def _expert_share(done: float, lesson: Lesson) -> float:
    """The expert's share of the episodes at a share ``done`` of the lesson."""
    first, last = lesson.expert_share
    return first + (last - first) * max(0.0, 2 * done - 1)


def _batches(
    expert: Sequence[Episode], novice: Sequence[Episode], lesson: Lesson, pad: int
) -> Iterator[tuple[float, Tensor, Tensor]]:
    """Batches of episodes of similar length, so that little is padding, until the lesson's tokens are read: how far the
    lesson is with this batch (0..1), ids and weights, (batch, length) each."""
    rng = random.Random(lesson.seed)
    experts, novices = _forever(expert, rng), _forever(novice, rng)
    read = 0
    while True:
        share = _expert_share(read / lesson.tokens, lesson)
        drawn = [next(experts if rng.random() < share else novices) for _ in range(_WINDOW)]
        batches = list(_cut(sorted(drawn, key=lambda episode: len(episode[0])), lesson.batch_tokens))
        rng.shuffle(batches)
        for batch in batches:
            longest = max(len(ids) for ids, _ in batch)
            read += len(batch) * longest
            yield (
                min(read / lesson.tokens, 1.0),
                torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in batch]),
                torch.tensor([weights + [IGNORED] * (longest - len(weights)) for _, weights in batch]),
            )
            if read >= lesson.tokens:
                return


def _forever(episodes: Sequence[Episode], rng: random.Random) -> Iterator[Episode]:
    """All episodes again and again, in a new order each time."""
    while True:
        yield from rng.sample(episodes, len(episodes))


def _cut(episodes: Iterable[Episode], tokens: int) -> Iterator[list[Episode]]:
    """Batches of episodes that come in order of length, each of about ``tokens`` with its padding."""
    batch: list[Episode] = []
    for episode in episodes:
        if batch and (len(batch) + 1) * len(episode[0]) > tokens:
            yield batch
            batch = []
        batch.append(episode)
    if batch:
        yield batch


def _optimizers(model: Qwen3ForCausalLM, lesson: Lesson) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    return [
        Muon(matrices, lr=lesson.matrix_rate),
        torch.optim.AdamW(others, lr=lesson.vector_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def _loss(model: Qwen3ForCausalLM, ids: Tensor, weights: Tensor) -> tuple[Tensor, float]:
    """Weighted mean cross-entropy per token (nats) and the share of the assistant's tokens that are the likeliest."""
    hidden = model.model(input_ids=ids).last_hidden_state[
        :, :-1
    ]  # padded on the right: a causal mask is enough
    wanted = weights[:, 1:] > 0
    logits = model.lm_head(hidden[wanted])
    target, weight = ids[:, 1:][wanted], weights[:, 1:][wanted]
    loss = torch.nn.functional.cross_entropy(logits, target, reduction="none")
    right = (logits.argmax(-1) == target)[weight == 1].float().mean().item()
    return (loss * weight).sum() / weight.sum(), right


def _rate(done: float, warmup: float) -> float:
    """The learning rate's factor at a share ``done`` of the lesson: up, level, then down to almost nothing."""
    return min(done / warmup, 1.0, max(0.02, 1.4 * (1 - done)))


def teach(
    expert: Sequence[Episode],
    novice: Sequence[Episode],
    tokenizer: PreTrainedTokenizerFast,
    lesson: Lesson,
    out: Path,
) -> None:
    """Teach a new model and write it, with its tokenizer, to the folder ``out``."""
    torch.manual_seed(lesson.seed)
    model = new_model(tokenizer, lesson)
    optimizers = _optimizers(model, lesson)
    groups = [(group, group["lr"]) for optimizer in optimizers for group in optimizer.param_groups]
    said = 0.0
    for done, ids, weights in _batches(expert, novice, lesson, tokenizer.pad_token_id):
        for group, full in groups:
            group["lr"] = full * _rate(done, lesson.warmup)
        loss, right = _loss(model, ids, weights)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if time.monotonic() > said + REPORT_S or done >= 1:
            said = time.monotonic()
            print(json.dumps({"done": done, "loss": loss.item(), "right": right}), flush=True)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main(expert: Path, novice: Path, tokenizer_folder: Path, out: Path, lesson: Lesson) -> None:
    """Read the episodes, teach on one thread, write the model."""
    torch.set_num_threads(1)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tokenizer_folder)

    def read(file: Path) -> list[Episode]:
        with file.open(encoding="utf-8") as lines:
            dialogues = [json.loads(line)["messages"] for line in lines]
        return [encode(tokenizer, messages, lesson.observation_weight) for messages in dialogues]

    teach(read(expert), read(novice), tokenizer, lesson, out)


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit("usage: python -m turngym_trainer.starter.teach EXPERT NOVICE TOKENIZER OUT LESSON_AS_JSON")
    files = [Path(argument) for argument in sys.argv[1:5]]
    main(files[0], files[1], files[2], files[3], Lesson(**json.loads(sys.argv[5])))

"""Plays every question that the service has, by the server's rules: ``make prove TASK=search``, with a progress bar.

The expert must answer each within the default number of turns and find every gold passage on the way; doing nothing must
never earn anything; the answer that is right most often must be right for less than 2 % of any split. Exit status 1 and the
first failures where that does not hold.

    make prove TASK=search
    make prove TASK=search ARGS="--split test --n 500"
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import track
from rich.table import Table

from turngym.environment import Environment
from turngym.players import NOTHING
from turngym.schema import SPLITS, Split, StopReason
from turngym.server.episode import Episode
from turngym_search.answers import exact_match, normalised
from turngym_search.env import DeepSearch, SearchOptions
from turngym_search.questions import Question
from turngym_search.service import SearchService

COMMONEST = 0.02
SHOWN = 10
BLOCK = 64  # episodes at a time, as a training run has them


@dataclass(slots=True)
class Tally:
    """What came out of the episodes of one kind of question."""

    played: int = 0
    answered: int = 0
    idle: int = 0
    turns: Counter[int] = field(default_factory=Counter)


async def play_expert(service: SearchService, split: Split, index: int, tally: Tally) -> str | None:
    """Play the expert; what went wrong, if something did."""
    env = service.open(service.tasks.at(split, index), 0, SearchOptions())
    assert isinstance(env, DeepSearch)
    episode = Episode(env, service.spec, service.spec.default_max_turns)
    await episode.begin_async()
    while episode.stop is None:
        turn = await episode.play_async(env.expert())
    tally.played += 1
    tally.turns[turn.number] += 1
    tally.answered += episode.stop is StopReason.SUCCESS
    if episode.stop is not StopReason.SUCCESS:
        return f"{split}/{index}: {env.question.text!r} ended with {episode.stop}"
    if env.recall() not in (None, 1.0):
        return f"{split}/{index}: {env.question.text!r} was answered without all its passages"
    return None


async def play_nothing(service: SearchService, split: Split, index: int, tally: Tally) -> str | None:
    """Play the null policy; what it earned, if it did."""
    env: Environment = service.open(service.tasks.at(split, index), 0, SearchOptions())
    episode = Episode(env, service.spec, service.spec.default_max_turns)
    await episode.begin_async()
    while episode.stop is None:
        turn = await episode.play_async(NOTHING)
    tally.idle += turn.score > 0
    return f"{split}/{index}: doing nothing earned {turn.score}" if turn.score else None


def commonest(questions: Sequence[Question]) -> tuple[str, float]:
    """The answer that is right most often, and the share of questions for which it is."""
    counts = Counter(
        form for question in questions for form in {normalised(answer) for answer in question.answers}
    )
    guess = counts.most_common(1)[0][0]
    return guess, sum(exact_match(guess, question.answers) for question in questions) / len(questions)


async def prove(
    service: SearchService, splits: Sequence[Split], n: int | None, console: Console
) -> list[str]:
    """Play and print; what went wrong."""
    failures: list[str] = []
    tallies: dict[str, Tally] = {}
    for split in splits:
        questions = service.tasks.source.splits[split][:n]
        for begin in track(
            range(0, len(questions), BLOCK), f"{split}, {len(questions)} questions", console=console
        ):
            block = range(begin, min(begin + BLOCK, len(questions)))
            games = []
            for index in block:
                tally = tallies.setdefault(str(questions[index].about.get("kind", "all")), Tally())
                games += [
                    play_expert(service, split, index, tally),
                    play_nothing(service, split, index, tally),
                ]
            failures += [failure for failure in await asyncio.gather(*games) if failure]
        if questions:
            guess, share = commonest(questions)
            console.print(f"{split}: the commonest answer, {guess!r}, is right for {share:.2%}")
            if share >= COMMONEST:
                failures.append(f"{split}: always answering {guess!r} is right for {share:.2%}")
    table = Table("kind", "questions", "expert", "turns", "null")
    for kind, tally in tallies.items():
        mean = sum(turns * count for turns, count in tally.turns.items()) / max(1, tally.turns.total())
        table.add_row(
            kind,
            str(tally.played),
            f"{tally.answered / tally.played:.2%}",
            f"{mean:.2f}",
            f"{tally.idle / tally.played:.2%}",
        )
    console.print(table)
    return failures


def main() -> int:
    """Do what the command line says. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="turngym_search.prove", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--split", choices=SPLITS, help="one split alone; default: all")
    parser.add_argument("--n", type=int, help="so many questions of a split; default: all")
    arguments = parser.parse_args()
    console = Console()
    begun = time.monotonic()
    service = SearchService()
    service.load(lambda what, part: None)
    splits: Sequence[Split] = (arguments.split,) if arguments.split else SPLITS
    failures = asyncio.run(prove(service, splits, arguments.n, console))
    service.close()
    for failure in failures[:SHOWN]:
        console.print(failure, highlight=False, soft_wrap=True)
    console.print(f"{len(failures)} failures in {time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

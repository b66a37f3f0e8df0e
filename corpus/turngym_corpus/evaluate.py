"""How well the shipped questions are found by the shipped vectors: ``python -m turngym_corpus.evaluate`` (extra ``encoder``).

Prints recall@1, @3 and @10 of the gold passage for one-hop questions, in all and by template, the share of hops whose passage
is among the first three for a search for its title (that is what the expert does), and the share of the most common answer.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from turngym_corpus.encoder import EncoderError
from turngym_corpus.encoding import encode_cached, nearest
from turngym_corpus.generator import normalise
from turngym_corpus.reading import CACHE, KINDS, SPLITS, CorpusError, Question, load, questions, vectors

_DEPTHS = (1, 3, 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says. Returns the exit code: 1 where a figure that is promised isn't reached."""
    parser = argparse.ArgumentParser(
        prog="turngym_corpus.evaluate", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--split", choices=SPLITS, help="one split only")
    parser.add_argument(
        "--templates", action="store_true", help="recall of each one-hop template too, the worst first"
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="the file where vectors are kept between runs (%(default)s)"
    )
    given = parser.parse_args(arguments)
    try:
        return report(questions(given.split), given.templates, given.cache)
    except (CorpusError, EncoderError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1


def report(asked: list[Question], by_template: bool, cache: Path) -> int:
    """Prints the figures. 1 where one-hop recall@3 is under 0.9, a hop isn't found by its title or an answer has 2 %."""
    one_hop = [question for question in asked if question.kind == "one_hop"]
    ranks = gold_ranks([(question.question, question.gold[0]) for question in one_hop], cache)
    print("one-hop questions, dense: " + _recalls(ranks))
    if by_template:
        groups: dict[str, list[int]] = defaultdict(list)
        for question, rank in zip(one_hop, ranks, strict=True):
            groups[question.template].append(rank)
        for template, group in sorted(
            groups.items(), key=lambda item: np.mean([rank < 3 for rank in item[1]])
        ):
            print(f"  {template:<20}{len(group):>5}  {_recalls(group)}")
    titles = sorted({(title, id) for q in asked for title, id in zip(q.titles, q.gold, strict=True)})
    by_title = gold_ranks(titles, cache)
    print(f"gold passages by their titles ({len(titles)}): " + _recalls(by_title))
    common = 0.0
    for split in dict.fromkeys(question.split for question in asked):
        chosen = [question for question in asked if question.split == split]
        for kind in KINDS:
            answers = Counter(normalise(q.answers[0]) for q in chosen if q.kind == kind)
            (answer, count), total = answers.most_common(1)[0], answers.total()
            print(f"{split} {kind}: {total} questions, most common answer {answer!r}: {count / total:.2%}")
        (answer, count), *_ = Counter(normalise(q.answers[0]) for q in chosen).most_common(1)
        common = max(common, count / len(chosen))
        print(f"{split}: {len(chosen)} questions, most common answer {answer!r}: {count / len(chosen):.2%}")
    good = np.mean([rank < 3 for rank in ranks]) >= 0.9 and max(by_title) < 3 and common < 0.02
    return int(not good)


def gold_ranks(searches: Sequence[tuple[str, str]], cache: Path) -> list[int]:
    """For each (query, id of a passage) how many passages are found before that one; at most the greatest depth."""
    row_of = {passage.id: row for row, passage in enumerate(load())}
    queries = encode_cached([query for query, _ in searches], cache)
    found = nearest(queries, vectors().rows, _DEPTHS[-1])
    ranks = []
    for (_, id), near in zip(searches, found.tolist(), strict=True):
        ranks.append(near.index(row_of[id]) if row_of[id] in near else _DEPTHS[-1])
    return ranks


def _recalls(ranks: Sequence[int]) -> str:
    return ", ".join(f"recall@{depth} {np.mean([rank < depth for rank in ranks]):.3f}" for depth in _DEPTHS)


if __name__ == "__main__":
    sys.exit(main())

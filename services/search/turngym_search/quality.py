"""How well a retriever finds what questions need: the share whose gold passage is among the first ``k``.

One-hop questions are asked as they stand. Of a question with more hops, each hop's passage is looked for twice: by the
question, which seldom names what a later hop is about, and by the passage's own title, which is what the expert searches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turngym_search.questions import Gold, Question
from turngym_search.retrieval import Retriever

BLOCK = 256


@dataclass(frozen=True, slots=True)
class Recall:
    """How many of the ``asked`` gold passages were found."""

    what: str
    asked: int
    found: int

    @property
    def share(self) -> float:
        """Found out of asked, 0..1."""
        return self.found / self.asked if self.asked else 0.0


def recalls(
    retriever: Retriever,
    questions: Sequence[Question],
    k: int,
    advance: Callable[[int], object] = lambda done: None,
) -> list[Recall]:
    """Recall@k for one-hop questions, and for each hop of the others by question and by title.

    :param advance: told how many queries are done.
    """
    wanted: dict[str, list[tuple[str, Gold]]] = {}
    for question in questions:
        hops = len(question.gold)
        for number, gold in enumerate(question.gold, start=1):
            if hops == 1:
                wanted.setdefault("one hop, by question", []).append((question.text, gold))
                wanted.setdefault("one hop, by title", []).append((gold.title, gold))
            else:
                wanted.setdefault(f"more hops, hop {number}, by question", []).append((question.text, gold))
                wanted.setdefault(f"more hops, hop {number}, by title", []).append((gold.title, gold))
    return [
        Recall(what, len(pairs), _found(retriever, pairs, k, advance))
        for what, pairs in sorted(wanted.items())
    ]


def queries(questions: Sequence[Question]) -> int:
    """How many queries :func:`recalls` will make."""
    return 2 * sum(len(question.gold) for question in questions)


def _found(
    retriever: Retriever, pairs: Sequence[tuple[str, Gold]], k: int, advance: Callable[[int], object]
) -> int:
    found = 0
    for begin in range(0, len(pairs), BLOCK):
        block = pairs[begin : begin + BLOCK]
        hits = retriever.search([query for query, _ in block], k)
        found += sum(
            any(hit.passage.id == gold.id for hit in listed)
            for (_, gold), listed in zip(block, hits, strict=True)
        )
        advance(len(block))
    return found

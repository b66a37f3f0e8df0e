"""Judging an answer against the gold aliases: exact match and token F1 after normalising, as open-domain QA does.

The rules are those of SQuAD's evaluation (Rajpurkar et al. 2016), which Search-R1's reward uses too: lower case, no ASCII
punctuation, no English articles, single spaces. An answer of which nothing is left matches nothing.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """``text`` in the form in which answers are compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, aliases: Iterable[str]) -> bool:
    """Whether the answer equals one of the aliases."""
    given = normalised(answer)
    return bool(given) and any(given == normalised(alias) for alias in aliases)


def f1(answer: str, aliases: Iterable[str]) -> float:
    """The best harmonic mean of precision and recall over tokens with any alias, 0..1."""
    given = Counter(normalised(answer).split())
    best = 0.0
    for alias in aliases:
        gold = Counter(normalised(alias).split())
        common = (given & gold).total()
        if common:
            best = max(best, 2 * common / (given.total() + gold.total()))
    return best

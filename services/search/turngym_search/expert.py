"""Players of deep search: the expert, who knows the titles of the gold passages, the novice and the random player.

The novice is what a starter model is taught on: what it writes is well formed, so that each bad choice is one decision away
from a good one. Its useless actions are searches for what it has found already or for words of the question, and answers
that come before the passages they need, or are taken from them at random.
"""

import re
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turngym_search.env import DeepSearch

_WORD = re.compile(r"\w+")
_ANSWER_WORDS = 2
_PREMATURE = 0.15  # share of useless actions that are wrong answers, which end the episode


def expert(env: "DeepSearch") -> str:
    """The search for the title of the first gold passage not seen yet; with all seen, the answer.

    Where a question has no gold passages, or they have no titles, the question itself is searched once.
    """
    seen = {hit.passage.id for hit in env.seen}
    for gold in env.question.gold:
        if gold.title and gold.id not in seen:
            return env.act("search", gold.title)
    if not env.searches:
        return env.act("search", env.question.text)
    return env.act("answer", env.question.answers[0])


def novice(env: "DeepSearch", rng: Random, rate: float) -> str:
    """The expert's action or, with probability ``rate`` (0..1), a useless one."""
    if rng.random() >= rate:
        return expert(env)
    if rng.random() < _PREMATURE:
        return env.act("answer", _some_words(env, rng, _ANSWER_WORDS))
    known = [title for hit in env.seen if (title := hit.passage.title.strip('" '))]
    if known and rng.random() < 0.5:
        return env.act("search", rng.choice(known))
    return env.act("search", _some_words(env, rng, 3))


def random(env: "DeepSearch", rng: Random) -> str:
    """A random well-formed action: mostly a search for words that have been read, now and then an answer of such."""
    verb = "answer" if rng.random() < 0.2 else "search"
    return env.act(verb, _some_words(env, rng, rng.randint(1, 4)))


def _some_words(env: "DeepSearch", rng: Random, count: int) -> str:
    """Neighbouring words from the question or a passage seen."""
    sources = [env.question.text, *(hit.passage.contents for hit in env.seen)]
    words = _WORD.findall(rng.choice(sources)) or _WORD.findall(env.question.text) or ["nothing"]
    begin = rng.randrange(max(1, len(words) - count + 1))
    return " ".join(words[begin : begin + count])

"""One episode of deep search: a question, searches, one answer.

Each turn the agent reasons in free text and then acts, in one of two forms::

    <search>capital of France</search>        Action: search[capital of France]
    <answer>Paris</answer>                    Action: answer[Paris]

A search shows the passages found, an answer ends the episode. The reward is 1 for an answer that equals a gold alias after
normalising and 0 else, as in Search-R1 (Jin et al. 2025); F1 and the share of gold passages found are told in ``info``.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Literal

from pydantic import Field

from turngym.environment import Environment, Options, Outcome
from turngym.schema import ActionGrammar, Command, Message, StopReason
from turngym_search import expert
from turngym_search.answers import exact_match, f1
from turngym_search.questions import Question
from turngym_search.retrieval import Hit

GRAMMAR = ActionGrammar(
    forms=["tags", "react"],
    tags=["search", "answer"],
    commands=[
        Command(
            template="<search>{query}</search>",
            description="look for passages; they are shown in <information>",
            example="<search>capital of France</search>",
        ),
        Command(
            template="<answer>{answer}</answer>",
            description="answer the question in a few words; this ends the episode",
            example="<answer>Paris</answer>",
        ),
        Command(
            template="Action: search[{query}]",
            description="the same as <search>",
            example="Action: search[capital of France]",
        ),
        Command(
            template="Action: answer[{answer}]",
            description="the same as <answer>",
            example="Action: answer[Paris]",
        ),
    ],
    stop=["</search>", "</answer>"],
)

INSTRUCTION = """\
Answer a question about facts by searching a collection of passages. Think first, then do one of two things:
- <search>words to look for</search> shows you the passages that fit best, between <information> and </information>
- <answer>the answer</answer> gives your answer and ends the task
Search as often as it takes: what one passage says is often what to search for next. Answer with the bare fact in a few
words, without a sentence around it. There is one answer only: a wrong one ends the task too."""

REACT_INSTRUCTION = """\
Answer a question about facts by searching a collection of passages. In each turn write one thought and one action:
- search[words to look for] shows you the passages that fit best
- answer[the answer] gives your answer and ends the task
Search as often as it takes: what one passage says is often what to search for next. Answer with the bare fact in a few
words, without a sentence around it. There is one answer only: a wrong one ends the task too. For example:
Thought: what to find out next, and why
Action: search[capital of France]"""

MAX_TURNS = 10
_COMMAND = re.compile(
    r"<(search|answer)>(.*)</\1>|(search|answer)\s*\[(.*)\]\s*\.?", re.DOTALL | re.IGNORECASE
)
_SHOWN = 60  # characters of an agent's own text that are repeated to it
_LEAST = 40  # characters of a passage that are worth showing

Search = Callable[[str, int], Awaitable[Sequence[Hit]]]
"""The best passages for a query. Raises BackendUnavailable where that can't be told now."""


class SearchOptions(Options):
    """Options of a session.

    ``topk`` passages are shown for a search, cut to ``observation_chars`` characters in all. ``form`` is the one that the
    instruction teaches; both are read. ``instructions`` "none" gives the question alone. ``format_score`` is paid for a
    wrong answer at the end of an episode in which every turn could be read.
    """

    topk: int = Field(default=3, ge=1, le=20)
    observation_chars: int = Field(default=2000, ge=100, le=100_000)
    form: Literal["tags", "react"] = "tags"
    instructions: Literal["full", "none"] = "full"
    format_score: float = Field(default=0.0, ge=0, lt=1)


class DeepSearch(Environment):
    """One episode. Same question, options, actions and passages: same texts."""

    def __init__(self, question: Question, options: SearchOptions, search: Search) -> None:
        self.question = question
        self.options = options
        self._search = search
        self.seen: list[Hit] = []
        self.searches: tuple[str, ...] = ()
        self.well_formed = True
        self._score = 0.0
        self.done = False

    @property
    def score(self) -> float:
        """1 after a right answer, the format score after a wrong one where it is paid, else 0."""
        return self._score

    def start(self) -> list[Message]:
        """One user message: the instruction where it is asked for, and the question."""
        task = f"Question: {self.question.text}"
        if self.options.instructions == "none":
            return [Message(role="user", content=task)]
        instruction = INSTRUCTION if self.options.form == "tags" else REACT_INSTRUCTION
        return [Message(role="user", content=f"{instruction}\n\n{task}")]

    async def step(self, action: str) -> Outcome:  # type: ignore[override]
        """Search or answer. What is neither is said, and costs the turn."""
        if self.done:
            return self._refuse("The question is answered and the episode is over")
        match = _COMMAND.fullmatch(action)
        if match is None:
            return self._refuse(f"Unknown action: {_short(action)}. Use search or answer")
        verb, content = (match[1] or match[3]).lower(), match[2] if match[1] else match[4]
        text = " ".join("".join(char if char.isprintable() else " " for char in content).split())
        if not text:
            return self._refuse(f"The {'query' if verb == 'search' else 'answer'} is empty")
        return await self._look(text) if verb == "search" else self._answer(text)

    def unreadable(self, reason: str) -> Outcome:
        """A turn without a search and an answer."""
        return self._refuse(
            f"Neither a search nor an answer was found. Write {self.act('search', 'words to look for')} to search, "
            f"or {self.act('answer', 'the answer')} to answer and finish"
        )

    def recall(self) -> float | None:
        """The share of gold passages that searches have shown; None where the question has none."""
        gold = {passage.id for passage in self.question.gold}
        return len(gold & {hit.passage.id for hit in self.seen}) / len(gold) if gold else None

    def expert(self) -> str:
        """The search for the first gold passage not seen yet, else the answer."""
        return expert.expert(self)

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's action or, with probability ``rate``, a well-formed useless one."""
        return expert.novice(self, rng, rate)

    def random(self, rng: Random) -> str:
        """A search for words of the question or of a passage seen, or an answer of such."""
        return expert.random(self, rng)

    def fork(self) -> "DeepSearch":
        """An independent copy of the state."""
        copy = object.__new__(DeepSearch)
        copy.__dict__.update(self.__dict__)
        copy.seen = list(self.seen)
        return copy

    def act(self, verb: str, content: str) -> str:
        """An action in the form that the instruction teaches."""
        return f"<{verb}>{content}</{verb}>" if self.options.form == "tags" else f"Action: {verb}[{content}]"

    async def _look(self, query: str) -> Outcome:
        hits = await self._search(query, self.options.topk)
        self.seen += hits
        self.searches += (query,)
        text = shown(hits, self.options.observation_chars) if hits else "Nothing was found"
        if self.options.form == "tags":
            text = f"<information>{text}</information>"
        return Outcome(
            text, score=self._score, info={"documents": [hit.passage.id for hit in hits], **self._told()}
        )

    def _answer(self, answer: str) -> Outcome:
        self.done = True
        right = exact_match(answer, self.question.answers)
        self._score = 1.0 if right else self.options.format_score if self.well_formed else 0.0
        told: dict[str, Any] = {
            "exact_match": right,
            "f1": round(f1(answer, self.question.answers), 4),
            **self._told(),
        }
        return Outcome(
            "The answer is right" if right else "The answer is wrong",
            reward=self._score,
            score=self._score,
            stop=StopReason.SUCCESS if right else StopReason.FAILURE,
            info=told,
        )

    def _told(self) -> dict[str, Any]:
        recall = self.recall()
        return {} if recall is None else {"recall": round(recall, 4)}

    def _refuse(self, reason: str) -> Outcome:
        self.well_formed = self.done and self.well_formed
        return Outcome(reason, score=self._score, invalid=True)


def shown(hits: Sequence[Hit], limit: int) -> str:
    """The passages as an agent reads them, at most ``limit`` characters in all; the longest are cut first.

    The form is Search-R1's: ``Doc 1(Title: "France") text``, a line each.
    """
    heads = [f"Doc {number}(Title: {hit.passage.title}) " for number, hit in enumerate(hits, start=1)]
    texts = [" ".join(hit.passage.text.split()) for hit in hits]
    room = max(limit - sum(map(len, heads)) - len(hits), _LEAST * len(hits))
    share = _share([len(text) for text in texts], room)
    lines = [
        head + (text if len(text) <= share else text[: share - 1] + "…")
        for head, text in zip(heads, texts, strict=True)
    ]
    return "\n".join(lines)


def _share(lengths: Sequence[int], room: int) -> int:
    """The length to which each of several texts may go so that all fit into ``room``: what short ones leave, long ones get."""
    left = room
    for done, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - done)
        if length > share:
            return max(share, 1)
        left -= length
    return max(lengths, default=1)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"

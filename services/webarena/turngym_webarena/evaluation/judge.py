"""A language model as judge of free answers, behind any OpenAI-compatible endpoint. Used only where its address is set.

A judge makes results depend on a model; without one, answers are compared by value and word, the same on every machine.
"""

import re
from dataclasses import dataclass

from turngym.client.errors import InfrastructureFailure
from turngym.client.policies import OpenAIPolicy
from turngym.environment import BackendUnavailable
from turngym.schema import Message

_ANSWER_S = 20.0  # longest wait for an answer, and for an endpoint in trouble: a step has 60 s
_SYSTEM = "You grade answers of a web agent. Reply with one word, CORRECT or WRONG."
_SAME = """\
Question: {question}
Reference answer: {reference}
Given answer: {answer}
Does the given answer say what the reference says? More words are fine; a missing or different fact is not."""
_IMPOSSIBLE = """\
Task: {question}
The task can't be done, because: {reference}
The agent said: {answer}
Does the agent say that it can't be done, and for this reason or an equivalent one?"""
_VERDICT = re.compile(r"\b(correct|wrong|incorrect)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judge:
    """An endpoint such as ``http://host:8000/v1`` and the model to ask there."""

    url: str
    model: str
    key: str | None = None

    async def agrees(self, question: str, reference: str, answer: str, *, impossible: bool = False) -> bool:
        """Whether ``answer`` says what ``reference`` says; with ``impossible``, whether it gives that reason why a task can't
        be done. Raises BackendUnavailable where the judge can't be asked, or answers neither yes nor no."""
        form = _IMPOSSIBLE if impossible else _SAME
        asked = form.format(question=question, reference=reference, answer=answer)
        messages = [Message(role="system", content=_SYSTEM), Message(role="user", content=asked)]
        policy = OpenAIPolicy(
            self.model,
            self.url,
            self.key,
            temperature=0,
            max_tokens=16,
            timeout_s=_ANSWER_S,
            patience_s=_ANSWER_S,
        )
        try:
            async with policy:
                said = await policy.answer(messages)
        except InfrastructureFailure as error:
            raise BackendUnavailable(f"the judge at {self.url}: {error}") from error
        verdict = _VERDICT.search(said)
        if verdict is None:
            raise BackendUnavailable(
                f"the judge at {self.url} said neither CORRECT nor WRONG, but {said[:80]!r}"
            )
        return verdict[1].lower() == "correct"

"""A language model as judge of free answers, behind any OpenAI-compatible endpoint. Used only where its address is set.

A judge makes results depend on a model; without one, answers are compared by value and word, the same on every machine.
"""

import re
from dataclasses import dataclass

import httpx

_ASK_S = 60.0
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


class JudgeError(RuntimeError):
    """The judge could not be asked, or answered neither yes nor no. No verdict on the answer."""


@dataclass(frozen=True, slots=True)
class Judge:
    """An endpoint such as ``http://host:8000/v1`` and the model to ask there."""

    url: str
    model: str
    key: str | None = None

    async def agrees(self, question: str, reference: str, answer: str, *, impossible: bool = False) -> bool:
        """Whether ``answer`` says what ``reference`` says; with ``impossible``, whether it gives that reason why a task can't
        be done. Raises JudgeError."""
        form = _IMPOSSIBLE if impossible else _SAME
        asked = form.format(question=question, reference=reference, answer=answer)
        body = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": 16,
            "messages": [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": asked}],
        }
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            async with httpx.AsyncClient(timeout=_ASK_S) as client:
                answered = await client.post(
                    f"{self.url.rstrip('/')}/chat/completions", json=body, headers=headers
                )
                answered.raise_for_status()
                said = str(answered.json()["choices"][0]["message"]["content"])
        except (httpx.HTTPError, KeyError, IndexError, TypeError, ValueError) as error:
            raise JudgeError(f"the judge at {self.url} gave no answer: {error}") from error
        verdict = _VERDICT.search(said)
        if verdict is None:
            raise JudgeError(f"the judge at {self.url} said neither CORRECT nor WRONG, but {said[:80]!r}")
        return verdict[1].lower() == "correct"

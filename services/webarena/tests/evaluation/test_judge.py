"""A language model as judge, over a real endpoint: its word counts, and no answer is no verdict."""

import pytest
from completions import endpoint, says

from turngym.environment import BackendUnavailable
from turngym_webarena.evaluation import Judge


async def test_the_judge_s_word_counts() -> None:
    with endpoint([(200, says(word)) for word in ("CORRECT", "Incorrect.", "wrong")]) as (url, asked):
        judge = Judge(url, "m", "k")
        assert await judge.agrees("How much?", "$5", "five dollars")
        assert not await judge.agrees("How much?", "$5", "$6")
        assert not await judge.agrees("Buy it.", "it is sold out", "no", impossible=True)
    assert [request["key"] for request in asked] == ["Bearer k"] * 3
    assert "five dollars" in asked[0]["messages"][1]["content"]
    assert "can't be done, because: it is sold out" in asked[2]["messages"][1]["content"]


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [(401, {"error": "no such key"}, "no such key"), (200, says("Maybe."), "neither CORRECT nor WRONG")],
)
async def test_no_answer_is_no_verdict(status: int, content: object, words: str) -> None:
    with endpoint([(status, content)]) as (url, _), pytest.raises(BackendUnavailable, match=words):
        await Judge(url, "m").agrees("How much?", "$5", "five dollars")

"""The players on what ships: the expert answers, doing nothing and guessing the commonest answer do not."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from turngym.environment import Outcome
from turngym.parsing import UnreadableAction, read_action
from turngym.players import NOTHING
from turngym.schema import StopReason
from turngym_search.answers import exact_match, normalised
from turngym_search.env import GRAMMAR, MAX_TURNS, DeepSearch, SearchOptions
from turngym_search.questions import Question
from turngym_search.service import SearchService
from turngym_search.settings import SearchSettings

SLICE = 60  # questions of each kind that CI plays; make prove TASK=search plays all


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchService]:
    folder: Path = tmp_path_factory.mktemp("shipped")
    made = SearchService(SearchSettings(data_dir=folder))
    made.load(lambda what, part: None)
    yield made
    made.close()


def chosen(service: SearchService) -> list[int]:
    """Indices of test questions: the same number of each kind, spread over the split."""
    by_kind: dict[str, list[int]] = {}
    for index, question in enumerate(service.tasks.source.splits["test"]):
        by_kind.setdefault(question.about["kind"], []).append(index)
    return [index for found in by_kind.values() for index in found[:: max(1, len(found) // SLICE)][:SLICE]]


async def play(env: DeepSearch, texts: Iterator[str], turns: int = MAX_TURNS) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for text in texts:
        try:
            outcomes.append(await env.step(read_action(text, GRAMMAR)))
        except UnreadableAction as error:
            outcomes.append(env.unreadable(str(error)))
        if outcomes[-1].stop or len(outcomes) == turns:
            break
    return outcomes


def saying(env: DeepSearch, rng: Random, rate: float) -> Iterator[str]:
    while True:
        yield env.novice(rng, rate)


def opened(service: SearchService, index: int, **options: object) -> DeepSearch:
    env = service.open(service.tasks.at("test", index), index, SearchOptions(**options))  # type: ignore[arg-type]
    assert isinstance(env, DeepSearch)
    return env


@pytest.mark.parametrize("form", ["tags", "react"])
async def test_the_expert_answers_in_no_more_turns_than_it_says_and_wastes_none(
    service: SearchService, form: str
) -> None:
    for index in chosen(service)[:: 1 if form == "tags" else 5]:
        env = opened(service, index, form=form)
        outcomes = await play(env, saying(env, Random(0), 0.0))
        assert outcomes[-1].stop is StopReason.SUCCESS, env.question
        assert len(outcomes) <= service.tasks.at("test", index).info["expert_turns"]
        recalls = [0.0, *(outcome.info["recall"] for outcome in outcomes[:-1])]
        assert all(before < after for before, after in pairwise(recalls))
        assert outcomes[-1].info["recall"] == 1


async def test_the_answer_can_be_read_in_what_the_expert_sees(service: SearchService) -> None:
    for index in chosen(service)[::3]:
        env = opened(service, index)
        outcomes = await play(env, saying(env, Random(0), 0.0))
        answer = normalised(env.question.answers[0])
        assert any(answer in normalised(outcome.text) for outcome in outcomes[:-1]), env.question


async def test_the_expert_finds_its_way_from_wherever_the_novice_left(service: SearchService) -> None:
    for index in chosen(service)[::7]:
        env, rng = opened(service, index), Random(index)
        early = await play(env, saying(env, rng, 1.0), 3)
        if not early[-1].stop:
            assert (await play(env, saying(env, rng, 0.0)))[-1].stop is StopReason.SUCCESS


async def test_the_novice_gets_worse_with_its_rate(service: SearchService) -> None:
    async def success(rate: float) -> float:
        won = 0
        indices = chosen(service)[::4]
        for index in indices:
            env = opened(service, index)
            won += (await play(env, saying(env, Random(index), rate)))[-1].stop is StopReason.SUCCESS
        return won / len(indices)

    shares = [await success(rate) for rate in (0.0, 0.5, 1.0)]
    assert shares[0] == 1 > shares[1] > shares[2]
    assert shares[2] < 0.1


async def test_doing_nothing_never_wins(service: SearchService) -> None:
    for index in chosen(service)[::10]:
        outcomes = await play(opened(service, index), iter([NOTHING] * MAX_TURNS))
        assert not any(outcome.stop or outcome.reward for outcome in outcomes)


async def test_a_random_player_hardly_ever_wins(service: SearchService) -> None:
    won, indices = 0, chosen(service)[::2]
    for index in indices:
        env, rng = opened(service, index), Random(index)
        outcomes = await play(env, iter(lambda env=env, rng=rng: env.random(rng), None))  # type: ignore[arg-type, misc]
        won += outcomes[-1].stop is StopReason.SUCCESS
    assert won / len(indices) < 0.03


def test_the_commonest_answer_is_right_for_less_than_2_percent(service: SearchService) -> None:
    def share(questions: Sequence[Question]) -> float:
        counts = Counter(
            form for question in questions for form in {normalised(answer) for answer in question.answers}
        )
        guess = counts.most_common(1)[0][0]
        return sum(exact_match(guess, question.answers) for question in questions) / len(questions)

    for split, questions in service.tasks.source.splits.items():
        assert share(questions) < 0.02, split


async def test_every_player_s_action_is_well_formed(service: SearchService) -> None:
    for index in chosen(service)[::6]:
        env, rng = opened(service, index), Random(index)
        for player in (lambda: env.novice(rng, 0.6), lambda: env.random(rng), env.expert):  # noqa: B023
            outcome = await env.fork().step(read_action(player(), GRAMMAR))
            assert not outcome.invalid, outcome.text
        await env.step(env.expert())

"""What ships: passages, questions and vectors, and what every question must fulfil."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

import turngym_corpus
from turngym_corpus import KINDS, SPLITS, CorpusError, Passage, Question, reading
from turngym_corpus.generator import MOST_COMMON, QUOTAS, SHARES, normalise, stands_in

FOLDER = Path(turngym_corpus.__file__).parent


@pytest.fixture(scope="module")
def by_id() -> dict[str, Passage]:
    """Every passage."""
    return {passage.id: passage for passage in turngym_corpus.load()}


@pytest.fixture(scope="module")
def every_question() -> list[Question]:
    """The questions of all splits."""
    return turngym_corpus.questions()


def test_passages_are_many_whole_and_told_apart(by_id: dict[str, Passage]) -> None:
    passages = turngym_corpus.load()
    assert 44_000 <= len(passages) <= 48_000
    assert len(by_id) == len({passage.title.casefold() for passage in passages}) == len(passages)
    for passage in passages:
        assert passage.title == passage.title.strip() != ""
        assert passage.text == passage.text.strip() != ""
        assert '"' not in passage.title[:1] and "\n" not in passage.title + passage.text, passage.id
        assert len(passage.text.split()) <= 101, passage.id
        assert not re.search(r"</?[a-z]+>|&[a-z]+;|&#", passage.text), passage.id


def test_a_passage_reads_as_in_search_r1(by_id: dict[str, Passage]) -> None:
    passage = by_id["factbook/fr/government/capital"]
    assert passage.contents == f'"France: Capital"\n{passage.text}'
    assert passage.text.startswith("name: Paris; ")


def test_the_whole_package_is_small() -> None:
    assert sum(path.stat().st_size for path in (FOLDER / "data").iterdir()) < 30e6


def test_there_are_as_many_questions_as_said(every_question: list[Question]) -> None:
    counts = Counter((question.split, question.kind) for question in every_question)
    for kind in KINDS:
        for split in SPLITS:
            assert counts[split, kind] == turngym_corpus.manifest()["questions"][split][kind]
    assert sum(counts[split, "one_hop"] for split in SPLITS) == QUOTAS["one_hop"]
    assert len(every_question) - QUOTAS["one_hop"] >= 4_500


def test_every_gold_passage_exists_under_its_title(
    every_question: list[Question], by_id: dict[str, Passage]
) -> None:
    for question in every_question:
        assert [by_id[id].title for id in question.gold] == list(question.titles), question.id
        assert len(set(question.gold)) == len(question.gold) == question.hops, question.id
    hops = {kind: {q.hops for q in every_question if q.kind == kind} for kind in KINDS}
    assert (hops["one_hop"], hops["two_hop"], hops["three_hop"]) == ({1}, {2}, {3})
    assert hops["comparison"] <= {2, 3} and hops["intersection"] <= {2, 3}


def test_the_answer_stands_in_the_last_gold_passage_and_never_in_the_question(
    every_question: list[Question], by_id: dict[str, Passage]
) -> None:
    for question in every_question:
        asked = f" {normalise(question.question)} "
        forms = [normalise(answer) for answer in question.answers]
        assert all(forms), question.id
        evidence = by_id[question.gold[-1]].contents
        assert any(stands_in(answer, evidence) for answer in question.answers), question.id
        assert not any(stands_in(answer, question.question) for answer in question.answers), question.id
        assert not any(f" {form} " in asked for form in forms), question.id


def test_what_two_countries_border_stands_in_both_gold_passages(
    every_question: list[Question], by_id: dict[str, Passage]
) -> None:
    for question in every_question:
        if question.template == "borders_both":
            for id in question.gold:
                assert any(stands_in(answer, by_id[id].contents) for answer in question.answers), question.id


def test_no_question_is_asked_twice(every_question: list[Question]) -> None:
    texts = Counter(normalise(question.question) for question in every_question)
    assert [text for text, n in texts.items() if n > 1] == []
    assert len({question.id for question in every_question}) == len(every_question)


def test_questions_are_sentences(every_question: list[Question]) -> None:
    for question in every_question:
        assert re.fullmatch(r"[A-Z].{14,400}[?.]", question.question), question.question
        assert not re.search(r"[{}<>|]|  |\bthe the\b|\bNone\b", question.question), question.question


def test_no_entity_is_in_two_splits(every_question: list[Question]) -> None:
    splits = defaultdict(set)
    for question in every_question:
        splits[question.entity].add(question.split)
    assert [entity for entity, found in splits.items() if len(found) > 1] == []


def test_training_and_test_share_no_evidence(every_question: list[Question]) -> None:
    """By content: no gold passage of a test question is one of a training question, intersections' borders apart."""
    evidence = defaultdict(set)
    for question in every_question:
        gold = question.gold if question.kind != "intersection" else question.gold[2:]
        evidence[question.split].update(gold)
    assert not evidence["train"] & evidence["test"]
    assert not evidence["train"] & evidence["validation"]
    assert not evidence["validation"] & evidence["test"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", KINDS)
def test_guessing_the_most_common_answer_is_worth_little(
    every_question: list[Question], split: str, kind: str
) -> None:
    chosen = [question for question in every_question if (question.split, question.kind) == (split, kind)]
    (_, most), *_ = Counter(normalise(question.answers[0]) for question in chosen).most_common(1)
    assert most <= max(1, MOST_COMMON * QUOTAS[kind] * SHARES[split])  # type: ignore[index]
    total = sum(question.split == split for question in every_question)
    (_, overall), *_ = Counter(
        normalise(q.answers[0]) for q in every_question if q.split == split
    ).most_common(1)
    assert overall / total < 0.02


def test_questions_come_by_split() -> None:
    assert [
        question for split in SPLITS for question in turngym_corpus.questions(split)
    ] == turngym_corpus.questions()
    with pytest.raises(ValueError, match="no split 'dev'; there are: train, validation, test"):
        turngym_corpus.questions("dev")  # type: ignore[arg-type]


def test_vectors_fit_the_passages() -> None:
    vectors = turngym_corpus.vectors()
    assert vectors.quantised.shape == (len(turngym_corpus.load()), 384)
    assert vectors.quantised.dtype == np.int8
    assert vectors.corpus_sha256 == turngym_corpus.CORPUS_SHA256
    assert np.allclose(np.linalg.norm(vectors.rows[::100], axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", [reading.PASSAGES_FILE, reading.QUESTIONS_FILE])
def test_damaged_data_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (FOLDER / "data" / name).read_bytes()
    monkeypatch.setattr(reading, "_file", lambda name: tmp_path / name)
    (tmp_path / name).write_bytes(content[:-100])
    with pytest.raises(CorpusError, match=f"can't read the corpus's {name} .*install turngym-corpus anew"):
        reading._content(name, "")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        CorpusError, match=f"the corpus's {name} has sha256 [0-9a-f]{{64}}, and its manifest says 00"
    ):
        reading._content(name, "00")


def test_a_package_without_data_says_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_file", lambda name: tmp_path / name)
    with pytest.raises(CorpusError, match=r"has no data: python -m turngym_corpus.build makes it"):
        reading.manifest.__wrapped__()

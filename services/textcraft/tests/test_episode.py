"""One episode: what actions do, what they are answered with, what they earn."""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from turngym.environment import Outcome
from turngym.parsing import UnreadableAction, read_action
from turngym.schema import Split, StopReason
from turngym_textcraft.env import GRAMMAR, INSTRUCTION, TextCraft, TextCraftOptions
from turngym_textcraft.recipes import MAX_COUNT, items, recipes
from turngym_textcraft.service import TextCraftService

Opener = Callable[..., TextCraft]
REPR = re.compile(r"frozenset|mappingproxy|Recipe\(|Counter\(|object at 0x|\bNone\b|\{'|<class")


def solve(env: TextCraft) -> list[Outcome]:
    outcomes = []
    while not env.done:
        outcomes.append(env.step(env.expert()))
    return outcomes


def test_the_opening_is_one_user_message_with_goal_and_commands(open_goal: Opener) -> None:
    (message,) = open_goal("torch", distractors=0).start()
    assert message.role == "user"
    assert message.content.startswith(INSTRUCTION)
    assert message.content.endswith(
        "Goal: craft torch\n\nCrafting commands:\ncraft 4 torch using 1 any coal, 1 stick"
    ) or message.content.endswith(
        "Goal: craft torch\n\nCrafting commands:\ncraft 4 torch using 1 stick, 1 any coal"
    )
    (bare,) = open_goal("torch", distractors=0, instructions="none").start()
    assert message.content == f"{INSTRUCTION}\n\n{bare.content}"


def test_in_the_order_of_the_tree_parents_come_before_their_parts(open_goal: Opener) -> None:
    env = open_goal("stick", depth=2, distractors=6, order="tree")
    lines = env.start()[-1].content.partition("Crafting commands:\n")[2].splitlines()
    assert len(lines) == 8
    assert lines[0] == "craft 4 stick using 2 planks"
    assert "craft 4 oak planks using 1 any oak log" in lines


def test_an_episode_by_hand(open_goal: Opener) -> None:
    env = open_goal("stick", depth=2)
    assert env.step("inventory").text == "Inventory: empty"
    assert env.step("get 1 oak log").text == "Got 1 oak log"
    assert env.step("craft 4 oak planks using 1 oak log").text == "Crafted 4 oak planks"
    assert env.step("inventory").text == "Inventory: 4 oak planks"
    last = env.step("craft 4 stick using 2 oak planks")
    assert (last.text, last.reward, last.score, last.stop) == (
        "Crafted 4 stick",
        1.0,
        1.0,
        StopReason.SUCCESS,
    )


def test_the_data_of_every_answer_is_what_is_held(open_goal: Opener) -> None:
    env = open_goal("stick", depth=2)
    assert env.opening_data() == {"inventory": {}}
    assert env.step("get 2 oak log").data == {"inventory": {"oak log": 2}}
    held = env.step("craft 4 oak planks using 1 oak log").data
    assert held == {"inventory": {"oak log": 1, "oak planks": 4}}
    assert env.step("craft nonsense").data == held and env.unreadable("what?").data == held
    assert env.step("craft 4 stick using 2 oak planks").data == {
        "inventory": {"oak log": 1, "oak planks": 2, "stick": 4}
    }
    other = open_goal("stick", depth=2, rename=True, seed=3)
    got = other.step(other.expert())
    assert got.data is not None and next(iter(got.data["inventory"])) in got.text


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("", "Unknown action: . Use get, craft or inventory"),
        ("dance", "Unknown action: dance. Use get, craft or inventory"),
        ("get oak log", "Unknown action: get oak log. Use get, craft or inventory"),
        ("get 0 oak log", "Could not get 0 oak log: fetch 1 to 64 at a time"),
        ("get 65 oak log", "Could not get 65 oak log: fetch 1 to 64 at a time"),
        ("get -1 oak log", "Unknown action: get -1 oak log. Use get, craft or inventory"),
        ("get 1 unicorn horn", "Could not get unicorn horn: there is no such item in the recipe book"),
        ("get 1 diamond sword", "Could not get diamond sword: no command here needs it"),
        ("get 1 stick", "Could not get stick: craft it"),
        ("get 1 oak planks", "Could not get oak planks: craft it"),
        ("get 1 planks", "Could not get planks: craft it"),
        ("get 1 birch planks", "Could not get birch planks: craft it"),
        (
            "craft 1 diamond sword using 1 stick, 2 diamond",
            "Could not craft diamond sword: no command makes it",
        ),
        (
            "craft 8 stick using 4 planks",
            "Could not craft stick like that: the command is craft 4 stick using 2 planks",
        ),
        (
            "craft 4 stick using 2 unicorn horn",
            "Could not craft stick like that: the command is craft 4 stick using 2 planks",
        ),
        ("craft 4 stick using 2 planks", "Could not craft 4 stick: not enough ingredients"),
    ],
)
def test_what_cannot_be_done_is_named_and_changes_nothing(
    open_goal: Opener, action: str, answer: str
) -> None:
    env = open_goal("stick", depth=2, distractors=0)
    outcome = env.step(action)
    assert outcome.text == answer
    assert outcome.invalid
    assert (outcome.reward, outcome.score, outcome.stop) == (0, 0, None)
    assert env.inventory == {}


@pytest.mark.parametrize("action", ["GET 2 Oak Logs", "get  2\toak log.", "get 02 oak log"])
def test_spelling_is_forgiven(open_goal: Opener, action: str) -> None:
    env = open_goal("stick", depth=2)
    assert env.step(action).text == "Got 2 oak log"


@pytest.mark.parametrize(
    "using",
    [
        "2 planks", "2 birch planks", "1 birch planks, 1 oak planks", "1 birch planks and 1 planks", "1 planks,1 planks",
    ],
)  # fmt: skip
def test_a_family_takes_any_of_its_members_and_its_own_name(open_goal: Opener, using: str) -> None:
    env = open_goal("stick", depth=1, distractors=0)
    env.step("get 1 birch planks")
    env.step("get 2 oak planks")
    env.step("get 1 birch planks")
    assert env.step(f"craft 4 stick using {using}").stop == StopReason.SUCCESS


def test_a_named_member_is_what_is_used(open_goal: Opener) -> None:
    env = open_goal("stick", depth=1, distractors=0)
    env.step("get 5 birch planks")
    assert (
        env.step("craft 4 stick using 2 oak planks").text == "Could not craft 4 stick: not enough ingredients"
    )
    env.step("get 2 oak planks")
    env.step("craft 4 stick using 2 oak planks")
    assert env.inventory == {"birch planks": 5, "stick": 4}


def test_fetching_a_family_gives_one_of_its_members(open_goal: Opener) -> None:
    env = open_goal("stick", depth=1)
    assert env.step("get 3 planks").text == "Got 3 oak planks"


def test_the_shaped_reward_pays_each_part_once_and_one_in_all(service: TextCraftService) -> None:
    for task in service.tasks.page("test", 0, 365):
        env = service.open(task, 0, TextCraftOptions(reward="shaped"))
        assert isinstance(env, TextCraft)
        outcomes, parts = solve(env), len(env.tree.crafted)
        assert sum(outcome.reward for outcome in outcomes) == pytest.approx(1)
        assert all(outcome.reward == 0 or outcome.reward >= 1 / parts - 1e-9 for outcome in outcomes)
        assert [outcome.score for outcome in outcomes] == sorted(outcome.score for outcome in outcomes)


def test_making_a_part_again_earns_nothing(open_goal: Opener) -> None:
    env = open_goal("stick", depth=2, reward="shaped")
    env.step("get 2 oak log")
    assert env.step("craft 4 oak planks using 1 oak log").reward == 0.5
    assert env.step("craft 4 oak planks using 1 oak log").reward == 0


@pytest.mark.parametrize("reward", ["goal", "shaped"])
def test_nothing_is_earned_after_the_end(open_goal: Opener, reward: str) -> None:
    env = open_goal("stick", depth=2, reward=reward)
    solve(env)
    held = dict(env.inventory)
    for action in (
        "get 1 oak log",
        "craft 4 oak planks using 1 oak log",
        "craft 4 stick using 2 planks",
        "inventory",
    ):
        after = env.step(action)
        assert (after.reward, after.score, after.stop, after.invalid) == (0, 1, None, True)
    assert env.inventory == held


def test_a_fork_is_independent_of_its_parent(open_goal: Opener) -> None:
    parent = open_goal("stick", depth=2, reward="shaped")
    parent.step("get 1 oak log")
    child = parent.fork()
    parent.step("craft 4 oak planks using 1 oak log")
    assert child.step("inventory").text == "Inventory: 1 oak log"
    assert (child.score, parent.score) == (0, 0.5)
    assert [o.text for o in solve(child)] == ["Crafted 4 oak planks", "Crafted 4 stick"]
    assert not parent.done


def test_renaming_is_a_bijection_and_hides_every_true_name(open_goal: Opener) -> None:
    env, plain = open_goal("stick", depth=2, rename=True, seed=3), open_goal("stick", depth=2, seed=3)
    assert env.names is not None
    assert sorted(env.names.values()) == sorted(env.names) == list(items())
    assert env.start()[0].content != plain.start()[0].content
    assert len(env.commands) == len(plain.commands)
    assert solve(env)[-1].stop == StopReason.SUCCESS


def test_each_listed_action_works(service: TextCraftService) -> None:
    for index in range(0, 365, 5):
        for options in (TextCraftOptions(), TextCraftOptions(rename=True)):
            env = service.open(service.tasks.at("test", index), 1, options)
            assert isinstance(env, TextCraft)
            while not env.done:
                for action in env.actions():
                    outcome = env.fork().step(read_action(action, GRAMMAR))
                    assert not outcome.invalid, (action, outcome.text)
                env.step(env.expert())


@pytest.mark.parametrize(
    "options", [{"reward": "gold"}, {"distractors": -1}, {"distractors": 33}, {"renamed": True}]
)
def test_a_wrong_option_is_refused(service: TextCraftService, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        service.Options(**options)


VERBS = ("get", "craft", "inventory", "using", "and", ",", "Action:", "```", "{count}")
NUMBERS = ("1", "2", "64", "999999999", "٣", "²")
NAMES = ("planks", "wool", "any coal", "oak log", "oak planks", "stick", "torch", "coal")
WORDS = st.sampled_from([*VERBS, *NUMBERS, *NAMES])
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=9).map(" ".join),
    st.lists(WORDS, max_size=9).map("\n".join),
)


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=6),
    rename=st.booleans(),
    split=st.sampled_from(get_args(Split)),
    seed=st.integers(0, 99),
)
def test_no_text_breaks_an_episode(texts: list[str], rename: bool, split: Split, seed: int) -> None:
    service = TextCraftService()
    env = service.open(service.tasks.at(split, seed), seed, TextCraftOptions(rename=rename, reward="shaped"))
    assert isinstance(env, TextCraft)
    for text in texts:
        before = deepcopy((env.inventory, env.made, env.done))
        try:
            action = read_action(text, GRAMMAR)
        except UnreadableAction as error:
            outcome = env.unreadable(str(error))
            assert outcome.invalid
        else:
            outcome = env.step(action)
        assert REPR.search(text) or not REPR.search(outcome.text)
        assert len(outcome.text) < 600
        assert 0 <= outcome.score <= 1
        assert all(0 < count <= MAX_COUNT * len(texts) for count in env.inventory.values() if count)
        if outcome.invalid:
            assert (env.inventory, env.made, env.done) == before
            assert outcome.reward == 0


@settings(max_examples=150, deadline=None)
@given(
    counts=st.lists(st.integers(0, 70), min_size=1, max_size=6),
    names=st.lists(st.sampled_from(sorted(items())), min_size=6, max_size=6),
)
def test_no_invented_recipe_makes_anything(counts: list[int], names: list[str]) -> None:
    """A command that isn't listed makes nothing, whatever it is said to use."""
    service = TextCraftService()
    env = service.open(service.tasks.at("train", counts[0]), 0, TextCraftOptions())
    assert isinstance(env, TextCraft)
    parts = ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=False))
    for target in (env.tree.goal, *names[:2]):
        outcome = env.step(f"craft {recipes()[env.tree.goal].count} {target} using {parts}")
        assert outcome.invalid
        assert env.inventory == {}

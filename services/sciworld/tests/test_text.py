"""Canonical order: lists sorted with all that belongs to an entry, everything else as it was."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turngym_sciworld.text import canonical

ROOM = """\
This room is called the hallway. In it, you see:
	the agent
	a substance called air
	a picture
You also see:
	A door to the workshop (that is closed)
	A door to the kitchen (that is open)"""


def test_entries_of_a_list_are_sorted_and_headings_stay() -> None:
    assert canonical(ROOM + "\n") == (
        "This room is called the hallway. In it, you see:\n"
        "\ta picture\n\ta substance called air\n\tthe agent\n"
        "You also see:\n"
        "\tA door to the kitchen (that is open)\n\tA door to the workshop (that is closed)"
    )


def test_what_hangs_on_an_entry_moves_with_it() -> None:
    text = "In it, you see:\n\ta table\n\t\ta cup\n\t\ta bowl\n\ta chair\n\t\ta cat"
    assert canonical(text) == "In it, you see:\n\ta chair\n\t\ta cat\n\ta table\n\t\ta bowl\n\t\ta cup"


@pytest.mark.parametrize(
    ("line", "sorted_line"),
    [
        (
            "a table. On the table is: a glass cup (containing water, air), a bowl.",
            "a table. On the table is: a bowl, a glass cup (containing air, water).",
        ),
        (
            "a stove. The stove is turned off. On the stove is: nothing.",
            "a stove. The stove is turned off. On the stove is: nothing.",
        ),
        (
            "a shelf. On it is: b, a. In the drawer is: d, c.",
            "a shelf. On it is: a, b. In the drawer is: c, d.",
        ),
        (
            "a jar (containing b (containing z, y), a), and more",
            "a jar (containing a, b (containing y, z)), and more",
        ),
        (
            "The recipe reads: mix soap, water and salt, please.",
            "The recipe reads: mix soap, water and salt, please.",
        ),
        ("a jar (containing b, a", "a jar (containing b, a"),
    ],
)
def test_lists_within_a_line(line: str, sorted_line: str) -> None:
    assert canonical(line) == sorted_line


def test_the_choices_of_an_ambiguous_request_keep_their_numbers() -> None:
    text = "Ambiguous request: Please enter the number for the action you intended (or blank to cancel):\n1:\tb\n0:\ta"
    assert canonical(text) == text


NAMES = st.sampled_from(["a cup", "air", "a table", "the agent", "a jar (containing nothing)"])
TREES = st.recursive(
    NAMES.map(lambda name: (name, [])), lambda kids: st.tuples(NAMES, st.lists(kids, max_size=4))
)


def written(tree: tuple[str, list], rng: Random | None, depth: int = 0) -> str:  # type: ignore[type-arg]
    name, kids = tree
    kids = list(kids)
    if rng is not None:
        rng.shuffle(kids)
    return "\t" * depth + name + "".join("\n" + written(kid, rng, depth + 1) for kid in kids)


@given(tree=TREES, seed=st.integers(0, 999))
def test_the_order_in_which_things_were_listed_does_not_show(tree: tuple[str, list], seed: int) -> None:  # type: ignore[type-arg]
    once = canonical(written(tree, None))
    assert canonical(written(tree, Random(seed))) == once
    assert canonical(once) == once


PIECES = st.sampled_from([*"ab,.:() \n\t", ", ", ". ", " is: ", " are: ", "(containing "])


@given(st.lists(PIECES).map("".join) | st.text())
def test_no_text_is_lost(text: str) -> None:
    assert sorted("".join(canonical(text).split())) == sorted("".join(text.split()))

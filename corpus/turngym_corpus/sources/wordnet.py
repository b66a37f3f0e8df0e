"""WordNet 3.0's named things (Debian package ``wordnet-base``): a passage for each person, place, event or work with a gloss.

Only instances are taken (Paris, not city). The dictionary's files follow wndb(5WN): a synset a line, its words, pointers to
other synsets by byte offset, and the gloss after a bar.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from turngym_corpus.passage import Passage, clean, split_text

_PERSON = 18  # the number of WordNet's lexicographer file noun.person
_YEARS = re.compile(r"\((?:born |c\. )?(\d{4})-(\d{4})\)")
_INSTANCE, _PART_OF, _MEMBER_OF = "@i", "#p", "#m"


@dataclass(frozen=True)
class Named:
    """A named thing. ``names`` are WordNet's words for it; ``born`` and ``died`` are years, "" where the gloss has none."""

    names: tuple[str, ...]
    gloss: str
    is_person: bool
    born: str
    died: str
    passage: Passage


@dataclass(frozen=True)
class _Synset:
    offset: str
    file: int
    words: tuple[str, ...]
    pointers: tuple[tuple[str, str], ...]
    gloss: str


def named_things(dictionary: Path) -> Iterator[Named]:
    """Every instance in ``data.noun``, in the file's order.

    :param dictionary: the folder that holds ``data.noun``.
    :raises FileNotFoundError: if it isn't there.
    """
    # a line begins with its synset's offset of eight digits; those of the licence at the head, with spaces
    lines = {
        line[:8]: line
        for line in (dictionary / "data.noun").read_text("utf-8").splitlines()
        if line[0].isdigit()
    }
    for line in lines.values():
        if f" {_INSTANCE} " in line:
            yield _named(_synset(line), lines)


def _synset(line: str) -> _Synset:
    data, _, gloss = line.partition(" | ")
    offset, file, _, count, *rest = data.split()
    words = 2 * int(count, 16)
    pointers = rest[words + 1 :]
    return _Synset(
        offset=offset,
        file=int(file),
        words=tuple(word.replace("_", " ") for word in rest[:words:2]),
        pointers=tuple((pointers[i], pointers[i + 1]) for i in range(0, len(pointers) - 3, 4)),
        gloss=clean(gloss),
    )


def _named(synset: _Synset, lines: dict[str, str]) -> Named:
    person = synset.file == _PERSON
    # a person's first name of several words is the usual full name
    title = next((word for word in synset.words if person and " " in word), synset.words[0])
    others = [word for word in synset.words if word != title]
    kinds = [_first_word(lines[target]) for kind, target in synset.pointers if kind == _INSTANCE]
    wholes = [_first_word(lines[t]) for kind, t in synset.pointers if kind in (_PART_OF, _MEMBER_OF)]
    text = f"{title}: {synset.gloss}."
    if others:
        text += f" Other names: {', '.join(others)}."
    text += f" Kind: {', '.join(dict.fromkeys(kinds))}."
    if wholes:
        text += f" Part of: {', '.join(dict.fromkeys(wholes))}."
    years = _YEARS.search(synset.gloss) if person else None
    born, died = years.groups() if years else ("", "")
    passage = Passage(f"wordnet/{synset.offset}", title, split_text(text)[0])
    return Named(synset.words, synset.gloss, person, born, died, passage)


def _first_word(line: str) -> str:
    return line.split(" ", 5)[4].replace("_", " ")

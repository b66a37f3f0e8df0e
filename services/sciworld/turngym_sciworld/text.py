"""Observations in one order. The simulator lists what it keeps in sets, and a set has no order that another JVM must share.

Lines that are indented alike under the same line are a list; so is what follows "is:" in a sentence, and what stands in
parentheses after "containing". All are sorted, with what belongs to an entry moving along. Nothing else is touched: the
numbered choices of an ambiguous request keep their numbers.
"""

import re
from collections.abc import Iterator

_CONTAINING = "(containing "
_LIST = re.compile(r"(.* (?:is|are): )(.+?)(\.?)", re.DOTALL)


def canonical(text: str) -> str:
    """``text`` with each of its lists sorted."""
    lines = [_sorted_line(line.rstrip()) for line in text.strip().split("\n")]
    return "\n".join(line for entry in _entries(lines, 0) for line in _sorted_entry(entry, 0))


def _sorted_entry(lines: list[str], depth: int) -> list[str]:
    """A line of indent ``depth`` and the deeper ones that hang on it, these sorted as a list of such entries."""
    parts = sorted(_sorted_entry(entry, depth + 1) for entry in _entries(lines[1:], depth + 1))
    return [lines[0], *(line for part in parts for line in part)]


def _entries(lines: list[str], depth: int) -> Iterator[list[str]]:
    """Each line of indent ``depth`` with the deeper ones after it."""
    entry: list[str] = []
    for line in lines:
        if entry and len(line) - len(line.lstrip("\t")) <= depth:
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _sorted_line(line: str) -> str:
    begin = line.rfind(_CONTAINING)
    while begin >= 0:  # the innermost first
        inner, end = begin + len(_CONTAINING), _closing(line, begin)
        if end > inner:
            line = line[:inner] + _sorted_list(line[inner:end]) + line[end:]
        begin = line.rfind(_CONTAINING, 0, begin)
    if ": " not in line:
        return line
    return ". ".join(_sorted_sentence(sentence) for sentence in _split(line, ". "))


def _sorted_sentence(sentence: str) -> str:
    match = _LIST.fullmatch(sentence)
    return match[1] + _sorted_list(match[2]) + match[3] if match else sentence


def _sorted_list(text: str) -> str:
    return ", ".join(sorted(_split(text, ", ")))


def _closing(line: str, begin: int) -> int:
    """Where the parenthesis that opens at ``begin`` closes; -1 if it does not."""
    level = 0
    for index in range(begin, len(line)):
        level += {"(": 1, ")": -1}.get(line[index], 0)
        if level == 0:
            return index
    return -1


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that stand outside parentheses."""
    parts, level, begin = [], 0, 0
    for index, letter in enumerate(text):
        level += {"(": 1, ")": -1}.get(letter, 0)
        if level == 0 and text.startswith(separator, index):
            parts.append(text[begin:index])
            begin = index + len(separator)
    return [*parts, text[begin:]]

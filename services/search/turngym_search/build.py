"""Making a dense index of any corpus with any encoder: encode every passage, then build, with progress and resumption.

Encoding is what takes time (hours on a CPU for a million passages), so vectors are written as they come; the same command
goes on where it was stopped. The finished index carries the hashes of its corpus and its encoder.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import faiss
import numpy as np

from turngym.output import whole_file
from turngym_search.encoders import Encoder, Vectors
from turngym_search.index import Manifest, rows_of, training_rows, write_index
from turngym_search.passages import Corpus

BLOCK = 1024  # passages between two notes of how far it has come
_SAMPLE_SEED = 0

Step = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and out of how much."""


class BuildError(Exception):
    """The index can't be built. The message is one line that says what to do."""


def build(
    corpus: Corpus,
    encoder: Encoder,
    kind: str,
    out: Path,
    *,
    names: tuple[str, str],
    threads: int,
    step: Step,
) -> Manifest:
    """Make the index in the folder ``out``.

    :param names: of corpus and encoder, for people who read the manifest.
    :param threads: of FAISS, while it builds.
    :raises BuildError: if the folder holds the vectors of another corpus or encoder.
    """
    manifest = Manifest(
        kind=kind,
        count=len(corpus),
        dim=encoder.dim,
        corpus=names[0],
        corpus_sha256=corpus.sha256,
        encoder=names[1],
        encoder_sha256=encoder.sha256,
    )
    out.mkdir(parents=True, exist_ok=True)
    vectors = _encode(corpus, encoder, out, manifest, step)
    faiss.omp_set_num_threads(threads)
    done = 0

    def counted(block: Vectors) -> Vectors:
        nonlocal done
        step(f"building the {kind} index", done, manifest.count)
        done += len(block)
        return block

    step(f"training the {kind} index", 0, manifest.count)
    written = write_index(out, manifest, _sample(vectors, kind), map(counted, rows_of(vectors, 8192)))
    step(f"building the {kind} index", manifest.count, manifest.count)
    for path in _drafts(out):
        path.unlink(missing_ok=True)
    return written


def _drafts(out: Path) -> tuple[Path, Path]:
    return out / "vectors.partial", out / "vectors.partial.json"


def _encode(corpus: Corpus, encoder: Encoder, out: Path, manifest: Manifest, step: Step) -> Vectors:
    """The vectors of all passages, memory-mapped; goes on where an earlier call has stopped."""
    path, note = _drafts(out)
    facts = {
        name: value for name, value in asdict(manifest).items() if name.endswith("sha256") or name == "dim"
    }
    mark = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    done = 0
    if note.exists():
        noted = json.loads(note.read_text())
        if noted["mark"] != mark:
            raise BuildError(
                f"{path} holds vectors of another corpus or encoder: delete it, or choose another --out"
            )
        done = int(noted["done"])
    shape = (manifest.count, manifest.dim)
    vectors: Vectors = np.memmap(path, np.float32, "r+" if path.exists() else "w+", shape=shape)
    step("encoding passages", done, manifest.count)
    while done < manifest.count:
        end = min(done + BLOCK, manifest.count)
        vectors[done:end] = encoder.passages([corpus[row].contents for row in range(done, end)])
        vectors.flush()
        done = end
        with whole_file(note) as file:
            file.write(json.dumps({"mark": mark, "done": done}).encode())
        step("encoding passages", done, manifest.count)
    return vectors


def _sample(vectors: Vectors, kind: str) -> Vectors:
    """The vectors that an index is trained on: the same for the same corpus."""
    wanted = training_rows(kind, len(vectors))
    rows = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(len(vectors), wanted, replace=False))
    return np.ascontiguousarray(vectors[rows], np.float32)

"""The command ``turngym-search``: build an index, measure a retriever. What goes wrong is one line and exit status 1."""

import os
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from turngym.schema import SPLITS
from turngym.server.settings import SettingsError, read_settings
from turngym_search.encoders import EncoderError
from turngym_search.index import IndexMismatch
from turngym_search.passages import CorpusError
from turngym_search.questions import QuestionsError
from turngym_search.settings import MINILM, SHIPPED, SearchSettings

app = typer.Typer(
    help="Indexes and retrieval quality of the search environment.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
aside = Console(stderr=True)


class Kind(StrEnum):
    """The kinds of index, as a choice."""

    FLAT = "flat"
    HNSW = "hnsw"
    SQ8 = "sq8"
    IVF = "ivf"


class SplitName(StrEnum):
    """The splits, as a choice."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"
    ALL = "all"


class Prefixes(StrEnum):
    """What an encoder wants before its texts, as a choice."""

    AUTO = "auto"
    NONE = "none"
    E5 = "e5"
    BGE = "bge"


def main() -> NoReturn:
    """Run the command line; never returns."""
    from turngym_search.build import BuildError

    try:
        app()
    except (BuildError, CorpusError, EncoderError, IndexMismatch, QuestionsError, SettingsError) as error:
        print(f"turngym-search: {error}", file=sys.stderr)
    except OSError as error:
        print(
            f"turngym-search: {error.filename or 'input/output'}: {error.strerror or error}", file=sys.stderr
        )
    raise SystemExit(1)


@app.command()
def build(
    out: Annotated[Path, typer.Option(help="the folder of the index")],
    corpus: Annotated[str, typer.Option(help="a JSONL file with id and contents, or: shipped")] = SHIPPED,
    encoder: Annotated[str, typer.Option(help="the folder of a Hugging Face encoder, or: minilm")] = MINILM,
    prefixes: Annotated[
        Prefixes, typer.Option(help="what the encoder wants before its texts")
    ] = Prefixes.AUTO,
    index: Annotated[Kind, typer.Option(help="the kind of index")] = Kind.FLAT,
    threads: Annotated[int | None, typer.Option(min=1, help="default: all cores")] = None,
) -> None:
    """Encode a corpus and build its dense index. Interrupted, the same command goes on.

    \b
    Examples:
      turngym-search build --corpus wiki-18.jsonl --encoder models/e5-base-v2 --index flat --out wiki-e5
      turngym-search build --index hnsw --out shipped-hnsw
    """
    from turngym_search import build as building
    from turngym_search.encoders import open_encoder
    from turngym_search.passages import open_corpus

    with _progress() as progress:
        bar = progress.add_task("reading the corpus", total=1.0)
        opened = open_corpus(corpus, out, lambda part: progress.update(bar, completed=part))
        model = open_encoder(encoder, prefixes.value)
        manifest = building.build(
            opened,
            model,
            index.value,
            out,
            names=(corpus, encoder),
            threads=threads or os.cpu_count() or 1,
            step=lambda what, done, total: _show(progress, bar, what, done, total),
        )
    console.print(f"{manifest.count} passages in {out}", highlight=False, soft_wrap=True)


def _show(progress: Progress, bar: TaskID, what: str, done: int, total: int) -> None:
    progress.update(bar, description=what, completed=done, total=total)


@app.command()
def quality(
    split: Annotated[SplitName, typer.Option(help="whose questions are asked")] = SplitName.TEST,
    n: Annotated[int | None, typer.Option(min=1, help="how many of them; default: all")] = None,
    k: Annotated[int, typer.Option("--topk", min=1, help="how many passages may be looked at")] = 3,
    retriever: Annotated[
        list[str] | None,
        typer.Option("--retriever", help="dense, bm25 or hybrid; repeatable; default: all three"),
    ] = None,
) -> None:
    """The share of gold passages among the first TOPK, for one hop and for each hop of more. Settings as for serving.

    \b
    Example:
      turngym-search quality --split test --retriever dense
    """
    from turngym_search import quality as measuring
    from turngym_search.engine import open_engine
    from turngym_search.questions import open_questions

    settings = read_settings(SearchSettings)
    source = open_questions(settings.questions)
    names = SPLITS if split is SplitName.ALL else (split.value,)
    questions = [question for name in names for question in source.splits[name] if question.gold][:n]  # type: ignore[index]
    kinds = retriever or ["dense", "bm25", "hybrid"]
    table = Table("gold passage", "queries", *kinds)
    columns: list[list[measuring.Recall]] = []
    with _progress() as progress:
        for kind in kinds:
            bar = progress.add_task(kind, total=measuring.queries(questions))
            engine = open_engine(_with_retriever(settings, kind))
            assert engine.retriever is not None
            columns.append(measuring.recalls(engine.retriever, questions, k, partial(progress.advance, bar)))
            engine.close()
    for row in zip(*columns, strict=True):
        table.add_row(row[0].what, str(row[0].asked), *(f"{recall.share:.3f}" for recall in row))
    console.print(table)


def _with_retriever(settings: SearchSettings, kind: str) -> SearchSettings:
    if kind not in ("dense", "bm25", "hybrid"):
        raise SettingsError(f"there is no retriever {kind!r} to measure; there are: dense, bm25, hybrid")
    changes = {"retriever": kind, "remote_url": None}
    return settings.model_copy(update=changes if kind != "bm25" else changes | {"index": None})


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=aside,
        transient=True,
    )


if __name__ == "__main__":
    main()

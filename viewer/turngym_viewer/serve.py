"""The command ``turngym-viewer``: serve the pages over a folder of runs, or bring its indexes up to date and end."""

import sqlite3
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from turngym.server.settings import SettingsError, read_settings
from turngym_viewer.app import create_app
from turngym_viewer.index import Index, place
from turngym_viewer.runs import Run, find_runs
from turngym_viewer.settings import Settings

main = typer.Typer(add_completion=False, help="Pages over a folder of TurnGym runs.")

Runs = Annotated[Path | None, typer.Argument(help="the folder of runs (default: runs, or TURNGYM_RUNS)")]


def _settings(**given: object) -> Settings:
    try:
        return read_settings(Settings, **given)
    except SettingsError as error:
        print(f"turngym-viewer: {error}", file=sys.stderr)
        raise SystemExit(1) from None


@main.command()
def serve(
    runs: Runs = None,
    host: Annotated[str | None, typer.Option(help="address to listen on (127.0.0.1)")] = None,
    port: Annotated[int | None, typer.Option(help="port to listen on (8010)")] = None,
) -> None:
    """Serve the pages in the foreground."""
    settings = _settings(runs=runs, host=host, port=port)
    print(f"the runs in {settings.runs}: http://{settings.host}:{settings.port}", file=sys.stderr, flush=True)
    uvicorn.run(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        ws="none",
    )


@main.command()
def index(runs: Runs = None) -> None:
    """Bring the indexes of all runs up to date, with a bar, and end."""
    settings = _settings(runs=runs)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    try:
        if settings.index_dir is not None:
            settings.index_dir.mkdir(parents=True, exist_ok=True)
        with Progress(*columns) as progress:
            for run in find_runs(settings.runs):
                _build(run, settings, progress)
    except (OSError, sqlite3.Error) as error:
        print(f"turngym-viewer: {error}; TURNGYM_INDEX_DIR puts the indexes elsewhere", file=sys.stderr)
        raise SystemExit(1) from None


def _build(run: Run, settings: Settings, progress: Progress) -> None:
    bar, begun = progress.add_task(run.name), time.monotonic()

    def advance(done: int, size: int) -> None:
        progress.update(bar, completed=done, total=size)

    state = Index(run, place(run, settings.index_dir)).sync(advance)
    advance(state.done, state.size)
    seconds = time.monotonic() - begun
    progress.console.print(
        f"{run.name}: {state.episodes} trajectories, {state.skipped} lines skipped, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()

"""Keeps the indexes of a folder's runs up to date, in one thread of the viewer's process.

A run that somebody looks at is read again at once, and then every ``poll_s`` seconds; the others, newest first, every half a
minute. So a run that trains is indexed as it grows, and is there at once when it is opened.
"""

import logging
import sqlite3
import threading
import time
from pathlib import Path

from turngym_viewer.index import Index, State, place
from turngym_viewer.runs import Run, find_runs, status
from turngym_viewer.settings import Settings

logger = logging.getLogger("turngym.viewer")

_ROUND_S = 30.0
_WATCHED_S = 120.0  # how long a look at a run counts


class Indexer:
    """The indexes of all runs. ``stop`` ends its thread after the part of a file that it is in."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._indexes: dict[Path, Index] = {}
        self._looked: dict[Path, float] = {}
        self._problems: dict[Path, str] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="turngym-index", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        if self._settings.index_dir is not None:
            self._settings.index_dir.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. An index that is being built goes on where it was the next time."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(30)

    def look(self, run: Run) -> Index:
        """The run's index, for somebody who looks at it now; it is brought up to date soon."""
        now = time.monotonic()
        if not self._watched(run, now):
            self._wake.set()
        self._looked[run.path] = now
        return self._index(run)

    def state(self, run: Run) -> tuple[State, str | None]:
        """How far the run's index is, and what hinders it, in one line."""
        return self._index(run).state(), self._problems.get(run.path)

    def _watched(self, run: Run, now: float) -> bool:
        return now - self._looked.get(run.path, -_WATCHED_S) < _WATCHED_S

    def _index(self, run: Run) -> Index:
        with self._lock:
            index = self._indexes.get(run.path)
            if index is None:
                index = self._indexes[run.path] = Index(run, place(run, self._settings.index_dir))
            return index

    def _work(self) -> None:
        last_round = -_ROUND_S
        while not self._stopping.is_set():
            now = time.monotonic()
            try:
                runs = sorted(find_runs(self._settings.runs), key=lambda run: -status(run)[1])
            except OSError as error:
                logger.error("the folder of runs can't be read: %s", error)
                runs = []
            watched = [run for run in runs if self._watched(run, now)]
            due = now - last_round >= _ROUND_S
            for run in watched + [run for run in runs if due and run not in watched]:
                self._sync(run)
                if self._stopping.is_set():
                    return
            if due:
                last_round = now
            self._wake.wait(self._settings.poll_s)
            self._wake.clear()

    def _sync(self, run: Run) -> None:
        try:
            self._index(run).sync(self._check)
            self._problems.pop(run.path, None)
        except _Stopped:
            return
        except (OSError, sqlite3.Error) as error:
            line = f"the index of {run.name} can't be brought up to date: {error}; TURNGYM_INDEX_DIR puts it elsewhere"
            if self._problems.get(run.path) != line:
                logger.warning("%s", line)
            self._problems[run.path] = line
        except Exception as error:
            logger.exception("indexing %s failed; it is tried again", run.name)
            self._problems[run.path] = f"indexing failed ({type(error).__name__}); the viewer's log says more"

    def _check(self, done: int, size: int) -> None:
        if self._stopping.is_set():
            raise _Stopped


class _Stopped(Exception):
    """The viewer ends."""

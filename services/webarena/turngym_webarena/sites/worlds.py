"""Worlds by seed, and a copy of one per session, made at its first write.

A world is one SQLite file, built once per machine (:mod:`.seeding`) and never written afterwards. A session reads it until
something is posted; then the file is copied and the session writes its own copy. So two sessions never see each other, a
session that only looks costs nothing, and a reset is the removal of a file. Requests of one session take turns; those of
different sessions don't wait for each other.

Several processes may share the folder, each in a container of its own: each keeps its copies in a folder that it holds
locked, so a folder that nobody holds has been left by a process that is no more.

A world's clock stands at its ``now``; every write moves the session's clock on by a minute, so the same actions write the
same times on every machine.
"""

import fcntl
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from turngym_webarena.sites.seeding import VERSION, WORLDS, build

HEADER = "X-TurnGym-World"
BY_HAND = "by-hand"  # the session of requests without the header
TICK = timedelta(minutes=1)
ALIVE, SWEEP = "alive", "sweep.lock"  # locked by who uses a folder of copies; by who makes or removes one
Progress = Callable[[str, float], None]


class UnknownWorld(KeyError):
    """No session of that id is open, or no world has that name."""


@dataclass(slots=True)
class Session:
    """One session's world. ``notices`` are shown once, on the next page. Guarded by ``lock``."""

    world: str
    seed: Path
    own: Path
    lock: threading.Lock = field(default_factory=threading.Lock)
    notices: list[tuple[str, str]] = field(default_factory=list)
    closed: bool = False

    @property
    def written(self) -> bool:
        """Whether the session has written, and so has a file of its own."""
        return self.own.exists()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that can't write. The caller holds the lock. Raises UnknownWorld once the session is closed."""
        self._check_open()
        connection = _connect(self.own, "ro") if self.written else _connect(self.seed, "ro&immutable=1")
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the session's own copy; an exception undoes it. The caller holds the lock. Raises UnknownWorld once
        the session is closed: who has waited for the lock meanwhile must not leave a copy behind."""
        self._check_open()
        if not self.written:
            partial = self.own.with_suffix(".partial")
            shutil.copyfile(self.seed, partial)
            partial.replace(self.own)
        connection = _connect(self.own, "rw")
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("UPDATE clock SET ticks = ticks + 1")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            connection.close()

    def _check_open(self) -> None:
        if self.closed:
            raise UnknownWorld(f"the session of {self.own.stem} was closed meanwhile")


class Worlds:
    """The worlds in a folder and the sessions that are open in them. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the seeds, which are kept, and the sessions' copies, which go when a session closes."""
        self._folder = folder
        self._seeds = folder / f"seeds-{VERSION}"
        self._copies = folder / f"sessions-{token_hex(8)}"
        self._alive: TextIO | None = None  # locked for as long as the copies are in use
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def build(self, progress: Progress = lambda _what, _share: None) -> None:
        """Build every world that isn't there yet, a few seconds each, and remove copies that dead processes have left.
        Raises OSError where the folder can't be written."""
        self._sweep()
        for done, world in enumerate(WORLDS):
            progress(f"world {world}", done / len(WORLDS))
            self.seed(world)
        progress("worlds", 1.0)

    def _sweep(self) -> None:
        """Remove what processes that are no more have left."""
        with _locked(self._folder / SWEEP):
            for left in self._folder.glob("sessions-*"):
                if left != self._copies and not _held(left / ALIVE):
                    shutil.rmtree(left, ignore_errors=True)

    def _claim(self) -> None:
        """Make the folder of the copies and hold it, where that isn't done. No sweep sees it between the two."""
        with self._lock:
            if self._alive is None:
                with _locked(self._folder / SWEEP):
                    self._copies.mkdir(exist_ok=True)
                    alive = (self._copies / ALIVE).open("w")
                    fcntl.flock(alive, fcntl.LOCK_EX)
                    self._alive = alive

    def seed(self, world: str) -> Path:
        """The file of a world, built if it isn't there. Two processes don't build the same one at once."""
        if world not in WORLDS:
            raise UnknownWorld(f"no world {world}; there are {', '.join(WORLDS)}")
        path = self._seeds / f"{world}.sqlite"
        if not path.exists():
            with _locked(self._seeds / f"{world}.lock"):
                if not path.exists():
                    partial = path.with_suffix(".partial")
                    partial.unlink(missing_ok=True)
                    build(partial, world)
                    partial.replace(path)
        return path

    def open(self, session_id: str, world: str) -> Session:
        """A session that starts from the seed, whatever a session of that id had before."""
        seed = self.seed(world)
        self._claim()
        session = Session(world, seed, self._copies / f"{session_id}.sqlite")
        self.close(session_id)
        with self._lock:
            self._sessions[session_id] = session
        return session

    def get(self, session_id: str | None) -> Session:
        """The session of a request; without an id, the one for use by hand. Raises UnknownWorld."""
        found = self._sessions.get(session_id or BY_HAND)
        if found is not None:
            return found
        if session_id:
            raise UnknownWorld(f"no session {session_id} is open here")
        return self.open(BY_HAND, WORLDS[0])

    def close(self, session_id: str) -> None:
        """Forget a session and remove its file; one that isn't open is left at that."""
        with self._lock:
            session = self._sessions.pop(session_id, None)
        if session is not None:
            with session.lock:
                session.closed = True
                session.own.unlink(missing_ok=True)

    def shutdown(self) -> None:
        """Close every session and remove their folder."""
        for session_id in list(self._sessions):
            self.close(session_id)
        with self._lock:
            if self._alive is not None:
                shutil.rmtree(self._copies, ignore_errors=True)
                self._alive.close()
                self._alive = None

    def changes(self, session_id: str) -> dict[str, tuple[int, int]]:
        """What a session has written: for each table that differs from the seed, rows that are new or other, and rows of
        the seed that are gone or other. The clock is left out."""
        session = self.get(session_id)
        with session.lock:
            if not session.written:
                return {}
            connection = _connect(session.own, "ro")
            try:
                connection.execute("ATTACH DATABASE ? AS seed", (f"file:{session.seed}?mode=ro&immutable=1",))
                return _differences(connection)
            finally:
                connection.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, made with its folder where it isn't there; other processes wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _held(path: Path) -> bool:
    """Whether a process holds this lock file."""
    try:
        with path.open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # A copy is thrown away with its session, so nothing is lost by not waiting for the disk.
    connection.executescript(
        "PRAGMA foreign_keys=ON; PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY; PRAGMA mmap_size=67108864;"
    )
    return connection


def _differences(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    found = {}
    names = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name")
    for (table,) in names.fetchall():
        if table == "clock" or table.startswith("sqlite_"):
            continue
        new, gone = (
            connection.execute(
                f'SELECT count(*) FROM (SELECT * FROM {a}."{table}" EXCEPT SELECT * FROM {b}."{table}")'
            ).fetchone()[0]
            for a, b in (("main", "seed"), ("seed", "main"))
        )
        if new or gone:
            found[table] = (new, gone)
    return found


def now(connection: sqlite3.Connection) -> datetime:
    """The time in a session's world."""
    start, ticks = connection.execute("SELECT start, ticks FROM clock").fetchone()
    found: datetime = datetime.fromisoformat(start) + ticks * TICK
    return found

"""The journal: every session, turn and intent in one SQLite file, so that a killed server goes on where it stopped.

All writes of one turn of the event loop are one transaction (group commit), and whoever waits for one is woken after its
commit. Turns are appended to one table in the order they happen, so that a group touches few pages. WAL with
``synchronous=NORMAL`` survives the death of the process; a power cut may lose the last moments. Checkpoints, the only waits
for the disk, run in a thread with a connection of their own. One process holds a journal: an advisory lock on ``<path>.lock``.
With no path the journal is kept in memory, and small.

It stores and finds; what a session is, and when it ends, is ``sessions``' business.
"""

import asyncio
import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from turngym.problems import ProblemError

logger = logging.getLogger("turngym.server")

FORMAT = 1
_PAGE = 4096
_MEMORY_MB = 64
_CHECKPOINT_STATEMENTS = 1000
_LOG_BYTES = 64 * 2**20
_EVICT_AT_ONCE = 64

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, request TEXT NOT NULL, seed TEXT NOT NULL, max_turns INTEGER NOT NULL,
    task BLOB NOT NULL, options BLOB NOT NULL, messages BLOB NOT NULL, opening BLOB NOT NULL,
    version TEXT NOT NULL, data_hash TEXT NOT NULL, created REAL NOT NULL,
    status TEXT NOT NULL DEFAULT 'open', stop_reason TEXT, ended REAL, problem TEXT,
    intent_turn INTEGER NOT NULL DEFAULT 0, intents INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS sessions_ended ON sessions (ended) WHERE ended IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_open ON sessions (key) WHERE status = 'open';
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL, turn INTEGER NOT NULL, action TEXT NOT NULL, result BLOB NOT NULL,
    time REAL NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS turns_of ON turns (key, turn);
"""
_ADD_SESSION = """INSERT INTO sessions (key, id, request, seed, max_turns, task, options, messages, opening, version,
    data_hash, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_COLUMNS = """key, id, request, seed, max_turns, task, options, messages, opening, version, data_hash, created, status,
    stop_reason, ended, problem, intent_turn, intents"""
_ADD_TURN = "INSERT INTO turns (key, turn, action, result, time) VALUES (?, ?, ?, ?, ?)"

Statement = tuple[str, Sequence[Any]]


class JournalError(Exception):
    """The journal can't be opened. The message is one line that says why and what to do."""


@dataclass(slots=True)
class Record:
    """A session as the journal holds it. ``ended`` and ``created`` are Unix seconds, the blobs JSON."""

    key: int
    id: str
    request: str
    seed: int
    max_turns: int
    task: bytes
    options: bytes
    messages: bytes
    opening: bytes
    version: str
    data_hash: str
    created: float
    status: str = "open"
    stop_reason: str | None = None
    ended: float | None = None
    problem: str | None = None
    intent_turn: int = 0
    intents: int = 0

    def insert(self) -> Statement:
        """The statement that adds this session."""
        return _ADD_SESSION, (
            self.key, self.id, self.request, str(self.seed), self.max_turns, self.task, self.options, self.messages,
            self.opening, self.version, self.data_hash, self.created,
        )  # fmt: skip


@dataclass(slots=True)
class TurnRecord:
    """One turn as the journal holds it. ``result`` is the JSON of its StepResult, without picture and messages."""

    turn: int
    action: str
    result: bytes
    time: float

    def insert(self, key: int) -> Statement:
        """The statement that adds this turn to the session ``key``."""
        return _ADD_TURN, (key, self.turn, self.action, self.result, self.time)


def end(key: int, status: str, stop_reason: str | None, problem: str | None, now: float) -> Statement:
    """The statement that ends a session: ``status`` is "ended" or "failed"."""
    return (
        "UPDATE sessions SET status = ?, stop_reason = ?, problem = ?, ended = ? WHERE key = ?",
        (status, stop_reason, problem, now, key),
    )


def intent(key: int, turn: int, count: int) -> Statement:
    """The statement that says: ``turn`` is about to be acted for the ``count``-th time."""
    return "UPDATE sessions SET intent_turn = ?, intents = ? WHERE key = ?", (turn, count, key)


class Journal:
    """An open journal. Reads are immediate; :meth:`commit` waits for the group's transaction."""

    def __init__(self, path: Path | None, service: str, max_mb: int) -> None:
        """Open or create. Raises JournalError: locked, not writable, disk full, another service's, another format."""
        self._path = path
        self._lock = _lock(path) if path is not None else None
        self._max_pages = (max_mb if path is not None else min(max_mb, _MEMORY_MB)) * 2**20 // _PAGE
        self._group: list[Statement] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._unchecked = 0
        try:
            self._db = self._open(service)
        except BaseException:
            self._unlock()
            raise
        row = self._db.execute("SELECT max(key) FROM sessions").fetchone()
        self._last_key: int = row[0] or 0

    def _open(self, service: str) -> sqlite3.Connection:
        where = str(self._path) if self._path is not None else ":memory:"
        try:
            db = sqlite3.connect(where, isolation_level=None, check_same_thread=False, cached_statements=64)
            try:
                self._prepare(db, service)
            except BaseException:
                db.close()
                raise
        except sqlite3.DatabaseError as error:
            raise JournalError(
                f"the journal {where} can't be used: {error}; free disk space or set another path"
            ) from error
        return db

    def _prepare(self, db: sqlite3.Connection, service: str) -> None:
        db.execute(f"PRAGMA page_size = {_PAGE}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(
            "PRAGMA wal_autocheckpoint = 0" if self._path is not None else "PRAGMA wal_autocheckpoint = 1000"
        )
        db.execute("PRAGMA busy_timeout = 5000")
        db.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        db.execute(f"PRAGMA max_page_count = {self._max_pages}")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            raise JournalError(
                f"the journal {self._path} has format {version}, not {FORMAT}; set another path"
            )
        db.executescript(_SCHEMA)
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.execute("INSERT OR IGNORE INTO meta VALUES ('service', ?)", (service,))
        # a write that proves there is room: a full disk shows up here and not in the first session
        db.execute("INSERT OR REPLACE INTO meta VALUES ('opened', ?)", (str(time.time()),))
        owner = db.execute("SELECT value FROM meta WHERE name = 'service'").fetchone()[0]
        if owner != service:
            raise JournalError(
                f"the journal {self._path} belongs to the service {owner!r}, not {service!r}; set another path"
            )

    def new_key(self) -> int:
        """The key of the next session."""
        self._last_key += 1
        return self._last_key

    async def commit(self, *statements: Statement) -> None:
        """Write ``statements`` and return after their commit.

        :raises ProblemError: ``storage_failure``, with nothing of the group written.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        self._group += statements
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(done)
        try:
            await done
        except asyncio.CancelledError:
            self._flush()  # so that the one who is cancelled can see what is written
            raise

    def _flush(self) -> None:
        group, waiting = self._group, self._waiting
        if not waiting:
            return
        self._group, self._waiting = [], []
        problem = None
        try:
            self._write(group)
        except sqlite3.Error as error:
            logger.error("the journal can't be written: %s", error)
            problem = f"the journal can't be written: {error}"
        for done in waiting:
            if done.done():
                continue
            if problem is None:
                done.set_result(None)
            else:
                done.set_exception(ProblemError("storage_failure", problem, retry_after=1))

    def _write(self, group: list[Statement]) -> None:
        try:
            self._transaction(group)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL or self.evict_oldest(_EVICT_AT_ONCE) == 0:
                raise
            self._transaction(group)

    def _transaction(self, group: list[Statement]) -> None:
        execute = self._db.execute
        try:
            execute("BEGIN IMMEDIATE")
            for sql, statements in groupby(group, key=itemgetter(0)):
                self._db.executemany(sql, [parameters for _, parameters in statements])
            execute("COMMIT")
            self._unchecked += len(group)
        except sqlite3.Error:
            if self._db.in_transaction:
                execute("ROLLBACK")
            raise

    def find(self, session_id: str) -> Record | None:
        """The session of that id."""
        row = self._db.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return _record(row) if row is not None else None

    def open_records(self) -> Iterator[Record]:
        """Every session that has not ended, oldest first."""
        for row in self._db.execute(
            f"SELECT {_COLUMNS} FROM sessions WHERE status = 'open' ORDER BY key"
        ).fetchall():
            yield _record(row)

    def last_turn(self, key: int) -> TurnRecord | None:
        """The last turn of a session."""
        sql = "SELECT turn, action, result, time FROM turns WHERE key = ? ORDER BY turn DESC LIMIT 1"
        row = self._db.execute(sql, (key,)).fetchone()
        return TurnRecord(*row) if row is not None else None

    def turns(self, key: int, upto: int | None = None) -> list[TurnRecord]:
        """The turns of a session in order, up to and with ``upto``."""
        sql = "SELECT turn, action, result, time FROM turns WHERE key = ? AND turn <= ? ORDER BY turn"
        rows = self._db.execute(sql, (key, upto if upto is not None else 2**62))
        return [TurnRecord(*row) for row in rows.fetchall()]

    def evict_older(self, moment: float) -> int:
        """Forget sessions that ended before ``moment`` (Unix seconds), some at a time; how many went."""
        sql = "SELECT key FROM sessions WHERE ended < ? ORDER BY ended LIMIT ?"
        return self._forget([row[0] for row in self._db.execute(sql, (moment, _EVICT_AT_ONCE)).fetchall()])

    def evict_oldest(self, count: int) -> int:
        """Forget the ``count`` sessions that ended first; how many went."""
        sql = "SELECT key FROM sessions WHERE ended IS NOT NULL ORDER BY ended LIMIT ?"
        return self._forget([row[0] for row in self._db.execute(sql, (count,)).fetchall()])

    def crowded(self) -> bool:
        """True if less than a tenth of the journal's greatest size is free."""
        pages: int = self._db.execute("PRAGMA page_count").fetchone()[0]
        free: int = self._db.execute("PRAGMA freelist_count").fetchone()[0]
        return pages - free > self._max_pages * 9 // 10

    def bytes_used(self) -> int:
        """The size of the journal's pages in use."""
        pages: int = self._db.execute("PRAGMA page_count").fetchone()[0]
        free: int = self._db.execute("PRAGMA freelist_count").fetchone()[0]
        return (pages - free) * _PAGE

    def _forget(self, keys: list[int]) -> int:
        if not keys:
            return 0
        group: list[Statement] = []
        for key in keys:
            group += [
                ("DELETE FROM turns WHERE key = ?", (key,)),
                ("DELETE FROM sessions WHERE key = ?", (key,)),
            ]
        try:
            self._transaction(group)
        except sqlite3.Error as error:
            logger.error("the journal can't be cleaned: %s", error)
            return 0
        return len(keys)

    def checkpoint_due(self) -> bool:
        """True if enough was written since the last checkpoint."""
        return self._path is not None and self._unchecked > _CHECKPOINT_STATEMENTS

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file; waits for the disk, so it is for a thread. Does not stop writers."""
        self._unchecked = 0
        db = sqlite3.connect(str(self._path), isolation_level=None)
        try:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            logger.error("the journal can't be checkpointed: %s", error)
        finally:
            db.close()

    def shorten(self) -> None:
        """Start the write-ahead log anew where it has outgrown its limit; after a checkpoint there is little left to move."""
        log = Path(f"{self._path}-wal")
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            try:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                logger.error("the journal's log can't be shortened: %s", error)

    def close(self) -> None:
        """Close the file and free its lock."""
        self._flush()
        self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _record(row: tuple[Any, ...]) -> Record:
    record = Record(*row)
    record.seed = int(record.seed)
    return record


def _lock(path: Path) -> int:
    """Take the journal for this process; the operating system frees it when the process dies."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise JournalError(
            f"the journal {path} is not writable: {error.strerror}; set another path"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise JournalError(
            f"the journal {path} is in use by another process; stop it or set another path"
        ) from None
    return descriptor

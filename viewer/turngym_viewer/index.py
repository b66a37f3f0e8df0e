"""The index of a run's trajectories: an SQLite file that says where each one lies, what can be asked of it, and its words.

It is built from ``rollouts/*.jsonl`` as they grow and can be deleted at any time. A file is read on from where the last look
ended; one that was replaced (the trainer adds advantages to a step's file that way) is read again, and what is known of its
episodes is kept under their place, file and line. Trajectories themselves are never copied: they are read from their file.

Words are indexed without their positions, which makes the index small: a search finds the trajectories that hold all the
words, in any order.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from turngym_viewer.runs import ROLLOUTS, Run, rollout_files

NAME = "viewer.index"
SCHEMA = 1  # of trajectories, as the trainer writes them
_VERSION = 3  # of the index's own tables: another one is built anew
_CHUNK = 8 * 2**20
_GOAL = 200
_WORDS = (
    200_000  # characters of a trajectory that are searched: an endless observation must not fill the disk
)

_TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, done INTEGER NOT NULL, lines INTEGER NOT NULL,
    skipped INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL,
    step INTEGER NOT NULL, partition TEXT NOT NULL, grp TEXT NOT NULL, sample INTEGER NOT NULL, session TEXT NOT NULL,
    task TEXT NOT NULL, seed TEXT NOT NULL, horizon INTEGER, turns INTEGER NOT NULL, invalid INTEGER NOT NULL, reward REAL,
    score REAL, success INTEGER, stop TEXT NOT NULL, failed INTEGER NOT NULL, seconds REAL, goal TEXT NOT NULL,
    UNIQUE (file, line)
);
CREATE INDEX by_step ON episodes (step, id);
CREATE INDEX by_task ON episodes (task);
CREATE INDEX by_group ON episodes (grp, step);
CREATE INDEX by_success ON episodes (success, step, id);
CREATE INDEX by_stop ON episodes (stop, step, id);
CREATE INDEX by_partition ON episodes (partition);
CREATE INDEX by_turns ON episodes (turns, id);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', detail = none, tokenize = 'unicode61 remove_diacritics 2');
"""
_COLUMNS = (
    "file", "line", "start", "length", "step", "partition", "grp", "sample", "session", "task", "seed", "horizon", "turns",
    "invalid", "reward", "score", "success", "stop", "failed", "seconds", "goal",
)  # fmt: skip
_INSERT = f"INSERT INTO episodes (id, {', '.join(_COLUMNS)}) VALUES (?, {', '.join('?' * len(_COLUMNS))})"
_UPDATE = f"UPDATE episodes SET {', '.join(f'{column} = ?' for column in _COLUMNS)} WHERE id = ?"


class NoTrajectory(ValueError):
    """A line is no trajectory of a known schema."""


@dataclass(frozen=True, slots=True)
class State:
    """How far an index is: trajectories in it, lines that could not be read, bytes read of all that there are."""

    episodes: int
    skipped: int
    done: int
    size: int


def place(run: Run, folder: Path | None) -> Path:
    """Where the run's index lies: in its folder, or in a folder of indexes under a name made from the run's path."""
    if folder is None:
        return run.path / NAME
    return folder.resolve() / f"{hashlib.sha256(str(run.path).encode()).hexdigest()[:24]}.index"


class Index:
    """A run's index. Reading and writing may go on at once, in several threads; there is one writer at a time."""

    def __init__(self, run: Run, path: Path) -> None:
        self.run = run
        self.path = path

    def sync(self, progress: Callable[[int, int], None] = lambda done, size: None) -> State:
        """Read what is new. Raises OSError or sqlite3.Error where the index can't be written.

        :param progress: called after each part of a file: how many bytes are read, and of how many.
        """
        with closing(self._writable()) as database:
            files = rollout_files(self.run)
            size = sum(facts.st_size for facts in files.values())
            self._forget(database, files)
            for name, facts in files.items():
                for _ in self._read_on(database, name, facts):
                    progress(database.execute("SELECT sum(done) FROM files").fetchone()[0], size)
            return self._state(database, files)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for questions. Raises sqlite3.OperationalError where there is no index yet."""
        if self.path.is_symlink():  # somebody else's: it may lead anywhere
            raise sqlite3.OperationalError(f"{self.path.name} is a link")
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=10)
        try:
            connection.row_factory = sqlite3.Row
            yield connection
        finally:
            connection.close()

    def state(self) -> State:
        """How far the index is now."""
        files = rollout_files(self.run)
        try:
            with self.reading() as database:
                return self._state(database, files)
        except sqlite3.Error:
            return State(0, 0, 0, sum(facts.st_size for facts in files.values()))

    # -- writing -------------------------------------------------------------------------------------------------------

    def _writable(self) -> sqlite3.Connection:
        if any(part.is_symlink() for part in self._parts()):
            self._drop()
        for last in (False, True):
            database = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                # The index can be built again, so it need not survive the death of the machine.
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("PRAGMA synchronous = OFF")
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version == _VERSION:
                    return database
                if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                    database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")
                    return database
            except sqlite3.OperationalError:  # locked, read-only, no room: the index itself is sound
                database.close()
                raise
            except sqlite3.DatabaseError:
                if last:
                    database.close()
                    raise
            database.close()
            self._drop()
        raise sqlite3.DatabaseError(f"{self.path} can't be built")

    def _drop(self) -> None:
        """Remove an index of another version, a damaged one, or links in its place."""
        for part in self._parts():
            part.unlink(missing_ok=True)

    def _parts(self) -> tuple[Path, ...]:
        return tuple(Path(f"{self.path}{suffix}") for suffix in ("", "-wal", "-shm"))

    def _forget(self, database: sqlite3.Connection, files: dict[str, os.stat_result]) -> None:
        known = dict(database.execute("SELECT name, id FROM files"))
        for name in known.keys() - files.keys():
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM episodes WHERE file = ?", (known[name],))
            database.execute("DELETE FROM files WHERE id = ?", (known[name],))
            database.execute("COMMIT")

    def _read_on(self, database: sqlite3.Connection, name: str, facts: os.stat_result) -> Iterator[None]:
        """Index what is new in a file, in transactions of a few megabytes."""
        known = database.execute(
            "SELECT id, inode, done, lines, size FROM files WHERE name = ?", (name,)
        ).fetchone()
        if known is None:
            database.execute(
                "INSERT INTO files (name, inode, done, lines, skipped, size) VALUES (?, 0, 0, 0, 0, 0)",
                (name,),
            )
            (file,) = database.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()
            known = (file, facts.st_ino, 0, 0, 0)
        file, inode, done, lines, size = known
        if inode == facts.st_ino and size == facts.st_size:
            return
        if inode != facts.st_ino or facts.st_size < done:
            done = lines = 0
        with self.run.open(ROLLOUTS, name) as source:
            # What was opened counts: the file may have been replaced since it was listed.
            facts = os.fstat(source.fileno())
            source.seek(done)
            for chunk in _whole_lines(source):
                database.execute("BEGIN IMMEDIATE")
                skipped = self._add(database, file, chunk, done, lines)
                done += len(chunk)
                lines += chunk.count(b"\n")
                database.execute(
                    "UPDATE files SET inode = ?, done = ?, lines = ?, skipped = skipped * ? + ?, size = ? WHERE id = ?",
                    (facts.st_ino, done, lines, int(done > len(chunk)), skipped, done, file),
                )
                database.execute("COMMIT")
                yield
        database.execute("DELETE FROM episodes WHERE file = ? AND line > ?", (file, lines))
        database.execute(
            "UPDATE files SET inode = ?, size = ? WHERE id = ?", (facts.st_ino, facts.st_size, file)
        )
        yield

    def _add(self, database: sqlite3.Connection, file: int, chunk: bytes, start: int, lines: int) -> int:
        """Index the lines of a chunk. Returns how many were no trajectories."""
        skipped, key = 0, _last_key(database)
        known = {
            line: (key, same)
            for line, key, same in database.execute(
                "SELECT line, id, session || ' ' || grp || ' ' || sample FROM episodes WHERE file = ? AND line > ?",
                (file, lines),
            )
        }
        for number, text in enumerate(chunk.split(b"\n")[:-1], start=lines + 1):
            try:
                trajectory = read(text)
                row = (file, number, start, len(text) + 1, *_facts(trajectory))
            except NoTrajectory:
                skipped += 1
                database.execute("DELETE FROM episodes WHERE file = ? AND line = ?", (file, number))
            else:
                old, same = known.get(number, (None, None))
                if old is not None and same == f"{row[8]} {row[6]} {row[7]}":
                    database.execute(_UPDATE, (*row, old))
                else:
                    key += 1
                    database.execute("DELETE FROM episodes WHERE id = ?", (old,))
                    database.execute(_INSERT, (key, *row))
                    database.execute(
                        "INSERT INTO words (rowid, text) VALUES (?, ?)", (key, words_of(trajectory))
                    )
            start += len(text) + 1
        return skipped

    def _state(self, database: sqlite3.Connection, files: dict[str, os.stat_result]) -> State:
        (episodes,) = database.execute("SELECT count(*) FROM episodes").fetchone()
        skipped, done = database.execute(
            "SELECT coalesce(sum(skipped), 0), coalesce(sum(done), 0) FROM files"
        ).fetchone()
        return State(episodes, skipped, done, sum(facts.st_size for facts in files.values()))


def _last_key(database: sqlite3.Connection) -> int:
    """The greatest key that was ever used: the words of a trajectory that is gone keep theirs."""
    (last,) = database.execute(
        "SELECT max((SELECT coalesce(max(id), 0) FROM words_docsize), (SELECT coalesce(max(id), 0) FROM episodes))"
    ).fetchone()
    return int(last)


def _whole_lines(source: Any) -> Iterator[bytes]:
    """What is left of a file in parts of whole lines; a last line without its end is left for the next time."""
    rest = b""
    while part := source.read(_CHUNK):
        whole, newline, rest_of_part = part.rpartition(b"\n")
        if not newline:
            rest += part
            continue
        yield rest + whole + newline
        rest = rest_of_part


def read(line: bytes) -> dict[str, Any]:
    """A trajectory from its line. Raises NoTrajectory."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise NoTrajectory(f"no JSON: {error}") from None
    if (
        not isinstance(found, dict)
        or found.get("schema") != SCHEMA
        or not all(isinstance(found.get(part), list) for part in ("messages", "turns"))
    ):
        raise NoTrajectory(f"no trajectory of schema {SCHEMA}")
    return found


def _facts(trajectory: dict[str, Any]) -> tuple[Any, ...]:
    try:
        turns = trajectory["turns"]
        success = trajectory["success"]
        return (
            _whole(trajectory["step"]),
            str(trajectory["partition"]),
            str(trajectory["group"]),
            _whole(trajectory["sample"]),
            str(trajectory["session_id"]),
            str(trajectory["task_id"]),
            str(trajectory["seed"]),
            _whole(trajectory["horizon"]),
            len(turns),
            sum(bool(turn["invalid"]) for turn in turns),
            float(trajectory["reward"]),
            float(trajectory["score"]),
            None if success is None else int(bool(success)),
            "error" if trajectory["error"] is not None else str(trajectory["stop_reason"]),
            int(trajectory["error"] is not None),
            float(trajectory["timings"]["total"]),
            goal_of(trajectory),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoTrajectory(f"a field is missing or wrong: {error}") from None


def _whole(value: Any) -> int:
    """A whole number that SQLite can hold. Raises TypeError, ValueError."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} is too large")
    return number


def goal_of(trajectory: dict[str, Any]) -> str:
    """A line that tells a task from others: the one that names a goal, else the last of the opening's."""
    messages = trajectory["messages"] or [{}]
    lines = [
        line.strip() for line in str(messages[-1].get("content", ""))[:_WORDS].splitlines() if line.strip()
    ]
    for line in lines:
        if line.lower().startswith(
            ("goal:", "your goal", "question:", "objective:", "task:", "your task", "mission:")
        ):
            return line[:_GOAL]
    return lines[-1][:_GOAL] if lines else ""


def words_of(trajectory: dict[str, Any]) -> str:
    """The text that a search looks in: task, opening observation, actions, observations, error."""
    opening = (trajectory["messages"] or [{}])[-1].get("content")
    turns = [turn.get(part) for turn in trajectory["turns"] for part in ("action", "observation")]
    parts, room = [], _WORDS
    for text in (trajectory["task_id"], trajectory["error"], opening, *turns):
        if text is not None and room > 0:
            parts.append(str(text)[:room])
            room -= len(parts[-1])
    return "\n".join(parts)

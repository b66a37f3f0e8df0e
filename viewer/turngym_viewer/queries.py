"""Questions to an index: filtered, sorted pages of trajectories, one of them whole, the group of a prompt."""

import re
import sqlite3
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from turngym.problems import ProblemError
from turngym_viewer.index import Index, NoTrajectory, read
from turngym_viewer.runs import ROLLOUTS

_SHOWN = (
    'files.name AS file, line, step, partition, grp AS "group", sample, task AS task_id, seed, horizon, turns, invalid, '
    "reward, score, success, stop, seconds, goal"
)
_WORD = re.compile(r"[^\W_]+")  # as unicode61 splits: an underscore parts words
_SORTS = {
    "newest": "step DESC, episodes.id DESC",
    "oldest": "step, episodes.id",
    "turns": "turns DESC, episodes.id",
    "reward": "reward DESC, episodes.id",
    "seconds": "seconds DESC, episodes.id",
}
GROUP_MAX = 256
_MOST_CHOICES = 100
_FEW_HITS = 5_000


class Filter(BaseModel):
    """Which trajectories, in which order. What is left out does not filter."""

    model_config = ConfigDict(extra="forbid")

    step_from: int | None = Field(default=None, ge=0, le=2**62)
    step_to: int | None = Field(default=None, ge=0, le=2**62)
    partition: str | None = None
    task: str | None = Field(default=None, description="an id, or the beginning of ids")
    success: Literal["yes", "no", "unknown"] | None = None
    stop: str | None = None
    turns_from: int | None = Field(default=None, ge=0, le=2**62)
    turns_to: int | None = Field(default=None, ge=0, le=2**62)
    text: str | None = Field(
        default=None, max_length=1000, description="words that all occur; the last may be unfinished"
    )
    sort: Literal["newest", "oldest", "turns", "reward", "seconds"] = "newest"
    offset: int = Field(default=0, ge=0, le=2**62)
    limit: int = Field(default=50, ge=1, le=500)


def conditions(wanted: Filter) -> tuple[str, list[Any]]:
    """The SQL condition of a filter, without its words, and its values."""
    parts: list[str] = []
    values: list[Any] = []

    def add(condition: str, *given: Any) -> None:
        parts.append(condition)
        values.extend(given)

    for column, low, high in (
        ("step", wanted.step_from, wanted.step_to),
        ("turns", wanted.turns_from, wanted.turns_to),
    ):
        if low is not None:
            add(f"{column} >= ?", low)
        if high is not None:
            add(f"{column} <= ?", high)
    for column, value in (("partition", wanted.partition), ("stop", wanted.stop)):
        if value:
            add(f"{column} = ?", value)
    if wanted.task:
        add("task >= ? AND task < ?", wanted.task, wanted.task + "\U0010ffff")
    if wanted.success:
        add("success IS ?", {"yes": 1, "no": 0, "unknown": None}[wanted.success])
    return " AND ".join(parts) or "1", values


def match(text: str) -> str:
    """What FTS5 is asked for a text: all its words, the last one as a beginning. Raises the problem ``invalid_request``."""
    words = _WORD.findall(text)
    if not words:
        raise ProblemError("invalid_request", "text: there is no word in it; letters and digits are searched")
    quoted = [f'"{word}"' for word in words]
    return " AND ".join([*quoted[:-1], quoted[-1] + ("*" if text[-1:].isalnum() else "")])


def page(index: Index, wanted: Filter) -> dict[str, Any]:
    """A page of trajectories, and how many there are in all."""
    where, values = conditions(wanted)
    with index.reading() as database:
        if wanted.text and wanted.text.strip():
            where += f" AND {_hits(database, wanted.text)} IN (SELECT id FROM hits)"
        (total,) = database.execute(f"SELECT count(*) FROM episodes WHERE {where}", values).fetchone()
        rows = database.execute(
            f"SELECT {_SHOWN} FROM episodes JOIN files ON files.id = episodes.file WHERE {where} "
            f"ORDER BY {_SORTS[wanted.sort]} LIMIT ? OFFSET ?",
            [*values, wanted.limit, wanted.offset],
        ).fetchall()
    return {
        "trajectories": [_row(row) for row in rows],
        "total": total,
        "offset": wanted.offset,
        "limit": wanted.limit,
    }


def _hits(database: sqlite3.Connection, text: str) -> str:
    """Look the words up once, into the table ``hits`` of this connection. Returns the column to compare with it.

    Few hits are fetched and sorted. With many of them, going through the trajectories in order and asking of each whether it
    is a hit fills a page at once: the ``+`` tells SQLite so.
    """
    database.execute("PRAGMA temp_store = MEMORY")
    database.execute("CREATE TEMP TABLE hits (id INTEGER PRIMARY KEY)")
    found = database.execute("INSERT INTO hits SELECT rowid FROM words WHERE words MATCH ?", (match(text),))
    return "episodes.id" if found.rowcount < _FEW_HITS else "+episodes.id"


def choices(index: Index) -> dict[str, Any]:
    """What filters may be set to: partitions, stop reasons, the span of steps and turns."""
    with index.reading() as database:
        partitions, stops = _different(database, "partition"), _different(database, "stop")
        steps = database.execute(
            "SELECT (SELECT min(step) FROM episodes), (SELECT max(step) FROM episodes), "
            "(SELECT max(turns) FROM episodes)"
        ).fetchone()
    return {"partitions": partitions, "stops": stops, "steps": [steps[0], steps[1]], "most_turns": steps[2]}


def _different(database: sqlite3.Connection, column: Literal["partition", "stop"]) -> list[str]:
    """The values of an indexed column: by leaps from each to the next, which doesn't read every row as DISTINCT does."""
    found: list[str] = []
    (value,) = database.execute(f"SELECT min({column}) FROM episodes").fetchone()
    while value is not None and len(found) < _MOST_CHOICES:
        found.append(value)
        (value,) = database.execute(
            f"SELECT min({column}) FROM episodes WHERE {column} > ?", (value,)
        ).fetchone()
    return found


def trajectory(index: Index, file: str, line: int) -> dict[str, Any]:
    """A trajectory whole, with its place and its neighbours. Raises the problem ``not_found``."""
    with index.reading() as database:
        row = database.execute(
            f"SELECT {_SHOWN}, start, length, file AS place FROM episodes JOIN files ON files.id = episodes.file "
            "WHERE files.name = ? AND line = ?",
            (file, line),
        ).fetchone()
        if row is None:
            raise ProblemError(
                "not_found", f"the run has no trajectory {file} {line} (or it is not indexed yet)"
            )
        around = database.execute(
            "SELECT max(CASE WHEN line < ?2 THEN line END), min(CASE WHEN line > ?2 THEN line END) "
            "FROM episodes WHERE file = ?1",
            (row["place"], line),
        ).fetchone()
        (members,) = database.execute(
            "SELECT count(*) FROM episodes WHERE grp = ? AND step = ? AND partition = ?",
            (row["group"], row["step"], row["partition"]),
        ).fetchone()
    return {
        "trajectory": _load(index, row),
        "file": file,
        "line": line,
        "before": around[0],
        "after": around[1],
        "group_size": members,
    }


def group(index: Index, partition: str, step: int, name: str) -> dict[str, Any]:
    """The trajectories of one prompt in one step, by sample. Raises the problem ``not_found``."""
    with index.reading() as database:
        rows = database.execute(
            f"SELECT {_SHOWN}, start, length FROM episodes JOIN files ON files.id = episodes.file "
            "WHERE grp = ? AND step = ? AND partition = ? ORDER BY sample, episodes.id LIMIT ?",
            (name, step, partition, GROUP_MAX),
        ).fetchall()
    if not rows:
        raise ProblemError("not_found", f"step {step} has no group {name} (or it is not indexed yet)")
    members = [{"file": row["file"], "line": row["line"], "trajectory": _load(index, row)} for row in rows]
    return {"members": members, "step": step, "partition": partition, "group": name}


def _load(index: Index, row: sqlite3.Row) -> dict[str, Any]:
    """A trajectory from its file. Its file may have been replaced a moment ago: then it isn't at its place."""
    try:
        with index.run.open(ROLLOUTS, row["file"]) as file:
            file.seek(row["start"])
            found = read(file.read(row["length"]))
    except (OSError, NoTrajectory):
        raise _moved(row) from None
    if (found.get("group"), found.get("sample")) != (row["group"], row["sample"]):
        raise _moved(row)
    found["seed"] = str(found["seed"])  # JavaScript rounds large numbers
    return found


def _moved(row: sqlite3.Row) -> ProblemError:
    return ProblemError(
        "not_ready", f"{row['file']} was just written anew and is being read again", retry_after=1
    )


def _row(row: sqlite3.Row) -> dict[str, Any]:
    found = dict(row)
    found["success"] = None if found["success"] is None else bool(found["success"])
    return found

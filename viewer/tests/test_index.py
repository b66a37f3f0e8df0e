"""The index: it grows with its run, survives what happens to files, and can be thrown away."""

import os
import sqlite3
from pathlib import Path
from random import Random

import orjson
import pytest
from made import trajectory, write_run, write_step

from turngym.problems import ProblemError
from turngym_viewer import queries
from turngym_viewer.index import Index, NoTrajectory, place, read
from turngym_viewer.queries import Filter
from turngym_viewer.runs import Outside, Run, find_run, find_runs


def indexed(folder: Path) -> Index:
    run = Run(folder.name, folder.resolve(), folder.parent.resolve())
    index = Index(run, place(run, None))
    index.sync()
    return index


def total(index: Index, **wanted: object) -> int:
    found: int = queries.page(index, Filter.model_validate(wanted))["total"]
    return found


def test_filters_agree_with_the_files(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    index = indexed(folder)
    rows = [
        read(line)
        for file in sorted((folder / "rollouts").iterdir())
        for line in file.read_bytes().splitlines()
    ]
    assert total(index) == len(rows) == 14 * 16
    assert total(index, success="yes") == sum(row["success"] for row in rows)
    assert total(index, stop="max_turns") == sum(row["stop_reason"] == "max_turns" for row in rows)
    assert total(index, step_from=5, step_to=7) == 3 * 16
    assert total(index, turns_from=3) == sum(len(row["turns"]) >= 3 for row in rows)
    assert total(index, task="textcraft/train/2") == sum(
        row["task_id"] == "textcraft/train/2" for row in rows
    )
    assert total(index, text="birch FENCE") == sum(
        "birch fence" in orjson.dumps(row).decode() for row in rows
    )
    assert total(index, text="fence birc") == total(index, text="birch fence")
    assert total(index, text="obsidian") == 0
    assert total(index, text="oak", success="no", step_to=3, partition="train") == sum(
        not row["success"] and row["step"] <= 3 for row in rows
    )


def test_what_grows_is_read_on_and_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    rng = Random(1)
    folder = tmp_path / "run"
    write_step(folder, 1, 2, 2, rng)
    index = indexed(folder)
    assert total(index) == 4
    line = orjson.dumps(trajectory(1, 9, 0, rng), option=orjson.OPT_APPEND_NEWLINE)
    file = folder / "rollouts" / "train-000001.jsonl"
    with file.open("ab") as out:
        out.write(line[:100])
    index.sync()
    assert total(index) == 4
    with file.open("ab") as out:
        out.write(line[100:])
    write_step(folder, 2, 1, 1, rng)
    state = index.sync()
    assert (state.episodes, state.skipped, state.done) == (6, 0, state.size)
    assert queries.trajectory(index, "train-000001.jsonl", 5)["trajectory"]["group"] == "group-1-9"


def test_a_file_that_is_replaced_is_read_again_and_keeps_its_places(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=2)
    index = indexed(folder)
    file = folder / "rollouts" / "train-000002.jsonl"
    rows = [read(line) for line in file.read_bytes().splitlines()]
    for row in rows:
        for turn in row["turns"]:
            turn["advantages"] = [7.5] * len(turn["token_ids"])
    new = file.with_suffix(".new")
    new.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    os.replace(new, file)
    with pytest.raises(ProblemError, match="not_ready"):  # between the replacement and the next look
        queries.trajectory(index, file.name, 3)
    state = index.sync()
    assert (state.episodes, state.skipped) == (32, 0)
    found = queries.trajectory(index, file.name, 3)["trajectory"]
    assert found["turns"][0]["advantages"][0] == 7.5 and found["session_id"] == rows[2]["session_id"]
    assert total(index, text=found["messages"][0]["content"][12:20]) > 0
    file.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows[:3]))
    assert index.sync().episodes == 19
    file.unlink()
    assert index.sync().episodes == 16


def test_lines_that_are_no_trajectories_are_counted_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_step(folder, 1, 1, 2, Random(0))
    bad = [
        b"not json",
        b"[1]",
        b"{}",
        orjson.dumps(trajectory(1, 0, 0, Random(0), schema=2)),
        b"",
        b'{"schema": 1, "turns": []}',
        orjson.dumps({k: v for k, v in trajectory(1, 0, 0, Random(0)).items() if k != "messages"}),
        orjson.dumps(trajectory(2**63, 0, 0, Random(0))),
        orjson.dumps(trajectory(1, 0, 0, Random(0), messages=["oak"])),
        orjson.dumps(trajectory(1, 0, 0, Random(0), turns=[5])),
    ]
    with (folder / "rollouts" / "train-000001.jsonl").open("ab") as out:
        out.write(b"\n".join(bad) + b"\n")
    index = indexed(folder)
    state = index.state()
    assert (state.episodes, state.skipped) == (2, 10)
    with pytest.raises(NoTrajectory, match="schema 1"):
        read(bad[3])


def test_of_an_endless_opening_the_beginning_is_searched(tmp_path: Path) -> None:
    opening = [{"role": "user", "content": "early " * 200_000 + "late"}]
    row = trajectory(1, 0, 0, Random(0), messages=opening, error="cut")
    (tmp_path / "run" / "rollouts").mkdir(parents=True)
    (tmp_path / "run" / "rollouts" / "train-000001.jsonl").write_bytes(orjson.dumps(row) + b"\n")
    index = indexed(tmp_path / "run")
    assert [total(index, text=word) for word in ("early", "cut", "late")] == [1, 1, 0]


def test_an_index_that_cannot_be_opened_now_is_kept(tmp_path: Path) -> None:
    index = indexed(write_run(tmp_path / "run", steps=1))
    built = index.path.read_bytes()
    log = Path(f"{index.path}-wal")
    log.mkdir()
    with pytest.raises(sqlite3.OperationalError):
        index.sync()
    log.rmdir()
    assert index.path.read_bytes() == built and total(index) == 16


def test_the_index_can_be_thrown_away_or_damaged(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", steps=2)
    index = indexed(folder)
    index.path.unlink()
    index.sync()
    assert total(index) == 32
    index.path.write_bytes(b"no database" * 1000)
    for suffix in ("-wal", "-shm"):
        Path(f"{index.path}{suffix}").unlink(missing_ok=True)
    index.sync()
    assert total(index) == 32


def test_a_search_is_words_and_never_sql_or_syntax(tmp_path: Path) -> None:
    index = indexed(write_run(tmp_path / "run", steps=1))
    for text in (
        '" OR 1',
        "a* NEAR(b)",
        "text:oak",
        "'; DROP TABLE episodes; --",
        "oak AND",
        "éß 木",
        "max_turns",
    ):
        assert total(index, text=text) in (0, 16), text
    for text in ("(((", "_"):
        with pytest.raises(ProblemError, match="no word"):
            total(index, text=text)
    assert total(index, task="' OR 1=1 --") == 0
    assert total(index) == 16


def test_a_group_is_whole_and_in_order(tmp_path: Path) -> None:
    index = indexed(write_run(tmp_path / "run", steps=2))
    found = queries.group(index, "train", 2, "group-2-1")
    assert [one["trajectory"]["sample"] for one in found["members"]] == [0, 1, 2, 3]
    with pytest.raises(ProblemError, match="no group"):
        queries.group(index, "train", 1, "group-2-1")


def test_nothing_outside_the_folder_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write_run(secret, steps=1)
    root = tmp_path / "runs"
    good = write_run(root / "good", steps=1)
    (root / "linked").symlink_to(secret)
    (root / "hollow" / "rollouts").mkdir(parents=True)
    (root / "hollow" / "metrics.jsonl").symlink_to(secret / "metrics.jsonl")
    (root / "hollow" / "rollouts" / "train-000001.jsonl").symlink_to(
        secret / "rollouts" / "train-000001.jsonl"
    )
    (good / "rollouts" / "train-000009.jsonl").symlink_to("/etc/passwd")
    (root / "itself").symlink_to("itself")
    assert [run.name for run in find_runs(root.resolve())] == ["good", "hollow"]
    hollow = find_run(root.resolve(), "hollow")
    with pytest.raises(Outside):
        hollow.open("metrics.jsonl")
    assert Index(hollow, place(hollow, None)).sync().episodes == 0
    outside = tmp_path / "outside.db"
    (good / "viewer.index").symlink_to(outside)
    assert indexed(good).state().episodes == 16
    assert not outside.exists() and not (good / "viewer.index").is_symlink()
    os.mkfifo(good / "summary.json")
    with pytest.raises(Outside):
        find_run(root.resolve(), "good").read("summary.json")
    for name in ("../secret", "..", "", "good/../../secret", str(secret), "itself", "\0"):
        with pytest.raises(ProblemError, match="no run"):
            find_run(root.resolve(), name)

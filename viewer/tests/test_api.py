"""The viewer's API over HTTP: runs, metrics, trajectories, exports, token."""

import os
import shutil
from pathlib import Path
from random import Random

import httpx
import pytest
from made import trajectory, write_run, write_step
from typer.testing import CliRunner
from viewing import Starter, indexed

from turngym.server.settings import SettingsError, read_settings
from turngym.ui import BASE, assets
from turngym_viewer.app import STATIC
from turngym_viewer.export import markdown
from turngym_viewer.serve import main
from turngym_viewer.settings import Settings


def test_the_list_has_status_and_figures(viewer: str, folder: Path) -> None:
    os.utime(folder / "textcraft-2" / "metrics.jsonl")
    runs = {run["name"]: run for run in httpx.get(f"{viewer}/api/runs").json()["runs"]}
    one, two = runs["textcraft-1"], runs["textcraft-2"]
    assert (one["status"], one["step"], one["horizon"]) == ("finished", 14, 6)
    assert (one["before"]["success"], one["after"]["success"]) == (0.2, 0.6)
    assert (two["status"], two["after"], two["algorithm"]) == ("running", None, "grpo")


def test_metrics_come_as_columns(viewer: str) -> None:
    found = httpx.get(f"{viewer}/api/runs/textcraft-1/metrics").json()
    assert found["steps"] == list(range(1, 15))
    assert found["series"]["rollout/horizon"] == [4] * 9 + [6] * 5


def test_a_run_that_trains_is_followed(start_viewer: Starter, tmp_path: Path) -> None:
    rng = Random(0)
    folder = tmp_path / "runs" / "live"
    write_step(folder, 1, 2, 2, rng)
    address = start_viewer(tmp_path / "runs")
    indexed(address, "live", 4)
    write_step(folder, 2, 2, 2, rng)
    indexed(address, "live", 8)
    assert httpx.get(f"{address}/api/runs/live/metrics").json()["steps"] == [1, 2]
    shutil.rmtree(folder)
    assert httpx.get(f"{address}/api/runs").json()["runs"] == []
    gone = httpx.get(f"{address}/api/runs/live")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


def test_a_recorded_run_of_the_trainer_is_read(start_viewer: Starter, tmp_path: Path, recorded: Path) -> None:
    shutil.copytree(recorded, tmp_path / "runs")
    address = start_viewer(tmp_path / "runs", index_dir=tmp_path / "indexes")
    indexed(address, "textcraft-smoke", 8)
    run = httpx.get(f"{address}/api/runs/textcraft-smoke").json()
    assert run["index"]["skipped"] == 0 and run["index"]["problem"] is None
    assert (run["status"], run["task"], run["step"]) == ("finished", "textcraft", 2)
    page = httpx.get(f"{address}/api/runs/textcraft-smoke/trajectories").json()
    first = page["trajectories"][0]
    assert first["goal"].startswith("Goal: craft ") and page["choices"]["partitions"] == ["train"]
    whole = httpx.get(
        f"{address}/api/runs/textcraft-smoke/trajectories/{first['file']}/{first['line']}"
    ).json()
    assert whole["group_size"] == first_group_size(page) and "advantages" in whole["trajectory"]["turns"][0]
    assert not list((tmp_path / "runs").rglob("viewer.index*")), "the index was to lie elsewhere"


def first_group_size(page: dict[str, list[dict[str, object]]]) -> int:
    first = page["trajectories"][0]
    return sum((one["group"], one["step"]) == (first["group"], first["step"]) for one in page["trajectories"])


def test_wrong_questions_are_answered_with_what_is_wrong(viewer: str) -> None:
    run = f"{viewer}/api/runs/textcraft-1"
    for path, status, words in (
        (f"{run}/trajectories?success=perhaps", 422, "success"),
        (f"{run}/trajectories?colour=red", 422, "colour"),
        (f"{run}/trajectories?text=...", 422, "no word"),
        (f"{run}/trajectories?limit=100000", 422, "limit"),
        (f"{run}/trajectories/train-000001.jsonl/999", 404, "no trajectory"),
        (f"{run}/trajectories/..%2f..%2fsummary.json/1", 404, ""),
        (f"{run}/trajectories/train-000001.jsonl/1/pdf", 404, "markdown or json"),
        (f"{run}/groups/train/99999999999999999999999/x", 404, "number"),
        (f"{viewer}/api/runs/..%2ftextcraft-1", 404, ""),
        (f"{viewer}/nothing", 404, "nothing at /nothing; GET /api/runs"),
    ):
        answer = httpx.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), (
            path
        )
        assert words in answer.json()["detail"]
    assert httpx.post(run).status_code == 405


def test_a_run_without_an_index_yet_is_not_ready(start_viewer: Starter, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "early", steps=1)
    (folder / "viewer.index").mkdir()  # so it never gets one
    run = f"{start_viewer(tmp_path / 'runs')}/api/runs/early"
    for path in ("trajectories", "trajectories/train-000001.jsonl/1", "groups/train/1/group-1-0"):
        answer = httpx.get(f"{run}/{path}")
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (
            503,
            "not_ready",
            "1",
        )


def test_the_token_guards_all_but_the_files(start_viewer: Starter, folder: Path) -> None:
    address = start_viewer(folder, token="t")
    assert httpx.get(address).status_code == 200
    assert httpx.get(f"{address}/static/viewer.js").status_code == 200
    for path in ("api/runs", "api/viewer", "api/runs/textcraft-1/trajectories", "static/../api/runs"):
        assert httpx.get(f"{address}/{path}").status_code == 401
    assert httpx.get(f"{address}/api/runs", headers={"Authorization": "Bearer t"}).status_code == 200


def test_an_export_is_a_file_with_a_plain_name(viewer: str) -> None:
    place = f"{viewer}/api/runs/textcraft-1/trajectories/train-000003.jsonl/2"
    answer = httpx.get(f"{place}/markdown")
    assert (
        answer.headers["content-disposition"] == "attachment; filename*=UTF-8''made-3-textcraft-train-0-1.md"
    )
    assert "## Turn 1" in answer.text and "Goal: craft oak door" in answer.text
    exported = httpx.get(f"{place}/json").json()
    assert exported["sample"] == 1 and exported["schema"] == 1


def test_nothing_breaks_out_of_the_markdown() -> None:
    made = trajectory(1, 0, 0, Random(0), task_id="a|b\n# c", stop_reason="<b>")
    made["turns"][0]["action"] = "```\n# Not a heading\n````\n\x1b[31m"
    text = markdown(made)
    assert "`````text\n```\n# Not a heading\n````\n\\x1b[31m\n`````" in text
    assert "a\\|b \\# c" in text and "\\<b\\>" in text and "\x1b" not in text


def test_the_files_ask_nothing_of_anybody_else() -> None:
    for name, file in assets(BASE, STATIC).items():
        text = file.body.decode().replace("http://www.w3.org/2000/svg", "")
        for word in (
            "https://",
            "http://",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "@import",
        ):
            assert word not in text, (name, word)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": "/no/such/folder"}, "TURNGYM_RUNS=.*no/such.*: .*there is no folder"),
        (
            {"playgrounds": "textcraft=localhost"},
            "TURNGYM_PLAYGROUNDS='textcraft=localhost': .*needs an address",
        ),
        ({"port": 70000}, "TURNGYM_PORT"),
        ({"port": 0}, "TURNGYM_PORT"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=words):
        read_settings(Settings, **{"runs": tmp_path, **given})


def test_playgrounds_are_read_from_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNGYM_PLAYGROUNDS", "textcraft=http://a:1/, babyai=https://b")
    assert read_settings(Settings, runs=tmp_path).playgrounds == {
        "textcraft": "http://a:1",
        "babyai": "https://b",
    }


def test_indexes_are_built_by_the_command_line(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "one", steps=1)
    said = CliRunner().invoke(main, ["index", str(tmp_path / "runs")])
    assert said.exit_code == 0 and "one: 16 trajectories, 0 lines skipped" in said.stdout
    assert (tmp_path / "runs" / "one" / "viewer.index").is_file()
    assert CliRunner().invoke(main, ["index", str(tmp_path / "none")]).exit_code == 1
    (write_run(tmp_path / "runs" / "two", steps=1) / "viewer.index").mkdir()
    said = CliRunner().invoke(main, ["index", str(tmp_path / "runs")])
    assert said.exit_code == 1 and "TURNGYM_INDEX_DIR" in said.stderr and "Traceback" not in said.output


def test_a_run_that_is_the_folder_itself_is_shown(start_viewer: Starter, tmp_path: Path) -> None:
    write_run(tmp_path / "alone", steps=1)
    address = start_viewer(tmp_path / "alone")
    assert [run["name"] for run in httpx.get(f"{address}/api/runs").json()["runs"]] == ["alone"]

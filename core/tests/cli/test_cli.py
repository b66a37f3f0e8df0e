"""The command line, in processes of its own: what it prints, its exit status, the files it leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import Served, ServerFactory, free_port
from typer.testing import CliRunner

from turngym import __version__
from turngym.cli import app

ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith(("TURNGYM_", "OPENAI_"))}
Result = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the toy is an installed service called "toy"."""
    site = tmp_path_factory.mktemp("site")
    about = site / "turngym_toy-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: turngym-toy\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[turngym.services]\ntoy = toy:Toy\ntoy_async = toy:AsyncToy\nbroken = nosuchmodule:X\n"
    )
    return ENVIRON | {
        "PYTHONPATH": os.pathsep.join([str(site), str(Path(__file__).parents[1])]),
        "COLUMNS": "160",
    }


def turngym(environ: dict[str, str], *arguments: object, cwd: Path | None = None, given: str = "") -> Result:
    """Run the command to its end."""
    command = [sys.executable, "-m", "turngym.cli", *map(str, arguments)]
    return subprocess.run(
        command, env=environ, cwd=cwd, input=given, capture_output=True, text=True, timeout=120
    )


def fails(result: Result, said: str, status: int = 1) -> None:
    """It must have ended with that status and one line on stderr that says so."""
    assert (result.returncode, result.stdout) == (status, ""), result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("turngym: ") and said in lines[0], result.stderr


@pytest.fixture
def toy(installed: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The first line that ``turngym serve toy`` prints."""
    command = [
        sys.executable,
        "-m",
        "turngym.cli",
        "serve",
        "toy",
        "--port",
        "0",
        "--journal",
        str(tmp_path / "j"),
    ]
    with subprocess.Popen(command, env=installed, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=30) in (0, 130)


def test_serve_prints_an_address_and_a_curl_line_that_works(toy: str) -> None:
    name, _, address = toy.split()[:3]
    assert name == "toy" and f"curl -s {address}/sessions -d " in toy
    order = json.loads(toy[toy.index("'") + 1 : toy.rindex("'")])
    with httpx.Client(base_url=address) as client:
        while client.get("/ready").status_code != 200:
            time.sleep(0.05)
        assert client.post("/sessions", json=order).status_code == 201


def test_serve_takes_every_setting_as_an_option(installed: dict[str, str]) -> None:
    listed = turngym(installed, "serve", "--help")
    assert listed.returncode == 0
    for option in (
        "--port",
        "--max-sessions",
        "--journal",
        "--experts",
        "--step-timeout-s",
        "--data-dir",
        "--token",
    ):
        assert option in listed.stdout


def test_serve_says_what_is_wrong(installed: dict[str, str], shared: Served) -> None:
    unknown = turngym(installed, "serve", "nothing")
    fails(unknown, "no service 'nothing' is installed here; there are: ")
    fails(unknown, " broken, ")
    fails(turngym(installed, "serve", "broken"), "can't be imported: No module named 'nosuchmodule'")
    fails(turngym(installed, "serve", "toy", "--port", "99999"), "TURNGYM_PORT=99999")
    fails(turngym(installed | {"TURNGYM_QUEUE": "many"}, "serve", "toy"), "TURNGYM_QUEUE='many'")
    port = shared.settings["port"]
    fails(turngym(installed, "serve", "toy", "--port", port, "--journal", "off"), f"port {port} is in use")


def test_every_command_has_a_help_with_examples() -> None:
    for command in ("serve", "play", "check", "collect", "eval", "new"):
        told = CliRunner().invoke(app, [command, "--help"])
        assert told.exit_code == 0 and f"  turngym {command} " in told.stdout, command
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == __version__


# -- collect -----------------------------------------------------------------------------------------------------------


def collected(installed: dict[str, str], out: Path, *arguments: object) -> list[dict[str, object]]:
    """The rows that ``turngym collect toy`` writes."""
    result = turngym(installed, "collect", "toy", "--out", out, *arguments)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_collect_writes_chats_that_end_with_the_last_action(
    installed: dict[str, str], tmp_path: Path
) -> None:
    rows = collected(
        installed, tmp_path / "x.jsonl", "--n", 43, "--seed", 5, "--option", "step=2", "--max-turns", 4
    )
    assert len(rows) == 43 and [row["task_id"] for row in rows[39:42]] == [
        "toy/train/39",
        "toy/train/0",
        "toy/train/1",
    ]
    row = rows[0]
    keys = [
        "task_id",
        "seed",
        "options",
        "policy",
        "rate",
        "messages",
        "score",
        "success",
        "turns",
        "stop_reason",
    ]
    assert list(row) == keys
    assert (row["seed"], row["options"], row["policy"], row["rate"]) == (5, {"step": 2}, "expert", None)
    assert (row["success"], row["score"], row["turns"], row["stop_reason"]) == (True, 1.0, 3, "success")
    messages = row["messages"]
    assert isinstance(messages, list)
    roles = [message["role"] for message in messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert messages[3]["content"] == "The count is 1."
    assert (rows[9]["success"], rows[9]["stop_reason"], rows[9]["turns"]) == (False, "max_turns", 4)


def test_a_service_of_coroutines_lives_in_one_event_loop(installed: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    for command in (("collect", "toy_async", "--n", 3, "--out", out), ("play", "toy_async")):
        result = turngym(installed, *command, given="add 1\n/hint\n/quit\n")
        assert (result.returncode, result.stderr) == (0, "")
    assert len(out.read_text().splitlines()) == 3


def test_collect_gives_the_same_bytes_for_the_same_arguments(
    installed: dict[str, str], tmp_path: Path
) -> None:
    arguments = ("--mix", "expert:0.5,novice:0.3,random:0.2", "--rate", 0.5, "--n", 60, "--shuffle")
    first, second, third = (tmp_path / name for name in ("1", "2", "3"))
    rows = collected(installed, first, *arguments, "--seed", 1)
    collected(installed | {"PYTHONHASHSEED": "7"}, second, *arguments, "--seed", 1)
    collected(installed, third, *arguments, "--seed", 2)
    assert first.read_bytes() == second.read_bytes() != third.read_bytes()
    policies = {row["policy"] for row in rows}
    assert policies == {"expert", "novice", "random"}
    assert {row["rate"] for row in rows if row["policy"] == "novice"} == {0.5}


def test_collect_uses_the_servers_rules(installed: dict[str, str], tmp_path: Path) -> None:
    (row, *_) = collected(installed, tmp_path / "x", "--policy", "null", "--n", 1)
    assert (row["stop_reason"], row["turns"], row["success"]) == ("max_turns", 8, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--mix", "expert:0.5"], "add up to 1"),
        (["--mix", "wizard:1"], "there is no policy 'wizard'"),
        (["--option", "stpe=2"], "stpe"),
        (["--option", "step"], "is not NAME=VALUE"),
        (["--max-turns", "51"], "takes 1 to 50"),
    ],
)
def test_collect_says_what_is_wrong_and_leaves_nothing(
    installed: dict[str, str], tmp_path: Path, arguments: list[str], said: str
) -> None:
    out = tmp_path / "x.jsonl"
    out.write_text("as it was")
    fails(turngym(installed, "collect", "toy", "--out", out, *arguments), said)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.jsonl", "as it was")]


def test_collect_into_a_place_that_cannot_be_written(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    fails(turngym(installed, "collect", "toy", "--out", tmp_path / "file" / "x"), "file")


def test_ctrl_c_keeps_the_complete_episodes_apart(installed: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    command = [sys.executable, "-m", "turngym.cli", "collect", "toy", "--n", "100000000", "--out", str(out)]
    with subprocess.Popen(command, env=installed, stderr=subprocess.PIPE, text=True) as process:
        while not any(path.stat().st_size > 100_000 for path in tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr is not None and "x.jsonl.partial" in process.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl.partial"]
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl.partial").read_text().splitlines()]
    assert len(rows) > 100 and rows[-1]["stop_reason"]


# -- eval, check, play -------------------------------------------------------------------------------------------------


def test_eval_writes_the_figures(installed: dict[str, str], shared: Served, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "e.json"
    result = turngym(installed, "eval", shared.url, "--n", 50, "--seed", 3, "--max-turns", 12, "--out", out)
    assert result.returncode == 0 and result.stdout == "", result.stderr
    report = json.loads(out.read_text())
    expected = {
        "task": "toy",
        "policy": "expert",
        "split": "test",
        "n": 50,
        "tasks": 20,
        "seed": 3,
        "success": 1.0,
    }
    assert expected.items() <= report.items()
    assert report["ci95"][0] > 0.8 and report["ci95"][1] == 1.0
    assert report["stop_reasons"] == {"success": 50} and report["infra_failures"] == 0
    assert "success 100.0%" in result.stderr
    assert [path.name for path in out.parent.iterdir()] == ["e.json"]


def test_eval_prints_the_figures_and_takes_replicas(installed: dict[str, str], serve: ServerFactory) -> None:
    urls = ",".join(serve(max_sessions=2).url for _ in range(2))
    result = turngym(installed, "eval", urls, "--policy", "random", "--n", 12, "--split", "validation")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["n"] == 12


def test_eval_says_what_is_wrong(installed: dict[str, str], serve: ServerFactory, tmp_path: Path) -> None:
    out = tmp_path / "e.json"
    url = serve().url
    fails(turngym(installed, "eval", url, "--n", 3, "--out", out), "TURNGYM_EXPERTS=1")
    fails(turngym(installed, "eval", url, "--policy", "openai"), "needs --model")
    fails(turngym(installed, "eval", f"http://127.0.0.1:{free_port()}", "--out", out), "can't be reached")
    fails(turngym(installed, "eval", "ftp://x"), "is not the address of a service")
    assert not out.exists()


def test_check_prints_a_table_and_its_status_says_whether_all_is_well(
    installed: dict[str, str], serve: ServerFactory
) -> None:
    good = turngym(installed, "check", serve().url)
    assert good.returncode == 0 and "conforms" in good.stdout and "step-repeat" in good.stdout, good.stdout
    drifting = serve({"deterministic": True})
    one = turngym(installed, "check", drifting.url, "--only", "determinism")
    assert one.returncode == 0 and "1 passed" in one.stdout
    fails(turngym(installed, "check", drifting.url, "--only", "stpe"), "there is no check 'stpe'")
    fails(turngym(installed, "check", f"127.0.0.1:{free_port()}"), "can't be reached")


def test_check_fails_a_server_that_breaks_a_rule(installed: dict[str, str], serve: ServerFactory) -> None:
    short = serve(max_body_bytes=200)
    result = turngym(installed, "check", short.url, "--only", "batch-create", "--only", "health")
    assert result.returncode == 1
    assert "does not conform (1 passed, 1 failed)" in result.stdout and "too_large" in result.stdout


@pytest.mark.parametrize("where", ["url", "name"])
def test_a_person_plays(installed: dict[str, str], shared: Served, where: str) -> None:
    place = shared.url if where == "url" else "toy"
    given = "/actions\n/hint\nadd 2\nnonsense\nadd 1\n"
    result = turngym(installed, "play", place, "--task", "toy/test/0", given=given)
    assert result.returncode == 0, result.stderr
    for said in (
        "Count to 3.",
        "add 3",
        "add 1",
        "The count is 2.",
        "Unknown command: nonsense",
        "Done.",
        "success",
    ):
        assert said in result.stdout, said


def test_a_person_may_leave(installed: dict[str, str]) -> None:
    assert turngym(installed, "play", "toy", given="/quit\n").returncode == 0
    assert turngym(installed, "play", "toy", given="add 1\n").returncode == 0
    fails(turngym(installed, "play", "toy", "--task", "x"), "there is no task 'x'; the first is toy/train/0")


# -- new ---------------------------------------------------------------------------------------------------------------


def test_new_makes_a_service_that_passes_its_own_tests_and_the_checks(
    installed: dict[str, str], tmp_path: Path
) -> None:
    made = turngym(installed, "new", "two_words", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "services" / "two_words"
    for name in ("Dockerfile", "README.md", "pyproject.toml", "tests/test_two_words.py"):
        assert (folder / name).is_file()
    python = sorted((folder / "turngym_two_words").glob("*.py"))
    assert [path.stem for path in python] == ["__init__", "env", "expert", "service", "tasks"]
    assert sum(len(path.read_text().splitlines()) for path in python) < 100
    assert not any("@" in path.read_text() for path in (folder / "turngym_two_words").glob("*.py"))
    about = folder / "turngym_two_words-0.dist-info"  # what pip install -e does, without a network
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: turngym-two-words\nVersion: 0\n")
    entry = "[turngym.services]\ntwo_words = turngym_two_words.service:TwoWordsService\n"
    (about / "entry_points.txt").write_text(entry)
    environ = installed | {"PYTHONPATH": os.pathsep.join([str(folder), installed["PYTHONPATH"]])}
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests")]
    ran = subprocess.run(tests, env=environ, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout
    rows = turngym(
        environ, "collect", "two_words", "--policy", "novice", "--n", "50", "--out", tmp_path / "n.jsonl"
    )
    assert rows.returncode == 0, rows.stderr
    won = [json.loads(line)["success"] for line in (tmp_path / "n.jsonl").read_text().splitlines()]
    assert 10 < sum(won) < 50, "a novice wins some and loses some: there is something to learn"


def test_new_makes_nothing_where_it_can_not(installed: dict[str, str], tmp_path: Path) -> None:
    fails(turngym(installed, "new", "Bad-Name", cwd=tmp_path), "'Bad-Name' is no name for a service")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("")
    fails(turngym(installed, "new", "maze", "--dir", "there", cwd=tmp_path), "there is there already")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["mine"]

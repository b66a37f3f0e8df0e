"""What is answered is kept: kill -9, restarts, drift, poison, full disks, retention. Real processes, real SQLite files."""

import sqlite3
import time
from pathlib import Path

import httpx
import pytest
from served import Served, ServerFactory
from talk import create, played, problem, step


def restarted(served: Served, **toy: object) -> httpx.Client:
    """Kill the server, start it again, with a changed toy; a client of it."""
    served.kill()
    served.toy |= toy
    served.start()
    return served.client()


def test_a_killed_server_goes_on_where_it_was(serve: ServerFactory) -> None:
    served = serve()
    with served.client() as http:
        session = create(http, index=9, seed=3)
        results = [step(http, session, f"add {n}", n).content for n in (1, 2, 3)]
    with restarted(served) as http:
        name = session["session_id"]
        assert http.get(f"/sessions/{name}").content == results[-1]
        assert step(http, session, "add 3", 3).content == results[-1]
        assert played(http, session, "add 1", 4)["observation"]["data"] == {"count": 7}
        assert "\nturngym_rebuilds_total 1.0" in http.get("/metrics").text
        assert len(http.get(f"/sessions/{name}/transcript").json()["turns"]) == 4
        assert http.get("/sessions").json()["total"] == 1


def test_a_wall_clock_that_jumps_ends_no_session(serve: ServerFactory, tmp_path: Path) -> None:
    """Eleven days forth while the server runs, and as many back beyond the right time when it starts again."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    served = serve(clock=clock)
    with served.client() as http:
        session, ended = create(http), create(http)
        http.delete(f"/sessions/{ended['session_id']}")
        played(http, session, "add 1", 1)
        clock.write_text("1e6")
        deadline = time.monotonic() + 30  # the sweep has seen the jump when it forgets what ended before it
        while http.get(f"/sessions/{ended['session_id']}").status_code == 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert played(http, session, "add 1", 2)["turn"] == 2
    clock.write_text("-1e6")
    with restarted(served) as http:
        assert played(http, session, "add 1", 3)["turn"] == 3
        assert len(http.get(f"/sessions/{session['session_id']}/transcript").json()["turns"]) == 3


def test_what_had_ended_stays_ended_after_a_kill(serve: ServerFactory) -> None:
    served = serve()
    with served.client() as http:
        won, closed, failed = create(http), create(http), create(http)
        played(http, won, "add 3", 1)
        http.delete(f"/sessions/{closed['session_id']}")
        stored = problem(step(http, failed, "crash", 1), "environment_failure")
    with restarted(served) as http:
        problem(step(http, won, "add 1", 2), "session_finished")
        problem(step(http, closed, "add 1", 1), "session_closed")
        assert problem(http.get(f"/sessions/{failed['session_id']}"), "environment_failure") == stored
        assert http.get(f"/sessions/{won['session_id']}").json()["success"] is True
        assert http.get("/sessions").json()["total"] == 0


def test_a_clean_stop_keeps_open_sessions(serve: ServerFactory) -> None:
    served = serve({"mode": "thread"})
    with served.client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
    assert served.stop() in (0, -15)
    served.start()
    with served.client() as http:
        assert played(http, session, "add 1", 2)["turn"] == 2


@pytest.mark.parametrize("change", [{"salt": "!"}, {"version": "2"}, {"data_hash": "e" * 64}])
def test_a_rebuild_that_would_differ_fails(serve: ServerFactory, change: dict[str, str]) -> None:
    served = serve()
    with served.client() as http:
        session = create(http)
        last = step(http, session, "add 1", 1)
    with restarted(served, **change) as http:
        assert http.get(f"/sessions/{session['session_id']}").content == last.content
        problem(step(http, session, "add 1", 2), "environment_failure")
        assert step(http, session, "add 1", 1).content == last.content
        differing = "turngym_replays_differing_total"
        assert f"{differing} {float('salt' in change)}" in http.get("/metrics").text


def test_a_session_that_is_not_deterministic_is_never_replayed(serve: ServerFactory) -> None:
    served = serve({"deterministic": False})
    with served.client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
        problem(
            http.post("/sessions", json={"split": "test", "index": 0, "actions": ["add 1"]}), "not_supported"
        )
    with restarted(served) as http:
        problem(step(http, session, "add 1", 2), "environment_failure")


def test_a_turn_that_kills_the_backend_twice_fails_the_session(serve: ServerFactory) -> None:
    served = serve({"risky": True})
    with served.client() as http:
        session = create(http)
        last = played(http, session, "add 1", 1)
    for _ in range(2):
        with served.client() as http, pytest.raises(httpx.TransportError):
            step(http, session, "die", 2)
        served.wait()
        served.start()
    with served.client() as http:
        problem(step(http, session, "die", 2), "environment_failure")
        assert step(http, session, "add 1", 1).json() == last


def test_a_turn_that_killed_the_backend_once_is_acted_again(serve: ServerFactory) -> None:
    served = serve({"risky": True})
    with served.client() as http:
        session = create(http)
    with served.client() as http, pytest.raises(httpx.TransportError):
        step(http, session, "die", 1)
    served.wait()
    served.start()
    with served.client() as http:
        assert played(http, session, "add 2", 1)["observation"]["data"] == {"count": 2}


def test_a_lost_backend_is_rebuilt_and_acted_once_more(serve: ServerFactory) -> None:
    with serve().client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
        problem(step(http, session, "lose", 2), "environment_failure")
        assert "\nturngym_rebuilds_total 1.0" in http.get("/metrics").text


def test_a_turn_that_finds_its_backend_dead_is_no_suspect(serve: ServerFactory) -> None:
    with serve({"risky": True}).client() as http:
        session = create(http)
        played(http, session, "add 1", 1)
        assert played(http, session, "stray 4", 2)["observation"]["text"] == "found again"
        assert "\nturngym_rebuilds_total 4.0" in http.get("/metrics").text
        problem(step(http, session, "stray 99", 3), "environment_failure")


def test_a_full_journal_is_a_storage_failure_and_no_action_is_taken(serve: ServerFactory) -> None:
    with serve(journal_max_mb=1, max_sessions=100).client() as http:
        fill_up(http)
        session = http.get("/sessions").json()["sessions"][0]
        before = http.get(f"/sessions/{session['session_id']}").content
        turn = session["turn"] + 1
        problem(step(http, session, "echo " + "x" * 50_000, turn), "storage_failure")
        problem(step(http, session, "echo " + "x" * 50_000, turn), "storage_failure")
        assert http.get(f"/sessions/{session['session_id']}").content == before
        for other in http.get("/sessions").json()["sessions"][1:]:
            http.delete(
                f"/sessions/{other['session_id']}"
            )  # an ended session can be forgotten: there is room again
        result = played(http, session, "add 1", turn)
        assert result["turn"] == turn
        count = result["observation"]["data"]["count"]
        assert count == 1, "the refused actions left no trace"


def fill_up(http: httpx.Client) -> None:
    """Fill a journal with open sessions until it takes no more long turns."""
    for _ in range(100):
        session = create(http, index=9, max_turns=50)
        for turn in range(1, 6):
            answer = step(http, session, "echo " + "x" * 20_000, turn)
            if answer.status_code != 200:
                problem(answer, "storage_failure")
                return
    raise AssertionError("the journal takes everything")


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_disk_that_fills_while_serving(serve: ServerFactory, deterministic: bool) -> None:
    served = serve({"deterministic": deterministic}, file_limit=600 * 1024)
    with served.client() as http:
        session = create(http, index=9, max_turns=50)
        turn = 0
        for turn in range(1, 50):
            answer = step(http, session, "echo " + "x" * 40_000, turn)
            if answer.status_code != 200:
                break
        problem(answer, "storage_failure")
        problem(step(http, session, "echo " + "x" * 40_000, turn), "storage_failure")
        assert http.get(f"/sessions/{session['session_id']}").json()["turn"] == turn - 1
        served.allow_files()
        assert played(http, session, "echo " + "x" * 40_000, turn)["turn"] == turn
        assert played(http, session, "add 1", turn + 1)["observation"]["data"] == {"count": 1}


def test_ended_sessions_are_forgotten_after_their_time(serve: ServerFactory) -> None:
    with serve(journal_keep_s=0.5).client() as http:
        session = create(http)
        played(http, session, "add 3", 1)
        assert step(http, session, "add 3", 1).status_code == 200
        deadline = time.monotonic() + 10
        while (
            http.get(f"/sessions/{session['session_id']}").status_code == 200 and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        problem(http.get(f"/sessions/{session['session_id']}"), "unknown_session")
        assert create(http, session_id=session["session_id"])["turn"] == 0


def test_the_oldest_ended_sessions_go_when_the_journal_is_full(serve: ServerFactory) -> None:
    with serve(journal_max_mb=1).client() as http:
        names = []
        for _ in range(30):
            session = create(http, index=9)
            names.append(session["session_id"])
            played(http, session, "echo " + "x" * 30_000, 1)
            http.delete(f"/sessions/{session['session_id']}")
        kept = [http.get(f"/sessions/{name}").status_code == 200 for name in names]
        assert kept[-1] and not kept[0] and kept == sorted(kept)


def test_open_sessions_count_for_capacity_after_a_restart(serve: ServerFactory) -> None:
    served = serve(max_sessions=1, queue=0)
    with served.client() as http:
        session = create(http)
    with restarted(served) as http:
        problem(http.post("/sessions", json={"split": "test", "index": 0}), "at_capacity")
        http.delete(f"/sessions/{session['session_id']}")
        create(http)


def test_time_spent_down_counts_for_the_ttl(serve: ServerFactory) -> None:
    served = serve(session_ttl_s=2)
    with served.client() as http:
        session = create(http)
    served.kill()
    time.sleep(2.1)
    served.start()
    with served.client() as http:
        problem(step(http, session, "add 1", 1), "session_expired")


def test_without_a_journal_sessions_live_and_die_with_the_process(serve: ServerFactory) -> None:
    served = serve(journal="off")
    with served.client() as http:
        session = create(http)
        last = step(http, session, "add 3", 1)
        assert step(http, session, "add 3", 1).content == last.content
    with restarted(served) as http:
        problem(step(http, session, "add 3", 1), "unknown_session")


def failing_start(served: Served) -> str:
    """The one line that a server leaves when it can't start."""
    served.spawn()
    assert served.wait() == 1
    lines = [line for line in served.log.read_text().splitlines() if not line.startswith("http://")]
    assert len(lines) == 1, lines
    return lines[0]


def test_a_port_in_use_is_one_clear_line(serve: ServerFactory) -> None:
    first = serve()
    line = failing_start(serve(start=False, port=first.settings["port"]))
    assert f"port {first.settings['port']} is in use" in line


def test_a_journal_in_use_is_one_clear_line(serve: ServerFactory) -> None:
    first = serve()
    assert "in use by another process" in failing_start(serve(start=False, journal=first.settings["journal"]))


def test_a_journal_that_is_none_is_one_clear_line(serve: ServerFactory, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database at all" * 100)
    assert "can't be used" in failing_start(serve(start=False, journal=tmp_path / "text"))
    assert "not writable" in failing_start(serve(start=False, journal=tmp_path / "text" / "x"))


def test_a_journal_of_another_service_or_format_is_one_clear_line(
    serve: ServerFactory, tmp_path: Path
) -> None:
    served = serve()
    served.stop()
    path = served.settings["journal"]
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = 'chess' WHERE name = 'service'")
    assert "belongs to the service 'chess'" in failing_start(serve(start=False, journal=path))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    assert "has format 99" in failing_start(serve(start=False, journal=path))


def test_a_full_disk_at_the_start_is_one_clear_line(serve: ServerFactory) -> None:
    line = failing_start(serve(start=False, file_limit=8192))
    assert "can't be used" in line and "free disk space" in line


def test_a_service_that_can_not_load_is_one_clear_line(serve: ServerFactory) -> None:
    assert "no such index" in failing_start(serve({"load_error": "no such index"}, start=False))


def test_a_wrong_setting_is_one_clear_line(serve: ServerFactory) -> None:
    line = failing_start(serve(start=False, environ={"TURNGYM_MAX_SESSIONS": "many"}))
    assert "TURNGYM_MAX_SESSIONS='many'" in line

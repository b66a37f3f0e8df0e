"""Worlds: equal from the same name, apart for each session, back at the seed at no cost."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from visitors import Visitor, said

from turngym_webarena.sites import UnknownWorld, Worlds
from turngym_webarena.sites.seeding import WORLDS, digest, start_of

DIGEST = "422547eb1d0bd61def9ae6d37a4001d49acbf4d2e025386976e3b98e7f76e81a"
_BUILD = (
    "import sys; from pathlib import Path; from turngym_webarena.sites.seeding import build, digest;"
    "path = Path(sys.argv[1]); build(path, 'market-1'); print(digest(path))"
)


def test_a_world_is_the_same_in_every_process(tmp_path: Path) -> None:
    for seed in ("1", "77"):
        path = tmp_path / seed
        done = subprocess.run(
            [sys.executable, "-c", _BUILD, str(path)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == DIGEST


def test_worlds_differ(worlds: Worlds) -> None:
    assert digest(worlds.seed("market-2")) != digest(worlds.seed("market-1"))
    assert len({start_of(world) for world in WORLDS}) == len(WORLDS)


def test_a_world_has_the_sizes_that_make_it_hard(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    counts = {
        table: visitor.value(f"SELECT count(*) FROM {table}")
        for table in ("review", "sales_order", "customer")
    }
    assert counts == {"review": 25_000, "sales_order": 6_000, "customer": 300}
    assert visitor.value("SELECT count(*) FROM product WHERE visible") >= 4_000
    assert visitor.value("SELECT count(*) FROM product WHERE NOT visible") >= 1_200
    assert visitor.value("SELECT count(DISTINCT name) FROM product") == visitor.value(
        "SELECT count(*) FROM product"
    )


def test_looking_around_copies_nothing(visit: Callable[..., Visitor], worlds: Worlds) -> None:
    visitor = visit()
    for address in ("/", "/electronics.html", "/sales/order/history/", "/admin/sales/order/"):
        visitor.get(address)
    assert not worlds.get(visitor.session).written
    assert visitor.changes == {}


def test_two_sessions_never_see_each_other(visit: Callable[..., Visitor]) -> None:
    one, other = visit(), visit()
    product = one.value("SELECT id FROM product WHERE visible AND type = 'simple' AND in_stock")
    one.post("/wishlist/index/add", {"product": product})
    other.post("/newsletter/manage/save", {"is_subscribed": "1"})
    assert set(one.changes) == {"wishlist_item"}
    assert set(other.changes) == {"customer"}
    assert "no items in your wish list" in other.get("/wishlist/")
    assert "no items in your wish list" not in one.get("/wishlist/")


def test_a_session_opened_again_starts_from_the_seed(visit: Callable[..., Visitor], worlds: Worlds) -> None:
    visitor = visit()
    before = visitor.get("/customer/account/")
    visitor.post("/newsletter/manage/save", {"is_subscribed": "1"})
    assert visitor.changes
    worlds.open(visitor.session, "market-1")
    assert visitor.changes == {}
    assert visitor.get("/customer/account/") == before


def test_the_same_actions_write_the_same_rows(visit: Callable[..., Visitor]) -> None:
    def act() -> list[tuple[object, ...]]:
        visitor = visit()
        form = {"name": "A", "email": "a@b.example", "comment": "hello"}
        for _ in range(2):
            visitor.post("/contact/index/post", form)
        return [
            (visitor.value("SELECT group_concat(created_at || message) FROM contact_message"),),
            (visitor.value("SELECT ticks FROM clock"),),
        ]

    assert act() == act()


def test_writers_of_many_sessions_at_once_lose_nothing(visit: Callable[..., Visitor]) -> None:
    visitors = [visit() for _ in range(6)]
    pages: list[str] = []

    def work(visitor: Visitor, number: int) -> None:
        for _ in range(3):
            visitor.post("/newsletter/subscriber/new", {"email": f"reader{number}-{_}@mail.example"})
        pages.append(visitor.get("/"))

    threads = [threading.Thread(target=work, args=pair) for pair in zip(visitors, range(6), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pages) == 6
    for number, visitor in enumerate(visitors):
        held = visitor.value("SELECT group_concat(email) FROM (SELECT email FROM subscriber ORDER BY id)")
        assert held == ",".join(f"reader{number}-{count}@mail.example" for count in range(3))


def test_a_refused_form_changes_nothing(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.post("/contact/index/post", {"name": "A", "email": "nonsense", "comment": "hello"})
    assert said(page) == ["Please enter a valid email address."]
    assert visitor.changes == {}
    assert said(visitor.get("/contact/")) == [], "a notice is said once"


def test_a_session_that_isn_t_open_is_told_so(worlds: Worlds) -> None:
    response = Visitor(worlds, "nobody").ask("GET", "/")
    assert (response.status_code, "No such session" in response.text) == (404, True)
    with pytest.raises(UnknownWorld, match="no world market-99"):
        worlds.open("x", "market-99")


def test_without_a_session_the_sites_work_by_hand(worlds: Worlds) -> None:
    person = Visitor(worlds, "")
    assert "One Stop Shop" in person.get("/")
    assert "Dashboard" in person.get("/admin/")


def test_a_request_that_comes_too_late_leaves_no_copy(visit: Callable[..., Visitor], worlds: Worlds) -> None:
    visitor, other = visit(), visit()
    session = worlds.get(visitor.session)  # as a request gets it that then waits for its turn
    worlds.close(visitor.session)
    for use in (session.read, session.write):
        with pytest.raises(UnknownWorld, match="closed meanwhile"), session.lock, use():
            pass
    assert not session.written
    worlds.get(other.session).closed = True
    response = other.ask("POST", "/newsletter/manage/save", {"is_subscribed": "1"})
    assert (response.status_code, "No such session" in response.text) == (404, True)


_HOLD = (
    "import sys; from pathlib import Path; from turngym_webarena.sites import Worlds;"
    "worlds = Worlds(Path(sys.argv[1])); session = worlds.open('one', 'market-1')\n"
    "with session.lock, session.write(): pass\n"
    "print(session.own, flush=True); sys.stdin.read()"
)


def test_copies_go_with_their_process_and_not_before(tmp_path: Path) -> None:
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(tmp_path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        killed, living = (Path(holder.stdout.readline().strip()) for holder in holders if holder.stdout)
        (tmp_path / "sessions-123").mkdir()  # nobody's, and without a lock file
        own = Worlds(tmp_path)
        own.open("one", "market-1")
        holders[0].kill()
        holders[0].wait()
        own._sweep()
        assert not killed.parent.exists()
        assert living.exists()
        assert {path.name for path in tmp_path.glob("sessions-*")} == {
            living.parent.name,
            own.get("one").own.parent.name,
        }
        own.shutdown()
        assert [path.name for path in tmp_path.glob("sessions-*")] == [living.parent.name]
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()

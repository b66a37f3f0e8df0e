"""Replicas that share a folder: each finds its number by its name, and keeps a journal of its own."""

import re
import socket
from pathlib import Path

import pytest

from turngym.server.settings import SettingsError, load_settings, replica_number


def own_address() -> tuple[str, int]:
    """An address of this host with ``#`` for its last number, and that number."""
    address = socket.gethostbyname(socket.gethostname())
    number = int(address.rsplit(".", 1)[1])
    return re.sub(r"\d+$", "#", address), number


def test_a_replica_is_the_one_whose_name_leads_to_itself() -> None:
    names, number = own_address()
    assert replica_number(names) == number


def test_every_replica_has_a_journal_of_its_own_and_the_first_a_lone_servers(tmp_path: Path) -> None:
    names, number = own_address()
    lone = load_settings(data_dir=tmp_path, port=8003).journal_path("toy")
    assert lone == tmp_path / "toy-8003.journal"
    numbered = load_settings(data_dir=tmp_path, port=8003, replica_names=names).journal_path("toy")
    assert numbered == (lone if number == 1 else tmp_path / f"toy-8003-{number}.journal")


def test_a_host_that_is_none_of_the_replicas_does_not_start(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, replica_names="no-such-host-#.invalid")
    with pytest.raises(
        SettingsError, match=r"TURNGYM_REPLICA_NAMES='no-such-host-#\.invalid'.*is this host's"
    ):
        settings.journal_path("toy")


@pytest.mark.parametrize("names", ["textcraft", "a-#-b-#"])
def test_names_have_one_place_for_the_number(names: str) -> None:
    with pytest.raises(SettingsError, match="TURNGYM_REPLICA_NAMES"):
        load_settings(replica_names=names)

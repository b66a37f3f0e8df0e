"""The service's own settings, and finding a browser: a wrong value is one line that says what to do."""

from pathlib import Path

import pytest

from turngym.server.settings import SettingsError, read_settings
from turngym_webarena.browser import NoBrowser, find_chromium
from turngym_webarena.serving import SitesError, SiteServer
from turngym_webarena.settings import WebArenaSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROFILE", "strict"),
        ("SETTLE_S", "0"),
        ("ACTIVE_PAGES", "many"),
        ("MAX_NODES", "1"),
        ("SITES_PORT", "70000"),
    ],
)
def test_a_wrong_value_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"TURNGYM_{name}", value)
    with pytest.raises(SettingsError, match=f"wrong setting TURNGYM_{name}='{value}'"):
        read_settings(WebArenaSettings)


def test_the_judge_s_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNGYM_JUDGE_KEY", "hidden")
    assert "hidden" not in repr(read_settings(WebArenaSettings))


def test_without_a_browser_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowser, match="apt install chromium"):
        find_chromium(None, str(tmp_path / "none"))
    with pytest.raises(NoBrowser, match="TURNGYM_CHROMIUM"):
        find_chromium(tmp_path / "none", "/bin/true")
    assert find_chromium(None, "/bin/true") == "/bin/true"
    (tmp_path / "chromium").write_text("")
    (tmp_path / "chromium").chmod(0o755)
    assert find_chromium(None, "/bin/true") == str(tmp_path / "chromium")


def test_a_port_in_use_is_named() -> None:
    first = SiteServer(None, 0)
    first.start()
    try:
        with pytest.raises(SitesError, match=f"127.0.0.1:{first.port}.*TURNGYM_SITES_PORT"):
            SiteServer(None, first.port).start()
    finally:
        first.stop()

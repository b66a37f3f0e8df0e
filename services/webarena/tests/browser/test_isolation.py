"""The agent can't leave the sites: every way out that an address, a link or a page offers is refused, as an observation."""

import http.server
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from turngym_webarena.env import Place

pytestmark = pytest.mark.asyncio(loop_scope="session")
Opener = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="module")
def neighbour() -> Iterator[tuple[int, list[str]]]:
    """Another server on the loopback interface, such as the service's own; its port and the paths it was asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"secret")

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/",
        "https://example.com/",
        "example.com",
        "http://93.184.216.34/",
        "//example.com/x",
        "http://site.test@example.com/",
        "http://site.test.example.com/",
        "file:///etc/passwd",
        "chrome://version",
        "view-source:http://site.test/",
        "data:text/html,<h1>hello</h1>",
        "javascript:document.title='scripted'",
        "about:version",
        "ftp://site.test/",
        "ws://site.test/",
        "http://[::1",
        "http://localhost/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://0x7f000001/",
    ],
)
async def test_goto_refuses_what_is_not_on_the_sites(open_at: Opener, address: str) -> None:
    page = await open_at("/")
    said = await page.refused(f"goto [{address}]")
    assert said.startswith("Refused: ")
    assert "Tab 0 (current): Hard pages\nURL: http://site.test/\n" in page.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "site.test", "other.test", "0.0.0.0"])
async def test_no_other_port_of_this_machine_is_reached(
    open_at: Opener, place: Place, neighbour: tuple[int, list[str]], host: str
) -> None:
    """By an address, by the page's own script and by a picture: a site's host leads to the sites whatever port is named."""
    port, asked = neighbour
    page = await open_at("/")
    await page.do(f"goto [http://{host}:{port}/by-goto]")
    assert "secret" not in page.text
    tab = page.env.tabs.tab
    await tab.page.evaluate(
        """async url => {
          await fetch(url + 'by-fetch', {mode: 'no-cors'}).catch(() => null);
          await new Promise(done => { const img = new Image(); img.onload = img.onerror = done; img.src = url + 'by-img'; });
          navigator.sendBeacon(url + 'by-beacon', 'x');
        }""",
        f"http://{host}:{port}/",
    )
    await page.do("scroll [up]")
    assert asked == []


async def test_a_link_that_leads_outside_is_refused_and_the_page_stays(open_at: Opener) -> None:
    page = await open_at("/")
    said = await page.refused("click [{link 'Outside'}]")
    assert "http://example.com/ can't be reached" in said
    assert "URL: http://site.test/\n" in page.text
    await page.do("click [{link 'The other site'}]")
    assert "URL: http://other.test/\n" in page.text


async def test_a_popup_that_leads_outside_is_closed(open_at: Opener) -> None:
    page = await open_at("/popups")
    assert "can't be reached" in await page.refused("click [{button 'Open outside'}]")
    assert "Tab 0 (current): Popups\n" in page.text


async def test_a_page_cannot_go_outside_by_itself(open_at: Opener) -> None:
    page = await open_at("/late")
    for way in ("location.href = 'https://example.com/'", "location.href = 'file:///etc/passwd'",
                "location.href = 'chrome://version'", "location.href = 'data:text/html,<h1>x</h1>'"):  # fmt: skip
        await page.env.tabs.tab.page.evaluate(f"() => {{ setTimeout(() => {{ {way} }}, 0) }}")
        await page.do("scroll [down]")
        await page.do("scroll [down]")
        assert "URL: http://site.test/late" in page.text, way


async def test_an_action_that_fails_outside_comes_back(open_at: Opener) -> None:
    page = await open_at("/late")
    with pytest.raises(PlaywrightError):
        await page.env.tabs.tab.page.goto("http://example.com/")
    assert "http://example.com/ can't be reached" in await page.refused("scroll [down]")
    assert "URL: http://site.test/late" in page.text


async def test_downloads_are_refused_and_said(open_at: Opener) -> None:
    page = await open_at("/")
    await page.do("click [{link 'A download'}]")
    assert page.text.startswith("The download of http://site.test/file.bin was refused.")
    await page.do("goto [/file.bin]")
    assert "The download of http://site.test/file.bin was refused." in page.text
    assert "URL: http://site.test/\n" in page.text


async def test_sessions_do_not_share_cookies_or_storage(open_at: Opener) -> None:
    one, other = await open_at("/"), await open_at("/")
    await one.env.tabs.tab.page.evaluate(
        "() => { document.cookie = 'who=one'; localStorage.setItem('who', 'one') }"
    )
    seen = await other.env.tabs.tab.page.evaluate("() => [document.cookie, localStorage.getItem('who')]")
    assert seen == ["", None]


async def test_each_session_is_named_to_the_sites_in_every_tab(open_at: Opener) -> None:
    one, other = await open_at("/echo"), await open_at("/echo")
    await one.do("new_tab")
    await one.do("goto [http://other.test/echo]")
    names = [next(line for line in page.lines() if "session " in line) for page in (one, other)]
    assert names[0] != names[1]
    await one.do("tab_focus [0]")
    assert names[0] in one.lines()

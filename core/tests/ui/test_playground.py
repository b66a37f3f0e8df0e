"""The playground in a real browser, on the toy service: episodes by clicks and keys, fork, resume, untrusted text, token."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import httpx
import pytest
from browser import accessible
from completions import endpoint, says
from playwright.sync_api import Page, expect
from served import Served, ServerFactory
from talk import create, played


def start(page: Page, served: Served, index: int = 0) -> None:
    """Open the playground and start test task ``index`` (its target is ``3 + index``)."""
    page.goto(f"{served.url}/ui")
    page.fill("#index", str(index))
    page.click("#start")
    expect(page.locator("#turn-of")).to_have_text("0 of 8")


def test_an_episode_by_clicks(page: Page, shared: Served) -> None:
    start(page, shared)
    for turn in (1, 2):
        page.click("#valid-actions button:has-text('add 1')")
        expect(page.locator("#turn-of")).to_have_text(f"{turn} of 8")
    page.click("#valid-actions button:has-text('add 1')")
    expect(page.locator("#outcome")).to_have_text("success · success")
    expect(page.locator("#ended")).to_contain_text("Solved in 3 turns")
    expect(page.locator("#score")).to_have_text("1")
    expect(page.locator(".composer")).to_be_hidden()
    page.click("#next-task")
    expect(page.locator(".goal")).to_have_text("Count to 4.")


def test_the_keyboard_alone_is_enough(page: Page, shared: Served) -> None:
    page.goto(f"{shared.url}/ui")
    expect(page.locator("#task-goal")).to_contain_text("Count to 3.")
    reach(page, "#start")
    page.keyboard.press("Enter")
    expect(page.locator("#action")).to_be_focused()
    page.keyboard.type("Thought: nearly.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Action: add 2")
    page.keyboard.press("Enter")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    expect(page.get_by_label("Turn 1", exact=True)).to_contain_text("read as add 2")
    page.keyboard.press("Shift+Tab")
    reach(page, "[aria-label='Fork from turn 0']", back=True)
    page.keyboard.press("Enter")
    expect(page.locator("#turn-of")).to_have_text("0 of 8")


def reach(page: Page, selector: str, back: bool = False) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(60):
        if page.evaluate("(selector) => document.activeElement?.matches(selector) ?? false", selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{selector} can't be reached by keyboard")


def test_a_fork_goes_its_own_way(page: Page, shared: Served) -> None:
    start(page, shared, 5)
    for _ in range(3):
        page.fill("#action", "add 1")
        before = page.locator(".turn").count()
        page.click("#send")
        expect(page.locator(".turn")).to_have_count(before + 1)
    parent = page.locator("#session-id").inner_text()
    page.click("[aria-label='Fork from turn 1']")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    child = page.locator("#session-id").inner_text()
    assert child != parent
    expect(page.locator(f"a[href='#session={parent}']")).to_contain_text("forked after turn 1")
    page.fill("#action", "add 5")
    page.click("#send")
    expect(page.locator("#turn-of")).to_have_text("2 of 8")
    with shared.client() as client:
        assert client.get(f"/sessions/{parent}").json()["turn"] == 3
        assert client.get(f"/sessions/{child}").json()["observation"]["text"] == "The count is 6."
    page.go_back()
    expect(page.locator("#session-id")).to_have_text(parent)


def test_an_episode_that_is_over_can_be_forked(page: Page, shared: Served) -> None:
    start(page, shared)
    page.click("#expert-all")
    expect(page.locator("#ended")).to_be_visible()
    page.click("[aria-label='Fork from turn 2']")
    expect(page.locator("#turn-of")).to_have_text("2 of 8")
    expect(page.locator("#outcome")).to_have_text("open")


def test_a_session_is_resumed_by_its_address(page: Page, shared: Served) -> None:
    with shared.client() as client:
        session = create(client, 4)
        played(client, session, "add 2")
    name = session["session_id"]
    page.goto(f"{shared.url}/ui#session={name}")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    expect(page.get_by_label("Turn 1", exact=True)).to_contain_text("The count is 2.")
    page.goto("about:blank")
    page.goto(f"{shared.url}/ui")
    page.click("#resume-panel > summary")
    page.fill("#session", f"{shared.url}/sessions/{name}/transcript")
    page.click("#resume-panel button[type=submit]")
    expect(page.locator("#session-id")).to_have_text(name)
    page.reload()
    expect(page.locator("#turn-of")).to_have_text("1 of 8")


def test_a_link_leads_to_the_very_state(page: Page, shared: Served) -> None:
    seed = 2**63 - 1  # JavaScript alone would round it
    place = f"task_id=toy/test/6&seed={seed}&options=%7B%22step%22%3A3%7D&actions=%5B%22add%22%2C%22add%22%5D&max_turns=6"
    page.goto(f"{shared.url}/ui#{place}")
    expect(page.locator("#turn-of")).to_have_text("2 of 6")
    name = page.locator("#session-id").inner_text()
    with shared.client() as client:
        transcript = client.get(f"/sessions/{name}/transcript").json()
    assert (transcript["seed"], transcript["options"]["step"]) == (seed, 3)
    assert transcript["turns"][-1]["observation"]["text"] == "The count is 6."
    link: str = page.evaluate(
        "import('./ui/episode.js').then(async ({Episode}) => {"
        f" const one = new Episode(new URL('/', location)); await one.resume('{name}'); return one.link(2); }})"
    )
    found = {key: values[0] for key, values in parse_qs(link.removeprefix("#")).items()}
    assert (found["seed"], found["actions"], found["max_turns"]) == (str(seed), '["add","add"]', "6")


def test_a_link_with_more_turns_than_usual_leaves_room_to_go_on(page: Page, shared: Served) -> None:
    actions = quote(json.dumps([f"echo {number}" for number in range(9)]))
    page.goto(f"{shared.url}/ui#task_id=toy/test/6&actions={actions}")
    expect(page.locator("#turn-of")).to_have_text("9 of 17")
    expect(page.locator("#outcome")).to_have_text("open")


def test_untrusted_text_is_shown_and_not_run(page: Page, shared: Served) -> None:
    start(page, shared)
    evil = "<img src=x onerror='window.ran=1'><script>window.ran=1</script> \x1b[31mred\x1b[0m \u202egnp"
    with shared.client() as client:
        session = create(client)
        played(client, session, f"echo {evil}")
    page.goto(f"{shared.url}/ui#session={session['session_id']}")
    turn = page.get_by_label("Turn 1", exact=True)
    expect(turn).to_contain_text("<script>window.ran=1</script>")
    expect(turn).to_contain_text("␛[31mred")
    expect(turn).to_contain_text("⟨U+202E⟩gnp")
    assert page.locator(".turn img, .turn script").count() == 0
    assert page.evaluate("window.ran") is None


def test_ten_megabytes_of_text_do_not_stall_the_page(page: Page, serve: ServerFactory) -> None:
    served = serve()
    start(page, served, 9)
    page.fill("#action", "flood 10")
    page.click("#send")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    card = page.get_by_label("Turn 1", exact=True)
    more = card.locator("button:has-text('Show more')")
    expect(more).to_contain_text("characters left")
    assert page.evaluate("document.body.textContent.length") < 200_000
    more.click()
    assert page.evaluate("document.body.textContent.length") > 60_000
    page.fill("#action", "add 1")
    page.click("#send")
    expect(page.locator("#turn-of")).to_have_text("2 of 8")


def test_the_page_asks_for_the_token(page: Page, serve: ServerFactory) -> None:
    served = serve(token="open sesame", experts=1)
    page.goto(f"{served.url}/ui")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    expect(page.locator("dialog .problem")).to_be_visible()
    page.fill("#token", "open sesame")
    page.keyboard.press("Enter")
    page.click("#start")
    expect(page.locator("#turn-of")).to_have_text("0 of 8")
    page.locator(".as-curl summary").first.click()
    expect(page.locator(".as-curl pre")).to_contain_text("Authorization: Bearer $TURNGYM_TOKEN")
    assert "open sesame" not in page.content()


def test_a_problem_is_shown_as_it_is(page: Page, shared: Served) -> None:
    page.goto(f"{shared.url}/ui#session=nobody-knows-this-one")
    problem = page.locator(".problem")
    expect(problem).to_contain_text("unknown_session")
    expect(problem).to_contain_text("404")
    expect(problem).to_contain_text("same task, seed and actions")
    page.goto(f"{shared.url}/ui#task_id=toy/test/1&actions=nonsense")
    expect(page.locator(".problem")).to_contain_text("bad_link")


def test_every_action_is_shown_as_the_curl_that_does_it(page: Page, shared: Served) -> None:
    start(page, shared, 3)
    page.fill("#action", "echo it's")
    page.click("#send")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    page.get_by_label("Turn 1", exact=True).locator(".as-curl summary").click()
    shown = page.get_by_label("Turn 1", exact=True).locator(".as-curl pre").inner_text()
    name = page.locator("#session-id").inner_text()
    assert shown.startswith(f"curl -s {shared.url}/sessions/{name}/step ")
    assert """-d '{"action":"echo it'\\''s","turn":1}'""" in shown


def test_what_the_server_cannot_do_is_said(page: Page, serve: ServerFactory) -> None:
    served = serve({"mute": True})
    start(page, served)
    expect(page.locator("#expert")).to_be_disabled()
    expect(page.locator("#expert")).to_have_attribute("title", re.compile("TURNGYM_EXPERTS=1"))
    expect(page.locator("#model")).to_be_disabled()
    expect(page.locator("#side-area")).to_contain_text("can't list what is valid")
    page.click("#side-area .chip")
    expect(page.locator("#action")).to_have_value("add 2")


def test_a_language_model_plays_and_its_key_stays_on_the_server(page: Page, serve: ServerFactory) -> None:
    with endpoint([(200, says("Thought: one more.\nAction: add 1"))] * 3) as (url, seen):
        served = serve(model="small", model_url=url, model_key="sk-secret")
        start(page, served)
        page.click("#model")
        expect(page.locator("#turn-of")).to_have_text("1 of 8")
        page.click("#model-all")
        expect(page.locator("#ended")).to_contain_text("Solved in 3 turns")
    assert [one["key"] for one in seen] == ["Bearer sk-secret"] * 3
    roles = [message["role"] for message in seen[2]["messages"]]
    assert roles == ["system", "user", *["assistant", "user"] * 2]
    assert "sk-secret" not in page.content()


def test_a_service_that_still_loads_is_waited_for(page: Page, serve: ServerFactory, tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    served = serve({"load_until": str(loaded)}, start=False)
    served.start(ready=False)
    page.goto(f"{served.url}/ui")
    expect(page.locator(".problem")).to_contain_text("not_ready")
    loaded.touch()
    expect(page.locator("#task-goal")).to_contain_text("Count to 3.")
    expect(page.locator(".problem")).to_have_count(0)


def test_the_page_works_on_a_phone(page: Page, shared: Served) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    start(page, shared)
    page.click("#valid-actions button:has-text('add 2')")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing(page: Page, shared: Served, colours: Any) -> None:
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.goto(f"{shared.url}/ui")
    expect(page.locator("#task-goal")).to_contain_text("Count to 3.")
    accessible(page)
    start(page, shared)
    page.fill("#action", "echo hm")
    page.click("#send")
    expect(page.locator("#turn-of")).to_have_text("1 of 8")
    accessible(page)


def test_the_files_ask_nothing_of_anybody_else(http: httpx.Client) -> None:
    page = http.get("/ui")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    names = set(re.findall(r'(?:src|href)="ui/([^"]+)"', page.text))
    seen: set[str] = set()
    while names - seen:
        name = sorted(names - seen)[0]
        seen.add(name)
        answer = http.get(f"/ui/{name}")
        assert answer.status_code == 200, name
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(
            r"https?://|@import|\burl\(|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text
        ), name
        names |= {found for found in re.findall(r'from "\./([^"]+)"', text)}
    assert {"base.css", "dom.js", "episode.js", "panels.js", "transcript.js"} <= seen

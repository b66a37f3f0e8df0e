"""The viewer in a real browser: a tour over all its pages, live growth, untrusted text, token, keyboard, accessibility."""

import re
import shutil
from pathlib import Path
from random import Random

import orjson
import pytest
from browser import accessible
from made import trajectory, write_run, write_step
from playwright.sync_api import Page, expect
from viewing import Starter, indexed


def test_a_tour(page: Page, viewer: str) -> None:
    page.goto(viewer)
    expect(page.locator("#runs tbody tr")).to_have_count(2)
    page.click("#runs a:has-text('textcraft-1')")
    expect(page.locator("#charts h3").first).to_have_text("Success")
    assert page.locator("#charts .chart svg").count() >= 8
    expect(page.locator("#charts .stage").first).to_contain_text("horizon 4")
    page.click(".tabs a:has-text('trajectories')")
    expect(page.locator("#total")).to_have_text("1 to 50 of 224")
    page.select_option("#filter-success", "yes")
    expect(page.locator("#trajectories .tag.bad")).to_have_count(0)
    page.fill("#filter-text", "torch")
    page.fill("#filter-step_from", "12")
    expect(page).to_have_url(re.compile("step_from=12&.*text=torch"))
    expect(page.locator("#list")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#trajectories td.goal").first).to_contain_text("torch")
    shown = page.locator("#total").inner_text()
    page.reload()
    expect(page.locator("#filter-text")).to_have_value("torch")
    expect(page.locator("#total")).to_have_text(shown)
    page.locator("#trajectories tbody th a").first.click()
    expect(page.locator("#turns .sampled").first).to_contain_text("sampled")
    expect(page.locator("#turns .strip rect.pos").first).to_be_attached()
    page.locator("#turns summary:has-text('token by token')").first.click()
    expect(page.locator("#turns .plain-table tbody tr").first).to_be_visible()
    page.click("#to-group")
    expect(page.locator("#samples > section")).to_have_count(4)
    page.click(".tabs a:has-text('files')")
    page.fill("#config-filter", "adv_est")
    expect(page.locator("#page tbody tr")).to_have_count(1)


def tour(page: Page, address: str, run: str) -> None:
    """From the list of runs to a failure of the run, turn by turn, its group, and back to its files."""
    page.goto(address)
    page.click(f"#runs a:has-text('{run}')")
    expect(page.locator("#charts .line").first).to_be_attached()
    page.click(".tabs a:has-text('trajectories')")
    expect(page.locator("#trajectories tbody tr").first).to_be_visible()
    page.select_option("#filter-success", "no")
    expect(page.locator("#trajectories .tag.good")).to_have_count(0)
    expect(page.locator("#trajectories .tag.bad").first).to_be_visible()
    page.locator("#trajectories tbody th a").first.click()
    expect(page.locator("#turns .sampled").first).to_contain_text("tokens")
    page.click("#own-form summary")
    expect(page.locator("#recipe-tree")).to_be_visible()
    page.click("#to-group")
    expect(page.locator("#samples > section .tag.bad").first).to_be_visible()
    page.click(".tabs a:has-text('files')")
    expect(page.locator("#page details").first).to_be_visible()


def test_a_tour_of_a_run_that_the_trainer_wrote(
    page: Page, start_viewer: Starter, tmp_path: Path, recorded: Path
) -> None:
    shutil.copytree(recorded, tmp_path / "runs")
    address = start_viewer(tmp_path / "runs")
    indexed(address, "textcraft-smoke")
    tour(page, address, "textcraft-smoke")


def test_a_tour_of_a_large_run(page: Page, start_viewer: Starter, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "large", steps=300, groups=4, samples=8)
    address = start_viewer(tmp_path / "runs")
    indexed(address, "large", 9600)
    tour(page, address, "large")
    page.goto(f"{address}/#/runs/large/trajectories?offset=9550&sort=oldest")
    expect(page.locator("#total")).to_have_text("9,551 to 9,600 of 9,600")
    page.click("#list button:has-text('before')")
    expect(page.locator("#total")).to_have_text("9,501 to 9,550 of 9,600")


def test_two_runs_are_compared(page: Page, viewer: str) -> None:
    page.goto(viewer)
    for box in page.locator("#runs input[type=checkbox]").all():
        box.check()
    page.click("#compare")
    expect(page.locator(".chart h3").first).to_have_text("Success in training")
    expect(page.locator("#page")).to_contain_text("run.seed")
    expect(page.locator("#page")).not_to_contain_text("run.model")


def test_exports_are_saved(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/#/runs/textcraft-1/trajectory/train-000002.jsonl/3")
    for form, words in (("markdown", "## Turn 1"), ("json", '"schema": 1')):
        with page.expect_download() as waiting:
            page.click(f"#export-{form}")
        assert waiting.value.suggested_filename.startswith("made-2-textcraft-train-0-2")
        assert words in Path(waiting.value.path()).read_text()


def test_a_trajectory_leads_to_the_playground_in_that_state(page: Page, viewer: str) -> None:
    page.goto(f"{viewer}/#/runs/textcraft-1/trajectories?turns_from=3&success=no")
    page.locator("#trajectories tbody th a").first.click()
    link = page.locator("#turns > li").nth(2).locator(".to-playground").get_attribute("href") or ""
    assert link.startswith("http://127.0.0.1:8003/ui#task_id=textcraft%2Ftrain%2F")
    assert "seed=44912798420777" in link and "actions=%5B%22get+1+oak+log%22%2C%22get+2+oak+log%22%5D" in link


def test_a_run_is_followed_while_it_trains(page: Page, start_viewer: Starter, tmp_path: Path) -> None:
    folder, rng = tmp_path / "runs" / "live", Random(0)
    for step in (1, 2):
        write_step(folder, step, 2, 2, rng)
    page.goto(f"{start_viewer(tmp_path / 'runs')}/#/runs/live")
    expect(page.locator("#charts .legend").first).to_contain_text("step 2")
    write_step(folder, 3, 2, 2, rng)
    expect(page.locator("#charts .legend").first).to_contain_text("step 3")


def test_untrusted_text_and_names_are_shown_and_not_run(
    page: Page, start_viewer: Starter, tmp_path: Path
) -> None:
    evil = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"
    home = tmp_path / "runs"
    name = "<b onclick=window.ran=1>\x1b[31m&#"
    folder = write_run(home / name, steps=1)
    made = trajectory(
        2,
        0,
        0,
        Random(0),
        task_id=evil,
        stop_reason=evil,
        messages=[{"role": evil, "content": evil}] * 2,
    )
    made["group"] = "../../x?#%2f"
    made["turns"][0] |= {"action": evil, "observation": "\x1b]0;title\x07 " + "z" * 10_000_000}
    (folder / "rollouts" / "train-000002.jsonl").write_bytes(
        orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE)
    )
    address = start_viewer(home)
    page.goto(address)
    expect(page.locator("#runs tbody th")).to_have_text("<b onclick=window.ran=1>␛[31m&#")
    page.click("#runs tbody th a")
    page.click(".tabs a:has-text('trajectories')")
    expect(page.locator("#trajectories tbody tr")).to_have_count(17)
    page.locator("#trajectories tbody th a").first.click()
    expect(page.locator("#turns .sampled").first).to_contain_text(evil)
    expect(page.locator("#turns")).to_contain_text("␛]0;title␇")
    assert page.evaluate("document.body.textContent.length") < 100_000
    page.click("#to-group")
    expect(page.locator("#samples > section")).to_have_count(1)
    assert page.locator("#page img, #page script, #page b[onclick]").count() == 0
    assert page.evaluate("window.ran") is None


def test_the_page_asks_for_the_token(page: Page, start_viewer: Starter, folder: Path) -> None:
    page.goto(start_viewer(folder, token="open sesame"))
    page.fill("#token", "open sesame")
    page.keyboard.press("Enter")
    expect(page.locator("#runs tbody tr")).to_have_count(2)
    page.goto(f"{page.url.split('#')[0]}#/runs/textcraft-1/trajectory/train-000002.jsonl/1")
    with page.expect_download() as waiting:
        page.click("#export-json")
    assert Path(waiting.value.path()).read_text().startswith("{")


def test_the_keyboard_alone_is_enough(page: Page, viewer: str) -> None:
    page.goto(viewer)
    expect(page.locator("#runs tbody tr")).to_have_count(2)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "textcraft-1":
            break
    page.keyboard.press("Enter")
    chart = page.locator("#charts svg").first
    expect(chart).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "svg":
            break
    shown = page.locator("#charts .legend li").first
    page.keyboard.press("Home")
    expect(shown).to_have_text("step 1")
    page.keyboard.press("ArrowRight")
    expect(shown).to_have_text("step 2")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing(page: Page, viewer: str, colours: str) -> None:
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light", reduced_motion="reduce")
    for path, there in (
        ("#/", "#runs"),
        ("#/runs/textcraft-1", "#charts"),
        ("#/runs/textcraft-1/trajectories", "#trajectories"),
        ("#/runs/textcraft-1/trajectory/train-000002.jsonl/1", "#turns"),
        ("#/runs/textcraft-1/group/train/2/group-2-1", "#samples"),
        ("#/runs/textcraft-1/files", "#config-filter"),
        ("#/compare/textcraft-1/textcraft-2", ".charts"),
    ):
        page.goto(f"{viewer}/{path}")
        expect(page.locator(there)).to_be_visible()
        accessible(page)


def test_what_is_not_there_is_said(page: Page, start_viewer: Starter, tmp_path: Path, viewer: str) -> None:
    page.goto(start_viewer(tmp_path))
    expect(page.locator("#page")).to_contain_text("make train TASK=textcraft")
    page.goto(f"{viewer}/#/runs/nothing")
    expect(page.locator(".problem")).to_contain_text("not_found")
    page.goto(f"{viewer}/#/nowhere")
    expect(page.locator(".note")).to_contain_text("no such page")
    page.goto(f"{viewer}/#/runs/textcraft-1/trajectories?text=...")
    expect(page.locator(".problem")).to_contain_text("no word")

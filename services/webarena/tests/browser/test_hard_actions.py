"""Actions that are hard in practice, each on a real page in a real Chromium."""

import ast
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")
Opener = Callable[..., Awaitable[Any]]

TEXTS = [
    "plain",
    'it\'s "quoted" `so`',
    "emoji 😀 and 漢字 and é",
    "<b>&amp; {{ 7*7 }} %s \\n",
    "'; DROP TABLE users; --",
    "[brackets] and ]",
    "a" * 300,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_any_text_arrives_as_it_was_typed(open_at: Opener, text: str) -> None:
    page = await open_at("/form")
    await page.do("clear [{textbox 'Name'}]")
    name = page.id("textbox 'Name'")
    await page.do(f"type [{name}] [{text}] [1]")
    assert page.text.startswith("Tab 0 (current): Echo")
    (line,) = [line for line in page.lines() if '"name"' in line]
    shown = ast.literal_eval(line.removeprefix("StaticText "))
    assert json.loads(shown)["name"] == text


async def test_typing_adds_to_what_a_field_holds_and_clear_empties_it(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("type [{textbox 'Name'}] [ Miller] [0]")
    assert "StaticText 'Ann Miller'" in page.lines()
    await page.do("clear [{textbox 'Name'}]")
    assert "StaticText 'Ann Miller'" not in page.lines()
    await page.do("type [{textbox 'Name'}] [] [0]")
    assert page.outcome.invalid is False
    assert "heard keyup on name" in page.text


async def test_a_text_of_several_lines_stays_one_in_an_area_and_is_joined_in_a_field(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("type [{textbox 'Notes'}] [one\ntwo]")
    await page.do("type [{textbox 'Name'}] [ of\nthe house]")
    assert r'"notes": "one\\r\\ntwo"' in page.text
    assert '"name": "Ann of the house"' in page.text


async def test_enter_follows_unless_told_not_to(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("type [{textbox 'Name'}] [x] [0]")
    assert page.text.startswith("Tab 0 (current): Form")
    await page.do("type [{textbox 'Name'}] [y]")
    assert page.text.startswith("Tab 0 (current): Echo")


async def test_keys_with_control_and_meta_edit(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("click [{textbox 'Name'}]")
    for keys in ("Ctrl+a", "Meta+x", "Ctrl+v", "ctrl+V"):
        await page.do(f"press [{keys}]")
    await page.do("press [!]")
    assert "StaticText 'AnnAnn!'" in page.lines()
    await page.do("press [Tab]")
    assert "textbox 'Notes' focused: True required: False" in page.lines()


async def test_a_native_list_is_chosen_from_by_its_text_or_by_its_option(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("select [{combobox 'Colour'}] [green]")
    assert "option 'Green' selected: True" in page.lines()
    assert "heard change on colour" in page.text
    await page.do("click [{option 'Red'}]")
    assert "option 'Red' selected: True" in page.lines()
    assert "there is no option 'Pink'; there are 'Red', 'Green', 'Blue'" in await page.refused(
        "select [{combobox 'Colour'}] [Pink]"
    )
    assert "disabled" in await page.refused("select [{combobox 'Colour'}] [Blue]")
    assert "choose with select" in await page.refused("click [{combobox 'Colour'}]")
    assert "not a list of choices" in await page.refused("select [{button 'Send'}] [Red]")


async def test_check_boxes_and_radio_buttons(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("click [{checkbox 'Gift'}]")
    await page.do("click [{radio 'Small'}]")
    await page.do("click [{radio 'Large'}]")
    assert {"checkbox 'Gift' checked: true", "radio 'Small' checked: false"} <= set(page.lines())
    assert any(line.startswith("radio 'Large' focused: True checked: true") for line in page.lines())
    await page.do("click [{button 'Send'}]")
    assert '"gift": "yes"' in page.text
    assert '"size": "l"' in page.text


async def test_a_box_that_its_page_hides_can_be_clicked(open_at: Opener) -> None:
    page = await open_at("/odd")
    await page.do("click [{checkbox 'Styled'}]")
    assert "StaticText 'toggled'" in page.lines()


async def test_date_and_time_fields_take_their_form_and_say_so(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("type [{Date 'Day'}] [2023-05-31] [0]")
    await page.do("type [{InputTime 'Hour'}] [14:30] [0]")
    assert "takes a date in the form 2023-05-31" in await page.refused("type [{Date 'Day'}] [31 May] [0]")
    await page.do("click [{button 'Send'}]")
    assert '"day": "2023-05-31"' in page.text
    assert '"hour": "14:30"' in page.text


async def test_fields_that_take_nothing_say_so(open_at: Opener) -> None:
    page = await open_at("/form")
    assert "can't be changed" in await page.refused("type [{textbox 'Locked'}] [x]")
    assert "can't be changed" in await page.refused("clear [{textbox 'Locked'}]")
    assert "nothing can be typed into" in await page.refused("type [{checkbox 'Gift'}] [x]")
    assert "is not a field" in await page.refused("type [{button 'Send'}] [x]")
    assert "is not a field" in await page.refused("type [{heading 'A form'}] [x]")
    assert "no files here" in await page.refused("click [{button 'Photo'}]")
    assert "there is no element [999]" in await page.refused("click [999]")


async def test_a_label_leads_to_its_field_and_an_editor_takes_text(open_at: Opener) -> None:
    page = await open_at("/form")
    await page.do("type [{StaticText 'Notes '}] [by the label] [0]")
    assert "StaticText 'by the label'" in page.lines()
    await page.do("type [{textbox 'Editor'}] [ and on] [0]")
    assert "StaticText 'start and on'" in page.lines()


async def test_a_menu_opens_under_the_pointer_and_its_entry_is_clicked(open_at: Opener) -> None:
    page = await open_at("/menu")
    assert "link 'Shirts'" not in page.lines()
    await page.do("hover [{link 'Clothing'}]")
    await page.do("click [{link 'Shirts'}]")
    assert '"shirts": "1"' in page.text


async def test_scrolling_moves_the_page_or_the_part_that_scrolls(open_at: Opener) -> None:
    page = await open_at("/scroll", view="screen")
    assert "StaticText 'paragraph 0'" in page.lines()
    await page.do("scroll [down]")
    assert "StaticText 'paragraph 0'" not in page.lines()
    await page.do("scroll [up]")
    assert "StaticText 'paragraph 0'" in page.lines()
    assert "can be scrolled up" in await page.refused("scroll [up]")
    tall = await open_at("/tall", view="screen")
    await tall.do("scroll [down]")
    assert "StaticText 'block 4'" in tall.lines()
    assert "StaticText 'block 0'" not in tall.lines()


async def test_odd_links_and_far_buttons_are_hit(open_at: Opener) -> None:
    for name, said in (("a link that goes", '"wrapped"'), ("an inline link", '"inline"')):
        page = await open_at("/odd")
        number = page.id(f"link '{name}")
        await page.do(f"click [{number}]")
        assert said in page.text
    page = await open_at("/odd")
    await page.do("click [{button 'Far below'}]")
    assert "StaticText 'far'" in page.lines()


async def test_an_element_that_went_away_is_refused(open_at: Opener) -> None:
    page = await open_at("/odd")
    number = page.id("button 'Remove me'")
    elements = page.env.page
    await page.do(f"click [{number}]")
    assert "StaticText 'removed'" in page.lines()
    page.env.page = elements  # as if the page had changed after it was looked at
    assert "is no longer on the page" in await page.refused(f"click [{number}]")


async def test_tabs_open_come_and_go(open_at: Opener) -> None:
    page = await open_at("/")
    await page.do("new_tab")
    await page.do("goto [site.test/form]")
    assert page.text.startswith("Tab 0: Hard pages | Tab 1 (current): Form\nURL: http://site.test/form")
    await page.do("tab_focus [0]")
    assert page.text.startswith("Tab 0 (current): Hard pages | Tab 1: Form")
    assert "the tabs are 0 to 1" in await page.refused("tab_focus [2]")
    await page.do("close_tab")
    await page.do("close_tab")
    assert page.text.startswith("Tab 0 (current): \nURL: about:blank")


async def test_several_start_pages_are_several_tabs(open_at: Opener) -> None:
    page = await open_at("__SITE__/ |AND| __OTHER__/form")
    assert "Tab 0 (current): Hard pages | Tab 1: Form" in page.text


async def test_popups_become_the_current_tab(open_at: Opener) -> None:
    page = await open_at("/popups")
    await page.do("click [{button 'Open'}]")
    assert page.text.startswith("Tab 0: Popups | Tab 1 (current): Popup")
    page = await open_at("/")
    await page.do("click [{link 'In a new tab'}]")
    assert page.text.startswith("Tab 0: Hard pages | Tab 1 (current): Popup")
    page = await open_at("/popups")
    await page.do("click [{button 'Open and close'}]")
    assert page.text.startswith("Tab 0 (current): closed again")


async def test_dialogs_are_answered_and_reported(open_at: Opener) -> None:
    page = await open_at("/dialogs")
    await page.do("click [{button 'Alert'}]")
    assert page.text.startswith("The page asked (alert): 'Careful!'; it was accepted.")
    await page.do("click [{button 'Confirm'}]")
    assert page.text.startswith("The page asked (confirm): 'Really?'; it was accepted.")
    assert "StaticText 'confirmed'" in page.lines()
    await page.do("click [{button 'Prompt'}]")
    assert "StaticText 'prompted nobody'" in page.lines()
    await page.do("click [{button 'Guard'}]")
    await page.do("click [{link 'Leave'}]")
    assert "Tab 0 (current): Hard pages" in page.text
    other = await open_at("/dialogs", dialogs="dismiss")
    await other.do("click [{button 'Confirm'}]")
    assert "StaticText 'refused'" in other.lines()


async def test_going_back_and_forward(open_at: Opener) -> None:
    page = await open_at("/")
    assert "no page to go forward to" in await page.refused("go_forward")
    await page.do("click [{link 'A form'}]")
    await page.do("go_back")
    assert "Tab 0 (current): Hard pages" in page.text
    await page.do("go_forward")
    assert "Tab 0 (current): Form" in page.text


async def test_what_comes_late_is_waited_for(open_at: Opener) -> None:
    page = await open_at("/late")
    await page.do("click [{button 'Fetch'}]")
    assert "StaticText 'fetched'" in page.lines()
    await page.do("click [{button 'Push'}]")
    assert page.text.startswith("Tab 0 (current): pushed\nURL: http://site.test/late?pushed=1")
    await page.do("click [{link 'A part'}]")
    await page.do("click [{link 'No content'}]")
    assert "heading 'Late'" in page.lines()
    await page.do("click [{link 'A slow page'}]")
    assert "heading 'Slow but here'" in page.lines()
    await page.do("go_back")
    await page.do("click [{link 'Redirected'}]")
    assert '"redirected": "1"' in page.text


async def test_a_page_that_is_never_done_is_shown_with_a_note(open_at: Opener) -> None:
    page = await open_at("/", settle_s=1)
    begun = time.monotonic()
    await page.do("goto [/never]")
    assert page.text.startswith("The page was still busy after 1 seconds.")
    assert "heading 'Never done'" in page.lines()
    assert time.monotonic() - begun < 30, "the page was waited for until it was done"


async def test_a_page_of_ten_thousand_nodes_is_cut_around_what_is_in_view(open_at: Opener) -> None:
    page = await open_at("/huge/1300", max_nodes=100)
    tree = await page.env.tabs.tab.cdp.send("Accessibility.getFullAXTree")
    assert len(tree["nodes"]) > 10_000
    assert page.env.page.nodes > 3_000
    assert len(page.lines()) == 100
    assert page.text.endswith("elements below this are not shown; scroll [down] to see them)")
    for _ in range(3):
        await page.do("scroll [down]")
    assert len(page.lines()) == 100
    assert "elements above this are not shown" in page.text
    last = page.id("link 'row ")
    name = next(line for line in page.lines() if line.startswith("link"))
    await page.do(f"click [{last}]")
    assert name.removeprefix("link 'row ").rstrip("'") in page.text

"""From Chromium's accessibility tree to lines: what is shown, what is left out, and how a long page is cut."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from turngym_webarena.observation import MAX_NAME, Layout, read_lines, write_text


def node(number: int, role: str, name: str | None, *children: int, **properties: Any) -> dict[str, Any]:
    """A node as ``Accessibility.getFullAXTree`` gives it; ``name`` None for an ignored one."""
    made: dict[str, Any] = {
        "nodeId": str(number),
        "role": {"type": "role", "value": role},
        "childIds": [str(child) for child in children],
        "backendDOMNodeId": number,
        "properties": [{"name": key, "value": {"value": value}} for key, value in properties.items()],
    }
    if name is not None:
        made["name"] = {"type": "computedString", "value": name}
    return made


def text(*nodes: dict[str, Any], limit: int = 100, view: Layout | None = None) -> str:
    """The page's text."""
    return write_text(read_lines(nodes, view), limit, view).text


def test_a_line_has_id_role_name_and_properties_and_its_depth() -> None:
    page = text(
        node(1, "RootWebArea", "Shop", 2, focused=True, url="http://x"),
        node(2, "form", "", 3),
        node(3, "textbox", "it's", required=False, focusable=True, level=2),
    )
    assert (
        page
        == "[1] RootWebArea 'Shop' focused: True\n\t[2] form ''\n\t\t[3] textbox \"it's\" required: False"
    )


def test_children_of_what_is_left_out_take_its_place() -> None:
    page = text(
        node(1, "RootWebArea", "Shop", 2, 6),
        node(2, "none", None, 3, 5),
        node(3, "list", "", 4),
        node(4, "listitem", "", 7, expanded=True),
        node(5, "img", ""),
        node(6, "generic", "", 8, focused=True),
        node(7, "link", "A"),
        node(8, "image", "a picture"),
    )
    assert page.split("\n") == [
        "[1] RootWebArea 'Shop'",
        "\t[2] link 'A'",
        "\t[3] generic '' focused: True",
        "\t\t[4] img 'a picture'",
    ]


def test_a_text_that_was_just_shown_is_left_out_but_never_what_a_field_holds() -> None:
    page = text(
        node(1, "RootWebArea", "Shop", 2, 4, 6, 8),
        node(2, "link", "Blue mug", 3),
        node(3, "StaticText", "Blue mug"),
        node(4, "textbox", "Qty 1", 5),
        node(5, "StaticText", "1"),
        node(6, "heading", "Mugs", 7),
        node(7, "StaticText", "2"),
        node(8, "StaticText", "don't"),
    )
    assert [line.split("] ")[1] for line in page.split("\n")] == [
        "RootWebArea 'Shop'",
        "link 'Blue mug'",
        "textbox 'Qty 1'",
        "StaticText '1'",
        "heading 'Mugs'",
        "StaticText '2'",  # though a "[2]" stands before it
        'StaticText "don\'t"',
    ]


def test_a_view_of_the_screen_shows_what_lies_on_it_mostly() -> None:
    view = Layout(
        {
            1: (0, 0, 1280, 5000),
            2: (0, 100, 100, 20),
            3: (0, 705, 100, 30),
            4: (0, 900, 100, 20),
            5: (0, 0, 0, 0),
        }
    )
    nodes = [
        node(1, "RootWebArea", "Shop", 2, 3, 4, 5),
        *(node(n, "link", f"link {n}") for n in (2, 3, 4, 5)),
    ]
    assert text(*nodes, view=view) == "[1] RootWebArea 'Shop'\n\t[2] link 'link 2'"
    view.scroll_y = 300
    assert text(*nodes, view=view) == "[1] RootWebArea 'Shop'\n\t[2] link 'link 3'\n\t[3] link 'link 4'"


def test_a_long_page_is_cut_from_the_top_of_the_screen_on_and_says_so() -> None:
    view = Layout({number: (0, 20 * number, 100, 20) for number in range(1, 200)}, scroll_y=1000)
    nodes = [
        node(1, "RootWebArea", "Shop", *range(2, 200)),
        *(node(n, "link", f"link {n}") for n in range(2, 200)),
    ]
    lines = read_lines(nodes)
    cut = write_text(lines, 20, view)
    shown = cut.text.split("\n")
    assert shown[0] == "(49 elements above this are not shown; scroll [up] to see them)"
    assert shown[1] == "\t[50] link 'link 50'"
    assert shown[-1] == "(130 elements below this are not shown; scroll [down] to see them)"
    assert (len(cut.elements), cut.nodes, cut.elements[50].name) == (20, 199, "link 50")
    view.scroll_y = 10**6
    assert write_text(lines, 20, view).text.startswith("[1] RootWebArea")


def test_a_name_of_a_megabyte_is_cut() -> None:
    assert len(text(node(1, "RootWebArea", "x" * 10**6))) < MAX_NAME + 100


def test_a_page_may_nest_deeper_than_the_stack() -> None:
    deep = [node(number, "group", f"level {number}", number + 1) for number in range(1, 5000)]
    assert text(*deep, limit=10**4).count("\n") == 4998


@given(
    st.lists(
        st.tuples(st.sampled_from(["link", "StaticText", "img", "generic"]), st.text(max_size=8)), max_size=30
    )
)
def test_ids_count_from_one_in_the_order_of_the_lines(children: list[tuple[str, str]]) -> None:
    nodes = [node(1, "RootWebArea", "Shop", *range(2, len(children) + 2))]
    nodes += [node(number, role, name) for number, (role, name) in enumerate(children, 2)]
    shown = write_text(read_lines(nodes), 1000)
    numbers = [int(line.strip("\t")[1:].split("]")[0]) for line in shown.text.split("\n")]
    assert numbers == list(range(1, len(numbers) + 1)) == list(shown.elements)

"""A page as text: Chromium's accessibility tree, one node a line, in WebArena's form.

::

    [1] RootWebArea 'One Stop Shop' focused: True
        [2] link 'My Account'
        [3] searchbox 'Search' required: False

The rules are WebArena's (Zhou et al. 2023, ``browser_env/processors.py``), with what a newer Chromium needs. They differ in
four places, all on purpose: ids are numbered in the order of the lines, because Chromium's own differ from process to process
and a replay must give the same text; a text is compared with the lines before it without their ids, so that a quantity "1"
isn't lost beside "[1]"; what stands in a field is always shown; a text with an apostrophe is shown too. This module turns
answers of the DevTools protocol into text and asks the browser nothing itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VIEWPORT = (1280, 720)  # CSS pixels, as in WebArena
IN_VIEW = 0.6  # share of an element's box that must be on the screen for it to be in view, as in WebArena
MAX_NAME = 4000  # characters of a single node that are shown

_DROPPED_PROPERTIES = frozenset(
    ("focusable", "editable", "readonly", "level", "settable", "multiline", "invalid", "url")
)
_DROPPED_IF_NAMELESS = frozenset(
    (
        "generic",
        "img",
        "list",
        "strong",
        "paragraph",
        "banner",
        "navigation",
        "Section",
        "LabelText",
        "Legend",
    )
)
_SKIPPED = frozenset(("InlineTextBox", "MenuListPopup"))
_FIELDS = frozenset(("textbox", "searchbox", "spinbutton", "combobox", "TextField"))
_LOOK_BACK = 3  # a text that one of so many lines before it holds already is left out

Box = tuple[float, float, float, float]
"""x, y, width, height in CSS pixels, from the document's top left corner."""


@dataclass(frozen=True, slots=True)
class Element:
    """What an id stands for. ``backend`` is Chromium's backend node id, None for a node without one in the document."""

    backend: int | None
    role: str
    name: str


@dataclass(slots=True)
class Line:
    """A shown node; ``body`` is its line without indentation and id."""

    depth: int
    body: str
    element: Element
    box: Box | None = None


@dataclass(slots=True)
class Layout:
    """Where the nodes of a document are: boxes by backend node id, and how far the document is scrolled."""

    boxes: dict[int, Box] = field(default_factory=dict)
    scroll_x: float = 0.0
    scroll_y: float = 0.0

    def on_screen(self, box: Box) -> float:
        """The share of the box that is in the viewport, 0 to 1."""
        x, y, width, height = box
        x, y = x - self.scroll_x, y - self.scroll_y
        across = max(0.0, min(x + width, VIEWPORT[0]) - max(x, 0.0))
        down = max(0.0, min(y + height, VIEWPORT[1]) - max(y, 0.0))
        return across * down / (width * height) if width > 0 and height > 0 else 0.0


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's text and what its ids stand for. ``nodes`` is the number of lines before anything was cut."""

    text: str
    elements: Mapping[int, Element]
    nodes: int


def read_layout(snapshot: Mapping[str, Any]) -> Layout:
    """The layout in an answer of ``DOMSnapshot.captureSnapshot``, of its first document."""
    document = snapshot["documents"][0]
    backends = document["nodes"]["backendNodeId"]
    layout = Layout(scroll_x=document.get("scrollOffsetX", 0.0), scroll_y=document.get("scrollOffsetY", 0.0))
    for index, bounds in zip(document["layout"]["nodeIndex"], document["layout"]["bounds"], strict=True):
        layout.boxes.setdefault(backends[index], (bounds[0], bounds[1], bounds[2], bounds[3]))
    return layout


def read_lines(nodes: Sequence[Mapping[str, Any]], view: Layout | None = None) -> list[Line]:
    """The lines of a page.

    :param nodes: the ``nodes`` of ``Accessibility.getFullAXTree``.
    :param view: if given, only what is on the screen is shown, and what encloses it; else the whole page.
    """
    lines: list[Line] = []
    for node, depth, in_field, box in _walk(nodes, view):
        role, name = _role(node), node["name"]["value"]
        if role == "StaticText" and not in_field and any(name in line.body for line in lines[-_LOOK_BACK:]):
            continue
        shown = f"{name[:MAX_NAME]}…" if len(name) > MAX_NAME else name
        body = " ".join([f"{role} {shown!r}", *_properties(node)])
        lines.append(Line(depth, body, Element(node.get("backendDOMNodeId"), role, name), box))
    return lines


def write_text(lines: Sequence[Line], limit: int, view: Layout | None = None) -> PageText:
    """The text of a page, at most ``limit`` lines of it.

    A longer page is cut to the lines from the top of the screen on (of the page, where ``view`` is not given), and what was
    left out is said in its place.
    """
    first = 0
    if len(lines) > limit and view is not None:
        first = next((index for index, line in enumerate(lines) if _reaches_below_top(line, view)), 0)
        first = max(0, min(first, len(lines) - limit))
    last = min(len(lines), first + limit)
    written = [f"({first} elements above this are not shown; scroll [up] to see them)"] if first else []
    elements: dict[int, Element] = {}
    for number, line in enumerate(lines[first:last], first + 1):
        elements[number] = line.element
        written.append("\t" * line.depth + f"[{number}] {line.body}")
    if last < len(lines):
        written.append(f"({len(lines) - last} elements below this are not shown; scroll [down] to see them)")
    return PageText("\n".join(written), elements, len(lines))


def _walk(
    nodes: Sequence[Mapping[str, Any]], view: Layout | None
) -> Iterator[tuple[Mapping[str, Any], int, bool, Box | None]]:
    """Shown nodes in document order: node, depth, whether it is in a field, box. Children of a dropped node take its place."""
    by_id = {node["nodeId"]: node for node in nodes}
    # no recursion: a page may nest deeper than Python's stack
    stack: list[tuple[Mapping[str, Any], int, bool, Box | None]] = (
        [(nodes[0], 0, False, None)] if nodes else []
    )
    while stack:
        node, depth, in_field, outer = stack.pop()
        box = outer
        if view is not None:
            own = view.boxes.get(node.get("backendDOMNodeId", -1))
            # the text of a field lives in a tree of the browser's own, which the snapshot leaves out
            box = own if own is not None or not in_field else outer
        shown = _is_shown(node) and (view is None or _role(node) == "RootWebArea" or _in_view(box, view))
        if shown:
            yield node, depth, in_field, box
        inner = in_field or _role(node) in _FIELDS
        deeper = depth + 1 if shown else depth
        for child_id in reversed(node.get("childIds", ())):
            child = by_id.get(child_id)
            if child is not None:
                stack.append((child, deeper, inner, box))


def _role(node: Mapping[str, Any]) -> str:
    role: str = node.get("role", {}).get("value", "")
    return "img" if role == "image" else role


def _is_shown(node: Mapping[str, Any]) -> bool:
    role = _role(node)
    if role in _SKIPPED or "value" not in node.get("name", {}) or not role:
        return False
    if node["name"]["value"].strip():
        return True
    if role == "listitem":
        return False
    return role not in _DROPPED_IF_NAMELESS or bool(_properties(node))


def _properties(node: Mapping[str, Any]) -> list[str]:
    return [
        f"{item['name']}: {item['value']['value']}"
        for item in node.get("properties", ())
        if item["name"] not in _DROPPED_PROPERTIES and "value" in item["value"]
    ]


def _in_view(box: Box | None, view: Layout) -> bool:
    return box is not None and view.on_screen(box) >= IN_VIEW


def _reaches_below_top(line: Line, view: Layout) -> bool:
    box = line.box or view.boxes.get(line.element.backend or -1)
    return box is not None and line.depth > 0 and view.scroll_y <= box[1]

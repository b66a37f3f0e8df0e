"""What an action finds at an element, and the few things that only the page itself can do there: scripts, run in the page.

Every script is called on the node of an id and returns plain data. They are the service's own and take an agent's text as an
argument, never as code.
"""

from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError


class Gone(Exception):
    """The element is no longer on the page."""


@dataclass(frozen=True, slots=True)
class Found:
    """An element as an action needs it. ``kind``: "text" (a field of one line), "area" (of several, or editable content),
    "date" (a field that takes its value in one fixed form), "select", "option", "file", "toggle" or "other". ``x`` and ``y``
    are its middle on the screen in CSS pixels, None where it takes no room."""

    kind: str
    type: str
    locked: bool
    x: float | None
    y: float | None


# From a node to the element that a user would say it is: a text's parent, a field's own insides up to the field.
_ELEMENT = """
  let e = this.nodeType === Node.ELEMENT_NODE ? this : this.parentElement;
  if (e === null && this.getRootNode() instanceof ShadowRoot) e = this.getRootNode().host;
  if (e === null) e = document.documentElement;
  for (let root = e.getRootNode(); root instanceof ShadowRoot; root = e.getRootNode()) {
    if (!/^(INPUT|TEXTAREA|SELECT)$/.test(root.host.tagName)) break;
    e = root.host;
  }
"""

LOOK = (
    "function() {"
    + _ELEMENT
    + """
  if (!e.isConnected) return null;
  const tag = e.tagName, type = (e.type || '').toLowerCase();
  const fixed = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
  const toggles = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image'];
  let kind = 'other';
  if (tag === 'SELECT') kind = 'select';
  else if (tag === 'OPTION' || tag === 'OPTGROUP') kind = 'option';
  else if (tag === 'TEXTAREA' || e.isContentEditable) kind = 'area';
  else if (tag === 'INPUT') kind = type === 'file' ? 'file' : fixed.includes(type) ? 'date'
    : toggles.includes(type) ? 'toggle' : 'text';
  const shown = kind === 'option' ? e.closest('select') || e : e;
  const between = (low, high, end) => (Math.max(low, 0) + Math.min(high, end)) / 2;
  const middle = () => {
    const box = [...shown.getClientRects()].find(r => r.width > 0 && r.height > 0);
    return box ? [between(box.left, box.right, innerWidth), between(box.top, box.bottom, innerHeight)] : [null, null];
  };
  // out of view, within a part that scrolls, or below something that stays in place
  const hit = ([x, y]) => {
    const found = x === null ? null : document.elementFromPoint(x, y);
    return found !== null && (found === shown || shown.contains(found));
  };
  if (!hit(middle())) shown.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
  const [x, y] = middle();
  return {kind, type, locked: !!(e.disabled || e.readOnly), x, y};
}"""
)

CLICK = "function() {" + _ELEMENT + " e.click(); }"

FOCUS = "function() {" + _ELEMENT + " e.focus(); }"

# The caret behind what the field holds; what then has the focus, for an element that passes it on (a label, a wrapper).
CARET = """function() {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  if (e.isContentEditable) {
    const range = document.createRange();
    range.selectNodeContents(e); range.collapse(false);
    const chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range);
    return 'area';
  }
  if (e.tagName !== 'TEXTAREA' && e.tagName !== 'INPUT') return null;
  if (e.disabled || e.readOnly) return 'locked';
  try { e.setSelectionRange(e.value.length, e.value.length); } catch (_) { return 'number'; }
  return e.tagName === 'TEXTAREA' ? 'area' : 'text';
}"""

# Gives the focus to the field that an element stands for: a label's, or the one within it.
FOCUS_FIELD = (
    "function() {"
    + _ELEMENT
    + """
  const label = e.closest('label');
  const field = (label && label.control) || e.querySelector('input, textarea, [contenteditable=true]') || e;
  field.focus();
}"""
)

SELECT_ALL = (
    "function() {"
    + _ELEMENT
    + """
  e.focus();
  if (e.isContentEditable) getSelection().selectAllChildren(e); else e.select();
}"""
)

# A field that takes its value in one form; returns the value it then has, "" where it refused it.
SET_VALUE = (
    "function(value) {"
    + _ELEMENT
    + """
  const before = e.value;
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  e.focus();
  set.call(e, value);
  if (value !== '' && e.value === '') { set.call(e, before); return ''; }
  e.dispatchEvent(new Event('input', {bubbles: true}));
  e.dispatchEvent(new Event('change', {bubbles: true}));
  return e.value;
}"""
)

# Chooses an option by its text or value; with null, the one that the node itself is. What was chosen, or the choices.
CHOOSE = (
    "function(wanted) {"
    + _ELEMENT
    + """
  const select = e.tagName === 'SELECT' ? e : e.closest('select');
  const list = [...select.options];
  const plain = text => text.replace(/\\s+/g, ' ').trim().toLowerCase();
  const option = wanted === null ? e : list.find(o => plain(o.label) === plain(wanted))
    || list.find(o => plain(o.value) === plain(wanted));
  if (select.disabled) return {error: 'disabled'};
  if (!option) return {error: 'unknown', choices: list.map(o => o.label.replace(/\\s+/g, ' ').trim())};
  if (option.disabled) return {error: 'option'};
  select.focus();
  if (!option.selected) {
    option.selected = true;
    select.dispatchEvent(new Event('input', {bubbles: true}));
    select.dispatchEvent(new Event('change', {bubbles: true}));
  }
  return {chosen: option.label};
}"""
)

# One screen up or down: the page, or where that can't move, the largest part in view that can. Whether anything moved.
SCROLL = """direction => {
  const page = document.scrollingElement || document.documentElement;
  const able = e => direction > 0 ? e.scrollTop + e.clientHeight < e.scrollHeight - 1 : e.scrollTop > 0;
  const seen = e => {
    const r = e.getBoundingClientRect();
    return r.bottom > 0 && r.top < innerHeight ? r.width * r.height : 0;
  };
  // what a page hides for good no wheel can move, though a script could
  const hidden = [document.documentElement, document.body].some(e => e && getComputedStyle(e).overflowY === 'hidden');
  let target = able(page) && !hidden ? page : null;
  if (!target) {
    const parts = [...document.querySelectorAll('*')].filter(
      e => e.scrollHeight > e.clientHeight + 1 && able(e) && seen(e) > 0 && /auto|scroll/.test(getComputedStyle(e).overflowY));
    target = parts.sort((a, b) => seen(b) - seen(a))[0] || null;
  }
  if (!target) return false;
  const step = target === page ? innerHeight : target.clientHeight;
  target.scrollBy({top: direction * step, behavior: 'instant'});
  return true;
}"""


async def call_on(cdp: CDPSession, backend: int, script: str, *arguments: Any) -> Any:
    """What ``script`` returns, called on the node with these arguments. Raises Gone."""
    try:
        node = await cdp.send("DOM.resolveNode", {"backendNodeId": backend})
        answer = await cdp.send(
            "Runtime.callFunctionOn",
            {
                "objectId": node["object"]["objectId"],
                "functionDeclaration": script,
                "arguments": [{"value": argument} for argument in arguments],
                "returnByValue": True,
                "userGesture": True,
            },
        )
    except PlaywrightError as error:
        if any(sign in error.message for sign in ("No node", "Could not find", "not belong", "Cannot find")):
            raise Gone from error
        raise
    if "exceptionDetails" in answer:
        raise RuntimeError(f"a script failed on the page: {answer['exceptionDetails'].get('text', '')}")
    return answer["result"].get("value")


async def look(cdp: CDPSession, backend: int) -> Found:
    """The element, scrolled into view. Raises Gone."""
    found = await call_on(cdp, backend, LOOK)
    if found is None:
        raise Gone
    return Found(found["kind"], found["type"], found["locked"], found["x"], found["y"])

"""A trajectory as a file: Markdown for a report or an issue, or JSON.

The Markdown's fences are longer than any in the text, so nothing breaks out.
"""

import re
from typing import Any

import orjson

_FENCE = re.compile(r"`{3,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def markdown(found: dict[str, Any]) -> str:
    """The episode turn by turn: what the agent read, what it wrote, what it earned."""
    facts = {
        "run": found["run"],
        "step": found["step"],
        "task": found["task_id"],
        "seed": found["seed"],
        "horizon": found["horizon"],
        "turns": len(found["turns"]),
        "success": found["success"],
        "score": found["score"],
        "reward": found["reward"],
        "stopped": found["stop_reason"],
        "error": found["error"],
    }
    lines = [
        f"# {_line(found['task_id'])}, step {found['step']}, sample {found['sample']}",
        "",
        "| | |",
        "|---|---|",
    ]
    lines += [f"| {name} | {_line(value)} |" for name, value in facts.items() if value is not None]
    for message in found["messages"]:
        lines += ["", f"## Opening: {_line(message.get('role'))}", "", *_fenced(message.get("content"))]
    for turn in found["turns"]:
        earned = f", reward {turn['reward']:g}" if turn["reward"] else ""
        lines += ["", f"## Turn {turn['turn']}{earned}{', no effect' if turn['invalid'] else ''}", ""]
        lines += ["The agent:", "", *_fenced(turn["action"])]
        if turn["observation"] is not None:
            lines += ["", "The environment:", "", *_fenced(turn["observation"])]
    return "\n".join(lines) + "\n"


def indented(found: dict[str, Any]) -> bytes:
    """The episode as it was kept, as indented JSON."""
    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _line(value: Any) -> str:
    """A value in a table's cell or a heading: one line, without what Markdown would act on."""
    text = " ".join(_clean(str(value)).split())[:500]
    return re.sub(r"([\\`*_\[\]<>|#&])", r"\\\1", text)


def _fenced(value: Any) -> list[str]:
    text = _clean(str(value))
    longest = max((len(match) for match in _FENCE.findall(text)), default=2)
    return ["`" * (longest + 1) + "text", text, "`" * (longest + 1)]


def _clean(text: str) -> str:
    """Control characters made visible: a terminal that shows the file must not obey it."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))

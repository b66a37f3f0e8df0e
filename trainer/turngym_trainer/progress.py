"""What a person sees while a run goes on: one line a stage, a bar with the numbers that matter. verl's log goes elsewhere.

Where the output is no terminal, a line every few per cent instead of a bar.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_STEP = 0.1  # between two lines where there is no terminal
_QUIET_S = 20.0

console = Console(highlight=False, soft_wrap=True)


class Stage:
    """A running stage: :meth:`at` says how far it is, 0..1, and what to show beside the bar."""

    def __init__(self, title: str, bar: Progress | None, console: Console) -> None:
        self._title, self._bar, self._console = title, bar, console
        self._task = bar.add_task(title, total=1.0, note="") if bar is not None else None
        self._said_at, self._said_s = -1.0, time.monotonic()

    def at(self, done: float, note: str = "") -> None:
        """Show progress."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, note=note)
            return
        if done < self._said_at:  # the stage has several parts
            self._said_at = -1.0
        due = done >= self._said_at + _STEP or time.monotonic() > self._said_s + _QUIET_S or done >= 1.0
        if due and done > self._said_at:
            self._said_at, self._said_s = done, time.monotonic()
            self._console.print(f"  {self._title} {100 * done:3.0f} %  {note}")


@contextmanager
def stage(title: str, console: Console = console) -> Iterator[Stage]:
    """Show a stage while the block runs."""
    if not console.is_terminal:
        console.print(title)
        yield Stage(title, None, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.percentage:3.0f} %"))
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
    ) as bar:
        yield Stage(title, bar, console)

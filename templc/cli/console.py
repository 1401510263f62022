"""Terminals: colours where a person looks, none in a pipe, and a progress bar for what takes over a second.

with progress(10_000, "comparing") as done: done(256)
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120
PATIENCE = 1.0
_CODES = {"red": "31;1", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def colored(stream: TextIO) -> bool:
    """Whether to write colours; NO_COLOR (https://no-color.org) turns them off."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def paint(text: str, style: str, on: bool) -> str:
    """`text` in a colour, or as it is."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if on else text


def console() -> Console:
    """Standard output for tables and coloured text; a pipe gets plain text of a fixed width."""
    from rich.console import Console

    on = colored(sys.stdout)
    return Console(
        highlight=False,
        markup=False,
        force_terminal=is_terminal(sys.stdout),
        no_color=not on,
        width=None if is_terminal(sys.stdout) else PIPE_WIDTH,
    )


def note(text: str) -> None:
    """A remark on standard error."""
    sys.stderr.write(f"{paint('note', 'cyan', colored(sys.stderr))}: {text}\n")


def tell_warnings() -> None:
    """Let warnings of the library appear as one line each."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"{paint('warning', 'yellow', colored(sys.stderr))}: {message}\n")

    warnings.simplefilter("default", UserWarning)
    warnings.showwarning = show


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[[int], None]]:
    """A function that is told how much is done; a bar appears on a terminal after a second."""
    if not is_terminal(sys.stderr):
        yield lambda done: None
        return
    bar = _Bar(total, label)
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    def __init__(self, total: int, label: str) -> None:
        self._total = total
        self._label = label
        self._start = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def update(self, done: int) -> None:
        if self._shown is None:
            if time.monotonic() - self._start < PATIENCE:
                return
            self._show()
        self._shown.update(self._task, completed=done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._shown = Progress(console=Console(stderr=True, force_terminal=True), transient=True)
        self._task = self._shown.add_task(self._label, total=self._total)
        self._shown.start()

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()

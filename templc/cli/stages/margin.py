"""Lines with the place that they come from at the right.

put(lines, 1, 'write "x"', span)    '  write "x"                              41'
"""

from __future__ import annotations

from pathlib import PurePath

from templc.emit.layout import columns
from templc.source.span import Source, Span

WIDTH = 92
INDENT = "  "


class Margin:
    """Collects lines; a place in `main` shows as its line, one in another file as `file:line`, behind `mark`."""

    def __init__(self, main: Source, mark: str = "") -> None:
        self._main = main
        self._mark = mark
        self.lines: list[str] = []

    def put(self, depth: int, text: str, span: Span | None = None) -> None:
        left = INDENT * depth + text
        gap = " " * (WIDTH - columns(left))
        self.lines.append(f"{left}{gap}  {self._mark}{self._place(span)}" if span else left)

    def _place(self, span: Span) -> str:
        if span.source is self._main:
            return str(span.line)
        return f"{PurePath(span.source.name).name}:{span.line}"


def quoted(text: str) -> str:
    """Text as the spec language writes it, in double quotes."""
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    return f'"{escaped}"'

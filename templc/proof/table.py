"""The stability table as plain text.

after \\ then    system   user      tool       assistant
tool            stable   if (3)    never (4)  stable

(3) tool > user
    stable if no assistant message after the last query message has reasoning, or ...
    because an assistant turn depends on whether a query message comes later (specs/qwen3.yaml:25:32)
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from templc.ir.settings import said

if TYPE_CHECKING:
    from templc.proof.stability import Cell, Stability

WIDTH = 100
_SHORT = {
    "stable": "stable",
    "stable if": "if",
    "never": "never",
    "refused": "-",
    "not proved": "not proved",
}
_ROWS = {"prompt": "prompt", "completion": "prompt + completion"}


def text(stability: Stability) -> str:
    """The table, and below it each verdict that is not plainly stable, with its condition and reason."""
    program, settings = stability.program, stability.settings
    tools = "with tools" if settings.tools else "without tools"
    head = ", ".join([program.format, *said(program, settings.options), tools])
    parts = [f"{head} ({program.source})", "", *_grid(stability), ""]
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in stability.cells:
        if cell.verdict not in ("stable", "refused"):
            grouped.setdefault((cell.text, cell.reason.text), []).append(cell)
    for cells in grouped.values():
        parts += _note(cells)
    return "\n".join(parts).rstrip()


def symbol(cell: Cell) -> str:
    """What stands in the grid."""
    return _SHORT[cell.verdict] + (f" ({cell.number})" if cell.number else "")


def _grid(stability: Stability) -> list[str]:
    rows = list(dict.fromkeys(cell.place.after for cell in stability.cells))
    columns = list(dict.fromkeys(cell.place.then for cell in stability.cells))
    cells = {cell.place: symbol(cell) for cell in stability.cells}
    first = ["after \\ then", *(_ROWS.get(row, row) for row in rows)]
    lines = [[*columns], *([cells.get((row, then), "") for then in columns] for row in rows)]  # type: ignore[call-overload]
    width = max(map(len, first)) + 3
    sizes = [max(len(line[at]) for line in lines) + 2 for at in range(len(columns))]
    return [
        (
            name.ljust(width)
            + "".join(one.ljust(size) for one, size in zip(line, sizes, strict=True))
        ).rstrip()
        for name, line in zip(first, lines, strict=True)
    ]


def _note(cells: list[Cell]) -> list[str]:
    """What is said of cells with one verdict and reason."""
    numbers = ", ".join(str(cell.number) for cell in cells if cell.number)
    places = ", ".join(
        f"{_ROWS.get(cell.place.after, cell.place.after)} > {cell.place.then}" for cell in cells
    )
    lines = [f"({numbers}) {places}" if numbers else places, *wrapped(cells[0].text)]
    if cells[0].reason.text:
        where = ", ".join(dict.fromkeys(str(one.span) for one in cells[0].reason.deciders))
        lines += wrapped(f"because {cells[0].reason.text}{f' ({where})' if where else ''}")
    return lines


def wrapped(words: str) -> list[str]:
    """A paragraph under a heading: indented, its further lines deeper."""
    indent = " " * 4
    return textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=indent * 2, break_on_hyphens=False
    )

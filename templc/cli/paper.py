"""How cells look on a terminal: text coloured by role, tokens in rows, trained ones marked.

0 user        151644 <|im_start|>  872 user  198 ⏎  6023 hi  *151645 <|im_end|>
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from templc.cli.cells import Cell

ROLE_STYLES = {
    "system": "magenta",
    "user": "green",
    "assistant": "cyan",
    "tool": "yellow",
    "": "bright_black",
}
OTHER_ROLE = "blue"
CONTROL = "bold red"
TRAINED = "bold underline"
_PICTURES = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}
_IN_TEXT = {code: picture for code, picture in _PICTURES.items() if code not in (9, 10)}
_IN_TOKEN = _PICTURES | {10: "⏎", 13: "␍", 9: "␉", 32: "␣"}


def safe(text: str) -> str:
    """Text for a terminal: control characters other than tab and line end as pictures."""
    return text.translate(_IN_TEXT)


def visible(text: str) -> str:
    """The text of a token on one line, with blanks and line ends that can be seen."""
    return text.translate(_IN_TOKEN)


def role_style(role: str) -> str:
    return ROLE_STYLES.get(role, OTHER_ROLE)


def conversation_text(cells: Iterable[Cell], specials: Sequence[str]) -> Text:
    """The whole text, by role, with the control tokens that the format writes standing out."""
    found = Text()
    controls = re.compile("|".join(map(re.escape, specials)) or r"(?!)")
    for cell in cells:
        piece = Text(safe(cell.text), role_style(cell.role))
        if not cell.field:
            piece.highlight_regex(controls, CONTROL)
        found.append_text(piece)
    return found


def trained_text(cells: Sequence[Cell], *, marks: bool) -> Text:
    """The whole text, by role; trained stretches underlined, with `marks` also between « and »."""
    found = Text()
    for number, cell in enumerate(cells):
        style = role_style(cell.role) + (f" {TRAINED}" if cell.weight else "")
        shade = " on grey23" if cell.id is not None and number % 2 else ""
        before = number > 0 and cells[number - 1].weight != 0
        after = number + 1 < len(cells) and cells[number + 1].weight != 0
        if marks and cell.weight and not before:
            found.append("«")
        found.append(safe(cell.text), style + shade)
        if marks and cell.weight and not after:
            found.append("»")
    return found


def legend(cells: Iterable[Cell], *, marks: bool) -> Text:
    """The roles that occur, in their colours, and the mark of what is trained."""
    found = Text("roles: ")
    for role in dict.fromkeys(cell.role for cell in cells):
        found.append(role or "format", role_style(role)).append("  ")
    return found.append("trained: ").append("«like this»" if marks else "like this", TRAINED)


def token_rows(cells: Sequence[Cell], width: int) -> Iterator[Text]:
    """Lines of `id text` pairs, a paragraph a message, at most `width` columns wide where words allow."""
    groups = [
        (key, list(group)) for key, group in itertools.groupby(cells, lambda c: (c.message, c.role))
    ]
    labels = ["format" if index < 0 else f"{index} {role}" for (index, role), _ in groups]
    margin = max(map(len, labels), default=0) + 2
    for label, (_, group) in zip(labels, groups, strict=True):
        head = label.ljust(margin)
        for line in _filled(map(_token, group), max(width - margin, 20)):
            yield Text(head, role_style(group[0].role)).append_text(line)
            head = " " * margin


def cell_lines(cells: Sequence[Cell], places: Sequence[str]) -> Iterator[Text]:
    """A line a token: id, text, message, field, where the spec writes it; `*` marks what is trained."""
    rows = [
        (
            "" if cell.id is None else str(cell.id),
            visible(cell.text),
            "format" if cell.message < 0 else f"{cell.message} {cell.role}",
            cell.field,
            place,
        )
        for cell, place in zip(cells, places, strict=True)
    ]
    head = ("id", "text", "message", "field", "spec")
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    yield Text("  " + _row(head, widths), "bold")
    for cell, row in zip(cells, rows, strict=True):
        yield Text(("* " if cell.weight else "  ") + _row(row, widths), role_style(cell.role))


def _row(texts: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        text + " " * (width - cell_len(text)) for text, width in zip(texts, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def _token(cell: Cell) -> Text:
    mark = "*" if cell.weight else ""
    style = role_style(cell.role) if cell.field else "default"
    return Text.assemble((f"{mark}{cell.id} ", "dim"), (visible(cell.text), style))


def _filled(items: Iterable[Text], width: int) -> Iterator[Text]:
    line = Text()
    for item in items:
        if line and cell_len(line.plain) + 2 + cell_len(item.plain) > width:
            yield line
            line = Text()
        line = item if not line else line.append("  ").append_text(item)
    if line:
        yield line

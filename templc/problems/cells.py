"""How source lines look on a terminal: what each character shows as, and how wide that is.

Input: a line of a spec and a range of it; output: the shown text and the columns of the range, cut
to a window when the line is long. `window("a\\tbc", 2, 3)` is `("a    bc", 5, 1)`: the tab shows as
four blanks.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

MAX_WIDTH = 100
_TAB = "    "
_CUT = "..."


class Window(NamedTuple):
    """A shown line: its text, and the first column and the width of the marked range."""

    text: str
    start: int
    width: int


def visible(char: str) -> str:
    """What a character shows as: itself, or a name that moves no caret and hides nothing.

    Control characters show as their symbols; what reorders, joins or hides text as `<U+202E>`.
    """
    code = ord(char)
    match unicodedata.category(char):
        case "Cc" if char == "\t":
            return _TAB
        case "Cc" if code < 0x20:
            return chr(0x2400 + code)
        case "Cc" if code == 0x7F:
            return "\u2421"
        case "Cc" | "Cf" | "Cs" | "Cn" | "Co" | "Zl" | "Zp":
            return f"<U+{code:04X}>"
        case _:
            return char


def visible_text(text: str) -> str:
    """A text of one line with everything in it visible."""
    return "".join(map(visible, text))


def width(shown: str) -> int:
    """Terminal columns of a shown text: two for wide characters, none for combining ones."""
    return sum(map(_width, shown))


def _width(char: str) -> int:
    # Hangul vowels and final consonants join the syllable before them.
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def window(line: str, start: int, end: int) -> Window:
    """The part of `line` around `line[start:end]` that fits, with dots at the cuts.

    The range may be empty or stand at the end of the line; it is at least one column wide.
    """
    cells = [visible(char) for char in line]
    widths = [width(cell) for cell in cells]
    first, last = _bounds(widths, start, end)
    head = _CUT if first else ""
    tail = _CUT if last < len(cells) else ""
    marked = sum(widths[start : min(end, last)])
    before = len(head) + sum(widths[first:start])
    return Window(head + "".join(cells[first:last]) + tail, before, max(marked, 1))


def _bounds(widths: list[int], start: int, end: int) -> tuple[int, int]:
    """The range of characters to show: the marked ones, and what fits on each side."""
    if sum(widths) <= MAX_WIDTH:
        return 0, len(widths)
    room = MAX_WIDTH - 2 * len(_CUT)
    # A long range shows its start: that is where the reader looks first.
    last = _grow_right(widths, start, end, room * 3 // 4)
    room -= sum(widths[start:last])
    first = _grow_left(widths, start, room // 2)
    room -= sum(widths[first:start])
    wider = _grow_right(widths, last, len(widths), room)
    room -= sum(widths[last:wider])
    return _grow_left(widths, first, room), wider


def _grow_right(widths: list[int], at: int, limit: int, room: int) -> int:
    while at < limit and widths[at] <= room:
        room -= widths[at]
        at += 1
    return at


def _grow_left(widths: list[int], at: int, room: int) -> int:
    while at > 0 and widths[at - 1] <= room:
        at -= 1
        room -= widths[at]
    return at

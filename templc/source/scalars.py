"""Where each character of a scalar's value stands in the file, for every quoting style of YAML.

Input: a text and where a scalar stands in it; output: one `Place` for each character of its value:
the character itself, its escape, or the line break that was folded into it. In `"a\\tb"` (offset 0)
the places are `(1, 2)`, `(2, 4)`, `(4, 5)`.

The value is derived a second time here, by YAML's rules as PyYAML reads them, and compared with
PyYAML's: an approximation would point at the wrong character, so where the two differ every
character stands for the whole scalar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Place = tuple[int, int]
_Char = tuple[str, int, int]

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_LINE = re.compile("[^\r\n\x85\u2028\u2029]*")
_BLANKS = re.compile("[ \t]*")
_WHITE = frozenset(" \t\r\n\x85\u2028\u2029")
_HEADER = re.compile(r"[|>](?:[+-]?([1-9])?[+-]?)")
_ESCAPE = re.compile(r"\\(?:x(?P<x>.{2})|u(?P<u>.{4})|U(?P<U>.{8})|(?P<name>.))", re.DOTALL)
_NAMED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "_": "\xa0", "N": "\x85", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


def places(
    text: str, start: int, end: int, style: str | None, value: str, indent: int = -1
) -> list[Place]:
    """The half-open range of `text` for each character of `value`.

    The scalar stands at `text[start:end]`; `style` is one of None, `'`, `"`, `|`, `>`; `indent` is
    the column of the block collection around it, -1 when there is none.
    """
    chars = list(_chars(text, start, end, style, indent))
    if "".join(char for char, _, _ in chars) != value:
        return [(start, end)] * len(value)
    return [(first, stop) for _, first, stop in chars]


def _chars(text: str, start: int, end: int, style: str | None, indent: int) -> Iterator[_Char]:
    match style:
        case '"' | "'":
            yield from _flow(text, start + 1, end - 1, style)
        case "|" | ">":
            yield from _Block(text, indent, folded=style == ">").chars(start)
        case _:
            yield from _flow(text, start, end, None)


def _flow(text: str, at: int, end: int, quote: str | None) -> Iterator[_Char]:
    while at < end:
        char = text[at]
        if char in _WHITE:
            run, at = _white_space(text, at, end)
            yield from run
        elif char == "\\" and quote == '"':
            run, at = _escape(text, at, end)
            yield from run
        else:
            stop = at + 2 if quote == "'" and text.startswith("''", at) else at + 1
            yield char, at, stop
            at = stop


def _white_space(text: str, at: int, end: int) -> tuple[list[_Char], int]:
    """Blanks as they are, or a line break with the blanks around it folded."""
    blanks = _skip_blanks(text, at, end)
    first, after = _line_break(text, blanks)
    if first is None:
        return [(text[index], index, index + 1) for index in range(at, blanks)], blanks
    more, after = _empty_lines(text, after, end)
    if first[0] != "\n":
        return [first, *more], after
    return more or [(" ", first[1], first[2])], after


def _escape(text: str, at: int, end: int) -> tuple[list[_Char], int]:
    joined, after = _line_break(text, at + 1)
    if joined is not None:
        return _empty_lines(text, after, end)
    found = _ESCAPE.match(text, at, end)
    assert found is not None, "PyYAML accepts no other escape"
    code = found["x"] or found["u"] or found["U"]
    char = chr(int(code, 16)) if code else _NAMED.get(found["name"], found["name"])
    return [(char, at, found.end())], found.end()


def _skip_blanks(text: str, at: int, end: int) -> int:
    found = _BLANKS.match(text, at, end)
    assert found is not None
    return found.end()


def _line_break(text: str, at: int) -> tuple[_Char | None, int]:
    """The line break at a place, as the character it stands for, and where it ends."""
    found = _BREAK.match(text, at)
    if found is None:
        return None, at
    char = found.group() if found.group() in "\u2028\u2029" else "\n"
    return (char, at, found.end()), found.end()


def _empty_lines(text: str, at: int, end: int) -> tuple[list[_Char], int]:
    """The breaks of the empty lines from a line start on, and where the next text starts."""
    breaks: list[_Char] = []
    while True:
        at = _skip_blanks(text, at, end)
        found, at = _line_break(text, at)
        if found is None:
            return breaks, at
        breaks.append(found)


class _Block:
    """The characters of one block scalar."""

    def __init__(self, text: str, indent: int, *, folded: bool) -> None:
        self._text = text
        self._lowest = max(indent + 1, 1)
        self._folded = folded

    def chars(self, start: int) -> Iterator[_Char]:
        text = self._text
        header = _HEADER.match(text, start)
        assert header is not None, "PyYAML accepts no other header"
        _, at = _line_break(text, self._line_end(start))
        indent = self._lowest + int(header[1]) - 1 if header[1] else self._widest(at)
        breaks, at, inside = self._breaks(at, indent)
        last: _Char | None = None
        while inside:
            yield from breaks
            stop = self._line_end(at)
            yield from ((text[index], index, index + 1) for index in range(at, stop))
            indented = text[at] in " \t"
            last, at = _line_break(text, stop)
            breaks, at, inside = self._breaks(at, indent)
            if inside:
                yield from self._joint(last, breaks, indented or text[at] in " \t")
        yield from self._tail(header.group(), last, breaks)

    def _line_end(self, at: int) -> int:
        found = _LINE.match(self._text, at)
        assert found is not None
        return found.end()

    def _joint(self, last: _Char | None, breaks: list[_Char], indented: bool) -> Iterator[_Char]:
        """What the line break between two lines stands for."""
        if last is None:
            return
        if not self._folded or last[0] != "\n" or indented:
            yield last
        elif not breaks:
            yield " ", last[1], last[2]

    def _tail(self, header: str, last: _Char | None, breaks: list[_Char]) -> Iterator[_Char]:
        """The line breaks at the end that the chomping indicator keeps."""
        if last is not None and "-" not in header:
            yield last
        if "+" in header:
            yield from breaks

    def _widest(self, at: int) -> int:
        """The indentation that the first lines set: of the first text, or of a wider empty line."""
        widest = self._lowest
        while True:
            stop = self._skip_spaces(at, len(self._text))
            widest = max(widest, stop - at)
            found, at = _line_break(self._text, stop)
            if found is None:
                return widest

    def _breaks(self, at: int, indent: int) -> tuple[list[_Char], int, bool]:
        """The breaks of empty lines from a line start on, where it goes on, and if with text."""
        breaks: list[_Char] = []
        while True:
            stop = self._skip_spaces(at, at + indent)
            found, after = _line_break(self._text, stop)
            if found is None:
                return breaks, stop, stop - at == indent and stop < len(self._text)
            breaks.append(found)
            at = after

    def _skip_spaces(self, at: int, limit: int) -> int:
        while at < min(limit, len(self._text)) and self._text[at] == " ":
            at += 1
        return at

"""Layout of emitted Python: indentation, line width, string literals, calls and conditions that do not fit.

The output is already in its final form (that of `ruff format` at 100 columns), so that no formatter is needed and
no formatter release can make it stale. Widths count columns: East Asian wide characters take two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

WIDTH = 100
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


def columns(text: str) -> int:
    """How many columns a text takes on a line."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def literal(text: str) -> str:
    """A Python string literal: double quotes unless single ones need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char == quote:
        return "\\" + char
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


_CALL = re.compile(r"([A-Za-z]\w*)\((.*)\)", re.DOTALL)
_LINK = re.compile(r"\.\w+\((?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^()\"'])*\)")


def _chain(text: str) -> list[str]:
    """A chain of method calls: the first with what it is called on, then one a line."""
    links = [match.start() for match in _LINK.finditer(text)][1:]
    edges = [0, *links, len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


class Lines:
    """Collects lines; `with lines.indented():` goes one level in."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    @property
    def room(self) -> int:
        """Columns that are left on a line at this depth."""
        return WIDTH - 4 * self._depth

    def add(self, *lines: str) -> None:
        for line in lines:
            self._lines.append("    " * self._depth + line if line else "")

    def commented(self, line: str, comment: str) -> None:
        """A line with a comment at its end, or above it where it would not fit."""
        if columns(line) + 2 + columns(comment) <= self.room:
            self.add(f"{line}  {comment}")
        else:
            self.add(comment, line)

    def call(self, head: str, arguments: Sequence[str], tail: str = "") -> None:
        """`head(arguments)tail`, on one line, on an indented line, or one argument a line."""
        one = f"{head}({', '.join(arguments)}){tail}"
        if columns(one) <= self.room:
            self.add(one)
            return
        self.add(f"{head}(")
        with self.indented():
            joined = ", ".join(arguments)
            if columns(joined) <= self.room:
                self.add(joined)
            else:
                for argument in arguments:
                    self._argument(argument)
        self.add(f"){tail}")

    def _argument(self, text: str) -> None:
        """An argument on a line of its own; a call that does not fit is opened, and a chain of calls broken."""
        found = _CALL.fullmatch(text)
        if columns(text) < self.room or found is None:
            self.add(f"{text},")
            return
        self.add(f"{found[1]}(")
        with self.indented():
            inner = found[2]
            self.add(*([inner] if columns(inner) <= self.room else _chain(inner)))
        self.add("),")

    def listed(self, head: str, entries: Sequence[str], tail: str) -> None:
        """A bracketed list with one entry a line, whatever its length."""
        self.add(head)
        with self.indented():
            self.add(*(f"{entry}," for entry in entries))
        self.add(tail)

    def text(self, name: str, text: str) -> None:
        """A constant whose value has several lines, one source line each."""
        parts = text.splitlines(keepends=True)
        if len(parts) == 1 or columns(f"{name} = {literal(text)}") <= self.room:
            self.add(f"{name} = {literal(text)}")
            return
        self.add(f"{name} = (")
        with self.indented():
            self.add(*(literal(part) for part in parts))
        self.add(")")

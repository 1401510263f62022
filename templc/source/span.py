"""Sources and spans: where something stands in a file.

`Span(source, 10, 14).text` is `source.text[10:14]`; `str(span)` is `specs/x.yaml:28:30`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Source:
    """A text and the name to show for it. Lines and columns count from 1, columns in characters."""

    name: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _BREAK.finditer(self.text))]

    @property
    def line_count(self) -> int:
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset; ValueError outside of the text."""
        if not 0 <= offset <= len(self.text):
            raise ValueError(f"offset {offset} is outside of {self.name}")
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """One line, without its end; ValueError for a line that there is not."""
        if not 1 <= line <= self.line_count:
            raise ValueError(f"there is no line {line} in {self.name}")
        end = self._starts[line] if line < self.line_count else len(self.text)
        return self.text[self._starts[line - 1] : end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def first_line(self) -> Span:
        """The part of this span that stands on its first line."""
        found = _BREAK.search(self.source.text, self.start, self.end)
        return Span(self.source, self.start, found.start()) if found else self

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another one; itself when that ends before."""
        return Span(self.source, self.start, max(self.end, other.end))

    def find(self, text: str) -> Span:
        """The first place inside this span where `text` is written; else the whole span."""
        at = self.source.text.find(text, self.start, self.end)
        return self if at < 0 or not text else Span(self.source, at, at + len(text))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"

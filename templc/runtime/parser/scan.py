"""Where a call ends: search for its closer while it is being sampled, text inside its values aside.

A closer or opener inside a string value is *tentative*: it counts only if the call does not end well otherwise. Stop
tokens always count. `find` may be called again and again as the text grows; it never looks at a character twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from templc.runtime.parser.finder import finder_of
from templc.runtime.parser.grammar import ArgumentCall, BareCall, CallShape, TreeCall
from templc.runtime.parser.tree_calls import LONGEST_TAG, tag_at

LOOK_AHEAD = 16


class Found(NamedTuple):
    """An anchor in a call: where it stands in the text at hand, and what it spells."""

    start: int
    end: int
    core: str


class Scan:
    """Every anchor counts: for the rest of a turn in which a call ended badly."""

    def __init__(self, cores: Iterable[str], stops: Iterable[str]) -> None:
        self._stops = frozenset(stops)
        self._finder = finder_of(self._stops.union(cores))
        self.tentative: tuple[int, str] | None = None

    def find(self, text: str, at: int, base: int, final: bool) -> tuple[Found | None, int]:
        """The anchor that ends the call, or up to where the text is surely part of it; `base`: offset of `text`."""
        match, limit = self._finder.find(text, at, final)
        return (Found(match.start(), match.end(), match[0]) if match else None), limit

    def _doubt(self, at: int, core: str) -> None:
        if self.tentative is None:
            self.tentative = (at, core)


class JsonScan(Scan):
    """Anchors inside JSON strings are tentative."""

    def __init__(self, cores: Iterable[str], stops: Iterable[str]) -> None:
        super().__init__(cores, stops)
        anchors = self._finder.regex.pattern
        self._outside = re.compile(f'{anchors}|"')
        self._inside = re.compile(f'{anchors}|"|\\\\.?', re.DOTALL)
        self._in_string = False

    def find(self, text: str, at: int, base: int, final: bool) -> tuple[Found | None, int]:
        while True:
            match = (self._inside if self._in_string else self._outside).search(text, at)
            limit = len(text) if final else self._finder.partial(text, at)
            if match is None or match.start() >= limit:
                return None, limit
            found = match[0]
            if found == '"':
                self._in_string = not self._in_string
            elif found == "\\" and not final:
                return None, match.start()
            elif not found.startswith("\\"):
                if not self._in_string or found in self._stops:
                    return Found(match.start(), match.end(), found), match.start()
                self._doubt(base + match.start(), found)
            at = match.end()


class ArgumentScan(Scan):
    """Anchors inside values are tentative, except the whole close of the call.

    A value ends at its own close only where another argument or the end of the call follows.
    """

    def __init__(self, shape: ArgumentCall, cores: Iterable[str], stops: Iterable[str]) -> None:
        super().__init__(cores, stops)
        opening, closing = argument_edges(shape)
        tail, close = shape.tail.strip(), shape.close.core
        follow = "|".join(re.escape(text) for text in (opening, tail, close) if text)
        blanks = rf"\s{{0,{LOOK_AHEAD}}}"
        self._ends = re.compile(f"{re.escape(closing)}{blanks}(?:{follow})")
        self._whole = re.compile(f"{re.escape(tail)}{blanks}{re.escape(close)}") if tail else None
        self._reach = LOOK_AHEAD + len(closing) + max(map(len, (opening, tail, close)))
        marks = (opening, closing, *([tail] if tail else []))
        self._marks = finder_of(self._stops.union(cores, marks))
        self._opening, self._closing, self._tail, self._close = opening, closing, tail, close
        self._in_value = False

    def find(self, text: str, at: int, base: int, final: bool) -> tuple[Found | None, int]:
        while True:
            match, limit = self._marks.find(text, at, final)
            if match is None:
                return None, limit
            found, start = match[0], match.start()
            if (
                found in (self._closing, self._tail)
                and not final
                and len(text) - start < self._reach
            ):
                return None, start
            whole = self._whole.match(text, start) if self._whole and found == self._tail else None
            if whole is not None:
                return Found(whole.end() - len(self._close), whole.end(), self._close), start
            if found in self._stops or (not self._in_value and found not in self._own()):
                return Found(start, match.end(), found), start
            self._step(text, start, base, found)
            at = match.end()

    def _own(self) -> tuple[str, ...]:
        return self._opening, self._closing, self._tail

    def _step(self, text: str, start: int, base: int, found: str) -> None:
        if found == self._opening:
            self._in_value = True
        elif found == self._closing:
            self._in_value = self._in_value and self._ends.match(text, start) is None
        elif found != self._tail:
            self._doubt(base + start, found)


class TreeScan(Scan):
    """Anchors inside the tags of an argument are tentative: a tag may have the name of an anchor."""

    def __init__(self, shape: TreeCall, cores: Iterable[str], stops: Iterable[str]) -> None:
        super().__init__(cores, stops)
        self._mark = shape.mark
        self._cores = sorted(cores, key=len, reverse=True)
        apart = {core for core in self._cores if not core.startswith(shape.mark)}
        self._marks = finder_of(self._stops.union(apart, [shape.mark]))
        self._open: list[str] = []

    def find(self, text: str, at: int, base: int, final: bool) -> tuple[Found | None, int]:
        while True:
            match, limit = self._marks.find(text, at, final)
            if match is None:
                return None, limit
            found, start, at = match[0], match.start(), match.end()
            if found != self._mark:
                if found in self._stops or not self._open:
                    return Found(start, at, found), start
                self._doubt(base + start, found)
                continue
            tag = tag_at(text, at)
            if (
                tag is None
                and not final
                and len(text) - at < LONGEST_TAG + 3
                and ">" not in text[at:]
            ):
                return None, start
            core = next((core for core in self._cores if text.startswith(core, start)), "")
            if self._nests(tag, len(core) - len(self._mark)):
                if core and tag is not None and not tag[1]:
                    self._doubt(base + start, core)
            elif core and not self._open:
                return Found(start, start + len(core), core), start
            elif core:
                self._doubt(base + start, core)

    def _nests(self, tag: re.Match[str] | None, size: int) -> bool:
        """Whether a tag opens, or closes what was opened last, so that it is an argument's.

        size: length of the anchor that stands there too; one that has more in its tag, a call's opener, is none.
        """
        if tag is None:
            return False
        if tag[1]:
            last = bool(self._open) and self._open[-1] == tag[2]
            if last:
                self._open.pop()
            return last
        if 0 < size < len(tag[0]) - 1:
            return False
        self._open.append(tag[2])
        return True


class BareScan(Scan):
    """The brace that closes the object that a call is, or a stop."""

    def __init__(self, stops: Iterable[str]) -> None:
        super().__init__((), stops)
        stop = "|".join(map(re.escape, self._stops)) or "(?!)"
        self._outside = re.compile(rf'{stop}|"|[{{}}]')
        self._inside = re.compile(rf'{stop}|"|\\.?', re.DOTALL)
        self._in_string = False
        self._depth = 1

    def find(self, text: str, at: int, base: int, final: bool) -> tuple[Found | None, int]:
        while True:
            match = (self._inside if self._in_string else self._outside).search(text, at)
            limit = len(text) if final else self._finder.partial(text, at)
            if match is None or match.start() >= limit:
                return None, limit
            found, at = match[0], match.end()
            if found == "\\" and not final:
                return None, match.start()
            if found in self._stops:
                return Found(match.start(), at, found), match.start()
            self._in_string ^= found == '"'
            self._depth += {"{": 1, "}": -1}.get(found, 0)
            if self._depth == 0:
                return Found(match.start(), at, found), match.start()


def argument_edges(shape: ArgumentCall) -> tuple[str, str]:
    """What an argument begins and ends with, white space aside."""
    first, last = shape.argument[0], shape.argument[-1]
    return str(first).strip(), str(last).strip()


def scan_for(shape: CallShape, definite: bool) -> Callable[[Iterable[str], Iterable[str]], Scan]:
    """What searches for the end of a call of this shape."""
    if isinstance(shape, BareCall):
        return lambda cores, stops: BareScan(stops)
    if isinstance(shape, ArgumentCall) and shape.between:
        return lambda cores, stops: Scan((), stops)
    if definite:
        return Scan
    if isinstance(shape, ArgumentCall):
        return lambda cores, stops: ArgumentScan(shape, cores, stops)
    if isinstance(shape, TreeCall):
        return lambda cores, stops: TreeScan(shape, cores, stops)
    return JsonScan

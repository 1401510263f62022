"""What a completion has said so far: fields, calls, spans, errors and notes, by offset in the turn.

What the prompt said of the turn is kept apart: it counts for rendering the whole turn again, never for the message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from templc.runtime.parsed import Delta
from templc.runtime.parser.alphabet import STAND_INS, Alphabet
from templc.runtime.parser.calls import ReadCall

MOST = 100


class Issue(NamedTuple):
    """An error or a note, by offsets."""

    code: str
    message: str
    start: int
    end: int
    raw: str = ""


@dataclass(slots=True)
class Record:
    """`mark`: where the completion begins in the turn; deltas, spans and issues are of what follows it."""

    alphabet: Alphabet
    mark: int = 0
    given: dict[str, list[str]] = field(default_factory=lambda: {"content": [], "reasoning": []})
    sampled: dict[str, list[str]] = field(default_factory=lambda: {"content": [], "reasoning": []})
    given_calls: list[ReadCall] = field(default_factory=list)
    calls: list[ReadCall] = field(default_factory=list)
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    errors: list[Issue] = field(default_factory=list)
    notes: list[Issue] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    _noted: dict[str, int] = field(default_factory=dict)

    def begin(self, mark: int) -> None:
        """The completion begins here; what was said before is the prompt's."""
        self.mark = mark
        for name, parts in self.sampled.items():
            self.given[name], parts[:] = [*self.given[name], *parts], []
        self.given_calls, self.calls = self.calls, []
        self.spans, self.errors, self.notes, self.deltas = [], [], [], []
        self._noted = {}

    def span(self, start: int, end: int, kind: str) -> None:
        """`start` to `end` is of this kind; spans come in order and leave no gap."""
        start = max(start, self.mark)
        if start >= end:
            return
        if self.spans and self.spans[-1][2] == kind and self.spans[-1][1] == start:
            self.spans[-1] = (self.spans[-1][0], end, kind)
        else:
            self.spans.append((start, end, kind))

    def put(self, name: str, text: str, start: int) -> None:
        """Add text to a field; control tokens in it are kept as text, with a note."""
        if not text:
            return
        if name not in self.sampled:
            self.span(start, start + len(text), "scaffold")
            return
        cut = max(0, min(len(text), self.mark - start))
        self.given[name] += [self.alphabet.outside(text[:cut])] if cut else []
        if cut == len(text):
            return
        self.span(start, start + len(text), name)
        outside = self.alphabet.outside(text[cut:])
        if outside != text[cut:]:
            self._stray(text, cut, start)
        self.sampled[name].append(outside)
        self._delta(name, outside, -1)

    def _stray(self, text: str, cut: int, start: int) -> None:
        for found in STAND_INS.finditer(text, cut):
            token, at = self.alphabet.outside(found[0]), start + found.start()
            if not self.note(
                "stray_control", f"{token} is not expected here, kept as text", at, at + 1
            ):
                break

    def call(self, found: ReadCall, start: int, end: int, raw: str) -> None:
        """Add a call that stands at `start` to `end`."""
        if end <= self.mark:
            self.given_calls.append(found)
            return
        self.calls.append(found)
        for code, message in found.errors:
            self.error(code, message, start, end, raw)
        for code, message in found.notes:
            self.note(code, message, start, end)
        index = len(self.calls) - 1
        self.deltas.append(Delta("tool_name", found.name, index))
        text = found.raw if isinstance(found.raw, str) else ""
        self.deltas.append(Delta("tool_arguments", text, index, found.arguments))

    def error(self, code: str, message: str, start: int, end: int, raw: str = "") -> None:
        if end > self.mark:
            self.errors.append(
                Issue(code, message, max(start, self.mark), end, self.alphabet.outside(raw))
            )

    def note(self, code: str, message: str, start: int, end: int) -> bool:
        """Add a note; False once there are so many of this kind that no more are taken."""
        if end < self.mark or (end == self.mark and start < end):
            return True
        count = self._noted.get(code, 0)
        if count >= MOST:
            return False
        self._noted[code] = count + 1
        self.notes.append(Issue(code, message, max(start, self.mark), end))
        return True

    def text(self, name: str, *, whole: bool = False) -> str:
        """A field of the message; `whole`: of the turn with what the prompt said of it."""
        return "".join([*(self.given[name] if whole else ()), *self.sampled[name]])

    def empty(self, name: str) -> bool:
        """Whether the turn has no text in a field yet."""
        return not (self.given[name] or self.sampled[name])

    def taken(self) -> list[Delta]:
        """The deltas since the last time."""
        found, self.deltas = self.deltas, []
        return found

    def _delta(self, kind: str, text: str, index: int) -> None:
        if self.deltas and self.deltas[-1].kind == kind:
            self.deltas[-1] = Delta(kind, self.deltas[-1].text + text, index)
        else:
            self.deltas.append(Delta(kind, text, index))

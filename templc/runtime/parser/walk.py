"""A completion that is written as the format writes it, read from anchor to anchor.

Owns the walk over the states of the automaton, with every white space where it belongs, and calls that are read well.
The first thing that is unusual ends it.

    Walk(table, alphabet, call_id, tools).told(begin, turn).fields  ->  {"content": "Yes."}
"""

from __future__ import annotations

import re
from typing import NamedTuple

from templc.runtime import fold
from templc.runtime.parser.alphabet import STAND_INS, Alphabet
from templc.runtime.parser.calls import BadCall, ReadCall, Reading
from templc.runtime.parser.grammar import ArgumentCall, CallShape, FieldCall, JsonCall, Strip
from templc.runtime.parser.scan import LOOK_AHEAD, argument_edges
from templc.runtime.parser.states import SOLID, Begin, Exit, State, Table
from templc.runtime.tools import parameters_of


class Told(NamedTuple):
    """What a completion has: fields, calls, what stopped it, its text. reasoned: it opened reasoning."""

    fields: dict[str, str]
    calls: list[ReadCall]
    reasoned: bool
    stop: str
    text: str


class Walk:
    """Reads one completion; call_id and tools as `Reading` and the conversation have them."""

    def __init__(self, table: Table, alphabet: Alphabet, call_id: str, tools: fold.Tools) -> None:
        self._table, self._alphabet = table, alphabet
        self._call_id, self._tools = call_id, tools
        self._reading: Reading | None = None
        self._fields: dict[str, str] = {}
        self._calls: list[ReadCall] = []
        self._parts: list[str] = []

    def told(self, begin: Begin, turn: str) -> Told | None:
        """What the turn says; None where it is not as usual."""
        state, eat, reasoned = begin
        at, parts = 0, self._parts
        while (match := _anchor(state, eat, turn, at)) is not None:
            stretch = turn[at : match.start()]
            way = self._way(state, eat, stretch, match[0])
            if way is None:
                return None
            parts += (stretch, way.spelled)
            at, eat = match.end(), way.post
            match way.kind:
                case "stop":
                    if at < len(turn) or state.gap or state.name != "content":
                        return None
                    return Told(self._fields, self._calls, reasoned, way.spelled, "".join(parts))
                case "call":
                    at, eat = self._called(way, turn, at) if state.name == "content" else (-1, "")
                    if at < 0:
                        return None
                case "again":
                    return None
            state = self._table.states[way.target]
            reasoned = reasoned or state.name == "reasoning"
        return None

    def _way(self, state: State, eat: str, stretch: str, core: str) -> Exit | None:
        """The way on from a state, its text taken; None where white space or anything else is not as usual."""
        if not stretch and core[0] in state.empty:
            return None
        way = state.exits.get(core)
        if state.gap:
            return way if stretch.startswith(eat) and not stretch[len(eat) :].strip() else None
        if way is None or state.late:
            way = way or state.lead.get(core)
            return way if way is not None and stretch == eat + way.pre else None
        if way.alone is not None and stretch == eat + way.alone:
            return way
        size = len(stretch) - len(eat) - len(way.pre)
        if size < 0 or not (stretch.startswith(eat) and stretch.endswith(way.pre)):
            return None
        text = stretch[len(eat) : len(eat) + size]
        if state.name in self._fields or not _kept(state.strip, text):
            return None
        self._fields[state.name] = text
        return way

    # calls

    def _called(self, way: Exit, turn: str, at: int) -> tuple[int, str]:
        """Take the call whose opener ends at `at`: where it ends, the white space to come; -1 where it is unusual."""
        match = way.ends.search(turn, at) if way.ends is not None else None
        if match is None or way.calls is None:
            return -1, ""
        close, body = way.calls.call.close, turn[at : match.start()]
        for shape in (way.calls.call, *way.others):
            found = self._read(shape, body)
            if found is not None:
                break
        if not found or close.core not in ("", match[0]):
            return -1, ""
        self._calls += found
        self._parts += (self._alphabet.outside(body), self._alphabet.outside(close.core))
        return match.start() + len(close.core), close.post

    def _read(self, shape: CallShape, body: str) -> list[ReadCall] | None:
        """The calls in a body that ends before the first anchor; None where it has another shape.

        There are none where the machine has to look at it.
        """
        if self._reading is None:
            self._reading = Reading(parameters_of(self._tools), self._call_id, self._alphabet)
        if isinstance(shape, ArgumentCall) and not _complete(shape, body):
            return []
        try:
            found = self._reading.read_all(shape, body)
        except BadCall:
            return None
        for call in found:
            if call.errors or call.notes:
                return []
        return found if _sealed(shape, body, found) else []


def _anchor(state: State, eat: str, turn: str, at: int) -> re.Match[str] | None:
    """The anchor that ends what begins at `at`; None where there is none or a stray control token before it."""
    at += len(eat) if turn.startswith(eat, at) else 0
    if state.plain:
        control = STAND_INS.search(turn, at)
        return control and state.lead_finder.regex.match(turn, control.start())
    match = state.finder.regex.search(turn, at)
    if state.leads and (solid := SOLID.search(turn, at)) is not None:
        match = state.lead_finder.regex.match(turn, solid.start()) or match
    stray = match is None or STAND_INS.search(turn, at, match.start()) is not None
    return None if stray or state.name not in ("content", "reasoning") else match


def _kept(strip: Strip, text: str) -> bool:
    """Whether a field has its text as it stands: nothing is stripped of it."""
    left = strip.left == "" or not text[:1].isspace()
    return left and (strip.right == "" or not text[-1:].isspace())


def _sealed(shape: CallShape, body: str, found: list[ReadCall]) -> bool:
    """Whether the anchor behind a body was surely not inside of a string, where the machine takes it for text.

    It looks for strings from quote to quote. JSON that was read closes its strings, so in other parts no quote stands.
    """
    match shape:
        case JsonCall():
            return STAND_INS.search(body) is None
        case FieldCall():
            controls = sum(len(STAND_INS.findall(x)) for x in shape.inner if isinstance(x, str))
            raw = found[0].raw
            same = len(STAND_INS.findall(body)) == controls
            return same and isinstance(raw, str) and body.count('"') == raw.count('"')
    return isinstance(shape, ArgumentCall) or '"' not in body


def _complete(shape: ArgumentCall, body: str) -> bool:
    """Whether a body ends as the machine expects behind the last argument."""
    opening, closing = argument_edges(shape)
    solid = body.rstrip()
    if len(body) - len(solid) > LOOK_AHEAD:
        return False
    tail = shape.tail.strip()
    return solid.endswith(tail or closing) or not (tail or opening in body)

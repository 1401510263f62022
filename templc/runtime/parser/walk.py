"""A completion that is written as the format writes it, read from anchor to anchor.

Owns the walk over the states of the automaton, with every white space where it belongs, and calls that are read well.
The first thing that is unusual ends it. A turn comes as its control tokens and the texts between them.

    walk = Walk(states, reading, ["Yes.", ""], ["\ud801"])
    walk.stop(begin)  ->  the exit of "\ud801"
    walk.fields       ->  {"content": "Yes."}
"""

from __future__ import annotations

from collections.abc import Sequence

from templc.runtime.parser.alphabet import PARTS, STAND_INS, has_stand_ins
from templc.runtime.parser.calls import BadCall, ReadCall, Reading
from templc.runtime.parser.grammar import ArgumentCall, CallShape, FieldCall, JsonCall, Strip
from templc.runtime.parser.scan import LOOK_AHEAD, argument_edges
from templc.runtime.parser.states import SOLID, Begin, Exit, State
from templc.runtime.parser.vocabulary import woven


class Walk:
    """Reads one completion; what it has is in `fields` and `calls`, `reasoned`: whether it opened reasoning.

    texts: before, between and behind the controls, one more than those.
    """

    __slots__ = (
        "_at",
        "_controls",
        "_reading",
        "_states",
        "_text",
        "_texts",
        "calls",
        "fields",
        "reasoned",
    )

    def __init__(
        self,
        states: Sequence[State],
        reading: Reading,
        texts: list[str],
        controls: list[str],
    ) -> None:
        self._states, self._reading = states, reading
        self._texts, self._controls = texts, controls
        # Read up to `_text`, which stands before control number `_at`.
        self._text, self._at = texts[0], 0
        self.fields: dict[str, str] = {}
        self.calls: list[ReadCall] = []
        self.reasoned = False

    def stop(self, begin: Begin) -> Exit | None:
        """The way that ends the turn; None where something is not as usual."""
        state, eat, self.reasoned = begin
        while True:
            found = self._opening(state) if state.plain else self._anchor(state, eat)
            way = found and self._way(state, eat, *found)
            if not way:
                return None
            eat = way.post
            match way.kind:
                case "stop":
                    behind = self._text or self._at < len(self._controls)
                    return None if behind or state.gap or state.name != "content" else way
                case "call":
                    behind_call = self._called(way) if state.name == "content" else None
                    if behind_call is None:
                        return None
                    eat = behind_call
                case "again":
                    return None
            state = self._states[way.target]
            self.reasoned = self.reasoned or state.name == "reasoning"

    # anchors

    def _opening(self, state: State, *, lead: bool = True) -> tuple[str, str] | None:
        """The text before the next control token and the anchor that begins with it; None where none does.

        lead: those that count only before any text are among them.
        """
        at, controls = self._at, self._controls
        if at == len(controls):
            return None
        for core, others, texts, leads in state.openings.get(controls[at], ()):
            end = at + 1 + len(others)
            if len(core) > 1:
                behind = self._texts[at + 1 : end + 1]
                if controls[at + 1 : end] != others or behind[:-1] != texts[:-1]:
                    continue
                if len(behind) < len(texts) or not behind[-1].startswith(texts[-1]):
                    continue
            if leads and not lead:
                continue
            before = self._text
            self._at, self._text = end, self._texts[end].removeprefix(texts[-1])
            return before, core
        return None

    def _anchor(self, state: State, eat: str) -> tuple[str, str] | None:
        """The same where anchors may be texts; None where a stray control token stands before the first one."""
        if state.mixed or state.name not in ("content", "reasoning"):
            return None
        text = self._text
        at = len(eat) if text.startswith(eat) else 0
        solid = SOLID.search(text, at)
        match = state.texts.search(text, at)
        if solid is not None and state.leads:
            match = state.lead_texts.match(text, solid.start()) or match
        if match is None:
            return self._opening(state, lead=solid is None)
        self._text = text[match.end() :]
        return text[: match.start()], match[0]

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
        if state.name in self.fields or not _kept(state.strip, text):
            return None
        self.fields[state.name] = text
        return way

    # calls

    def _called(self, way: Exit) -> str | None:
        """Take the call whose opener was read last: the white space to come; None where it is unusual."""
        texts, controls, at = self._texts, self._controls, self._at
        if way.ends is None or way.calls is None:
            return None
        close = way.calls.call.close
        if close.core in way.last:
            end = next((end for end in range(at, len(controls)) if controls[end] in way.last), -1)
            if end < 0 or controls[end] != close.core:
                return None
            body = woven((self._text, *texts[at + 1 : end + 1]), controls[at:end])
            self._at, self._text = end + 1, texts[end + 1]
        else:
            rest = woven((self._text, *texts[at + 1 :]), controls[at:])
            match = way.ends.search(rest)
            if match is None or close.core not in ("", match[0]):
                return None
            body = rest[: match.start()]
            parts = PARTS.split(rest[match.start() + len(close.core) :])
            self._texts, self._controls, self._at, self._text = parts[::2], parts[1::2], 0, parts[0]
        for shape in (way.calls.call, *way.others):
            found = self._read(shape, body)
            if found is not None:
                break
        if not found:
            return None
        self.calls += found
        return close.post

    def _read(self, shape: CallShape, body: str) -> list[ReadCall] | None:
        """The calls in a body that ends before the first anchor; None where it has another shape.

        There are none where the machine has to look at it.
        """
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
            return not has_stand_ins(body)
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

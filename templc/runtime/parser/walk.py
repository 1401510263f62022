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
from templc.runtime.parser.grammar import (
    Anchor,
    ArgumentCall,
    CallShape,
    FieldCall,
    JsonCall,
    Strip,
)
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
            at, controls = self._at, self._controls
            way = state.sealed.get(controls[at]) if at < len(controls) else None
            if way is None:
                way = self._anchor(state, eat)
                if way is None:
                    return None
            else:
                text, self._text, self._at = self._text, self._texts[at + 1], at + 1
                if way.free and not eat and state.name not in self.fields:
                    self.fields[state.name] = text
                elif not self._taken(state, eat, text, way):
                    return None
            match way.kind:
                case "stop":
                    behind = self._text or self._at < len(self._controls)
                    return None if behind or state.gap or state.name != "content" else way
                case "call":
                    close = self._called(way) if state.name == "content" else None
                    if close is None:
                        return None
                    eat = close.post
                case "again":
                    return None
                case _:
                    eat = way.post
            state = self._states[way.target]
            if state.name == "reasoning":
                self.reasoned = True

    # anchors

    def _anchor(self, state: State, eat: str) -> Exit | None:
        """The way of the next anchor, which may be a text or more than a control token, its text taken.

        None where a control token before it is stray, and where anything else is not as usual.
        """
        text, solid, match = self._text, None, None
        if not state.plain:
            if state.mixed or state.name not in ("content", "reasoning"):
                return None
            at = len(eat) if text.startswith(eat) else 0
            solid = SOLID.search(text, at)
            match = state.texts.regex.search(text, at)
            if solid is not None and state.leads:
                match = state.lead_texts.regex.match(text, solid.start()) or match
        if match is None:
            core = self._opening(state, lead=state.plain or solid is None)
        else:
            core = match[0]
            text, self._text = text[: match.start()], text[match.end() :]
        if not core or (not text and core[0] in state.empty):
            return None
        way = state.exits.get(core)
        if way is None and not state.gap:
            way = state.lead.get(core)
        return way if way is not None and self._taken(state, eat, text, way) else None

    def _opening(self, state: State, *, lead: bool) -> str:
        """The anchor that begins with the next control token, which is read; empty where none does.

        lead: those that count only before any text are among them.
        """
        at, controls = self._at, self._controls
        if at == len(controls):
            return ""
        for core, others, texts, leads in state.openings.get(controls[at], ()):
            end = at + 1 + len(others)
            behind = self._texts[at + 1 : end + 1]
            if controls[at + 1 : end] != others or behind[:-1] != texts[:-1]:
                continue
            if behind[-1].startswith(texts[-1]) and (lead or not leads):
                self._at, self._text = end, behind[-1][len(texts[-1]) :]
                return core
        return ""

    def _taken(self, state: State, eat: str, stretch: str, way: Exit) -> bool:
        """Whether what stands before an anchor is as usual: white space where it belongs, a text, which is taken."""
        if state.gap:
            return stretch.startswith(eat) and not stretch[len(eat) :].strip()
        pre = way.pre
        if way.bare:
            return stretch == eat + pre
        if way.alone is not None and stretch == eat + way.alone:
            return True
        size = len(stretch) - len(eat) - len(pre)
        if size < 0 or not (stretch.startswith(eat) and stretch.endswith(pre)):
            return False
        text = stretch[len(eat) : len(eat) + size]
        name = state.name
        if name in self.fields or (state.stripped and not _kept(state.strip, text)):
            return False
        self.fields[name] = text
        return True

    # calls

    def _called(self, way: Exit) -> Anchor | None:
        """Take the call whose opener was read last: what closes it; None where it is unusual."""
        texts, controls, at = self._texts, self._controls, self._at
        if way.ends is None or way.calls is None:
            return None
        close = way.calls.call.close
        if close.core in way.last:
            end = at
            while end < len(controls) and controls[end] not in way.last:
                end += 1
            if end == len(controls) or controls[end] != close.core:
                return None
            body = self._text
            self._at, self._text = end + 1, texts[end + 1]
            if end > at:
                body = woven((body, *texts[at + 1 : end + 1]), controls[at:end])
            elif way.usual is not None and (usual := self._reading.usual(*way.usual, body)):
                self.calls.append(usual)
                return close
        else:
            rest = woven((self._text, *texts[at + 1 :]), controls[at:])
            match = way.ends.regex.search(rest)
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
        return close

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

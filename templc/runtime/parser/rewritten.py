"""Rendering a parsed message again and comparing it with what was sampled.

`canonical` is defined by this comparison, with the renderer's own body and closer, never by bookkeeping.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templc.runtime.change import common
from templc.runtime.codec import Codec
from templc.runtime.encode import ids_of
from templc.runtime.ending import cut
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Reader
from templc.runtime.parsed import Again
from templc.runtime.parser.alphabet import Alphabet, has_stand_ins
from templc.runtime.parser.start import Start
from templc.runtime.pieces import Piece, text_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Writes the turn that a message gives at this place of the conversation."""

    renderer: Renderer
    codec: Codec | None
    alphabet: Alphabet
    start: Start

    def compare(
        self,
        message: dict[str, Any],
        turn: str,
        stop: str | None,
        mark: int,
        ids: list[int] | None,
    ) -> Again:
        """`turn` against the rendering of `message`; the closer is left out where there is no stop.

        MessageError where the format cannot express the message.
        """
        body, closer = self._pieces(message)
        pieces = body + ([] if stop is None else [*closer, *self._overlap(closer, stop)])
        given = self.alphabet.outside(turn[:mark])
        if ids is not None and text_of(pieces).startswith(given):
            with suppress(TemplcError):
                # The same ids say the same: most completions end here.
                if self._ids(pieces, len(given)) == ids:
                    return Again(True)
        written = self._inside(pieces)
        if any(piece.body and has_stand_ins(piece.text) for piece in pieces):
            return Again(False, offset=mark)
        if written != turn:
            return Again(False, offset=max(mark, first_difference(written, turn)))
        if ids is None:
            return Again(True)
        wanted = self._ids(pieces, len(given))
        same = common(ids, wanted)
        return Again(True, None if same == len(ids) == len(wanted) else same)

    def _ids(self, pieces: list[Piece], skipped: int) -> list[int]:
        """The ids of the pieces behind what the prompt holds of them."""
        assert self.codec is not None
        specials = self.renderer.content_specials
        return ids_of(cut(pieces, skipped), self.codec, specials, at_start=False)

    def _pieces(self, message: dict[str, Any]) -> tuple[list[Piece], list[Piece]]:
        renderer, start = self.renderer, self.start
        read = Reader(renderer.rules, renderer.as_template, start.calls).read(message, 0)
        out = Writer(start.tools, start.lead)
        if not renderer.as_template:
            renderer.check(out, read, start.past)
        future = renderer.future(prompt=False, live=True)
        renderer.parts["body"](renderer, out, read, start.past, future)
        size = len(out.pieces)
        if "closer" in renderer.parts:
            renderer.parts["closer"](renderer, out, read, start.past, future)
        return out.pieces[:size], out.pieces[size:]

    def _overlap(self, closer: list[Piece], stop: str) -> list[Piece]:
        """What the stop holds beyond the closer: text of the next turn, which the model writes to end its own."""
        text = text_of(closer)
        spelled = self.alphabet.outside(stop)
        rest = spelled[len(text) :] if spelled.startswith(text) else ""
        beyond = spelled in self.renderer.stop_strings or not text
        return [Piece(rest)] if beyond and rest else []

    def _inside(self, pieces: list[Piece]) -> str:
        """The text of pieces with control tokens as characters, none of them recognised in text of a message."""
        found: list[str] = []
        scaffold: list[str] = []
        for piece in (*pieces, Piece("", True)):
            if not piece.body:
                scaffold.append(piece.text)
                continue
            found += [self._controls("".join(scaffold)), piece.text]
            scaffold = []
        return "".join(found)

    def _controls(self, text: str) -> str:
        if self.codec is None or not text:
            return self.alphabet.inside(text)
        found, done = [], 0
        for match in self.codec.controls.find(text):
            found += [
                text[done : match.start],
                self.alphabet.character(match.token.text) or match.token.text,
            ]
            done = match.end
        return "".join(found) + text[done:]


def first_difference(one: str, other: str) -> int:
    """Length of what two texts begin alike with."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low

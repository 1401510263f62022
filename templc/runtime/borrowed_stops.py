"""Stops of formats without a closer: the model ends its turn with the token that opens the next one.

In a training example that token belongs to the turn that it ends: `<|user|>` behind an answer of GLM, `<|observation|>`
behind its calls. Where nothing follows the turn, the token is added.

    with_stops(renderer, turns, tools, pieces)    the pieces, each such token apart, sampled, of the turn before it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templc.runtime.fold import Tools, Turns
from templc.runtime.messages import Message
from templc.runtime.pieces import Piece, text_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def borrows_stops(renderer: Renderer) -> bool:
    """Whether turns of the format have no closer of their own."""
    return "closer" not in renderer.parts and bool(renderer.info.stop)


def with_stops(renderer: Renderer, turns: Turns, tools: Tools, pieces: list[Piece]) -> list[Piece]:
    """The pieces of a conversation with every stop that its turns borrow."""
    found: list[Piece] = []
    before = -1
    for piece in pieces:
        at = piece.message
        stop = _opening(renderer, piece.text) if at == before + 1 > 0 else ""
        if stop and turns.messages[before].role == "assistant":
            found.append(Piece(stop, message=before, sampled=True))
            piece = piece._replace(text=piece.text[len(stop) :])
        found += [piece] if piece.text else []
        before = max(before, at)
    last = len(turns.messages) - 1
    if turns.messages[last].role == "assistant":
        stop = _next_opening(renderer, turns, tools)
        found += [Piece(stop, message=last, sampled=True)] if stop else []
    return found


def _opening(renderer: Renderer, text: str) -> str:
    return next((stop for stop in renderer.info.stop if text.startswith(stop)), "")


def _next_opening(renderer: Renderer, turns: Turns, tools: Tools) -> str:
    """What opens the turn that follows the last one: that of a tool behind calls, else that of the user."""
    calls = turns.messages[-1].calls
    role = "tool" if calls and "tool" in renderer.turns else "user"
    message = Message(role, content="next", call_id=calls[-1].id if role == "tool" else "")
    out = Writer(tools)
    renderer.turns[role](renderer, out, message, turns.pasts[-1], renderer.future(prompt=True))
    return _opening(renderer, text_of(out.pieces))

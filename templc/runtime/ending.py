"""The end of what was written: what stands behind the last message, what is missing of it, and how to cut it off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.history import Node, State, emission
from templc.runtime.pieces import Piece, text_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def tail(renderer: Renderer, state: State, node: Node) -> str:
    """What was written from the last message on: its turn less what is pending, or the finish and the prompt."""
    text = text_of(emission(renderer, state, node, node.seen))
    if not state.pending:
        return text + end(renderer, state)
    waiting = Writer(state.tools, state.lead)
    write_pending(renderer, waiting, node, state.pending, node.seen)
    return text.removesuffix(text_of(waiting.pieces))


def end(renderer: Renderer, state: State) -> str:
    """What was written behind the last message: the finish, and the prompt where there is one."""
    if not (state.prompt or "finish" in renderer.parts):
        return ""
    out = Writer(state.tools, state.lead)
    fold.write_end(renderer, out, state.past, state.prompt)
    return text_of(out.pieces)


def cut(pieces: list[Piece], length: int) -> list[Piece]:
    """The pieces behind the first `length` characters."""
    for at, piece in enumerate(pieces):
        if length < len(piece.text):
            return [piece._replace(text=piece.text[length:]), *pieces[at + 1 :]]
        length -= len(piece.text)
    return []


def write_pending(
    renderer: Renderer, out: Writer, node: Node, pending: tuple[str, ...], future: Any
) -> None:
    """Write what is missing of a sampled turn: the closer that the model did not write, and the trailer."""
    out.message = node.index
    for name in pending:
        if name in renderer.parts:
            renderer.parts[name](renderer, out, node.message, node.past, future)
    out.message = -1

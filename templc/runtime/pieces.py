"""The stretches of text that a renderer writes, each with its origin.

Owns `Piece`, the one type between a renderer (writes pieces) and the encoder (turns them into `Tokens`). Example:

    [Piece("<|im_start|>user\\n", message=0), Piece("hello", body=True, message=0, field="content")]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Piece(NamedTuple):
    """One stretch of rendered text.

    text: the characters. body: it came from a message, tools or options, so it never becomes a control token;
    else the spec wrote it. message: index of the message that it belongs to, -1 for head and generation prompt.
    field: `content`, `reasoning`, `arguments`, ..., empty for scaffold. sampled: the model produced it.
    weight: what the loss of its tokens is multiplied with.
    """

    text: str
    body: bool = False
    message: int = -1
    field: str = ""
    sampled: bool = False
    weight: float = 0.0


class _Texted(Protocol):
    @property
    def text(self) -> str: ...


def text_of(pieces: Iterable[_Texted]) -> str:
    """The text of pieces, or of whatever has a text."""
    return "".join([piece.text for piece in pieces])

"""What is shown of a render: one cell a token, or one a stretch of text where there is no tokenizer.

cells_of(tokens, codec, roles)[0]     Cell("<|im_start|>", id=151644, message=0, role="system", ...)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from templc.runtime.aliases import as_mapping, role_of
from templc.runtime.codec import Codec
from templc.runtime.pieces import Piece
from templc.runtime.tokens import Tokens

SCAFFOLD = ""


class Cell(NamedTuple):
    """text: as the token spells it, bytes that are not UTF-8 as \\xE4. role: of its message, "" outside of messages.

    field: `content`, `reasoning`, ..., empty for what the format writes.
    """

    text: str
    id: int | None
    message: int
    role: str
    field: str
    sampled: bool
    weight: float


def roles_of(messages: Sequence[object]) -> list[str]:
    """The role of each message."""
    return [role_of(as_mapping(message)) for message in messages]


def cells_of(tokens: Tokens, codec: Codec, roles: Sequence[str]) -> list[Cell]:
    """One cell a token."""
    return [
        Cell(text, id, message, _role(roles, message), field, sampled, weight)
        for text, id, message, field, sampled, weight in zip(
            token_texts(codec, tokens),
            tokens,
            tokens.message_index,
            _fields(tokens),
            tokens.sampled,
            tokens.weights,
            strict=True,
        )
    ]


def piece_cells(pieces: Sequence[Piece], roles: Sequence[str]) -> list[Cell]:
    """One cell a stretch of text; weights are those of the format."""
    return [
        Cell(p.text, None, p.message, _role(roles, p.message), p.field, p.sampled, p.weight)
        for p in pieces
        if p.text
    ]


def token_texts(codec: Codec, ids: Sequence[int]) -> list[str]:
    """What each token spells; bytes that are no whole character stay visible as \\xE4."""
    return [codec.token_bytes(id).decode("utf-8", "backslashreplace") for id in ids]


def _role(roles: Sequence[str], message: int) -> str:
    return roles[message] if 0 <= message < len(roles) else SCAFFOLD


def _fields(tokens: Tokens) -> Iterator[str]:
    for span in tokens.spans:
        for _ in range(span.start, span.end):
            yield span.field


def tally(cells: Sequence[Cell]) -> str:
    """`46 tokens, 8 trained (17%)`; stretches of text are called so."""
    trained = sum(1 for cell in cells if cell.weight)
    what = "tokens" if any(cell.id is not None for cell in cells) else "stretches of text"
    share = f" ({trained / len(cells):.0%})" if cells else ""
    return f"{len(cells)} {what}, {trained} trained{share}"

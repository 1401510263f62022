"""Short conversations that a prompt may be the end of, one for each summary of the past that a format has.

A prompt given as ids or text does not say what came before it. Its end does, as far as a turn can depend on it: the
conversation whose own prompt ends alike stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from templc.runtime import fold
from templc.runtime.errors import TemplcError
from templc.runtime.messages import Call, Message
from templc.runtime.pieces import text_of

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

_CALL = Call("f", {}, "functions.f:0")
_TURNS = (
    Message("user", content="u"),
    Message("assistant", calls=(_CALL,)),
    Message("tool", content="t", call_id=_CALL.id),
    Message("assistant", content="a"),
    Message("system", content="s"),
)
MOST = 64


@dataclass(frozen=True, slots=True)
class Origin:
    """A past, and the prompt of a conversation that has it.

    before: all up to the turn; edge: its end, as far as the format wrote it and no message; prefill: what follows.
    """

    past: Any
    before: str
    edge: str
    prefill: str


def origins(renderer: Renderer) -> tuple[Origin, ...]:
    """One origin for each past, that after a user message first, then by length of the conversation."""
    return _origins(Alike(renderer))


class Alike:
    """A renderer as a key: equal to those that write alike."""

    __slots__ = ("_same", "renderer")

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self._same = type(renderer), renderer.fingerprint()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)


@lru_cache(maxsize=256)
def _origins(key: Alike) -> tuple[Origin, ...]:
    past_type: Any = key.renderer.past_type
    found = (_origin(key.renderer, past, messages) for past, messages in _pasts(past_type))
    return tuple(origin for origin in found if origin is not None)


def _origin(renderer: Renderer, past: Any, messages: tuple[Message, ...]) -> Origin | None:
    """The prompt after these messages; None where the format cannot write them."""
    try:
        pieces = fold.whole(renderer, fold.Turns.of(renderer, messages), None, True)
        prefill = fold.prefill_text(renderer, past, None) if "prefill" in renderer.parts else ""
    except (TemplcError, KeyError):
        return None
    text = text_of(pieces).removesuffix(prefill)
    size = sum(
        len(piece.text) for piece in takewhile(lambda piece: not piece.body, reversed(pieces))
    )
    edge = text[len(text) + len(prefill) - size :]
    return Origin(past, text, edge, prefill)


@cache
def _pasts(past_type: Any) -> tuple[tuple[Any, tuple[Message, ...]], ...]:
    """The pasts that short conversations reach, each with the first conversation that does."""
    first = past_type()
    user = (first.after(_TURNS[0]), _TURNS[:1])
    found: dict[Any, tuple[Message, ...]] = dict([user])
    edge: list[tuple[Any, tuple[Message, ...]]] = [user, (first, ())]
    while edge and len(found) < MOST:
        longer = [(past.after(turn), (*turns, turn)) for past, turns in edge for turn in _TURNS]
        edge = [
            (past, turns) for past, turns in dict(reversed(longer)).items() if past not in found
        ]
        edge.sort(key=lambda pair: [_TURNS.index(turn) for turn in pair[1]])
        found.update(edge)
    found.setdefault(first, ())
    return tuple(found.items())

# cython: annotation_typing=False
"""What is kept of a tokenizer: its codec, and what it looked like when that was made.

As `filling.py`, these lines are compiled where that can be: `kept.pxd` tells their types.

    kept.fits(tokenizer)  ->  False once a token was added to it
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from templc.runtime.codec import Codec


class Kept:
    """A codec and its tokenizer: weakly known where that can be, else owned, so that its id stays its own.

    stamp: what the tokenizer looked like when the codec was made, None where it cannot change. bare: it is no wrapper
    of another one. free: the id that a new token would get, -1 where none can be added.
    """

    __slots__ = ("bare", "codec", "free", "known", "owner", "stamp")

    def __init__(
        self,
        codec: Codec,
        known: weakref.ref[Any] | None,
        owner: object,
        stamp: object,
        bare: bool,
        free: int,
    ) -> None:
        self.codec = codec
        self.known = known
        self.owner = owner
        self.stamp = stamp
        self.bare = bare
        self.free = free

    def fits(self, tokenizer: Any) -> bool:
        """Whether this is the tokenizer, no token was added since, and nothing else was changed."""
        known: Any = self.owner if self.known is None else self.known()
        if known is not tokenizer:
            return False
        if self.free >= 0:
            backend = tokenizer if self.bare else tokenizer.backend_tokenizer
            if backend.id_to_token(self.free) is not None:
                return False
        return self.bare or self.stamp == stamp_of(tokenizer)


def stamp_of(tokenizer: Any) -> object:
    """What a wrapper of another tokenizer may change; None where there is no such thing."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not is_backend(backend):
        return None
    bos, eos = getattr(tokenizer, "bos_token", None), getattr(tokenizer, "eos_token", None)
    return id(backend), bos, eos


def is_backend(candidate: object) -> bool:
    """Whether it is a tokenizer of the `tokenizers` library."""
    return all(hasattr(candidate, name) for name in ("get_added_tokens_decoder", "pre_tokenizer"))

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

    stamp: what a wrapper looked like when the codec was made. bare: it is no wrapper of another one. free: the id that
    a new token would get, -1 where none can be added.
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
        """Whether this is the tokenizer, no new token was added since, and a wrapper wraps and names the same."""
        known: Any = self.owner if self.known is None else self.known()
        if known is not tokenizer:
            return False
        if not self.bare and self.stamp != stamp_of(tokenizer):
            return False
        if self.free < 0:
            return True
        backend = tokenizer if self.bare else tokenizer.backend_tokenizer
        return backend.id_to_token(self.free) is None


def stamp_of(tokenizer: Any) -> object:
    """What is wrapped, itself, for another one may get its id once it is gone; and the tokens that a wrapper names."""
    inner = getattr(tokenizer, "backend_tokenizer", None)
    if not is_backend(inner):
        inner = getattr(tokenizer, "model", None)
    bos, eos = getattr(tokenizer, "bos_token", None), getattr(tokenizer, "eos_token", None)
    return inner, bos, eos


def is_backend(candidate: object) -> bool:
    """Whether it is a tokenizer of the `tokenizers` library."""
    return all(hasattr(candidate, name) for name in ("get_added_tokens_decoder", "pre_tokenizer"))

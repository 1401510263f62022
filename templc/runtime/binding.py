"""A renderer and a tokenizer: the control tokens that must be there, and the tokens that the tokenizer names itself."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from templc.runtime.codec import Codec, codec_anew, codec_of, kept_of
from templc.runtime.errors import TokenizerError
from templc.runtime.info import Info
from templc.runtime.kept import Kept
from templc.runtime.options import Option, Value
from templc.runtime.shapes import Shapes, shapes_of
from templc.runtime.skeleton import Frames, frames_of

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

Bound: TypeAlias = "tuple[Renderer, Codec, Shapes | None]"
Last: TypeAlias = "tuple[Kept, Bound]"
"""The tokenizer of the last call, with all that belongs to it."""
OF_THIS_PROCESS = ("_checked", "_bound", "_last", "frames")
"""What a `Binding` knows of codecs, which are made again in another process."""


class Binding:
    """What a renderer does with tokenizers.

    frames: those of the codec that it was asked for last.
    """

    info: ClassVar[Info]
    options: Mapping[str, Value]
    frames: tuple[Codec, Frames | None] | None = None
    _open: Mapping[str, str]
    _fingerprint: str

    def __init__(self, tokenizer: object | None) -> None:
        self.tokenizer = tokenizer
        self._checked: Codec | None = None
        self._bound: tuple[Codec, Renderer | None] | None = None
        self._last: Last | None = None

    def codec(self, tokenizer: object | None) -> Codec:
        """The codec of a tokenizer, the bound one by default; it must have the format's control tokens."""
        tokenizer = self.tokenizer if tokenizer is None else tokenizer
        if tokenizer is None:
            raise TokenizerError("there is no tokenizer", help="pass one here or to get_renderer")
        codec = codec_of(tokenizer)
        if self._checked is not codec:
            if _missing(self.info, codec):
                codec = codec_anew(tokenizer)  # whoever was told so may have added them
                require_tokens(self.info, codec)
            self._checked = codec
        return codec

    def bound_to(self, tokenizer: object | None) -> Bound:
        """This renderer bound to a tokenizer, its own one by default, with the codec of that one, and shapes."""
        tokenizer = self.tokenizer if tokenizer is None else tokenizer
        # Most calls are for the tokenizer of the call before.
        last = self._last
        if last is not None and tokenizer is not None and last[0].fits(tokenizer):
            return last[1]
        codec, kept = self.codec(tokenizer), kept_of(tokenizer)
        bound = self.bound(codec)
        frames = frames_of(bound, codec)
        found = bound, codec, None if frames is None else shapes_of(bound, frames, codec)
        self._last = (kept, found) if kept is not None and kept.codec is codec else None
        return found

    def bound(self, codec: Codec) -> Renderer:
        """This renderer with its token options bound to the tokenizer's own bos and eos tokens."""
        renderer = cast("Renderer", self)
        if not self._open:
            return renderer
        known = self._bound
        if known is None or known[0] is not codec:
            own = own_tokens(codec, self._open, self.options)
            found = copy.copy(renderer) if own else None  # as `__getstate__` has it
            if found is not None:
                options = {**self.options, **own}
                vars(found).update(own, options=options, _fingerprint="")
            known = self._bound = codec, found
        return known[1] or renderer


def require_tokens(info: Info, codec: Codec) -> None:
    """TokenizerError where the tokenizer lacks a control token of the format."""
    missing = _missing(info, codec)
    if missing:
        raise TokenizerError(
            f"this tokenizer has no control token {', '.join(missing)}",
            help=f"{info.name} follows {info.repository or 'its own spec'}: use that model's tokenizer",
        )


def _missing(info: Info, codec: Codec) -> list[str]:
    return [token for token in info.specials if codec.token_id(token) is None]


def open_tokens(known: Mapping[str, Option], given: Collection[str]) -> dict[str, str]:
    """The token options that the caller left open, each with the attribute of a codec that may know it."""
    return {
        name: f"{option.bind}_token"
        for name, option in known.items()
        if option.bind and name not in given
    }


def own_tokens(
    codec: Codec, open: Mapping[str, str], options: Mapping[str, Value]
) -> dict[str, Value]:
    """Those of them that the tokenizer has under another name."""
    found = {name: getattr(codec, attribute) for name, attribute in open.items()}
    return {
        name: token for name, token in found.items() if token is not None and token != options[name]
    }

"""One interface to the tokenizers that people have.

Owns `Codec` (text to ids and back, with and without control tokens) and `codec_of`, which wraps a tokenizer once and
remembers it. Nothing here imports a tokenizer library: what the caller passes is recognised by what it can do.

    codec = codec_of(tokenizer)
    codec.plain("<think>")    ->  [13708, 766, 29]   text stays text
    codec.control("<think>")  ->  [151667]           as the published tokenizer reads it
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from templc.runtime.added import Matcher
from templc.runtime.errors import TokenizerError
from templc.runtime.kept import Kept, is_backend, stamp_of
from templc.runtime.scaffold import Scaffold

if TYPE_CHECKING:
    from templc.runtime.engine.haste import Haste


class Codec(Protocol):
    """Text to ids and back. Texts with lone surrogates raise `MessageError`.

    name: for messages. digest: hexadecimal, equal only for equal vocabularies and settings. bos_token, eos_token:
    the tokenizer's own, where it knows them. controls: finds the added tokens that a message must not spell.
    scaffold: remembers how the texts of formats are cut. haste: makes the engine that stands for the tokenizer's own.
    """

    name: str
    bos_token: str | None
    eos_token: str | None
    controls: Matcher
    scaffold: Scaffold

    @property
    def haste(self) -> Haste | None: ...

    @property
    def digest(self) -> str: ...

    @property
    def bytewise(self) -> bool:
        """Whether equal ids are known to stand for equal bytes of a text."""
        ...

    def engine(self) -> str:
        """What encodes text, in words; where that is no fast engine, also why."""
        ...

    def added(self) -> Mapping[str, int]:
        """Every added token, special or not, with its id."""
        ...

    def token_id(self, token: str) -> int | None:
        """The id of an added token, None for any other text."""
        ...

    def plain(self, text: str, *, at_start: bool = True) -> list[int]:
        """The ids of `text` as mere text: no control token among them, whatever it spells.

        at_start: nothing comes before it. It matters to tokenizers that put a blank before the first word only.
        """
        ...

    def plain_starts(self, text: str, *, at_start: bool = True) -> tuple[list[int], list[int]]:
        """`plain`, and for each id the offset in `text` of the character that it starts with or in."""
        ...

    def plain_counted(
        self, text: str, ends: Sequence[int], *, at_start: bool = True
    ) -> tuple[list[int], list[int]]:
        """`plain`, and for each stretch of the text how many tokens start in it.

        ends: where the stretches end, in order, the last at the end of the text.
        """
        ...

    def control(self, text: str) -> list[int]:
        """The ids that the published tokenizer gives, added tokens matched, no token put before or after."""
        ...

    def control_starts(self, text: str) -> tuple[list[int], list[int]]:
        """`control`, and for each id the offset in `text` of the character that it starts with or in."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, special tokens kept; U+FFFD for what is not UTF-8."""
        ...

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token; `TokenizerError` for an id that it does not have."""
        ...


_lock = threading.RLock()
_known: dict[int, Kept] = {}


def codec_of(tokenizer: object) -> Codec:
    """The codec of a `tokenizers.Tokenizer`, a fast transformers tokenizer or a `tiktoken.Encoding`.

    The same codec for the same object, until new tokens are added to it, or a wrapper wraps another one or names other
    tokens; for what else may change see `codec_anew`. Safe to call from several threads. A codec passes through.
    `TokenizerError` for anything else. The tokenizer is never changed; a tiktoken encoding stays in memory, since its
    codec needs it.
    """
    kept = _known.get(id(tokenizer))
    if kept is not None and kept.fits(tokenizer):
        return kept.codec
    if hasattr(tokenizer, "control_starts"):
        return tokenizer  # type: ignore[return-value]
    with _lock:
        kept = _known.get(id(tokenizer))
        if kept is None or not kept.fits(tokenizer):
            kept = _known[id(tokenizer)] = _keep(tokenizer, _build(tokenizer))
        return kept.codec


def codec_anew(tokenizer: object) -> Codec:
    """As `codec_of`, after a look at every added token, which takes longer than a short text takes to encode.

    An entry of the vocabulary that becomes an added token keeps its id: `codec_of` does not see it.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
    with _lock:
        codec = codec_of(tokenizer)
        if is_backend(backend) and codec is not tokenizer:
            now = {it.content: id for id, it in backend.get_added_tokens_decoder().items()}
            if now != codec.added():
                codec = _build(tokenizer)
                _known[id(tokenizer)] = _keep(tokenizer, codec)
    return codec


def kept_of(tokenizer: object) -> Kept | None:
    """What is kept of a tokenizer, if it has a codec."""
    return _known.get(id(tokenizer))


def _free(tokenizer: Any) -> int:
    """The id that the next added token gets, -1 where none can be added. It takes a walk over the vocabulary."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not is_backend(backend):
        return -1
    size: int = backend.get_vocab_size(with_added_tokens=False)
    return max(size, *(int(id) + 1 for id in backend.get_added_tokens_decoder()), 0)


def _keep(tokenizer: Any, codec: Codec) -> Kept:
    from templc.runtime.codec_hf import TokenizersCodec

    known: weakref.ref[Any] | None = None
    if isinstance(codec, TokenizersCodec):
        with suppress(TypeError):  # which takes no weak reference
            known = weakref.ref(tokenizer, partial(_forget, id(tokenizer)))
    owner = tokenizer if known is None else None
    bare = is_backend(tokenizer) or _is_tiktoken(tokenizer)
    stamp = None if bare else stamp_of(tokenizer)
    return Kept(codec, known, owner, stamp, bare, _free(tokenizer))


def _forget(place: int, gone: weakref.ref[Any]) -> None:
    kept = _known.get(place)
    if kept is not None and kept.known is gone:
        del _known[place]


def _is_tiktoken(candidate: object) -> bool:
    return all(hasattr(candidate, name) for name in ("encode_ordinary", "special_tokens_set"))


def _build(tokenizer: Any) -> Codec:
    # Here, for without a tokenizer nobody pays for them.
    from templc.runtime.codec_hf import TokenizersCodec
    from templc.runtime.codec_tiktoken import TiktokenCodec

    if _is_tiktoken(tokenizer):
        return TiktokenCodec(tokenizer)
    if is_backend(tokenizer):
        return TokenizersCodec(tokenizer, name="tokenizers tokenizer")
    own: dict[str, str | None] = {
        "bos_token": getattr(tokenizer, "bos_token", None),
        "eos_token": getattr(tokenizer, "eos_token", None),
    }
    if is_backend(getattr(tokenizer, "backend_tokenizer", None)):
        name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
        return TokenizersCodec(tokenizer.backend_tokenizer, name=name, **own)
    # Kimi's published tokenizer class is of this kind.
    if _is_tiktoken(getattr(tokenizer, "model", None)):
        return TiktokenCodec(tokenizer.model, **own)
    raise _unknown(tokenizer)


def _unknown(tokenizer: object) -> TokenizerError:
    kind = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    if hasattr(tokenizer, "convert_tokens_to_ids"):
        return TokenizerError(
            f"{kind} is a slow transformers tokenizer, which does not say where its tokens begin",
            help="load the fast one: AutoTokenizer.from_pretrained(name, use_fast=True), or "
            "PreTrainedTokenizerFast(tokenizer_file='tokenizer.json')",
        )
    return TokenizerError(
        f"{kind} is not a tokenizer of a known kind",
        help="pass a fast transformers tokenizer, a tokenizers.Tokenizer or a tiktoken.Encoding",
    )

"""A `tiktoken.Encoding` as a codec.

Owns the ids of tiktoken. It normalises nothing: a vocabulary whose published tokenizer composes characters (Qwen: NFC)
gives other ids here for text that is not in that form.

    TiktokenCodec(encoding).plain("<|im_end|>")  ->  [27, 91, 318, 6213, 91, 29]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from templc.runtime.added import AddedToken, Matcher
from templc.runtime.counts import counted
from templc.runtime.errors import TokenizerError, surrogate_error
from templc.runtime.scaffold import Scaffold

_CONTINUATION = bytes(range(0x80, 0xC0))


class TiktokenCodec:
    """See `templc.runtime.codec.Codec` for what each method promises."""

    haste = None

    def __init__(
        self, encoding: Any, *, bos_token: str | None = None, eos_token: str | None = None
    ) -> None:
        self.name = f"tiktoken encoding {encoding.name}"
        self.bos_token = bos_token
        self.eos_token = eos_token
        self._encoding = encoding
        self._added: dict[str, int] = {
            text: encoding.encode_single_token(text) for text in sorted(encoding.special_tokens_set)
        }
        self.controls = Matcher(AddedToken(text, id) for text, id in self._added.items())
        self.scaffold = Scaffold()

    def added(self) -> Mapping[str, int]:
        return self._added

    def token_id(self, token: str) -> int | None:
        return self._added.get(token)

    def plain(self, text: str, *, at_start: bool = True) -> list[int]:
        return self._encoded(text, self._encoding.encode_ordinary)

    def plain_starts(self, text: str, *, at_start: bool = True) -> tuple[list[int], list[int]]:
        ids = self.plain(text)
        return ids, self._starts(ids, text)

    def plain_counted(
        self, text: str, ends: Sequence[int], *, at_start: bool = True
    ) -> tuple[list[int], list[int]]:
        ids, starts = self.plain_starts(text)
        return ids, counted(starts, ends)

    def control(self, text: str) -> list[int]:
        return self._encoded(text, lambda text: self._encoding.encode(text, allowed_special="all"))

    def control_starts(self, text: str) -> tuple[list[int], list[int]]:
        ids = self.control(text)
        return ids, self._starts(ids, text)

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        try:
            found: bytes = self._encoding.decode_single_token_bytes(token_id)
        except (KeyError, OverflowError):
            raise TokenizerError(f"{self.name} has no token {token_id}") from None
        return found

    @property
    def bytewise(self) -> bool:
        return True

    def engine(self) -> str:
        return "tiktoken, as given"

    @cached_property
    def digest(self) -> str:
        digest = hashlib.sha256(repr((self._encoding._pat_str, self._added)).encode())
        for token_id in range(self._encoding.n_vocab):
            try:
                digest.update(b"%d:%b\n" % (token_id, self.token_bytes(token_id)))
            except TokenizerError:
                continue
        return digest.hexdigest()

    def _encoded(self, text: str, encode: Callable[[str], list[int]]) -> list[int]:
        # tiktoken would replace the surrogates in silence.
        if not text.isascii() and (error := surrogate_error(text)):
            raise error
        try:
            return encode(text)
        except BaseException as error:
            # Its regular expressions run out of stack on a million blanks: a ValueError or, by release, a Rust panic.
            if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
                raise
            raise TokenizerError(
                f"{self.name} gave up on a text of {len(text)} characters",
                help="it cannot split very long runs of one kind of character; use another tokenizer",
            ) from error

    def _starts(self, ids: list[int], text: str) -> list[int]:
        starts: list[int] = []
        count = 0
        for token in map(self._encoding.decode_single_token_bytes, ids):
            inside = token[0] in _CONTINUATION
            starts.append(count - 1 if inside else count)
            count += len(token) if token.isascii() else len(token.translate(None, _CONTINUATION))
        if count != len(text):
            raise TokenizerError(
                f"the pattern of {self.name} drops characters of the text",
                help="use the tokenizers form of this vocabulary, or mend the pattern",
            )
        return starts

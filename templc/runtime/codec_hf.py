"""A `tokenizers.Tokenizer` as a codec: alone, or from inside a fast transformers tokenizer.

Owns two private engines that share the model of the caller's tokenizer, so that they cost no memory and no setting of
it (truncation, padding, `encode_special_tokens`) can cut or change ids: one with every added token (`control`), one
with none (`plain`). An added token that is a mere run of blanks (Gemma's newlines) is text, and `plain` gives its id.

A vocabulary may hold the text of a control token as an ordinary entry. Where the model could reach such an entry from
plain text, the second engine gets a copy of the model without it.

    TokenizersCodec(tokenizer, name="qwen3").control("<think>")  ->  [151667]
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from templc.runtime.added import AddedToken, Cut, Matcher
from templc.runtime.counts import counted
from templc.runtime.engine import FastEngine, Haste
from templc.runtime.errors import TokenizerError, surrogate_error
from templc.runtime.model_surgery import model_without, never_prepending, prepends_first
from templc.runtime.scaffold import Scaffold
from templc.runtime.token_bytes import byte_reader

_CACHED_LENGTH = 32


class TokenizersCodec:
    """See `templc.runtime.codec.Codec` for what each method promises."""

    def __init__(
        self,
        backend: Any,
        *,
        name: str,
        bos_token: str | None = None,
        eos_token: str | None = None,
    ) -> None:
        self.name = name
        self.bos_token = bos_token
        self.eos_token = eos_token
        tokens = [_described(id, it) for id, it in backend.get_added_tokens_decoder().items()]
        self._added = {token.text: token.id for token in tokens}
        self.controls = Matcher(token for token in tokens if not token.is_blank())
        self.scaffold = Scaffold()
        self._blanks = Matcher(token for token in tokens if token.is_blank())
        self._blank_text = bool(self._blanks)
        self._whole = _whole_engine(backend, name)
        self._text = self._text_engine(backend)
        self._later_text = self._text
        self.haste = Haste(self._text, blanks=self._blank_text)
        if prepends_first(self._text):
            self._later_text = _engine(self._text, self._text.model)
            self._later_text.pre_tokenizer = never_prepending(self._text)
        # A format writes the same few short texts (`assistant\n`) again and again.
        self._short = lru_cache(maxsize=4096)(self._encoded)
        self._read_bytes = byte_reader(self._whole)

    def added(self) -> Mapping[str, int]:
        return self._added

    def token_id(self, token: str) -> int | None:
        return self._added.get(token)

    def plain(self, text: str, *, at_start: bool = True) -> list[int]:
        if self._blank_text:
            return self._slow_starts(text, at_start)[0]
        if len(text) <= _CACHED_LENGTH:
            return list(self._short(text, at_start))
        return self._encoded(text, at_start)

    def plain_counted(
        self, text: str, ends: Sequence[int], *, at_start: bool = True
    ) -> tuple[list[int], list[int]]:
        fast = self.haste.ready or self._fast(text)
        if fast is not None and (found := fast.counted(text, ends)) is not None:
            return found
        ids, starts = self._slow_starts(text, at_start)
        return ids, counted(starts, ends)

    def plain_starts(self, text: str, *, at_start: bool = True) -> tuple[list[int], list[int]]:
        fast = self._fast(text)
        if fast is not None and (found := fast.starts(text)) is not None:
            return found
        return self._slow_starts(text, at_start)

    def _slow_starts(self, text: str, at_start: bool) -> tuple[list[int], list[int]]:
        ids: list[int] = []
        starts: list[int] = []
        done = 0
        for cut in (*self._blank_cuts(text), Cut(len(text), len(text), -1, len(text))):
            if cut.start > done:
                engine = self._text if at_start and done == 0 else self._later_text
                found = _encoding(engine, text[done : cut.start])
                ids += found.ids
                starts += [done + start for start, _ in found.offsets]
            if cut.id >= 0:
                ids.append(cut.id)
                starts.append(cut.at)
            done = cut.end
        return ids, starts

    def control(self, text: str) -> list[int]:
        ids: list[int] = _encoding(self._whole, text).ids
        return ids

    def control_starts(self, text: str) -> tuple[list[int], list[int]]:
        found = _encoding(self._whole, text)
        return found.ids, [start for start, _ in found.offsets]

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._whole.decode(ids, skip_special_tokens=False)
        return text

    def token_bytes(self, token_id: int) -> bytes:
        text = self._whole.id_to_token(token_id) if 0 <= token_id < 1 << 32 else None
        if text is None:
            raise TokenizerError(f"{self.name} has no token {token_id}")
        return text.encode() if self._added.get(text) == token_id else self._read_bytes(text)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self._whole.to_str().encode()).hexdigest()

    @property
    def bytewise(self) -> bool:
        return self.haste.ready is not None

    def engine(self) -> str:
        return self.haste.words()

    def _fast(self, text: str) -> FastEngine | None:
        return self.haste.engine(len(text)) if isinstance(text, str) else None

    def _encoded(self, text: str, at_start: bool) -> list[int]:
        fast = self.haste.ready or self._fast(text)
        if fast is not None and (found := fast.ids(text)) is not None:
            return found
        ids: list[int] = _encoding(self._text if at_start else self._later_text, text).ids
        return ids

    def _blank_cuts(self, text: str) -> list[Cut]:
        return self._blanks.cuts(text, [(0, len(text))]) if self._blank_text else []

    def _text_engine(self, backend: Any) -> Any:
        model = backend.model
        reached = [token for token in self.controls.tokens.values() if _reached(token, model)]
        if reached:
            model = model_without(model, [token.text for token in reached])
        return _engine(backend, model)


def _described(token_id: int, token: Any) -> AddedToken:
    return AddedToken(
        token.content,
        token_id,
        special=token.special,
        normalized=token.normalized,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        single_word=token.single_word,
    )


def _engine(like: Any, model: Any) -> Any:
    """A tokenizer without added tokens that treats text as `like` does. The parts are shared, not copied."""
    engine = type(like)(model)
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        if (value := getattr(like, part)) is not None:
            setattr(engine, part, value)
    return engine


def _whole_engine(backend: Any, name: str) -> Any:
    engine = _engine(backend, backend.model)
    wanted = backend.get_added_tokens_decoder()
    in_order = (wanted[token_id] for token_id in sorted(wanted))
    for special, tokens in groupby(in_order, key=lambda token: token.special):
        (engine.add_special_tokens if special else engine.add_tokens)(list(tokens))
    if engine.get_added_tokens_decoder() != wanted:
        raise TokenizerError(
            f"the added tokens of {name} have ids that cannot be given again",
            help="save the tokenizer and load it anew",
        )
    return engine


def _reached(token: AddedToken, model: Any) -> bool:
    """Whether the model gives this id for the token's own text.

    If it does not, it gives it in no other text either: merges and best paths inside a token do not depend on what
    stands around it. The token for unknown text has to stay.
    """
    if token.text == getattr(model, "unk_token", None) or model.token_to_id(token.text) is None:
        return False
    return any(piece.id == token.id for piece in model.tokenize(token.text))


def _encoding(engine: Any, text: str) -> Any:
    try:
        return engine.encode(text, add_special_tokens=False)
    except TypeError:
        if isinstance(text, str) and (error := surrogate_error(text)):
            raise error from None
        raise

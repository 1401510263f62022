"""What the analysis of joints needs to know of a tokenizer.

Owns `analyse`: from a tokenizer object to `TokenizerFacts`. A part that the analysis does not know makes the facts
unknown, with the reason; joints that control tokens seal are still proved then.

    analyse(qwen3)  ->  TokenizerFacts(engine="tokenizers-0.23.3", tokens=(...), unknown="")
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from templc.proof.boundary import merges
from templc.proof.boundary.classes import TiktokenEngine, TokenizersEngine
from templc.proof.boundary.merges import Vocabulary
from templc.proof.boundary.normal import IDENTITY, Normalizer, normalizer
from templc.proof.boundary.regex import Unsupported
from templc.proof.boundary.splits import Splitter, split, split_by_pattern
from templc.runtime.added import AddedToken
from templc.runtime.token_bytes import part_settings


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """engine: the library, with its version. unknown: why the text around joints cannot be analysed, or empty.

    normal, splitter: None where unknown. vocabulary: read on first use; `Unsupported` if layer five does not apply.
    """

    engine: str
    tokens: tuple[AddedToken, ...]
    normal: Normalizer | None
    splitter: Splitter | None
    vocabulary: Callable[[], Vocabulary]
    unknown: str = ""


def analyse(tokenizer: Any) -> TokenizerFacts:
    """The facts of a `tokenizers.Tokenizer`, a fast transformers tokenizer or a `tiktoken.Encoding`.

    TypeError for anything else. The ids in question are those of the tokenizer's own encoding of text with control
    tokens matched and none put before or after it.
    """
    if _is_tiktoken(tokenizer):
        return _of_tiktoken(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "get_added_tokens_decoder"):
        return _of_tokenizers(backend)
    inner = getattr(tokenizer, "model", None)
    if _is_tiktoken(inner):
        return _of_tiktoken(inner)
    raise TypeError(f"{type(tokenizer).__qualname__} is not a tokenizer that can be analysed")


def _is_tiktoken(candidate: Any) -> bool:
    return hasattr(candidate, "encode_ordinary") and hasattr(candidate, "special_tokens_set")


def _of_tiktoken(encoding: Any) -> TokenizerFacts:
    engine = TiktokenEngine()
    tokens = tuple(
        AddedToken(text, encoding.encode_single_token(text))
        for text in sorted(encoding.special_tokens_set)
    )
    splitter, unknown = None, ""
    try:
        splitter = split_by_pattern(encoding._pat_str, engine)
    except Unsupported as reason:
        unknown = str(reason)
    vocabulary = cache(lambda: merges.of_tiktoken(encoding))
    return TokenizerFacts(engine.name, tokens, IDENTITY, splitter, vocabulary, unknown)


def _of_tokenizers(backend: Any) -> TokenizerFacts:
    engine = TokenizersEngine()
    tokens = tuple(
        AddedToken(
            token.content,
            number,
            token.special,
            token.normalized,
            token.lstrip,
            token.rstrip,
            token.single_word,
        )
        for number, token in backend.get_added_tokens_decoder().items()
    )
    normal: Normalizer | None = None
    splitter: Splitter | None = None
    unknown = ""
    try:
        if getattr(backend.model, "dropout", None):
            raise Unsupported("a model that drops merges at random")
        normal = normalizer(_settings(backend, "normalizer"), _apply(backend))
        splitter = split(_settings(backend, "pre_tokenizer"), engine)
    except Unsupported as reason:
        unknown = str(reason)
    byte_level = splitter is not None and splitter.byte_level
    vocabulary = cache(lambda: merges.of_tokenizers(backend, byte_level=byte_level))
    return TokenizerFacts(engine.name, tokens, normal, splitter, vocabulary, unknown)


def _settings(backend: Any, part: str) -> Any:
    return json.loads(part_settings(backend, part))


def _apply(backend: Any) -> Callable[[str], str]:
    found = backend.normalizer
    return (lambda text: text) if found is None else found.normalize_str

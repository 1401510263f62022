"""Tokens as text: read at once or one by one it is the same, and bytes never make a control token."""

from __future__ import annotations

import codecs
from functools import cache
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.runtime.codec import Codec, codec_of
from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.lexer import TokenLexer
from tests.support import vocabularies

CONTROLS = ("<|im_start|>", "<|im_end|>")


@cache
def codec() -> Codec:
    return codec_of(vocabularies.backend("qwen3"))


@cache
def single(byte: int) -> int:
    """The token that is this byte alone."""
    known = codec()
    return next(token for token in range(256) if known.token_bytes(token) == bytes([byte]))


@cache
def control(text: str) -> int:
    found = codec().token_id(text)
    assert found is not None
    return found


def expected(ids: list[int]) -> list[str]:
    """The text of each token, by the standard library's decoder."""
    alphabet, decoder = Alphabet(CONTROLS), codecs.getincrementaldecoder("utf-8")("replace")
    texts = []
    named = {control(text): text for text in CONTROLS}
    for token in ids:
        if token in named:
            broken = decoder.decode(b"", True)
            decoder.reset()
            texts.append(broken + (alphabet.character(named[token]) or ""))
        else:
            texts.append(decoder.decode(codec().token_bytes(token)))
    return texts


# Plain words, halves of characters, the bytes that a lone surrogate would have, control tokens.
TOKENS = (
    st.integers(0, 20000)
    | st.sampled_from([0xED, 0xA0, 0x80, 0x81, 0xBF, 0xE2, 0xF0, 0x41]).map(single)
    | st.sampled_from(CONTROLS).map(control)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TOKENS, max_size=12), st.integers(1, 5))
def test_texts_and_places_are_those_of_a_plain_decoder(ids: list[int], size: int) -> None:
    texts = expected(ids)
    lexer = TokenLexer(codec(), Alphabet(CONTROLS))
    lexer.start_at(3)
    found = [lexer.feed(ids[at : at + size]) for at in range(0, len(ids), size)]
    assert "".join(found) == "".join(texts)
    starts = list(accumulate(map(len, texts), initial=3))
    for offset in range(starts[-1] + 2):
        assert lexer.boundary(offset) == sum(start < offset for start in starts[:-1])
    assert lexer.incomplete == bool(ids and not texts[-1])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_bytes_of_a_surrogate_are_no_control_token(size: int) -> None:
    ids = [control("<|im_end|>"), *map(single, (0xED, 0xA0, 0x81)), control("<|im_end|>")]
    lexer = TokenLexer(codec(), Alphabet(CONTROLS))
    found = "".join(lexer.feed(ids[at : at + size]) for at in range(0, len(ids), size))
    assert found == "\ud801\ufffd\ufffd\ufffd\ud801"
    assert lexer.bad

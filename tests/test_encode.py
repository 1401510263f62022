"""Encoding pieces: ids as published, bodies that stay text, and whose each token is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from templc.runtime.codec import Codec, codec_of
from templc.runtime.encode import ContentSpecials, encode
from templc.runtime.errors import ControlTokenError, MessageError
from templc.runtime.pieces import Piece
from templc.runtime.scaffold import LONGEST, Scaffold
from templc.runtime.tokens import Span
from tests.support import vocabularies
from tests.support.texts import calm_text, hostile_text

MODES: tuple[ContentSpecials, ...] = ("text", "error", "control")
MANY = settings(max_examples=60, deadline=None)


@pytest.fixture(params=vocabularies.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def scaffold_text(codec: Codec) -> st.SearchStrategy[str]:
    """Control tokens of the vocabulary, whole and in halves, between other text."""
    tokens = sorted(codec.added())[:20]
    control = st.sampled_from(tokens + [t[: len(t) // 2] for t in tokens] + [t[1:] for t in tokens])
    return st.lists(control | calm_text, max_size=4).map("".join)


def pieces_of(codec: Codec, body: st.SearchStrategy[str]) -> st.SearchStrategy[list[Piece]]:
    origin = {"message": st.integers(-1, 2), "weight": st.sampled_from([0.0, 1.0])}
    scaffold = st.builds(Piece, scaffold_text(codec), sampled=st.booleans(), **origin)
    said = st.builds(
        Piece,
        body,
        body=st.just(True),
        field=st.sampled_from(["content", "reasoning"]),
        sampled=st.booleans(),
        **origin,
    )
    return st.lists(scaffold | said, max_size=8)


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def published(name: str, text: str) -> Any:
    return vocabularies.backend(name).encode(text, add_special_tokens=False)


def spans_a_body(pieces: Sequence[Piece], codec: Codec) -> bool:
    """Whether the published tokenizer would find a control token with characters of a body in it."""
    owners = [piece.body for piece in pieces for _ in piece.text]
    return any(any(owners[m.start : m.end]) for m in codec.controls.find(text_of(pieces)))


# ---------------------------------------------------------------- which ids


@pytest.mark.parametrize("mode", MODES)
def test_a_message_that_spells_a_control_token(name: str, mode: ContentSpecials) -> None:
    codec = codec_of(vocabularies.backend(name))
    for token, token_id in codec.added().items():
        pieces = [Piece("user\n"), Piece(f"say {token} now", True, 3, "content"), Piece("\nend")]
        text = text_of(pieces)
        if mode == "error":
            with pytest.raises(ControlTokenError) as caught:
                encode(pieces, codec, mode)
            error = caught.value
            assert (error.message_index, error.field, error.token) == (3, "content", token)
        elif mode == "control":
            assert encode(pieces, codec, mode) == published(name, text).ids
            assert token_id in published(name, text).ids
        else:
            tokens = encode(pieces, codec, mode)
            assert not set(codec.added().values()) & set(tokens)
            assert codec.decode(tokens) == tokens.text == text


@pytest.mark.parametrize("kind", vocabularies.NAMES)
@MANY
@given(data=st.data())
def test_scaffold_is_what_the_published_tokenizer_gives(kind: str, data: st.DataObject) -> None:
    codec = codec_of(vocabularies.backend(kind))
    pieces = [Piece(text) for text in data.draw(st.lists(scaffold_text(codec), max_size=6))]
    assert encode(pieces, codec) == published(kind, text_of(pieces)).ids


@pytest.mark.parametrize("kind", vocabularies.NAMES)
@MANY
@given(data=st.data())
def test_conversations_without_control_text_are_as_published(
    kind: str, data: st.DataObject
) -> None:
    codec = codec_of(vocabularies.backend(kind))
    pieces = data.draw(pieces_of(codec, calm_text))
    assume(not spans_a_body(pieces, codec))
    expected = published(kind, text_of(pieces))
    for mode in MODES:
        tokens = encode(pieces, codec, mode)
        assert tokens == expected.ids
        check_attribution(pieces, tokens, [start for start, _ in expected.offsets])


@pytest.mark.parametrize("kind", vocabularies.NAMES)
@MANY
@given(data=st.data())
def test_bodies_never_give_a_control_token(kind: str, data: st.DataObject) -> None:
    codec = codec_of(vocabularies.backend(kind))
    pieces = data.draw(pieces_of(codec, hostile_text))
    tokens = encode(pieces, codec)
    found = [token for token in tokens if token in set(codec.added().values())]
    assert found == scaffold_controls(pieces, codec)
    normal = vocabularies.backend(kind).normalizer
    same = normal.normalize_str if normal else str
    assert same(codec.decode(tokens)) == same(tokens.text) == same(text_of(pieces))
    if spans_a_body(pieces, codec):
        with pytest.raises(ControlTokenError):
            encode(pieces, codec, "error")
    else:
        assert encode(pieces, codec, "error") == tokens


def scaffold_controls(pieces: Sequence[Piece], codec: Codec) -> list[int]:
    """Ids of the control tokens in each stretch of scaffold, a body being a wall between two."""
    walled = "".join(("\0" if piece.body else piece.text) for piece in pieces if piece.text)
    return [match.token.id for match in codec.controls.find(walled)]


@pytest.mark.parametrize(
    "pieces",
    [
        [Piece("<thi"), Piece("nk>", True)],
        [Piece("<thi", True), Piece("nk>")],
        [Piece("<thi", True, 0), Piece("nk>", True, 1)],
        [Piece("<"), Piece("thin", True), Piece("k>")],
    ],
)
def test_a_control_token_across_a_joint_stays_text(pieces: list[Piece]) -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    assert encode(pieces, codec) == codec.plain("<think>")
    assert encode(pieces, codec, "control") == [codec.token_id("<think>")]
    with pytest.raises(ControlTokenError, match="spells the control token '<think>'"):
        encode(pieces, codec, "error")


def test_a_control_token_in_neighbouring_scaffold_pieces_is_one() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    pieces = [Piece("<thi"), Piece("", True), Piece("nk>")]
    assert encode(pieces, codec) == [codec.token_id("<think>")]


def test_a_control_token_in_two_scaffold_pieces_belongs_to_the_first() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    tokens = encode([Piece("<thi", message=1, weight=1.0), Piece("nk>", message=2)], codec)
    assert (tokens.weights, tokens.message_index) == ([1.0], [1])
    assert tokens.spans == [Span(0, 1, 1, "", False)]


def test_the_three_kinds_give_equal_ids() -> None:
    for kind in ("qwen3", "kimi-k2"):
        tokenizers = [
            vocabularies.backend(kind),
            vocabularies.hf(kind),
            vocabularies.tiktoken_encoding(kind),
        ]
        control = min(codec_of(tokenizers[0]).added())
        pieces = [Piece(f"{control}user\n"), Piece(f"hé{control}\n\n", True, 0), Piece("\nx")]
        results = [encode(pieces, codec_of(tokenizer)) for tokenizer in tokenizers]
        assert results[0] == results[1] == results[2]
        assert results[0].spans == results[1].spans == results[2].spans


def test_nothing_gives_no_tokens() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    for pieces in ([], [Piece(""), Piece("", True)]):
        for mode in MODES:
            tokens = encode(pieces, codec, mode)
            assert tokens == [] and tokens.spans == [] and tokens.text == ""


# ---------------------------------------------------------------- whose each token is


def check_attribution(pieces: Sequence[Piece], tokens: Any, starts: Sequence[int]) -> None:
    """Each token has the attributes of the piece with the character at its start."""
    written = [piece for piece in pieces if piece.text]
    ends = list(accumulate(len(piece.text) for piece in written))
    owners = [written[bisect_right(ends, start)] for start in starts]
    assert tokens.weights == [piece.weight for piece in owners]
    assert tokens.sampled == [piece.sampled for piece in owners]
    assert tokens.message_index == [piece.message for piece in owners]
    fields = [(piece.message, piece.field, piece.sampled) for piece in owners]
    assert fields == [span[2:] for span in tokens.spans for _ in range(span.start, span.end)]
    assert [span.start for span in tokens.spans] == [0, *(s.end for s in tokens.spans)][:-1]


def test_a_token_that_straddles_belongs_to_its_first_character() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    said = Piece("Yes.", True, 1, "content", sampled=True, weight=1.0)
    tokens = encode([Piece("<|im_start|>", message=1), said, Piece("\n\nnext", message=2)], codec)
    assert [codec.decode([token]) for token in tokens] == ["<|im_start|>", "Yes", ".\n\n", "next"]
    assert tokens.weights == [0.0, 1.0, 1.0, 0.0]
    assert tokens.sampled == [False, True, True, False]
    assert tokens.message_index == [1, 1, 1, 2]
    assert tokens.spans == [
        Span(0, 1, 1, "", False),
        Span(1, 3, 1, "content", True),
        Span(3, 4, 2, "", False),
    ]


def test_a_token_of_scaffold_that_takes_a_newline_of_the_body_is_scaffold() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    tokens = encode([Piece("assistant\n"), Piece("\nHi", True, 0, "content", True, 1.0)], codec)
    assert [codec.decode([token]) for token in tokens] == ["assistant", "\n\n", "Hi"]
    assert tokens.weights == [0.0, 0.0, 1.0]


def test_a_body_inside_one_token_has_no_span() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    tokens = encode([Piece("\n"), Piece("\n", True, 4, "content"), Piece("x", message=5)], codec)
    assert codec.decode(tokens[:1]) == "\n\n"
    assert tokens.message_index == [-1, 5]
    assert tokens.spans == [Span(0, 1, -1, "", False), Span(1, 2, 5, "", False)]


# ---------------------------------------------------------------- errors and rare tokenizers


@pytest.mark.parametrize("mode", MODES)
def test_a_lone_surrogate_names_message_and_field(mode: ContentSpecials) -> None:
    pieces = [
        Piece("<|im_start|>"),
        Piece("fine é", True, 1),
        Piece("x\udc00", True, 2, "reasoning"),
    ]
    for tokenizer in (vocabularies.backend("qwen3"), vocabularies.tiktoken_encoding("qwen3")):
        with pytest.raises(MessageError) as caught:
            encode(pieces, codec_of(tokenizer), mode)
        assert (caught.value.message_index, caught.value.field) == (2, "reasoning")
        assert str(caught.value).startswith("message 2, reasoning: text holds a lone surrogate")


def letters(*tokens: AddedToken) -> Tokenizer:
    characters = [chr(code) for code in range(32, 127)] + ["\n", "\u2581"]
    vocabulary = {character: number for number, character in enumerate(characters)}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    for token in tokens:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


@MANY
@given(
    texts=st.lists(st.sampled_from(["<l>", "<r>", "<w>", "<w>x", " ", "\n ", "a", "_"]), max_size=8)
)
def test_flags_of_added_tokens_work_as_published(texts: list[str]) -> None:
    tokenizer = letters(
        AddedToken("<l>", lstrip=True, special=True),
        AddedToken("<r>", rstrip=True, special=True),
        AddedToken("<w>", single_word=True, special=False),
    )
    codec = codec_of(tokenizer)
    pieces = [Piece(text, body=not text.startswith("<")) for text in texts]
    assert encode(pieces, codec) == tokenizer.encode("".join(texts)).ids


def test_the_longest_of_two_tokens_wins() -> None:
    tokenizer = letters(AddedToken("<a>", special=True), AddedToken("<a>b", special=True))
    codec = codec_of(tokenizer)
    long, short = codec.token_id("<a>b"), codec.token_id("<a>")
    assert encode([Piece("<a>b")], codec) == [long] == tokenizer.encode("<a>b").ids
    assert encode([Piece("<a>"), Piece("b", True)], codec) == [short, *codec.plain("b")]


@pytest.mark.parametrize("at_start", [True, False])
def test_a_blank_before_the_first_word_only_at_the_start(at_start: bool) -> None:
    tokenizer = letters(AddedToken("<s>", special=True, normalized=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    codec = codec_of(tokenizer)
    pieces = [Piece("ab", True, 0), Piece("<s>"), Piece("c", True, 1), Piece("d")]
    tokens = encode(pieces, codec, at_start=at_start)
    expected = tokenizer.encode("ab<s>cd").tokens
    assert [tokenizer.id_to_token(token) for token in tokens] == expected[0 if at_start else 1 :]
    assert tokens.message_index[-4:] == [0, -1, 1, -1]
    assert tokens.spans[-1].end == len(tokens)


def test_long_scaffold_fills_no_memory() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    scaffold = Scaffold()
    short, long = ("<|im_end|>\n",), ("<|im_end|>" + "x" * LONGEST,)
    for texts in (short, long):
        assert [*scaffold.stretch(texts, codec).ids] == [codec.token_id("<|im_end|>")]
    assert [*scaffold._known] == [short]

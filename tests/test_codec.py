"""Codecs: real vocabularies, the three kinds of tokenizer, and small tokenizers for the rare shapes."""

from __future__ import annotations

import gc
import subprocess
import sys
import unicodedata
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from templc.runtime.codec import Codec, codec_of
from templc.runtime.errors import MessageError, TokenizerError
from tests.support import vocabularies
from tests.support.texts import hostile_text

TIKTOKEN_NAMES = tuple(vocabularies.FAMILIES)
FEW = settings(max_examples=40, deadline=None)


@pytest.fixture(params=vocabularies.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_added_token_is_known(name: str) -> None:
    backend = vocabularies.backend(name)
    codec = codec_of(backend)
    wanted = {it.content: id for id, it in backend.get_added_tokens_decoder().items()}
    assert dict(codec.added()) == wanted
    assert all(codec.token_id(text) == id for text, id in wanted.items())
    assert codec.token_id("hello") is None


def test_plain_text_never_becomes_an_added_token(name: str) -> None:
    codec = codec_of(vocabularies.backend(name))
    for text in codec.added():
        for body in (text, f"a{text}b", f" {text}\n", text + text):
            ids = codec.plain(body)
            assert not set(ids) & set(codec.added().values()), body
            assert codec.decode(ids) == body


def test_control_is_what_the_tokenizer_gives(name: str) -> None:
    backend = vocabularies.backend(name)
    codec = codec_of(backend)
    for text, token_id in codec.added().items():
        assert codec.control(text) == [token_id]
        body = f"é {text}\n{text}x"
        found = backend.encode(body, add_special_tokens=False)
        assert codec.control_starts(body) == (found.ids, [start for start, _ in found.offsets])


@pytest.mark.parametrize("kind", TIKTOKEN_NAMES)
@FEW
@given(text=hostile_text)
def test_tiktoken_and_tokenizers_agree(kind: str, text: str) -> None:
    # tiktoken composes nothing, so the text is composed before where the vocabulary wants it.
    if vocabularies.FAMILIES[kind].composes:
        text = unicodedata.normalize("NFC", text)
    published = codec_of(vocabularies.backend(kind))
    tiktoken = codec_of(vocabularies.tiktoken_encoding(kind))
    assert tiktoken.plain_starts(text) == published.plain_starts(text)
    assert tiktoken.control_starts(text) == published.control_starts(text)


def test_tiktoken_composes_nothing() -> None:
    text = "e\u0301"
    published = codec_of(vocabularies.backend("qwen3"))
    tiktoken = codec_of(vocabularies.tiktoken_encoding("qwen3"))
    assert published.plain(text) == tiktoken.plain("\u00e9") != tiktoken.plain(text)


@pytest.mark.parametrize("kind", ["qwen3", "kimi-k2", "deepseek-v3"])
@FEW
@given(text=hostile_text)
def test_transformers_and_tokenizers_agree(kind: str, text: str) -> None:
    fast = vocabularies.hf(kind)
    wrapped, bare = codec_of(fast), codec_of(vocabularies.backend(kind))
    assert wrapped.plain(text) == bare.plain(text)
    assert wrapped.control(text) == fast.encode(text, add_special_tokens=False)


@FEW
@given(text=hostile_text)
def test_starts_are_where_the_characters_of_a_token_begin(text: str) -> None:
    codec = codec_of(vocabularies.backend("llama3"))
    ids, starts = codec.plain_starts(text)
    assert ids == codec.plain(text)
    pieces = [codec.token_bytes(token_id) for token_id in ids]
    assert b"".join(pieces).decode() == text == codec.decode(ids)
    done = b""
    for piece, start in zip(pieces, starts, strict=True):
        whole = done.decode("utf-8", "ignore")
        assert start == len(whole)
        done += piece


def test_starts_with_composed_characters_refer_to_the_text_given() -> None:
    ids, starts = codec_of(vocabularies.backend("qwen3")).plain_starts("e\u0301\n\nx")
    assert len(ids) == 3 and starts == [0, 2, 4]


def test_tokens_inside_one_character_share_its_start(name: str) -> None:
    codec = codec_of(vocabularies.backend(name))
    ids, starts = codec.plain_starts("a\U0001f9ffb")
    assert starts[0] == 0 and starts[-1] == 2 and set(starts[1:-1]) == {1}
    assert b"".join(map(codec.token_bytes, ids)) == "a\U0001f9ffb".encode()


def test_token_bytes_of_added_tokens_and_unknown_ids(name: str) -> None:
    for codec in every_kind(name):
        assert all(codec.token_bytes(id) == text.encode() for text, id in codec.added().items())
        for token_id in (10_000_000, 2**32, -1):
            with pytest.raises(TokenizerError, match=f"has no token {token_id}"):
                codec.token_bytes(token_id)


def test_bos_and_eos_come_from_transformers() -> None:
    fast, bare = codec_of(vocabularies.hf("llama3")), codec_of(vocabularies.backend("llama3"))
    assert (fast.bos_token, fast.eos_token) == ("<|begin_of_text|>", "<|eot_id|>")
    assert (bare.bos_token, bare.eos_token) == (None, None)


def test_no_kind_encodes_a_lone_surrogate() -> None:
    for codec in every_kind("qwen3"):
        for encode in (codec.plain, codec.control, codec.plain_starts, codec.control_starts):
            with pytest.raises(MessageError, match=r"lone surrogate \(U\+D800\) at character 2"):
                encode("ab\ud800" + "c" * 50)


def test_digest_tells_vocabularies_apart() -> None:
    encodings = [vocabularies.tiktoken_encoding(kind) for kind in ("kimi-k2", "kimi-k2-thinking")]
    backends = [vocabularies.backend(kind) for kind in ("kimi-k2", "kimi-k2-thinking")]
    for first, second in (encodings, backends):
        assert codec_of(first).digest != codec_of(second).digest
    assert codec_of(backends[0]).digest == codec_of(vocabularies.hf("kimi-k2")).digest


def every_kind(name: str) -> list[Codec]:
    kinds = [vocabularies.backend(name)]
    if name in vocabularies.FAMILIES:
        kinds.append(vocabularies.tiktoken_encoding(name))
    return [codec_of(kind) for kind in kinds]


# ---------------------------------------------------------------- small tokenizers for the rare shapes


def small_bpe(texts: tuple[str, ...] = (), **settings: Any) -> Tokenizer:
    """BPE over printable ASCII, newline and `▁`, with one merge chain for each text."""
    letters = [chr(code) for code in range(33, 127)] + ["\n", " ", "\u2581"]
    merges = [(text[:cut], text[cut]) for text in texts for cut in range(1, len(text))]
    entries = dict.fromkeys([*letters, *("".join(pair) for pair in merges)])
    vocabulary = {entry: number for number, entry in enumerate(entries)}
    return Tokenizer(models.BPE(vocabulary, list(dict.fromkeys(merges)), **settings))


def test_settings_of_the_tokenizer_neither_cut_ids_nor_change() -> None:
    tokenizer = small_bpe()
    tokenizer.add_special_tokens(["<s>"])
    before = codec_of(tokenizer).control("<s>abc"), codec_of(tokenizer).plain("<s>abc")
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    tokenizer.encode_special_tokens = True
    described = tokenizer.to_str()
    for codec in (codec_of(tokenizer), codec_of(Tokenizer.from_str(described))):
        assert (codec.control("<s>abc"), codec.plain("<s>abc")) == before
    assert [len(ids) for ids in before] == [4, 6]
    assert tokenizer.to_str() == described and tokenizer.encode_special_tokens


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_an_entry_for_a_control_token_is_not_reached_from_text(ignore_merges: bool) -> None:
    tokenizer = small_bpe(("<s>", "<s>!"), ignore_merges=ignore_merges)
    assert tokenizer.encode("<s>").tokens == ["<s>"]
    tokenizer.add_special_tokens(["<s>"])
    codec = codec_of(tokenizer)
    control = codec.token_id("<s>")
    assert codec.control("<s>a") == [control, *codec.plain("a")]
    for text in ("<s>", "a<s>", "<s>!"):
        assert control not in codec.plain(text) and codec.decode(codec.plain(text)) != ""
    assert codec.plain("<s>") == [tokenizer.token_to_id("<s"), tokenizer.token_to_id(">")]


def test_other_models_do_not_reach_control_tokens_either() -> None:
    unigram = Tokenizer(
        models.Unigram([("<unk>", 0.0), ("<s>", -1.0), ("<", -2.0), ("s", -2.0), (">", -2.0)], 0)
    )
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "<s>": 1, "a": 2}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    unknown = Tokenizer(models.Unigram([("<unk>", 0.0), ("<s>", -1.0)], 0))
    for tokenizer, expected in ((unigram, [2, 3, 4]), (unknown, [0]), (words, [0])):
        assert tokenizer.encode("<s>").ids == [1]
        tokenizer.add_special_tokens(["<s>"])
        assert codec_of(tokenizer).plain("<s>") == expected
        assert codec_of(tokenizer).control("<s>") == [1]


def test_the_token_for_unknown_text_stays() -> None:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, "[UNK]"))
    tokenizer.add_special_tokens(["[UNK]"])
    assert codec_of(tokenizer).plain("b") == [0]


def test_plain_tokens_made_of_blanks_are_text() -> None:
    tokenizer = small_bpe()
    tokenizer.add_tokens([AddedToken("\n\n", special=False, normalized=False)])
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    codec = codec_of(tokenizer)
    text = "a\n\nb\n<s>\n\n\n"
    blank = codec.added()["\n\n"]
    ids, starts = codec.plain_starts(text)
    assert codec.plain(text) == ids and ids.count(blank) == 2
    assert starts == [0, 1, 3, 4, 5, 6, 7, 8, 10]
    assert codec.plain("a\n\nb") == codec.control("a\n\nb")


def test_special_tokens_made_of_blanks_are_control() -> None:
    tokenizer = small_bpe()
    tokenizer.add_special_tokens(["\n\n"])
    codec = codec_of(tokenizer)
    assert codec.plain("\n\n") == codec.plain("\n") * 2
    assert codec.control("\n\n") == [codec.token_id("\n\n")]


@pytest.mark.parametrize("nested", [False, True])
def test_a_blank_before_the_first_word_is_only_for_the_start(nested: bool) -> None:
    tokenizer = small_bpe()
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([metaspace]) if nested else metaspace
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True, normalized=False)])
    codec = codec_of(tokenizer)
    blank = tokenizer.token_to_id("\u2581")
    assert codec.plain("ab")[0] == blank and codec.plain("ab", at_start=False)[0] != blank
    assert codec.control("ab<s>cd") == [
        *codec.plain("ab"),
        codec.token_id("<s>"),
        *codec.plain("cd", at_start=False),
    ]
    assert codec.token_bytes(blank) == b" "


def test_sentencepiece_bytes() -> None:
    tokenizer = Tokenizer(models.BPE({"<0xC3>": 0, "\u2581a": 1}, [], byte_fallback=True))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback()]
    )
    assert [codec_of(tokenizer).token_bytes(id) for id in (0, 1)] == [b"\xc3", b" a"]


def test_bytes_without_a_decoder_are_the_text() -> None:
    assert codec_of(small_bpe()).token_bytes(0) == b"!"


def test_normalized_tokens_are_found_after_the_others() -> None:
    tokenizer = small_bpe()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_tokens([AddedToken("<abc>", normalized=True), AddedToken("bc", normalized=False)])
    codec = codec_of(tokenizer)
    text = "<abc>bc<abc"
    assert [match.token.text for match in codec.controls.find(text)] == ["bc", "bc", "bc"]
    assert codec.control(text) == tokenizer.encode(text).ids


# ---------------------------------------------------------------- one codec a tokenizer


def test_the_codec_is_remembered_until_tokens_are_added() -> None:
    tokenizer = small_bpe()
    codec = codec_of(tokenizer)
    assert codec_of(tokenizer) is codec and codec_of(codec) is codec
    tokenizer.add_special_tokens(["<new>"])
    assert codec_of(tokenizer) is not codec
    assert codec_of(tokenizer).control("<new>") == [tokenizer.token_to_id("<new>")]


def test_a_tokenizer_is_not_kept_alive() -> None:
    tokenizer = small_bpe()
    gone = weakref.ref(codec_of(tokenizer))
    assert gone() is not None
    del tokenizer
    gc.collect()
    assert gone() is None


def test_threads_get_one_codec_and_equal_ids() -> None:
    tokenizer = small_bpe()
    tokenizer.add_special_tokens(["<s>"])
    text = "<s>abc" * 20

    def work(_: int) -> tuple[int, tuple[int, ...]]:
        codec = codec_of(tokenizer)
        return id(codec), tuple(codec.control(text) + codec.plain(text))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(64)))) == 1


def test_a_transformers_tokenizer_around_tiktoken_is_accepted() -> None:
    encoding = vocabularies.tiktoken_encoding("kimi-k2")
    wrapper = SimpleNamespace(model=encoding, bos_token="[BOS]", eos_token="[EOS]")
    codec = codec_of(wrapper)
    assert codec.control("[BOS]hi") == codec_of(encoding).control("[BOS]hi")
    assert (codec.bos_token, codec.eos_token) == ("[BOS]", "[EOS]")


class Slow:
    """What a slow transformers tokenizer looks like from outside."""

    def convert_tokens_to_ids(self) -> None: ...


@pytest.mark.parametrize(
    ("tokenizer", "kind", "cure"),
    [
        (Slow(), "test_codec.Slow is a slow transformers tokenizer", "use_fast=True"),
        ("qwen", "builtins.str is not a tokenizer", "tiktoken.Encoding"),
        (None, "NoneType is not a tokenizer", "tokenizers.Tokenizer"),
    ],
)
def test_other_objects_are_refused(tokenizer: object, kind: str, cure: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        codec_of(tokenizer)
    assert kind in caught.value.message and cure in caught.value.help


def test_a_text_that_tiktoken_cannot_split_is_a_clear_error() -> None:
    codec = codec_of(vocabularies.tiktoken_encoding("qwen3"))
    with pytest.raises(TokenizerError, match="gave up on a text of 1000000 characters"):
        codec.plain(" " * 1_000_000)


def test_a_tiktoken_pattern_that_drops_text_is_noticed() -> None:
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    codec = codec_of(
        tiktoken.Encoding("x", pat_str=r"\w+", mergeable_ranks=ranks, special_tokens={})
    )
    assert codec.plain_starts("ab") == ([97, 98], [0, 1])
    with pytest.raises(TokenizerError, match="drops characters"):
        codec.plain_starts("a b")


SMALL_TOKENIZER = """
import sys
import templc.runtime.encode
from templc.runtime.codec import codec_of
assert not {"tokenizers", "tiktoken"} & set(sys.modules), "imported by templc"
import tiktoken
from tokenizers import Tokenizer, models
ranks = {bytes([byte]): byte for byte in range(256)}
encoding = tiktoken.Encoding("x", pat_str=".", mergeable_ranks=ranks, special_tokens={"<s>": 256})
tokenizer = Tokenizer(models.BPE({"a": 0, "<s>": 1}, [], ignore_merges=True))
tokenizer.add_special_tokens(["<s>"])
assert codec_of(encoding).control("a<s>") == [97, 256]
assert codec_of(tokenizer).control("a<s>") == [0, 1] and codec_of(tokenizer).plain("a<s>") == [0]
assert not {"transformers", "torch"} & set(sys.modules), "imported by a tokenizer library"
"""


def test_no_other_library_is_imported() -> None:
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SMALL_TOKENIZER],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

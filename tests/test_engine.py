"""The fast engine: equal ids, the conditions that refuse, sharing, threads, pickles, the verdicts on disk."""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import templc
from templc.runtime.codec import codec_of
from templc.runtime.engine import FastEngine, Unfit, fast_engine, haste, store, with_gigatoken
from templc.runtime.engine.build import KINDS, Kind
from templc.runtime.engine.merges import merge_table
from templc.runtime.engine.pattern import one_pattern
from templc.runtime.engine.trial import hostile_strings, trial
from templc.runtime.errors import MessageError
from templc.runtime.filling import encoded_into
from templc.runtime.token_bytes import byte_of_character
from tests.engine_fuzz import compare, strings
from tests.support import vocabularies
from tests.support.cli import runner
from tests.support.vocabularies import text_engine

WORDS = r" ?\p{L}+|\s+|[^\s\p{L}]"


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.delenv("TEMPLC_ENGINE", raising=False)


def small(
    merges: list[tuple[str, str]] | None = None,
    *,
    ids: dict[str, int] | None = None,
    pattern: str = WORDS,
    **settings: Any,
) -> Tokenizer:
    pairs = [("a", "b"), ("ab", "c")] if merges is None else merges
    vocabulary = {letter: place for place, letter in enumerate(byte_of_character())}
    for left, right in pairs:
        vocabulary.setdefault(left + right, len(vocabulary))
    found = Tokenizer(models.BPE(vocabulary | (ids or {}), pairs, **settings))
    found.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    found.decoder = decoders.ByteLevel()
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["qwen3", "deepseek-v3", "llama3"])
def test_real_vocabularies_give_the_same_ids(name: str, kind: Kind) -> None:
    own = text_engine(vocabularies.backend(name))
    engine = fast_engine(own, [kind])
    taken, _, wrong = compare(own, engine, 2000, seed=7)
    assert wrong == [] and taken > 1500 and engine.name == kind.name


def test_small_vocabularies_give_the_same_ids() -> None:
    for own in (
        small(),
        small(ignore_merges=True),
        small([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "a"), ("aa", "a"), ("aa", "aa")]),
        small(pattern=r"\p{L}+"),
    ):
        fast = fast_engine(own)
        for text in (*strings(300, 3), "abcabc aaaaaaa", "aab bcabc 12 ab"):
            assert fast.ids(text) in (None, own.encode(text).ids), text


def refused(tokenizer: Any, kinds: Sequence[Kind] = KINDS[1:]) -> str:
    with pytest.raises(Unfit) as caught:
        fast_engine(tokenizer, kinds)
    return caught.value.reason


def test_what_tiktoken_would_do_otherwise_is_refused() -> None:
    assert refused(Tokenizer(models.WordLevel({"a": 0}, "a"))).startswith("the pre-tokenizer")
    assert refused(small(dropout=0.5)) == "the model has dropout=0.5"
    assert "is lower than those" in refused(small(ids={"ab": 999}))
    lower = small()
    lower.normalizer = normalizers.Lowercase()
    assert refused(lower) == "the normalizer Lowercase is not NFC"
    blank = small()
    blank.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert "blank before the first word" in refused(blank)
    assert "no merge makes" in refused(small(ids={"xy": 900, "xyz": 901}, ignore_merges=True))


def test_what_gigatoken_would_do_otherwise_is_refused() -> None:
    first = KINDS[:1]
    assert refused(Tokenizer(models.WordLevel({"a": 0}, "a")), first).startswith("the model")
    assert refused(small(dropout=0.5), first) == "the model has dropout=0.5"
    assert refused(small(), first).startswith("gigatoken refuses the tokenizer (")
    blank = small()
    blank.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert "blank before the first word" in refused(blank, first)
    assert refused(blank, KINDS) == refused(blank, first)  # a reason of both is told once


def test_the_kept_words_of_gigatoken_are_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Encoder:
        def __init__(self) -> None:
            made.append(self)

        def encode(self, text: str) -> Any:
            return array("I", [len(text)])

    monkeypatch.setattr(with_gigatoken, "CHARACTERS", 10)
    monkeypatch.setattr(with_gigatoken, "resident", lambda: 1000)
    monkeypatch.setattr(with_gigatoken, "GROWTH", 0)
    encode = with_gigatoken.Renewed(Encoder, Encoder())
    assert [encode("x" * 6) for _ in range(4)] == [[6]] * 4 and len(made) == 1
    monkeypatch.setattr(with_gigatoken, "GROWTH", -1)
    assert [encode("x" * 6) for _ in range(4)] == [[6]] * 4 and len(made) == 3
    engine = FastEngine((encode, encode), [], name="n", compose=None, strange="")
    two = ["x" * 5] * 2, 2 * [("x", "", [])], engine
    assert [encoded_into([], *two) for _ in range(2)] == [[1, 1]] * 2
    assert len(made) == 5


def test_several_texts_are_encoded_as_one_by_one() -> None:
    own = text_engine(vocabularies.backend("qwen3"))
    engine = fast_engine(own, KINDS[:1])
    drawn = [*strings(300, 11), "", "a" * 2000, "é\u0301", "\ud800", "\u0378"]
    known = 0
    for texts in zip(drawn, drawn[1:], drawn[2:], strict=False):
        places = [("", "", [1]), ("x ", "", []), ("", "\n", [2, 3])]
        whole = [
            before + text + after for text, (before, after, _) in zip(texts, places, strict=True)
        ]
        apart = [engine.ids(text) for text in whole]
        ids = [7]
        sizes = encoded_into(ids, [*texts], places, engine)
        if sizes is None:
            assert any(engine.starts(text) is None for text in whole), texts
            continue
        one, two, three = ([*map(int, found or ())] for found in apart)
        assert ids == [7, *one, 1, *two, *three, 2, 3] and sizes == [*map(len, (one, two, three))]
        known += 1
    assert known > 100
    assert encoded_into([], [*texts], places, fast_engine(own, KINDS[1:])) is None


def test_one_who_encodes_meanwhile_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy:
        def __init__(self, times: int) -> None:
            self.times = times

        def encode(self, text: str) -> Any:
            self.times -= text == "b"
            if self.times >= 0 and text == "b":
                raise RuntimeError("busy")
            return array("I", [ord(text)])

    ids: list[int] = []
    encode = with_gigatoken.Renewed(lambda: None, Busy(3))
    places = [("", "", [at]) for at in range(3)]
    engine = FastEngine((encode, encode), [], name="n", compose=None, strange="")
    assert encoded_into(ids, [*"abc"], places, engine) == [1, 1, 1]
    assert ids == [97, 0, 98, 1, 99, 2]
    monkeypatch.setattr(with_gigatoken, "_TRIES", 2)
    stuck = with_gigatoken.Renewed(lambda: None, Busy(9))
    engine = FastEngine((stuck, stuck), [], name="n", compose=None, strange="")
    assert encoded_into([], [*"abc"], places, engine) is None and engine.ids("b") is None


def test_a_pair_that_never_happens_makes_no_last_merge() -> None:
    # "bc" comes before "ab" + "c", so that no text gives "abc".
    own = small([("b", "c"), ("a", "b"), ("ab", "c")])
    model = json.loads(own.to_str())["model"]
    assert model["vocab"]["abc"] in merge_table(model).unused
    assert fast_engine(own).ids("abc") == own.encode("abc").ids


def test_runs_of_one_class_become_regions() -> None:
    own = small()
    steps = [
        pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
        pre_tokenizers.Split(Regex("[a-c一-龥]+"), "isolated"),
        pre_tokenizers.Split(Regex(r" ?[\p{L}]+|\s+(?!\S)|\s+"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    own.pre_tokenizer = pre_tokenizers.Sequence(steps)
    fast = fast_engine(own)
    for text in ("ab  12345abc  abx", "x 一ab  c", *strings(300, 5)):
        assert fast.ids(text) in (None, own.encode(text).ids), text
    with pytest.raises(Unfit, match="several patterns"):
        one_pattern(json.loads(own.to_str())["pre_tokenizer"] | _twice())


def _twice() -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": "a|b"}, "behavior": "Isolated", "invert": False}
    return {"pretokenizers": [split, split, {"type": "ByteLevel", "use_regex": False}]}


def test_the_trial_finds_strange_characters_and_differences() -> None:
    def own(text: str) -> list[int]:
        return list(map(ord, text))

    assert trial(own, own, "other") == ""
    assert trial(own, lambda text: own(text.replace("é", "e")), "other") == "é"
    with pytest.raises(Unfit, match="other gives other ids"):
        trial(own, lambda text: own(text.replace("Word", "word")), "other")
    assert list(hostile_strings(3)) == list(hostile_strings(3))


def test_one_engine_for_equal_tokenizers_as_long_as_one_lives() -> None:
    engine = fast_engine(small())
    assert fast_engine(small()) is engine
    assert fast_engine(small([("a", "c")])) is not engine
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(engine)


def test_verdicts_are_kept_and_an_unwritable_folder_is_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = small([("x", "y")])
    fast_engine(own, KINDS[1:])
    (kept,) = store.folder().glob("*.json")
    gc.collect()
    made_again = fast_engine(own, KINDS[1:])
    assert made_again.starts("xy é") == ([256, 220, 127, 102], [0, 2, 3, 3])
    del made_again
    gc.collect()
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "reason": "as kept"}))
    assert refused(own) == "as kept"
    kept.write_text("{")
    assert fast_engine(own).ids("xy") == own.encode("xy").ids
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    gc.collect()
    assert fast_engine(small([("x", "z")])).ids("xz") == [256]


def test_codecs_change_over_when_there_is_enough_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(haste, "ENOUGH", 100)
    codec = codec_of(small([("a", "d")]))
    before = codec.plain("a long text with ad and more " * 2), codec.plain_starts("ad é d" * 9)
    codec.plain("x" * 101)
    after = codec.plain("a long text with ad and more " * 2), codec.plain_starts("ad é d" * 9)
    assert codec.engine() == "tiktoken" and after == before  # gigatoken does not know its pattern
    assert codec.plain_counted("ad é ad", [4, 7]) == (codec.plain("ad é ad"), [4, 2])
    with pytest.raises(MessageError):
        codec.plain("a lone surrogate \ud800 behind more than a few letters")


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLC_ENGINE", "own")
    assert codec_of(small([("a", "e")])).engine() == "tokenizers (TEMPLC_ENGINE is own)"
    for library in ("tiktoken", "gigatoken"):
        monkeypatch.setenv("TEMPLC_ENGINE", library)
        backend = type(vocabularies.backend("qwen3")).from_str(
            vocabularies.backend("qwen3").to_str()
        )
        assert codec_of(backend).engine() == library


def test_threads_and_pickles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLC_ENGINE", "fast")
    tokenizer = vocabularies.hf("qwen3")
    plain = templc.get_renderer("qwen3")
    chat = [{"role": "user", "content": "Straße 12 e\u0301 " * 20}]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: plain.render(chat, tokenizer), range(32)))
    assert all(tokens == found[0] for tokens in found)
    assert len(pickle.dumps(plain)) < 500
    monkeypatch.setenv("TEMPLC_ENGINE", "own")
    assert found[0] == plain.render(chat, vocabularies.backend("qwen3"))


@pytest.mark.parametrize("library", ("gigatoken", "tiktoken"))
def test_many_threads_encode_at_once(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLC_ENGINE", library)
    codec = codec_of(
        type(vocabularies.backend("qwen3")).from_str(vocabularies.backend("qwen3").to_str())
    )
    texts = [f"word {number} and others, {number * 7} in all. " * 50 for number in range(600)]
    wanted = [codec.plain(text) for text in texts]
    assert codec.engine() == library
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(codec.plain, texts)) == wanted


def test_rendering_imports_no_tokenizer_library() -> None:
    code = (
        "import sys, templc; templc.get_renderer('qwen3').render_text([{'role': 'user', 'content': 'hi'}]);"
        "assert not {'gigatoken', 'tiktoken', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_show_says_which_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(monkeypatch, capsys)
    shown = run("show", "--engine", "deepseekv3").out.splitlines()
    assert shown[0] == "demo vocabulary deepseek-v3: gigatoken"
    assert shown[1].startswith("what short chats run through: ")
    assert "tiktoken, as given" in run("show", "--engine", "qwen3").out

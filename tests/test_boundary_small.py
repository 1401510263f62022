"""Joints on small tokenizers made for the purpose: exhaustive over short texts, flags of tokens, odd components."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from templc.proof.boundary import Verdict, analyse, classes, joint
from templc.proof.boundary.classes import TokenizersEngine, ranges
from templc.proof.boundary.regex import Atom, Unsupported, parse
from templc.proof.boundary.splits import split
from templc.proof.boundary.words import described

Parts = list[tuple[int, int, int]]


def small(
    *steps: Any, normalizer: Any = None, tokens: Iterable[AddedToken] = (), model: Any = None
) -> Tokenizer:
    """A tokenizer whose ids are its pieces, told apart by where they stand."""
    tokenizer = Tokenizer(model or models.WordLevel({"?": 0}, unk_token="?"))
    if steps:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(steps))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def by(pattern: str) -> Any:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def parts_of(tokenizer: Tokenizer) -> Callable[[str], Parts]:
    """What a text becomes: ids with their places."""

    def parts(text: str) -> Parts:
        found = tokenizer.encode(text, add_special_tokens=False)
        return [(id, *where) for id, where in zip(found.ids, found.offsets, strict=True)]

    return parts


def apart(parts: Callable[[str], Parts], a: str, b: str) -> bool:
    """Whether both texts together become what they become alone."""
    shifted = [(id, start + len(a), end + len(a)) for id, start, end in parts(b)]
    return parts(a) + shifted == parts(a + b)


def texts(alphabet: Sequence[str], size: int) -> list[str]:
    every = itertools.chain.from_iterable(
        itertools.product(alphabet, repeat=length) for length in range(size + 1)
    )
    return ["".join(letters) for letters in every]


PATTERNS = {
    "words": (r"[a-z]+|\s*\n+|\s+(?!\S)|\s+", "ab \n!"),
    "gaps": (r"a+|b\n", "ab!\n"),
    "contractions": (r"[a-z]+(?i:'s|'re)?|'|\s", "asr'S"),
    "counted": (r"a{1,3}|b{2}|\n", "ab\n"),
    "first wins": (r"a|ab|abb+|b", "ab!"),
    "look-ahead": (r"a(?=b)|aa(?!b)|[ab]+!|.", "ab!"),
    "nested": (r"(?:a(?:b|\n)*)+!|.", "ab\n!"),
}


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("anchored", [False, True])
def test_verdicts_about_pieces_are_exact(name: str, anchored: bool) -> None:
    pattern, alphabet = PATTERNS[name]
    tokenizer = small(by(pattern), tokens=[AddedToken("<#>", normalized=False)])
    parts, facts = parts_of(tokenizer), analyse(tokenizer)
    before = ["<#>"] if anchored else texts(alphabet, 3)
    for literal in [*alphabet, alphabet[:2], alphabet[-2:]]:
        case = joint(facts, literal, anchored=anchored)
        assert case.proved, case.reason
        safe = {
            b: all(apart(parts, a + literal, b) for a in before) for b in texts(alphabet, 3) if b
        }
        assert {b: case.safe(b) for b in safe} == safe
        for b in texts(alphabet, 2):
            longer = [it for it in safe if it.startswith(b)]
            if b and case.safe(b, more=True):
                assert all(safe[it] for it in longer)


STEPS: dict[str, tuple[list[Any], str]] = {
    "digits": ([pre_tokenizers.Digits(individual_digits=True), by(r"\w+|\s+")], "a1 \u00b2"),
    "digit runs": ([pre_tokenizers.Digits(individual_digits=False), by(r"[a-z1]+|\s+")], "a1 !"),
    "two classes": ([by(r"\p{N}{1,3}"), by("[b-c]+"), by(r"[^\s]?[a-z]+|\s+(?!\S)|\s+")], "ab1 "),
    "only a class": ([by(r"\p{N}{1,2}")], "a1!"),
    "byte level": ([pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)], "a's 1\n"),
    "split twice": ([by(r"[a-z]+|\s+"), by("a|b+")], "ab !"),
    "text": ([pre_tokenizers.Split("ab", "isolated"), by("[ab]+|!")], "ab!"),
    "nothing": ([], "ab"),
}


@pytest.mark.parametrize("name", STEPS)
def test_no_verdict_on_several_steps_is_false(name: str) -> None:
    steps, alphabet = STEPS[name]
    tokenizer = small(*steps)
    parts, facts = parts_of(tokenizer), analyse(tokenizer)
    kept = 0
    for literal in [*alphabet, alphabet[:2]]:
        case = joint(facts, literal)
        assert case.proved, case.reason
        for b in texts(alphabet, 3):
            if case.safe(b):
                kept += 1
                assert all(apart(parts, a + literal, b) for a in texts(alphabet, 2)), (literal, b)
    assert kept > len(alphabet)


def test_a_gap_joins_a_gap() -> None:
    tokenizer = small(by("a+"))
    case = joint(analyse(tokenizer), "!")
    assert not apart(parts_of(tokenizer), "!", "!")
    assert case.first("!") is Verdict.UNSAFE and case.first("a") is Verdict.SAFE


FLAGS = ("", "lstrip", "rstrip", "single_word")


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("normalized", [False, True])
def test_flags_of_control_tokens(flag: str, normalized: bool) -> None:
    flags = {flag: True} if flag else {}
    tokenizer = small(
        by(r"\w+|\s*\n|\s+(?!\S)|\s+|\W"),
        tokens=[AddedToken("<x>", normalized=normalized, **flags), AddedToken("bc")],
    )
    parts, facts = parts_of(tokenizer), analyse(tokenizer)
    fragments = ["<x>", " ", "b", "c", "<", "x>", "\n"]
    kept = 0
    for literal in ["b", " ", "<", "x> ", "<x>", "<x> ", "<x>\n", ">", "<x>b", " b", "bc"]:
        case = joint(facts, literal)
        for b in texts(fragments, 3):
            safe, prefix = case.safe(b), case.safe(b, more=True)
            kept += safe
            assert safe or not prefix
            if safe:
                assert all(apart(parts, a + literal, b) for a in texts(fragments, 1)), (literal, b)
    assert kept > 500


def test_tokens_that_overlap() -> None:
    tokens = ["ab", "bc", "abca", "cc", "aab"]
    tokenizer = small(by("."), tokens=[AddedToken(it, normalized=False) for it in tokens])
    parts, facts = parts_of(tokenizer), analyse(tokenizer)
    for literal in texts("abc", 2)[1:]:
        case = joint(facts, literal)
        for b in texts("abc", 4):
            if case.safe(b):
                assert all(apart(parts, a + literal, b) for a in texts("abc", 3)), (literal, b)
        for b in texts("abc", 2)[1:]:
            if case.safe(b, more=True):
                assert all(case.safe(b + more) for more in texts("abc", 3)), (literal, b)


def test_normal_forms_before_pieces() -> None:
    """Classes that tell letters from composed letters, and tokens that are looked for after composing."""
    tokenizer = small(
        by("[a-zé]+|[\u0300-\u036f]+|[\u1e00-\u1eff가-힣]+"),
        normalizer=normalizers.NFC(),
        tokens=[AddedToken("<é>", normalized=True), AddedToken("<e>", normalized=False)],
    )
    facts = analyse(tokenizer)
    parts = ["e", "é", "́", "̣", "̸", "<", ">", "ᄀ", "ᅡ", "ᆨ", "가", "Å", "̈́"]
    rng = random.Random(4)
    pieces: dict[str, list[str]] = {}

    def read(text: str) -> list[str]:
        if text not in pieces:
            found = tokenizer.encode(text, add_special_tokens=False)
            ends = [end for _, end in found.offsets]
            pieces[text] = [f"{id}:{end}" for id, end in zip(found.ids, ends, strict=True)]
        return pieces[text]

    for literal in ["e", "é", "<", ">", "<é", "e>", "가", "ᄀ", "x<e", "\u1161", "<e>", "<é>"]:
        case = joint(facts, literal)
        for _ in range(1500):
            a = "".join(rng.choices(parts, k=rng.randrange(3))) + literal
            b = "".join(rng.choices(parts, k=rng.randrange(1, 5)))
            head = b[: rng.randrange(1, 4)]
            if case.safe(b) or case.safe(head, more=True):
                whole = normalizers.NFC().normalize_str(a + b)
                halves = normalizers.NFC().normalize_str(a), normalizers.NFC().normalize_str(b)
                if case.sealed is None and "<e>" not in a + b:
                    assert whole == "".join(halves), (a, b)
                assert len(read(a)) + len(read(b)) == len(read(a + b)), (a, b, head)


@pytest.mark.parametrize(
    ("head", "rest"),
    [("e", "\u0323"), ("é", "\u0323"), ("\u0301", "\u0323"), ("ᄀ", "ᅡ"), ("가", "ᆨ")],
)
def test_a_text_that_may_go_on_may_compose(head: str, rest: str) -> None:
    """The first character alone is safe, what it becomes is not."""
    tokenizer = small(by("☃[\u0323ẹ가각](?!ᆨ)|[\\s\\S]"), normalizer=normalizers.NFC())
    case = joint(analyse(tokenizer), "☃")
    count = {
        text: len(tokenizer.encode(text).ids) for text in ("☃", head + rest, "☃" + head + rest)
    }
    assert count["☃"] + count[head + rest] > count["☃" + head + rest]
    assert not case.safe(head + rest) and not case.safe(head, more=True)
    assert case.first(head) is not Verdict.SAFE and case.first("z") is Verdict.SAFE


def test_replaced_characters_and_no_pieces_but_a_vocabulary() -> None:
    """The shape of SentencePiece vocabularies: the whole text is one piece, so only the vocabulary can tell."""
    rng = random.Random(7)
    letters = "ab▁\n"
    vocabulary = {it: at for at, it in enumerate(letters)}
    merges: list[tuple[str, str]] = []
    while len(merges) < 25:
        left, right = rng.choices(list(vocabulary), k=2)
        if len(left + right) <= 5 and left + right not in vocabulary and "\na" not in left + right:
            vocabulary[left + right] = len(vocabulary)
            merges.append((left, right))
    vocabulary |= {it: len(vocabulary) + at for at, it in enumerate("#<")}
    tokenizer = small(
        model=models.BPE(vocabulary, merges), normalizer=normalizers.Replace(" ", "▁")
    )
    facts = analyse(tokenizer)
    ids: dict[str, list[int]] = {}
    kept = 0
    for literal in ("a", "\n", " ", "ba"):
        strict, case = joint(facts, literal), joint(facts, literal, relax=True)
        for b in texts("ab \n", 4)[1:]:
            assert not strict.safe(b)
            for a in texts("ab \n", 2) if case.safe(b) else ():
                for text in (a + literal, b, a + literal + b):
                    ids[text] = ids.get(text) or tokenizer.encode(text).ids
                assert ids[a + literal] + ids[b] == ids[a + literal + b], (a, literal, b)
                kept += 1
    assert kept


def test_a_whole_entry_that_merges_do_not_reach() -> None:
    vocabulary = {it: at for at, it in enumerate(["a", "b", "c", "#", "abc", "ca"])}
    model = models.BPE(vocabulary, [], ignore_merges=True)
    tokenizer = small(by("[abc]+"), model=model)
    assert tokenizer.encode("abc").ids == [4] and tokenizer.encode("babc").ids == [1, 0, 1, 2]
    case = joint(analyse(tokenizer), "b", relax=True)
    assert not case.safe("abc") and case.safe("ab") and not case.safe("cab")
    assert not joint(analyse(tokenizer), "c", relax=True).safe(
        "b"
    )  # `abc` may be what ends with it


UNKNOWN: list[tuple[Any, Any, str]] = [
    (pre_tokenizers.Metaspace(), None, "pre-tokenizer Metaspace"),
    (pre_tokenizers.Whitespace(), None, "pre-tokenizer Whitespace"),
    (pre_tokenizers.ByteLevel(add_prefix_space=True), None, "puts a blank before text"),
    (pre_tokenizers.Split(Regex("a"), "removed"), None, "Split that is Removed"),
    (by(r"(?<=a)b"), None, "group"),
    (by("a"), normalizers.NFKC(), "normalizer NFKC"),
    (by("a"), normalizers.Lowercase(), "normalizer Lowercase"),
    (by("a"), normalizers.Prepend("▁"), "normalizer Prepend"),
]


@pytest.mark.parametrize(("step", "normalizer", "reason"), UNKNOWN)
def test_what_is_not_known_is_unsafe_unless_sealed(step: Any, normalizer: Any, reason: str) -> None:
    tokens = [AddedToken("<x>", normalized=False), AddedToken("<y>", normalized=True)]
    facts = analyse(small(step, normalizer=normalizer, tokens=tokens))
    case = joint(facts, "\n")
    assert reason in case.reason and not case.proved
    assert not case.safe("a") and case.safe("<x>a") and case.unsafe_first() == "every character"
    sealed = joint(facts, "a<x>")
    assert sealed.sealed == "<x>" and sealed.proved and sealed.safe("a")


def test_tokens_of_unknown_normal_forms_do_not_seal() -> None:
    token = AddedToken("<y>", normalized=True)
    facts = analyse(small(by("a"), normalizer=normalizers.NFKC(), tokens=[token]))
    assert joint(facts, "<y>").sealed is None and not joint(facts, "a").safe("<y>")


def test_a_model_that_drops_merges_is_unknown() -> None:
    model = models.BPE({"a": 0}, [], dropout=0.5)
    assert "at random" in joint(analyse(small(by("a"), model=model)), "a").reason


REFUSED = {
    r"\bx": "escape", r"^x": "anchor", r"x$": "anchor", r"(?<!x)y": "group", r"x++": "possessive", r"x+?": "lazy",
    r"(a)\1": "escape", r"a*": "empty", r"(?:a|b*)+": "may match the empty", r"(?!ab)c": "more than one",
    r"x{,3}": "quantifier", r"(?i:ss)": "ignoring case", r"\R": "escape", r"(?s:.)": "group", r"[]a]": "begins with",
    r"a)": "unbalanced", r"(a": "without an end", r"[a": "too early", r"+a": "nothing before", r"x{3,1}": "before its",
    r"\pL": "braces", r"\x1": "too early", r"\<a": "escape",
}  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(REFUSED[pattern])):
        parse(pattern)


def test_a_class_that_may_match_several_letters_is_refused() -> None:
    with pytest.raises(Unsupported, match="fold to several"):
        split({"type": "Split", "pattern": {"Regex": "(?i:[^a])"}, "behavior": "Isolated",
               "invert": False}, TokenizersEngine())  # fmt: skip
    with pytest.raises(Unsupported, match="refuses"):
        ranges(TokenizersEngine(), [Atom(r"\p{Nonsense}")])


class Counting:
    """An engine that counts its passes."""

    name = "counting-1"

    def __init__(self) -> None:
        self.passes = 0

    def matched(self, source: str, text: str) -> str:
        self.passes += 1
        return "".join(re.findall(source, text))


def test_tables_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, atom = Counting(), Atom("[a-c]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def table() -> object:
        monkeypatch.setattr(classes, "_tables", {})
        return ranges(engine, [atom])[atom]

    assert table() == ((97, 100),) and table() == ((97, 100),)
    assert engine.passes == 1
    (file,) = (tmp_path / "templc" / "classes").iterdir()
    file.write_text("[1, ")
    assert table() == ((97, 100),) and engine.passes == 2
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))  # a folder that cannot be made
    assert table() == ((97, 100),) and engine.passes == 3


def test_sets_of_characters_in_words() -> None:
    assert described([(10, 11), (13, 14), (65, 91), (97, 123)]) == "\\n, \\r, ASCII letters (52)"
    assert described([(32, 33), (0x200B, 0x200C)]) == "U+200B, ' '"
    assert described([(97, 123)]) == "26 of 52 ASCII letters"
    assert described([(0, 0x110000)]) == "every character"
    assert described([(0, 65), (91, 97), (123, 0x110000)]) == "all but ASCII letters (52)"
    assert described([]) == "none"


def test_an_empty_literal_and_lone_surrogates() -> None:
    facts = analyse(small(by("a+")))
    with pytest.raises(ValueError, match="is empty"):
        joint(facts, "")
    assert not joint(facts, "a").safe("\ud800")
    assert joint(facts, "a").safe("") and not joint(facts, "a").safe("", more=True)

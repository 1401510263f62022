"""Joints on real vocabularies: the known table, random joints, class tables and pieces against the engine itself."""

from __future__ import annotations

import random
from functools import cache

import pytest

from templc.proof.boundary import Joint, TokenizerFacts, Verdict, analyse, joint
from templc.proof.boundary.classes import TiktokenEngine, TokenizersEngine, ranges
from templc.proof.boundary.regex import Atom
from templc.runtime.codec import codec_of
from templc.runtime.joint import changed_tail, resolve
from tests.boundary_evidence import FREE, SIX, Subject, hostile, subject, tally
from tests.support import vocabularies

BY_CLASS = ("qwen3", "llama3", "glm4.5")
JOINTS = 1_500


@cache
def facts(name: str) -> TokenizerFacts:
    return analyse(vocabularies.backend(name))


def verdicts(case: Joint, characters: str) -> set[Verdict]:
    return {case.first(char) for char in characters}


@pytest.mark.parametrize("name", SIX)
@pytest.mark.parametrize("literal", ["\n", "\n\n", ">\n"])
def test_after_a_newline_only_newlines_and_what_leads_to_them(name: str, literal: str) -> None:
    case = joint(facts(name), literal)
    slash = Verdict.UNSAFE if name == "gpt-oss" else Verdict.SAFE
    assert case.proved and case.sealed is None
    assert verdicts(case, "\n\r") == {Verdict.UNSAFE}
    assert verdicts(case, " \t\u3000\x85") == {Verdict.OPEN}
    assert verdicts(case, "aZ7.,-é好あ\u0301\x00\u200b<'\U000e0001") == {Verdict.SAFE}
    assert case.first("/") is slash
    assert not case.safe("\n") and not case.safe("  \nx")
    assert case.safe("  x") and case.safe("  ") and case.safe("Hello\n\n")
    assert not case.safe("  ", more=True) and case.safe("  x", more=True)


@pytest.mark.parametrize("name", SIX)
def test_behind_a_control_token_the_slash_is_safe(name: str) -> None:
    case = joint(facts(name), "assistant\n", anchored=True)
    assert verdicts(case, "\n\r") == {Verdict.UNSAFE}
    assert verdicts(case, " \t") == {Verdict.OPEN}
    assert verdicts(case, "/a7.<好") == {Verdict.SAFE}


@pytest.mark.parametrize("name", SIX)
def test_after_a_role_and_a_colon(name: str) -> None:
    case = joint(facts(name), "Assistant:")
    assert verdicts(case, " \t") == {Verdict.SAFE}
    assert verdicts(case, "17\u0663") == {Verdict.SAFE}
    assert verdicts(case, "aZ.,\n\r") == {Verdict.UNSAFE}
    others = {"deepseek-v3": Verdict.SAFE}.get(name, Verdict.UNSAFE)
    assert verdicts(case, "éж") == {others}
    chinese = {"deepseek-v3": Verdict.SAFE, "kimi-k2": Verdict.SAFE}.get(name, Verdict.UNSAFE)
    assert verdicts(case, "好国") == {chinese}


@pytest.mark.parametrize("name", SIX)
def test_after_a_letter(name: str) -> None:
    case = joint(facts(name), "x")
    assert verdicts(case, "aséж") == {Verdict.UNSAFE}
    assert verdicts(case, " \n7.-") == {Verdict.SAFE}
    joins = name in ("qwen3", "gpt-oss", "kimi-k2", "deepseek-v3")
    assert case.first("\u0301") is (Verdict.UNSAFE if joins else Verdict.SAFE)
    contracted = name in ("gpt-oss", "kimi-k2")
    assert case.first("'") is (Verdict.OPEN if contracted else Verdict.SAFE)
    assert case.first("好") is {"kimi-k2": Verdict.SAFE, "deepseek-v3": Verdict.SAFE}.get(
        name, Verdict.UNSAFE
    )


@pytest.mark.parametrize("name", SIX)
def test_after_a_blank_nearly_nothing_is_safe(name: str) -> None:
    assert Verdict.SAFE not in verdicts(joint(facts(name), " "), "aZ.,\n -'")


def test_the_unsafe_characters_in_words() -> None:
    assert joint(facts("qwen3"), "\n").unsafe_first() == (
        "\\n, \\r; blanks (23), if they lead to \\n, \\r"
    )
    assert joint(facts("gpt-oss"), "\n").unsafe_first().startswith("\\n, \\r, /; blanks (23)")
    colon = joint(facts("llama3"), "Assistant:").unsafe_first()
    assert colon.startswith("all but blanks (23), digits and other numbers (1,")
    assert "texts that complete a control token: |>" in joint(facts("qwen3"), "x").unsafe_first()
    sealed = joint(facts("qwen3"), "<|im_end|>")
    assert sealed.unsafe_first() == "none" and sealed.always()


def test_a_mark_composes_across_the_joint_on_qwen_alone() -> None:
    for name in ("qwen3", "llama3"):
        equal = name == "llama3"
        encode = subject(name).encode
        case = joint(facts(name), "cafe")
        assert case.safe("\u0301!") is equal
        assert (encode("cafe") + encode("\u0301!") == encode("cafe\u0301!")) is equal
    # é is taken apart again for a mark below it, though nothing composes with é itself.
    case = joint(facts("qwen3"), "é")
    assert not case.safe("\u0338", more=True) and not case.safe("\u0338\u0323\u0301")


def test_a_character_is_judged_in_its_normal_form() -> None:
    case = joint(facts("qwen3"), "'")
    assert case.first("\u212a") is case.first("K")
    assert joint(facts("qwen3"), "\n").safe("\u037e")


@pytest.mark.parametrize("name", SIX)
def test_a_control_token_seals(name: str) -> None:
    under_test = subject(name)
    rng = random.Random(name)
    for token in under_test.specials[:60]:
        case = joint(facts(name), f"x{token}")
        assert case.sealed == token and case.proved
        b = hostile(rng, under_test, 2)
        assert case.safe(b)
        assert under_test.encode(f"x{token}") + under_test.encode(b) == under_test.encode(
            f"x{token}{b}"
        )


@pytest.mark.parametrize("name", SIX)
def test_a_control_token_anchors_what_follows_it(name: str) -> None:
    token = subject(name).specials[0]
    spelled = joint(facts(name), f"{token}assistant\n")
    given = joint(facts(name), "assistant\n", anchored=True)
    for b in ("/", "\n", "x", " \n", " x", token):
        assert spelled.safe(b) is given.safe(b)
    assert given.safe(token)


def test_two_halves_of_a_control_token_are_unsafe() -> None:
    case = joint(facts("qwen3"), "<|im_")
    assert not case.safe("end|> x") and not case.safe("en", more=True)
    assert not joint(facts("qwen3"), "_").safe("end|>")


@pytest.mark.parametrize("name", SIX)
def test_no_safe_verdict_is_false(name: str) -> None:
    found = tally(subject(name), JOINTS, seed=21)
    assert found.false_safe == 0 and found.false_by_prefix == 0
    # The joints must be hostile, and the verdicts of use, for that to mean something.
    assert found.unsafe - found.needless > JOINTS / 10
    assert found.safe > JOINTS / 3 and found.safe_by_prefix > JOINTS / 3


@pytest.mark.parametrize("name", ["glm4.5", "deepseek-v3"])
def test_the_vocabulary_calls_more_joints_safe_and_none_wrongly(name: str) -> None:
    strict = tally(subject(name), JOINTS, seed=22)
    relaxed = tally(subject(name), JOINTS, seed=22, relax=True)
    assert relaxed.false_safe == 0 and relaxed.false_by_prefix == 0
    assert relaxed.needless < strict.needless


@pytest.mark.parametrize("name", ["gpt-oss", "kimi-k2"])
def test_the_tiktoken_form(name: str) -> None:
    found = tally(subject(name, tiktoken=True), JOINTS, seed=23, relax=name == "gpt-oss")
    assert found.false_safe == 0 and found.false_by_prefix == 0
    assert found.safe > JOINTS / 3


def test_an_entry_that_no_merge_leads_to_keeps_a_joint_unsafe() -> None:
    encode = subject("glm4.5").encode
    case = joint(facts("glm4.5"), "'", relax=True)
    a, b = "x'", "wirkungen"
    assert encode(a) + encode(b) != encode(a + b)
    assert not case.safe(b)
    assert joint(facts("glm4.5"), "'", relax=True).safe("=") is (
        encode(a) + encode("=") == encode(a + "=")
    )


@pytest.mark.parametrize("name", SIX)
def test_the_automaton_cuts_as_the_engine_does(name: str) -> None:
    under_test, splitter = subject(name), facts(name).splitter
    assert splitter is not None
    rng = random.Random(name)
    pre_tokenizer = vocabularies.backend(name).pre_tokenizer
    for _ in range(400):
        text = hostile(rng, under_test, rng.randrange(1, 7))
        symbols = splitter.alphabet.spell(text)
        mine = _with_gaps(splitter.machine.pieces(symbols), len(text))
        real = [where for _, where in pre_tokenizer.pre_tokenize_str(text)]
        if splitter.runs:  # the last split cuts inside the runs of the first ones
            assert {start for start, _ in mine} <= {start for start, _ in real}
            inside = {at for at, it in enumerate(symbols) if splitter.runs >> it & 1}
            real = [where for where in real if where[0] not in inside]
            mine = [where for where in mine if where[0] not in inside]
        assert mine == real, text


def _with_gaps(pieces: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in [*pieces, (size, size)]:
        found += [(at, start)] if at < start else []
        found += [(start, end)] if start < end else []
        at = end
    return found


@pytest.mark.parametrize("name", SIX)
def test_tables_of_classes_hold_for_single_characters(name: str) -> None:
    splitter = facts(name).splitter
    assert splitter is not None
    _check_tables(TokenizersEngine(), list(splitter.alphabet.masks), random.Random(name))


def test_tables_of_classes_of_tiktoken() -> None:
    splitter = analyse(vocabularies.tiktoken_encoding("kimi-k2")).splitter
    assert splitter is not None
    _check_tables(TiktokenEngine(), list(splitter.alphabet.masks), random.Random(5))


def _check_tables(
    engine: TokenizersEngine | TiktokenEngine, atoms: list[Atom], rng: random.Random
) -> None:
    tables = ranges(engine, atoms)
    for atom, table in tables.items():
        edges = [code for run in table for end in run for code in (end - 1, end)]
        codes = {
            *rng.sample(edges, min(60, len(edges))),
            *(rng.randrange(0x110000) for _ in "x" * 40),
        }
        for code in codes:
            if code < 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
                continue
            source = f"(?i:{atom.source})" if atom.caseless else atom.source
            alone = engine.matched(source, chr(code)) != ""
            assert alone == any(start <= code < end for start, end in table), (atom, code)


def test_symbols_and_kernels_are_those_measured() -> None:
    sizes = {"qwen3": (15, 27), "gpt-oss": (27, 53), "kimi-k2": (29, 56)}
    for name, size in sizes.items():
        splitter = facts(name).splitter
        assert splitter is not None
        assert (splitter.alphabet.size, len(splitter.machine.reachable()) + 1) == size


@pytest.mark.parametrize("name", SIX)
def test_an_unsafe_joint_is_settled_with_both_texts_known(name: str) -> None:
    codec = codec_of(vocabularies.backend(name))
    under_test, rng = subject(name), random.Random(name)
    for _ in range(300):
        tail = hostile(rng, under_test, 2) + rng.choice(FREE)
        b = hostile(rng, under_test, 2)
        alone, together = codec.plain(tail), codec.plain(tail + b)
        assert resolve(codec, tail, b) is (alone + codec.plain(b) == together)
        changed = changed_tail(codec, tail, b)
        kept = len(alone) - changed
        assert together[:kept] == alone[:kept]
        assert not changed or together[kept : kept + 1] != alone[kept : kept + 1]
        assert not (resolve(codec, tail, b) and changed)


def test_settling_the_cases_that_formats_meet() -> None:
    codec = codec_of(vocabularies.backend("qwen3"))
    assert changed_tail(codec, "</think>\n\n", "\nHello") == 1
    assert not resolve(codec, "</think>\n\n", "\nHello")
    assert resolve(codec, "</think>\n\n", "Hello")
    gpt = codec_of(vocabularies.backend("gpt-oss"))
    assert not resolve(gpt, "done.\n\n", "/x") and resolve(gpt, "done\n\n", "/x")
    assert changed_tail(gpt, "done.\n\n", "/x") == 1


def test_every_kind_of_tokenizer_is_analysed_and_others_are_not() -> None:
    fast = vocabularies.hf("qwen3")
    assert joint(analyse(fast), "\n").unsafe_first() == joint(facts("qwen3"), "\n").unsafe_first()
    with pytest.raises(TypeError, match="not a tokenizer that can be analysed"):
        analyse(object())


def test_hostile_texts_are_of_use() -> None:
    under_test: Subject = subject("qwen3")
    texts = [hostile(random.Random(seed), under_test, 4) for seed in range(200)]
    assert any("<|" in text for text in texts) and any("\n" in text for text in texts)
    assert any(not text.isascii() for text in texts)

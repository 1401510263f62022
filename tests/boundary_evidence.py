"""Random joints against real tokenizers: is what the proof calls safe ever unsafe?

A command: `python -m tests.boundary_evidence [--joints 50000] [--family qwen3 ...] [--tiktoken] [--relax] [--seed 1]`.
It prints one line a vocabulary and fails if a safe verdict was false. Both texts are hostile: vocabulary entries,
control tokens and halves of them, blanks, marks, digits of many scripts; half of the right ones begin with an attack.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from templc.proof.boundary import Joint, analyse, joint
from tests.support import vocabularies

SIX = ("qwen3", "llama3", "gpt-oss", "glm4.5", "kimi-k2", vocabularies.DEEPSEEK)
FREE = (
    "\n", "\n\n", ">\n", ".\n\n", "</think>\n\n", "\n</think>\n", "user\n", "|>\n", ":", "Assistant:", ": ", "x",
    "assistant", " ", "  ", "\t", "-", "'", ">", "/", "7", "\r\n", "é", "好", "\x00", "!\n ",
    "<|", "<", "|", "[", "e", "<t", "start_", "\n>\n", ">\n\n", "|>\n\n", "<｜", "▁of", "|>x",
)  # fmt: skip
ANCHORED = ("assistant\n", "user\n\n", "\n", "system", ":", " ", "1")
_HEADS = (
    "\n", "\n\n", "\n\n\n", "\r", "\r\n", " \n", "  \n", "\t\n\n",
    "\t\n", " ", "  ", "\t", "   x", " x", "/", "//", "'s", "'LL", "'", "'ſ",
    "a", "Ab", "B", "s", "ſ", "1", "12", "1234", "٣", "²", "-", ">", "=", "\u0338", "\u0301", "\u0323\u0301", "\u0345",
    "\u037e", "\u1fef", "\u212a", "\u1161", "\u11a8", "\u09be", "\u0958", "\u200d", "\u200b", "\xad", "\x00", "\x01",
    "\x85", "\u2028", "\u3000", "\xa0", "\ue000", "\u0378", "\U000e0001", "好", "。", "・", "ー", "あ", "\u3099", "한",
    "\U00016d67", "\U00016d63\U00016d67", "ǅ", "ʰ", "İ", ":", "!", ".", "|>", "k>", "end|>", "im_end|>", "think>",
)  # fmt: skip
_BEFORE = (
    "", "", "", ">", ".", "!", "...", "-", " ", "\t", "\n", "\r", "x", "Ab", "7", "'", "/", "\x00", "好", "e", "é",
)  # fmt: skip


@dataclass(slots=True)
class Tally:
    """Joints of one vocabulary. needless: called unsafe, though the ids are equal."""

    safe: int = 0
    false_safe: int = 0
    unsafe: int = 0
    needless: int = 0
    safe_by_prefix: int = 0
    false_by_prefix: int = 0

    def line(self) -> str:
        """The numbers, for a person."""
        return ", ".join(
            f"{it.name.replace('_', ' ')} {getattr(self, it.name):,}" for it in fields(self)
        )


@dataclass(frozen=True, slots=True)
class Subject:
    """A tokenizer under test. entries: texts of its vocabulary. specials: its control tokens."""

    tokenizer: Any
    encode: Callable[[str], list[int]]
    entries: tuple[str, ...]
    specials: tuple[str, ...]


@cache
def subject(name: str, *, tiktoken: bool = False) -> Subject:
    """A real vocabulary, in the form of either library."""
    backend = vocabularies.backend(name)
    specials = tuple(sorted(it.content for it in backend.get_added_tokens_decoder().values()))
    entries = tuple(
        text
        for number in range(0, 120_000, 7)
        if "\ufffd" not in (text := backend.decode([number], skip_special_tokens=False))
    )
    if tiktoken:
        encoding = vocabularies.tiktoken_encoding(name)
        return Subject(
            encoding,
            lambda text: encoding.encode(text, allowed_special="all"),
            entries,
            specials,
        )
    return Subject(
        backend,
        lambda text: backend.encode(text, add_special_tokens=False).ids,
        entries,
        specials,
    )


def tally(under_test: Subject, joints: int, *, seed: int, relax: bool = False) -> Tally:
    """Random joints, equally many for every literal. AssertionError for a tokenizer that cannot be analysed."""
    rng = random.Random(seed)
    facts = analyse(under_test.tokenizer)
    assert not facts.unknown, facts.unknown
    cases = [(it, False) for it in FREE] + [(it, True) for it in ANCHORED]
    made = [joint(facts, it, anchored=anchored, relax=relax) for it, anchored in cases]
    found = Tally()
    for number in range(joints):
        _judge(under_test, made[number % len(made)], rng, found)
    return found


def hostile(rng: random.Random, under_test: Subject, parts: int) -> str:
    """A text of so many parts, each an attack, an entry, a token or half of one, or any character."""
    return "".join(_part(rng, under_test) for _ in range(parts))


def _judge(under_test: Subject, case: Joint, rng: random.Random, found: Tally) -> None:
    a, b = _texts(under_test, case, rng)
    equal = under_test.encode(a) + under_test.encode(b) == under_test.encode(a + b)
    if case.safe(b):
        found.safe += 1
        found.false_safe += not equal
    else:
        found.unsafe += 1
        found.needless += equal
    prefix = b[: rng.randrange(1, 6)]
    by_prefix = case.safe(prefix, more=True)
    found.safe_by_prefix += by_prefix
    found.false_by_prefix += by_prefix and not equal
    if not equal and (by_prefix or case.safe(b)):
        print(f"false: {a!r} | {b!r}, prefix {prefix!r}", file=sys.stderr)


def _texts(under_test: Subject, case: Joint, rng: random.Random) -> tuple[str, str]:
    """Left and right of the joint; in one case of eight a control token is half in each, or ends in the literal."""
    literal = case.literal
    a = hostile(rng, under_test, rng.randrange(3)) + rng.choice(_BEFORE)
    b = hostile(rng, under_test, rng.randrange(1, 4))
    if case.anchored:
        return a + rng.choice(under_test.specials) + literal, rng.choice(_HEADS) + b
    if rng.random() < 1 / 8:
        for token in rng.sample(under_test.specials, min(20, len(under_test.specials))):
            at = token.find(literal)
            if 0 <= at < len(token) - len(literal):
                return a + token[:at] + literal, token[at + len(literal) :] + b
            sizes = [size for size in range(1, len(literal)) if token.endswith(literal[:size])]
            if sizes:
                return a + token[: -sizes[0]] + literal, rng.choice(_HEADS) + b
    return a + literal, (rng.choice(_HEADS) if rng.random() < 0.5 else "") + b


def _part(rng: random.Random, under_test: Subject) -> str:
    match rng.randrange(10):
        case 0 | 1 | 2:
            return rng.choice(_HEADS)
        case 3 | 4 | 5 | 6:
            return rng.choice(under_test.entries)
        case 7:
            token = rng.choice(under_test.specials)
            return token[rng.randrange(len(token)) :] if rng.random() < 0.5 else token
        case 8:
            token = rng.choice(under_test.specials)
            return token[: rng.randrange(len(token))]
        case _:
            code = rng.randrange(0x110000 if rng.random() < 0.3 else 0x3100)
            return "" if 0xD800 <= code < 0xE000 else chr(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if a safe verdict was false."""
    parser = argparse.ArgumentParser(description="random joints against real tokenizers")
    parser.add_argument("--joints", type=int, default=50_000, help="for each vocabulary")
    parser.add_argument("--family", action="append", choices=vocabularies.NAMES)
    parser.add_argument("--tiktoken", action="store_true", help="the tiktoken form of a vocabulary")
    parser.add_argument("--relax", action="store_true", help="use the vocabulary too")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    failed = False
    for name in options.family or SIX:
        if options.tiktoken and name == vocabularies.DEEPSEEK:
            continue
        start = time.perf_counter()
        under_test = subject(name, tiktoken=options.tiktoken)
        found = tally(under_test, options.joints, seed=options.seed, relax=options.relax)
        share = found.needless / options.joints
        seconds = time.perf_counter() - start
        print(f"{name}: {found.line()}; needless {share:.1%} of all; {seconds:.0f} s", flush=True)
        failed |= bool(found.false_safe or found.false_by_prefix)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

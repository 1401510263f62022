"""Specs that are broken at random, and bombs: each is refused or compiled, soon and without a traceback."""

from __future__ import annotations

import ast
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.pipeline import compile_source, load_class, spec_folder
from templc.problems.problem import Problems, SpecError
from templc.problems.render import render_text
from templc.source.files import MAX_BYTES
from templc.source.span import Source
from tests.support.victim import compiled, quoted, spec_with, visible

# mutations

SHIPPED = [path.read_text(encoding="utf-8") for path in sorted(spec_folder().glob("*.yaml"))]


SMALL = [spec_with(), *(text for text in SHIPPED if len(text) < 1_500 and "extends" not in text)]


def mutated(text: str, dice: random.Random) -> str:
    """A spec with one to three things wrong."""
    for _ in range(dice.randint(1, 3)):
        text = dice.choice(MUTATIONS)(text, dice)
    return text


def _lines(
    change: Callable[[list[str], random.Random], Any],
) -> Callable[[str, random.Random], str]:
    def mutation(text: str, dice: random.Random) -> str:
        lines = text.split("\n")
        change(lines, dice)
        return "\n".join(lines)

    return mutation


def _delete_line(lines: list[str], dice: random.Random) -> None:
    del lines[dice.randrange(len(lines))]


def _twice(lines: list[str], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    lines.insert(dice.randrange(len(lines)), lines[at])


def _swap(lines: list[str], dice: random.Random) -> None:
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _values(lines: list[str], dice: random.Random) -> None:
    """The value of one key under another one."""
    keyed = [at for at, line in enumerate(lines) if ": " in line]
    if len(keyed) > 1:
        a, b = dice.sample(keyed, 2)
        key, value = lines[a].split(": ", 1)[0], lines[b].split(": ", 1)[1]
        lines[a] = f"{key}: {value}"


def _indent(lines: list[str], dice: random.Random) -> None:
    at = dice.randrange(len(lines))
    lines[at] = " " * dice.randint(0, 6) + lines[at].lstrip()


def _character(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    keep = dice.random() < 0.5
    return text[:at] + dice.choice("\"'{}[]:,|>&*!%@#-?\\$()\n\t \x00é<>.0aZ_") + text[at + keep :]


def _drop(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + text[at + dice.randint(1, 12) :]


def _word(text: str, dice: random.Random) -> str:
    words = text.split(" ")
    words[dice.randrange(len(words))] = dice.choice(WORDS)
    return " ".join(words)


WORDS = [
    *(
        "null",
        "true",
        "12",
        "~",
        "{}",
        "[]",
        '""',
        "last",
        "later(user)",
        "not",
        "and",
        "kept",
        "tools",
    ),
    *(
        "content",
        "calls",
        "system",
        "${content}",
        "${",
        "user",
        "tool",
        "hoist",
        "as_template",
        "first",
    ),
    *(
        "previous(previous(user))",
        "some(call: call)",
        "count(calls) > 1",
        "is unset",
        "call in calls",
    ),
]


MUTATIONS = [
    *map(_lines, (_delete_line, _twice, _swap, _values, _values, _indent)),
    *(_character, _drop, _word, _word),
]


def attempt(text: str) -> bool:
    """Whether a spec compiles; nothing but SpecError may come out of any stage."""
    found = compiled(text)
    try:
        module = found.python()
    except SpecError:
        assert list(found.problems)
        return False
    ast.parse(module)
    load_class(found)
    return True


@pytest.mark.parametrize("part", range(4))
def test_mutated_specs_are_refused_or_compiled(part: int) -> None:
    dice = random.Random(part)
    good, slowest = 0, 0.0
    for number in range(500):
        text = mutated(dice.choice(SHIPPED if number % 10 == 0 else SMALL), dice)
        start = time.monotonic()
        try:
            good += attempt(text)
        except Exception as error:
            error.add_note(text)
            raise
        slowest = max(slowest, time.monotonic() - start)
    assert 20 < good < 480 and slowest < 10


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80) | st.text("ab:- \n{}[]\"'|>&*!%#?,\\", max_size=80))
def test_any_text_is_refused_or_compiled(text: str) -> None:
    attempt(text)


def test_bombs_end_soon() -> None:
    start = time.monotonic()
    nested = "x: " + "[" * 20_000
    deep = "\n".join(" " * depth + f"a{depth}:" for depth in range(3_000))
    laughs = "a: &a [x,x]\n" + "".join(f"k{i}: &k{i} [*a,*a]\n" for i in range(300))
    long_key = "? " + "k" * 200_000 + "\n: x"
    wide = "x: {" + ", ".join(f"k{i}: v" for i in range(9_000)) + "}"
    for text in (nested, deep, laughs, long_key, wide, "- " * 5_000, "#" * MAX_BYTES):
        assert not attempt(text)
    nots = spec_with().replace("content or name,", "not " * 400 + "content,")
    assert not attempt(nots)
    chain = "".join(f"  p{i}: p{i - 1} or (content and p{i - 1})\n" for i in range(1, 60))
    assert not attempt(spec_with().replace("require:", f"  p0: user and content\n{chain}require:"))
    uses = "[" + ", ".join(["{use: calls}"] * 5_000) + "]"
    assert not attempt(spec_with().replace('else: "${reasoning}"', f"else: {uses}"))
    text = quoted("x" * 400_000)
    heavy = spec_with().replace('intro: "text"', f"intro: {text}")
    many = '"' + "${text.intro}" * 9 + '"'
    assert not attempt(heavy.replace('"${reasoning}"', many))
    assert time.monotonic() - start < 40


def test_problems_of_hostile_specs_are_shown_safely() -> None:
    problems = Problems()
    source = Source("x\x1b[2J\n.yaml", 'a\u202e: "\x1b"')
    compile_source(source, problems)
    assert len(problems) and visible(render_text(problems))

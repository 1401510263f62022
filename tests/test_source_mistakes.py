"""What is wrong with a text that is no spec, code by code: place, marked text, message and cure."""

from __future__ import annotations

import pytest

from templc.problems.codes import CODES
from templc.source.nodes import (
    MAX_DEPTH,
    MAX_NODES,
    MappingNode,
    plain,
)
from tests.support.trees import good, only, read

# mistakes: code: text, place, what the carets mark, start of message, start of cure

MISTAKES = {
    "empty": [
        ("", "1:1", "", "there is nothing in this file", "a spec starts with"),
        ("# only a comment\n", "1:1", "", "there is nothing", "a spec starts with"),
        ("---\n", "1:1", "", "there is nothing", "a spec starts with"),
    ],
    "duplicate-key": [
        ("a: 1\nb: 2\na: 3", "3:1", "a", "the key `a` stands twice", "remove one"),
    ],
    "yaml-feature": [
        ("a: *b", "1:4", "*b", "an alias cannot stand", "quote a text"),
        ("a: &b c", "1:4", "&b", "an anchor cannot stand", "name the part"),
        ("a: &b {c: d}", "1:4", "&b", "an anchor cannot stand", "name the part"),
        ("a: !!str b", "1:4", "!!str", "a tag cannot stand", "remove it"),
        ("[! b, c]", "1:2", "!", "a tag cannot stand", "remove it"),
        ("<<: {a: b}", "1:1", "<<", "a merge key cannot stand", "use `extends`"),
        ("%YAML 1.1\n---\na: b", "1:1", "%YAML 1.1", "a YAML directive", "remove"),
        ("%X y\n---\na: b", "1:1", "%X y", "a YAML directive", "remove"),
        ("a: b\n---\nc: d", "2:1", "---", "a second document", "a spec is one"),
    ],
    "wrong-type": [
        ("? [a]\n: b", "1:3", "[", "a key must be a name", "quote a text"),
        ("{a: b}: c", "1:1", "{", "a key must be a name", "quote a text"),
        ("? |\n  a\n: b", "1:3", "|", "a key must be a name", "quote a text"),
    ],
    "yaml-guess": [
        ("1: a", "1:1", "1", "the key `1` is a number", 'quote it: "1"'),
        ("true: a", "1:1", "true", "the key `true` is true or f", 'quote it: "true"'),
        ("~: a", "1:1", "~", "the key `~` is nothing", 'quote it: "~"'),
        ("?\n: a", "1:2", "", "a key is missing", "write a name before"),
        ("a: On", "1:4", "On", "YAML 1.1 readers take `On` for `true`", "write true, or"),
        ("a: no", "1:4", "no", "YAML 1.1 readers take `no` for `f", "write false, or"),
    ],
    "not-text": [
        ("a: \x07", "1:4", "\x07", "the character U+0007 cannot", "remove it"),
        ("a: \ud800", "1:4", "\ud800", "the character U+D800 cannot", "remove it"),
        ('a: "x\\ud83d\\ude00"', "1:6", "\\ud83d\\ude00", "U+D83D is half", "write \\U0001F600"),
        ('a: "\\udc00"', "1:5", "\\udc00", "U+DC00 is half", "write the whole"),
    ],
    "yaml-syntax": [
        (
            'a: "\\Uffffffff"',
            "1:5",
            "\\Uffffffff",
            "there is no such character",
            "write a backslash as `\\\\`, or",
        ),
        (
            'a: "\\U00110000"',
            "1:5",
            "\\U00110000",
            "there is no such character",
            "write a backslash as `\\\\`, or",
        ),
        ("a:\n\tb: c", "2:1", "\t", "a tab cannot stand here", "indent with blanks"),
        ("a: |\n  b\n\tc", "3:1", "\t", "a tab cannot stand here", "indent with blanks"),
        ("a: @b", "1:4", "@", "a text cannot start with `@`", "quote the text"),
        ("- `b", "1:3", "`", "a text cannot start with ```", "quote the text"),
        ("a: %b", "1:4", "%", "a text cannot start with `%`", "quote the text"),
        ('a: "b\nc: d\n', "1:4", '"', "this quote is not closed", "close the quote"),
        ("a: 'b\n---\n'", "1:4", "'", "this quote is not closed", "close the quote"),
        (
            'a: "b\nc: "d"',
            "2:5",
            "d",
            "the text goes on behind its closing quote",
            "quote the whole text; in",
        ),
        (
            "a: 'it's'",
            "1:8",
            "s",
            "the text goes on behind its closing quote",
            "quote the whole text; in",
        ),
        ("a: b: c", "1:5", ":", "a second key on one line", 'quote a text that holds ": "'),
        (
            "a:b\nc: d",
            "1:2",
            ":",
            "a blank is missing behind this colon",
            "put a blank after the colon",
        ),
        (
            "a: b\nc:d\ne: f",
            "2:2",
            ":",
            "a blank is missing behind this colon",
            "put a blank after the colon",
        ),
        (
            "a: b\nc\ne: f",
            "3:1",
            "e",
            "the line before is neither `key: value` nor",
            "a key is followed by `: `; a",
        ),
        (
            "a: b\n  c: d",
            "2:4",
            ":",
            "this line goes on with the text of the line",
            "check the indentation: keys",
        ),
        (
            "a: [${b}]",
            "1:6",
            "{",
            "`{` cannot stand in a text inside brackets",
            "quote a text that holds one",
        ),
        (
            "a: {b} c",
            "1:8",
            "c",
            "the text goes on behind a closing bracket",
            "quote a text that starts with",
        ),
        (
            "a: [B] c",
            "1:8",
            "c",
            "the text goes on behind a closing bracket",
            "quote a text that starts with",
        ),
        ("a: [b\nc: d", "1:4", "[", "this `[` is not closed", "close it: `]`"),
        ("a: {b: c\n", "1:4", "{", "this `{` is not closed", "close it: `}`"),
        ("a: **b**", "1:4", "*", "a text cannot start with `*`", "quote the text"),
        ("a: !b!c d", "1:4", "!", "a text cannot start with `!`", "quote the text"),
        (
            "a: |b",
            "1:5",
            "b",
            "nothing stands behind `|` on its line",
            "quote a text that starts with",
        ),
        ("a: ? b", "1:4", "?", "a text cannot start with `?` and a blank", "quote the text"),
        (
            "a: - b",
            "1:4",
            "-",
            "a list cannot start on the line of its key",
            "start the list on the next",
        ),
        ("a: ]", "1:4", "]", "a text cannot start with `]`", "quote the text"),
        ("a: b\n: c", "2:1", ":", "a key is missing", "write a name before it"),
        (
            "- a\nb: c",
            "2:1",
            "b",
            "this line does not fit the lines above",
            "check the indentation: keys",
        ),
        (
            "%YAML 1.1\na: b",
            "2:1",
            "a",
            "a YAML directive cannot stand in a spec",
            "remove the lines that start",
        ),
        ('a: "\\q"', "1:6", "q", "there is no escape `\\q`", "write a backslash as `\\\\`, or"),
        (
            'a: "\\xg"',
            "1:7",
            "g",
            "an escape has too few hexadecimal digits",
            "an escape is `\\x41`, `\\u0041`",
        ),
        (
            "[a,b]\n- a",
            "2:1",
            "-",
            "the spec has ended before this line",
            "check: keys of one mapping",
        ),
    ],
    "too-deep": [
        ("- " * 50, "1:83", "-", "this is nested over 40", "simplify"),
    ],
}


@pytest.mark.parametrize(
    ("code", "text", "place", "marked", "message", "cure"),
    [(code, *row) for code, rows in MISTAKES.items() for row in rows],
)
def test_mistakes(code: str, text: str, place: str, marked: str, message: str, cure: str) -> None:
    problem = only(text)
    assert problem.span is not None and problem.code == code
    assert (str(problem.span), problem.span.text) == (f"x.yaml:{place}", marked)
    assert problem.message.startswith(message)
    assert problem.helps[0].startswith(cure)


def test_every_code_of_this_stage_has_a_mistake() -> None:
    codes = list(CODES)
    stage = set(codes[: codes.index("unknown-key")])
    assert stage - MISTAKES.keys() == {"unreadable", "too-large"}


def test_all_mistakes_are_reported_in_one_pass() -> None:
    node, problems = read('a: on\na: 1\nb: &x !t 0x1\na: 2\nc: [*x, {d: 1, d: 2}]\ne: "\n')
    assert node is None
    assert [(problem.code, problem.span and problem.span.line) for problem in problems] == [
        ("yaml-guess", 1),
        ("duplicate-key", 2),
        ("yaml-feature", 3),
        ("yaml-feature", 3),
        ("yaml-guess", 3),
        ("duplicate-key", 4),
        ("duplicate-key", 5),
        ("yaml-syntax", 6),
    ]


def test_a_tree_comes_with_its_problems() -> None:
    node, problems = read("a: 1\na: 2\nb: *x\n")
    assert node is not None and plain(node) == {"a": 1, "b": None} and len(problems) == 2


def test_bounds_stop_early() -> None:
    assert good("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert only("[" * (MAX_DEPTH + 2)).code == "too-deep"
    assert only("[" * 500_000).code == "too-deep"
    assert good("[" + "a," * (MAX_NODES - 1) + "]")
    assert only("[" + "a," * 500_000).code == "too-large"


def test_tags_that_only_text_follows() -> None:
    node, problems = read("a: !!str &x on\n")
    assert isinstance(node, MappingNode)
    assert {problem.span.text for problem in problems if problem.span} == {"!!str", "&x", "on"}

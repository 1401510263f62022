"""Malformed patterns and conditions: a table of mistakes, each with examples and what to say about it.

`explain("content == \\"a\\"", "condition", 8)` is the row about operators. A row applies when `before`
matches the text up to the place where the grammar gave up, and `rest` the text from there on; the
first one that applies is meant. The examples are the test of the table.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Start = Literal["pattern", "condition"]


class Mistake(NamedTuple):
    """What a spec author wrote wrongly.

    `marks` says what to show: the word at the place, the hole that is open there, or the last
    character before it. `{word}` in message and help stands for that word. `examples` are texts that
    show the mistake.
    """

    start: Start
    before: str
    rest: str
    code: str
    message: str
    label: str
    help: str
    examples: tuple[str, ...]
    marks: Literal["word", "hole", "end"] = "word"


_HOLE = r"\$\{[^}]*"
MISTAKES = (
    Mistake(
        "pattern",
        _HOLE,
        r"[^}]*\Z",
        "unclosed-hole",
        "this hole is never closed",
        "opened here",
        "close it: `${content}`; the characters themselves are written `$${`",
        ("a ${content", "${content|strip", "${", "x ${content or", 'a ${name or "b"'),
        "hole",
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"[^}]*\$\{",
        "unclosed-hole",
        "a hole starts inside this one",
        "not closed before",
        "close it: `${content}`; the characters themselves are written `$${`",
        ("${content ${name}", "${${name}}"),
        "hole",
    ),
    Mistake(
        "pattern",
        r"\$\{\s*",
        r"\}",
        "bad-hole",
        "an empty hole",
        "nothing in it",
        "name a value: `${content}`; the characters themselves are written `$${}`",
        ("${}", "a ${ } b"),
        "hole",
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"\(",
        "bad-hole",
        "nothing can be called here",
        "not part of the language",
        "a spec holds facts and text, no code: use a filter, as in `${content|strip}`",
        ("${content.strip()}", "${f(x)}"),
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"\[",
        "bad-hole",
        "nothing can be indexed here",
        "not part of the language",
        "name a field, as in `${call.name}`, or walk a list with `each`",
        ("${calls[0]}", "${call['name']}"),
    ),
    Mistake(
        "pattern",
        r"(?:.*\|)\s*",
        r"\}",
        "bad-hole",
        "a filter is missing",
        "behind `|`",
        "name one, as in `${content|strip}`",
        ("${content|}",),
    ),
    Mistake(
        "pattern",
        r".*\.\s*",
        r"\}",
        "bad-hole",
        "a field is missing",
        "behind the dot",
        "name one, as in `${call.name}`",
        ("${call.}",),
    ),
    Mistake(
        "pattern",
        r".*\bor\s*",
        r"",
        "bad-hole",
        "behind `or` stands a text in quotes",
        "not in quotes",
        'write `${name or "text"}`; to choose between values, use `when`',
        ("${name or content}", "${name or}"),
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"[\"']",
        "bad-hole",
        "a text in quotes cannot stand here in a hole",
        "unexpected",
        'only behind `or` and behind a filter: `${name or "x"}`, `${content|after:"x"}`',
        ('${"a"}', '${content "x"}'),
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"if\b|else\b|and\b|not\b|is\b|in\b|[=!<>+~?:]",
        "bad-hole",
        "a hole holds no condition",
        "not part of a hole",
        "decide with `when`, `then` and `else`",
        ("${content if calls}", "${name ? x}", "${calls == 1}", "${a and b}"),
    ),
    Mistake(
        "pattern",
        _HOLE,
        r"",
        "bad-hole",
        "`{word}` cannot stand here in a hole",
        "unexpected",
        'a hole is `${name.part|filter or "text"}`; the characters `${` are written `$${`',
        ("${content name}", "${1}", "${content|strip-all}", "${a,b}", "${content}${b b}"),
    ),
    Mistake(
        "condition",
        r"\s*",
        r"\Z",
        "bad-condition",
        "an empty condition",
        "nothing in it",
        "write what must hold, such as `calls` or `not later(user)`",
        (" ", "\n"),
        "end",
    ),
    Mistake(
        "condition",
        r".*\(\s*",
        r"\)",
        "bad-condition",
        "nothing stands between the brackets",
        "a condition is missing",
        "say about which message: `later(user)`",
        ("later()", "previous( )", "calls and ()"),
    ),
    Mistake(
        "condition",
        r"(?:(?:[^\"']|\"[^\"]*\"|'[^']*')*)",
        r"\"[^\"]*\Z|'[^']*\Z",
        "bad-condition",
        "this text is not closed",
        "no closing quote",
        "write `\"text\"` or `'text'`; there are no escapes",
        ('content starts with "a', "content is 'a", 'content starts with "a and calls'),
    ),
    Mistake(
        "condition",
        r".*",
        r"\s*\Z",
        "bad-condition",
        "this condition stops too early",
        "something must follow",
        "",
        ("content and", "not", "later(", "(calls", "content is", "content starts with", "count("),
        "end",
    ),
    Mistake(
        "condition",
        r".*\bis\s*",
        r"not\b",
        "bad-condition",
        "`not` cannot stand behind `is`",
        "misplaced",
        "put it in front: `not content is unset`",
        ("content is not unset", 'name is not "x"'),
    ),
    Mistake(
        "condition",
        r".*\bis\s*",
        r"(?:None|null|none|undefined|defined|missing|absent)\b",
        "bad-condition",
        "`{word}` is no value",
        "unknown",
        "what was not given `is unset`",
        ("content is None", "tools is null", "enable_thinking is defined"),
    ),
    Mistake(
        "condition",
        r".*\bis\s*",
        r"",
        "bad-condition",
        "`{word}` is no value",
        "behind `is`",
        "write `true`, `false`, `unset`, `text`, `mapping` or a text in quotes",
        ("enable_thinking is True", "name is tool", "content is 1"),
    ),
    Mistake(
        "condition",
        r".*\b(?:starts|ends)\s*",
        r"(?!with\b)",
        "bad-condition",
        "`with` is missing",
        "must follow `starts` or `ends`",
        'write `content starts with "text"`',
        ('content starts "x"', 'content ends "x"'),
    ),
    Mistake(
        "condition",
        r".*\b(?:with|contains)\s*",
        r"",
        "bad-condition",
        "a text in quotes must stand here",
        "not in quotes",
        'write `content starts with "text"`',
        ("content starts with x", "content contains name"),
    ),
    Mistake(
        "condition",
        r".*\b(?:previous|next|earlier|later)\s+",
        r"\w",
        "bad-condition",
        "what is looked for stands in brackets",
        "no bracket before it",
        "write `previous({word})`",
        ("previous user", "calls and later tool"),
    ),
    Mistake(
        "condition",
        r".*\b(?:some|every)\s*\(.*",
        r"",
        "bad-condition",
        "a loop variable and a colon are missing",
        "of what?",
        "write `some(call: call.arguments is mapping)`",
        ("some(calls)", "every(user)"),
    ),
    Mistake(
        "condition",
        r"(?:(?!count).)*",
        r"(?:[<>]=?|==)\s*\d",
        "bad-condition",
        "only the length of a list can be compared",
        "not part of the language",
        "write, for instance, `count(calls) > 1`",
        ("calls > 1", "calls == 0", "tools >= 2"),
    ),
    Mistake(
        "condition",
        r".*\bcount\s*\([^)]*\)\s*[<>=]=?\s*",
        r"",
        "bad-condition",
        "a number must stand here",
        "not a number from 0 to 999",
        "write `count(calls) > 1`",
        ("count(calls) > many", 'count(calls) == "1"'),
    ),
    Mistake(
        "condition",
        r".*\bcount\s*\([^)]*\)\s*",
        r"",
        "bad-condition",
        "a count must be compared",
        "with what?",
        "write `count(calls) > 1`",
        ("count(calls) is 1", "count(calls) and content", "count(calls) = 1"),
    ),
    Mistake(
        "condition",
        r".*",
        r"==|!=|&&?|[|=!+~%*/<>^-]",
        "bad-condition",
        "conditions are words, not operators",
        "not part of the language",
        "write `and`, `or`, `not`, `is`, `starts with`, `ends with` or `contains`",
        ('name == "x"', "calls && content", "!calls", "content || calls", "not -calls"),
    ),
    Mistake(
        "condition",
        r".*",
        r"\(",
        "bad-condition",
        "nothing can be called here",
        "only previous, next, earlier, later, some, every and count take brackets",
        "a spec holds facts and text, no code: use a filter (`content|strip`) or a predicate",
        ("len(calls)", "content.strip()", "query(user)"),
    ),
    Mistake(
        "condition",
        r".*",
        r"\[",
        "bad-condition",
        "nothing can be indexed here",
        "not part of the language",
        "ask about all calls: `some(call: call.id)`",
        ("calls[0]", "messages[-1]"),
    ),
    Mistake(
        "condition",
        r".*",
        r"\)",
        "bad-condition",
        "a bracket closes here that was not opened",
        "one too many",
        "remove it, or open it before",
        ("calls)", "later(user))"),
    ),
    Mistake(
        "condition",
        r".*",
        r"(?:\"[^\"]*\"\s*|'[^']*'\s*)?in\b",
        "bad-condition",
        "`in` is not a word of conditions",
        "unexpected",
        'a text inside a text is asked for as `content contains "text"`',
        ('"x" in content', "name in tools"),
    ),
    Mistake(
        "condition",
        r".*",
        r"[^\S \t\n]",
        "bad-condition",
        "white space of an unusual kind",
        "not a blank",
        "write an ordinary blank",
        ("content\u3000and calls", "calls\u00a0or tools"),
    ),
    Mistake(
        "condition",
        r".*",
        r"[\"']",
        "bad-condition",
        "a text in quotes cannot stand here",
        "unexpected",
        'it stands behind `is`, `starts with`, `ends with`, `contains` or `|after:`',
        ('"x"', 'content "x"', 'calls and "x"'),
    ),
    Mistake(
        "condition",
        r"\s*(?:and|or)\s+",
        r"",
        "bad-condition",
        "a condition cannot start with `and` or `or`",
        "nothing stands before the word in front of it",
        "remove the word, or write what must hold before it",
        ("and calls", "or tools"),
    ),
    Mistake(
        "condition",
        r".*",
        r"",
        "bad-condition",
        "`{word}` cannot stand here in a condition",
        "unexpected",
        "a condition is made of names, `and`, `or`, `not`, brackets and tests such as"
        ' `content starts with "X"`',
        ("content calls", "user tool", "content is true false", "calls, tools", "1"),
    ),
)  # fmt: skip


class Found(NamedTuple):
    """A mistake in one text: what to say, and the range of characters that shows it."""

    code: str
    message: str
    label: str
    help: str
    start: int
    end: int


_WORD = re.compile(r"\w+|==|!=|<=|>=|&&|\|\||.", re.DOTALL)


def explain(text: str, start: Start, at: int) -> Found:
    """What went wrong in `text`, where the grammar's `start` rule could not go on at character `at`."""
    opened = max(text.rfind("${", 0, at), 0) if start == "pattern" else 0
    before = text[opened:at]
    row = next(row for row in MISTAKES if row.start == start and _applies(row, before, text[at:]))
    found = _WORD.match(text, at)
    word = found.group() if found else ""
    first, last = at, found.end() if found else at
    if row.marks == "hole":
        first, last = opened, opened + 2
    elif row.marks == "end" or not word:
        last = max(len(text[:at].rstrip()), 1)
        first = last - 1
    return Found(
        row.code,
        row.message.replace("{word}", word),
        row.label,
        row.help.replace("{word}", word),
        first,
        last,
    )


def _applies(row: Mistake, before: str, rest: str) -> bool:
    return (
        re.fullmatch(row.before, before, re.DOTALL) is not None
        and re.match(row.rest, rest) is not None
    )

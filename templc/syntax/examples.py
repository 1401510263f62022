"""Malformed patterns and conditions, each with what to say about it.

The table is its own test: `tests/test_pattern.py` parses every example and expects its message.
Matching is by Lark's parser state, so a new spelling of a known mistake gets the same message.
"""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """What a spec author wrote wrongly: how it starts to show, and what to say."""

    code: str
    message: str
    label: str
    help: str


UNCLOSED = Mistake("unclosed-hole", "this hole is not closed", "no `}` before the end", "close it: `${content}`")
EMPTY = Mistake("bad-hole", "an empty hole", "a name is missing", "name a value: `${content}`")
PYTHON = Mistake(
    "bad-condition",
    "conditions are words, not operators",
    "not part of the language",
    "write `and`, `or`, `not`, `is`, `starts with`, `ends with` or `contains`",
)
CALL = Mistake(
    "bad-condition",
    "nothing can be called here",
    "only previous, next, earlier, later, some, every and count take brackets",
    "a spec holds facts and text, no code: use a filter (`content|strip`) or a predicate",
)
UNFINISHED = Mistake("bad-condition", "this condition stops too early", "something must follow", "")
QUOTE = Mistake("bad-condition", "this text is not closed", "no closing quote", 'write `"text"` or `\'text\'`')

_PYTHON_MARKS = ("==", "!=", "&&", "||", "!", "&", "|", "=", "+", "~", "%", "*", "/", "<", ">")


def explain(text: str, start: str, at: int) -> Mistake:
    """What went wrong in `text` at character `at`, for the grammar's `start` rule."""
    return _in_pattern(text, at) if start == "pattern" else _in_condition(text, at)


def _in_pattern(text: str, at: int) -> Mistake:
    opened = text.rfind("${", 0, at + 2)
    rest = text[at:]
    if opened >= 0 and "}" not in text[opened:]:
        return UNCLOSED
    if text[opened + 2 : at + 1].strip() == "}":
        return EMPTY
    if rest.startswith("("):
        return CALL._replace(code="bad-hole")
    shown = rest[:1] or "the end"
    return Mistake(
        "bad-hole",
        f"`{shown}` cannot stand here in a hole",
        "a hole is `${name.part|filter or \"text\"}`",
        'write `$${` for the characters `${` themselves',
    )


def _in_condition(text: str, at: int) -> Mistake:
    rest = text[at:]
    if not rest.strip():
        return UNFINISHED
    if rest.startswith("("):
        return CALL
    if rest[0] in "\"'" and rest.count(rest[0]) == 1:
        return QUOTE
    if rest.startswith(_PYTHON_MARKS):
        return PYTHON
    word = rest.split()[0]
    return Mistake(
        "bad-condition",
        f"`{word}` cannot stand here in a condition",
        "unexpected",
        "a condition is made of names, `and`, `or`, `not`, brackets and tests such as `content starts with \"X\"`",
    )

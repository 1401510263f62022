"""What is wrong with a malformed pattern or condition: the first row of a table that applies.

`explain("content == \\"a\\"", "condition", 8)` says that conditions are words, not operators. A row applies when
`before` matches the text up to the place where the grammar gave up, and `rest` the text from there on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from templc.syntax.bad_conditions import BAD_CONDITIONS
from templc.syntax.bad_holes import BAD_HOLES
from templc.syntax.mistake import Mistake as Mistake
from templc.syntax.mistake import Start as Start

MISTAKES = (*BAD_HOLES, *BAD_CONDITIONS)


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

"""Arguments as `key="text", other=5`: texts in quotes with nothing escaped, all else as JSON.

`keywords(shape, 'q="a "b"", n=5')` is `[Keyword("q", 'a "b"', True), Keyword("n", "5", False)]`.

A quote ends a text only where another argument follows, or nothing: so one may stand inside of it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from templc.runtime.parser.grammar import ArgumentCall
from templc.runtime.parser.values import Unreadable, check_depth, read_json_at


class Keyword(NamedTuple):
    """One argument; `raw`: its value as it is spelled, text: whether it stands in quotes."""

    name: str
    raw: str
    text: bool


def keywords(shape: ArgumentCall, text: str) -> list[Keyword]:
    """Every argument; Unreadable where there is anything else."""
    key, ends = _patterns(shape)
    found: list[Keyword] = []
    at = 0
    while at < len(text):
        if found and not text.startswith(shape.between, at):
            raise Unreadable(f"{shape.between!r} is missing at character {at}")
        start = key.match(text, at + len(shape.between) if found else at)
        if start is None:
            raise Unreadable(f"an argument has no name at character {at}")
        quoted = start[2] == shape.argument[1]
        if quoted:
            match = ends.search(text, start.end())
            if match is None:
                raise Unreadable(f"the argument {start[1]!r} is not closed")
            end, at = match.span()
        else:
            _, end = read_json_at(text, start.end())
            check_depth(text[start.end() : end])
            at = end
        found.append(Keyword(start[1], text[start.end() : end], quoted))
    return found


@lru_cache(maxsize=64)
def _patterns(shape: ArgumentCall) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What an argument begins with, its name and what follows the name; and what ends a text."""
    middles = [str(way[1]) for way in (shape.argument, shape.other) if way]
    last = str(shape.argument[-1])
    within = re.escape("".join((*middles, last, shape.between, shape.tail)))
    key = rf"([^\s{within}]+)({'|'.join(map(re.escape, middles))})"
    between = re.escape(shape.between)
    return re.compile(key), re.compile(rf"{re.escape(last)}(?=\Z|{between}{key})")

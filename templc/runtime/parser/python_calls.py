"""Calls as Python writes them: `f(a=1, b="x")`, one after the other. Read as literals, never run.

`python_calls('f(a=1)\\ng(b=None)')` is `[PythonCall("f", {"a": 1}, "a=1"), PythonCall("g", {"b": None}, "b=None")]`.
Values are JSON, or what Python has for it: True, None, 'text'.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from templc.runtime.parser.values import DEEPEST_READ, Unreadable, check_depth, read_json_at

_NAME = re.compile(r"[\s,;]*([^\s()=,;]+)\(\s*")
_KEY = re.compile(r"([^\s()=,]+)\s*=\s*")
_NEXT = re.compile(r"\s*(,?)\s*(\)?)")
_PLAIN = re.compile(r"True\b|False\b|None\b|'(?:[^'\\]|\\.)*'", re.DOTALL)
_PARTS = re.compile(r"""[\[({]|[\])}]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


class PythonCall(NamedTuple):
    """One call; raw: what stands between its brackets."""

    name: str
    arguments: dict[str, Any]
    raw: str


def python_calls(text: str) -> list[PythonCall]:
    """Every call; Unreadable where there is anything else."""
    check_depth(text)
    found: list[PythonCall] = []
    at, end = 0, len(text.rstrip(" \t\r\n,;"))
    while at < end:
        match = _NAME.match(text, at)
        if match is None:
            raise Unreadable(f"there is no call at character {at}")
        arguments, at = _arguments(text, match.end())
        found.append(PythonCall(match[1], arguments, text[match.end() : at - 1]))
    return found


def _arguments(text: str, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    if text[at : at + 1] == ")":
        return found, at + 1
    while True:
        key = _KEY.match(text, at)
        if key is None:
            raise Unreadable(f"an argument has no name at character {at}")
        value, end = _value(text, key.end())
        found[key[1]] = value
        behind = _NEXT.match(text, end)
        assert behind is not None
        at = behind.end()
        if behind[2]:
            return found, at
        if not behind[1]:
            raise Unreadable(f"a comma or a bracket is missing at character {end}")


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at `at`, and where it ends."""
    plain = _PLAIN.match(text, at)
    if plain is not None:
        # Formats that write no escapes have line ends inside of quotes.
        whole = plain[0].replace("\n", "\\n").replace("\r", "\\r")
        return _literal(whole), plain.end()
    try:
        return read_json_at(text, at)
    except Unreadable:
        if text[at : at + 1] not in ("[", "{", "("):
            raise
        end = _closed(text, at)
        return _literal(text[at:end]), end


def _closed(text: str, at: int) -> int:
    """Where the bracket that opens at `at` is closed."""
    depth = 0
    for part in _PARTS.finditer(text, at):
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(part[0], 0)
        if depth > DEEPEST_READ:
            break
        if depth == 0:
            return part.end()
    raise Unreadable(f"a bracket is not closed, or too deep, from character {at}")


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise Unreadable(f"it is no literal: {error}") from None

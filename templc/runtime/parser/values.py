"""Values that a model wrote: JSON with its raw text kept, and single arguments read by their declared type.

`members('{"name": "f", "arguments": {"a": 1}}')` is `{"name": ("f", '"f"'), "arguments": ({"a": 1}, '{"a": 1}')}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

DEEPEST = 200
# Values that are read by recursion; below it Python's own limit is far away.
DEEPEST_READ = 100
_BLANKS = re.compile(r"[ \t\n\r]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_LITERALS = {"true": True, "false": False, "null": None, "none": None}


class Unreadable(ValueError):
    """Text that is not what it should be; the reason is its text."""


def _refused(name: str) -> Any:
    raise Unreadable(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refused)
_scanned: Any = _DECODER.scan_once  # type: ignore[attr-defined]


def read_json(text: str) -> Any:
    """The value of a JSON text; Unreadable for anything else, NaN and absurd nesting among it."""
    _shallow(text)
    value, end = _value(text, _blank(text, 0))
    if _blank(text, end) != len(text):
        raise Unreadable(f"there is more text behind the value (character {end})")
    return value


def check_depth(text: str) -> None:
    """Unreadable where brackets nest too deep; once for a text, before `read_json_at`."""
    _shallow(text)


def read_json_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at `at`, and where it ends; Unreadable where there is none."""
    return _value(text, at)


def members(text: str) -> dict[str, tuple[Any, str]]:
    """The members of a JSON object, each with its raw text; of equal keys the last one counts."""
    at = _blank(text, 0)
    if text[at : at + 1] != "{":
        raise Unreadable("it is not a JSON object")
    _shallow(text)
    found: dict[str, tuple[Any, str]] = {}
    at = _blank(text, at + 1)
    if text[at : at + 1] == "}":
        return _ended(text, at + 1, found)
    while True:
        key, at = _key(text, at)
        value, end = _value(text, at)
        found[key] = (value, text[at:end])
        at = _blank(text, end)
        match text[at : at + 1]:
            case ",":
                at = _blank(text, at + 1)
            case "}":
                return _ended(text, at + 1, found)
            case _:
                raise Unreadable(f"a comma or a closing brace is missing at character {at}")


def usual_members(text: str, begins: re.Pattern[str], end: str) -> tuple[str, Any, str] | None:
    """As `members`, for an object that is written in the usual way: a name, another value and its raw text.

    begins: see `usual_beginning`. end: what stands behind the other value. None where it is written otherwise.
    """
    match = begins.match(text)
    # What is nested deeper has as many closing brackets too.
    if match is None or (len(text) > 2 * DEEPEST and text.count("[") + text.count("{") > DEEPEST):
        return None
    start = match.end()
    try:
        value, stop = _scanned(text, start)
    except (StopIteration, ValueError, RecursionError):
        return None
    return (match[1], value, text[start:stop]) if text[stop:] == end else None


@lru_cache(maxsize=64)
def usual_beginning(name: str, other: str, before: str = "") -> re.Pattern[str]:
    """Finds how an object usually begins, up to the other value. before: what stands before the object."""
    first, second = (re.escape(json.dumps(key)) for key in (name, other))
    return re.compile(rf'{re.escape(before)}\{{{first}: "([^"\\\x00-\x1f]+)", {second}: ')


def _ended(text: str, at: int, found: dict[str, tuple[Any, str]]) -> dict[str, tuple[Any, str]]:
    if _blank(text, at) != len(text):
        raise Unreadable(f"there is more text behind the object (character {at})")
    return found


def _blank(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise Unreadable(f"a key is missing at character {at}")
    try:
        key, at = scanstring(text, at + 1, True)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    at = _blank(text, at)
    if text[at : at + 1] != ":":
        raise Unreadable(f"a colon is missing at character {at}")
    return key, _blank(text, at + 1)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("it is nested too deep") from None
    except ValueError as error:  # broken JSON, and numbers of thousands of digits
        raise Unreadable(str(error)) from None


def _shallow(text: str) -> None:
    """Unreadable where the brackets of a JSON text nest deeper than code that walks the value can bear."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    level = 0
    for bracket in re.findall(r"[][{}]", _QUOTED.sub("", text)):
        level += 1 if bracket in "[{" else -1
        if level > DEEPEST:
            raise Unreadable(f"it is nested more than {DEEPEST} deep")


def decoded_arguments(raw: str) -> Any:
    """The object that an arguments text holds, once more decoded where it is JSON in a JSON string."""
    value = read_json(raw)
    return read_json(value) if isinstance(value, str) else value


class Typed(NamedTuple):
    """A value, and what is to be said about it: an error or a note, or neither."""

    value: Any
    error: str = ""
    note: str = ""


def typed(text: str, schema: object) -> Typed:
    """One argument by its schema: strings verbatim, the rest as JSON of the declared type.

    Without a schema it stays text (note `untyped`). What does not fit stays text, with an error. In a union null comes
    first, then what is no string, then string (note `ambiguous_type`, since `5` and `"5"` are spelled alike).
    """
    kinds = kinds_of(schema)
    if not kinds:
        return Typed(text, note="untyped")
    for kind in sorted(kinds, key=_rank):
        if kind == "string":
            continue
        found, value = _as(kind, text)
        if found:
            return Typed(value, note="ambiguous_type" if "string" in kinds else "")
    if "string" in kinds:
        return Typed(text)
    return Typed(text, error=f"it is no {' or '.join(sorted(kinds))}")


_KINDS = ("null", "boolean", "integer", "number", "array", "object", "string")


def _rank(kind: str) -> int:
    return _KINDS.index(kind)


def kinds_of(schema: object) -> set[str]:
    """The types that a schema allows; empty where it says nothing."""
    if not isinstance(schema, Mapping):
        return set()
    if isinstance(schema.get("enum"), list) and "type" not in schema:
        return {_kind_of(value) for value in schema["enum"]} - {""}
    found: set[str] = set()
    given = schema.get("type")
    for name in given if isinstance(given, list | tuple) else [given]:
        found |= {name} if name in _KINDS else set()
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for option in options if isinstance(options, list) else []:
            found |= kinds_of(option)
    return found | ({"null"} if schema.get("nullable") is True and found else set())


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return ""


def _as(kind: str, text: str) -> tuple[bool, Any]:
    """Whether `text` spells a value of this type, and the value."""
    word = text.strip().lower()
    if kind in ("null", "boolean"):
        value = _LITERALS.get(word, "")
        return (word in ("null", "none")) if kind == "null" else isinstance(value, bool), value
    try:
        value = read_json(text)
    except Unreadable:
        return False, None
    found = _kind_of(value)
    return found == kind or (kind == "number" and found == "integer"), value

"""What plain scalars mean: the few that are no text, and those that YAML 1.1 readers guess about.

Input: the text of a plain scalar; output: its kind, or what it may be taken for.
`kind_of("12")` is `"int"`, `kind_of("qwen3")` is `"text"`; `guess("on")` is `"true"`,
`guess("1_000")` is `"a number"`, `guess("qwen3")` is None.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["text", "bool", "int", "null"]

# More digits do not fit 64 bits, and readers part ways there.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TRUE = ("yes", "Yes", "YES", "y", "Y", "on", "On", "ON", "True", "TRUE")
_FALSE = ("no", "No", "NO", "n", "N", "off", "Off", "OFF", "False", "FALSE")
_WORDS = {
    **dict.fromkeys(_TRUE, "true"),
    **dict.fromkeys(_FALSE, "false"),
    "Null": "null",
    "NULL": "null",
    "=": "a default value",
    "<<": "a merge key",
}
_SHAPES = (
    ("a number", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)"),
    ("a number", r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"),
    ("a number", r"[-+]?(?:\._[0-9_]*)(?:[eE][-+]?[0-9]+)?"),
    ("a number in base 60", r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    ("a number", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"),
    ("a date", r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?"),
)
_GUESSES = tuple((what, re.compile(shape)) for what, shape in _SHAPES)


def kind_of(value: str) -> Kind:
    """The kind of a plain scalar; what `guess` knows is of kind text, and refused."""
    if value in ("true", "false"):
        return "bool"
    if value in ("", "~", "null"):
        return "null"
    return "int" if _INTEGER.fullmatch(value) else "text"


def guess(value: str) -> str | None:
    """What a YAML 1.1 reader may take a plain scalar of kind text for, None when it stays text."""
    if value in _WORDS:
        return _WORDS[value]
    return next((what for what, shape in _GUESSES if shape.fullmatch(value)), None)

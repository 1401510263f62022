"""Plain scalars that YAML 1.1 readers take for something other than text.

`guess("on")` is `"true or false"`, `guess("1_000")` is `"a number"`, `guess("qwen3")` is None.
"""

from __future__ import annotations

import re

_GUESSES = (
    ("true or false", re.compile(r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|True|TRUE|False|FALSE|y|Y|n|N")),
    ("nothing", re.compile(r"Null|NULL")),
    ("a date", re.compile(r"\d{4}-\d\d?-\d\d?([Tt \t].*)?")),
    ("a number", re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0[0-9_]+|[0-9][0-9_]*)")),
    ("a number", re.compile(r"[-+]?(\.[0-9_]+|[0-9][0-9_]*\.[0-9_]*)([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+")),
    ("a number", re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")),
    ("a number", re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")),
    ("a default value", re.compile(r"=")),
)


def guess(value: str) -> str | None:
    """What a YAML 1.1 reader may take a plain scalar for, None when it stays text."""
    return next((what for what, pattern in _GUESSES if pattern.fullmatch(value)), None)

"""Sets of characters in words, with counts.

Owns the groups that a person thinks in (line ends, blanks, ASCII letters, ...). Example:

    described([(10, 11), (13, 14), (65, 91), (97, 123)])  ->  "\\\\n, \\\\r, ASCII letters (52)"
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

_FEW = 8
_BY_CATEGORY = {
    "L": "other letters",
    "M": "marks",
    "N": "digits and other numbers",
    "P": "punctuation",
    "S": "symbols",
    "C": "control, format and private characters",
}
_SURROGATES = "surrogates"

Points = Sequence[tuple[int, int]]


def described(points: Points) -> str:
    """A set of code points, given as ascending disjoint ranges [start, end)."""
    groups = _overlaps(points)
    full = [name for name, runs in groups.items() if _size(runs) == _sizes()[name]]
    if len(full) == len(_sizes()):
        return "every character"
    if len(full) > len(_sizes()) // 2:
        return f"all but {described(_complement(points))}"
    return ", ".join(_group(name, runs) for name, runs in groups.items()) or "none"


def spelled(char: str) -> str:
    """A character as it is, or escaped where it does not print."""
    if char == " ":
        return "' '"
    plain = repr(char)[1:-1]
    return plain if char.isprintable() or len(plain) == 2 else f"U+{ord(char):04X}"


def _group(name: str, runs: Points) -> str:
    size = _size(runs)
    if size <= _FEW:
        return ", ".join(spelled(chr(code)) for run in runs for code in range(*run))
    if size == _sizes()[name]:
        return f"{name} ({size:,})"
    return f"{size:,} of {_sizes()[name]:,} {name}"


def _name(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Lo" and unicodedata.name(char, "").startswith("CJK "):
        return "Chinese characters"
    if char > "\x7f" and category[0] not in "ZC":
        return _BY_CATEGORY[category[0]]
    if char in "\n\r":
        return "line ends"
    if char.isspace() and not "\x1c" <= char <= "\x1f":
        return "blanks"
    if category[0] == "L":
        return "ASCII letters"
    return {"Cn": "unassigned code points", "Cs": _SURROGATES}.get(
        category, _BY_CATEGORY[category[0]]
    )


@cache
def _spans() -> tuple[tuple[int, int, str], ...]:
    """All code points but the surrogates as (start, end, group)."""
    spans: list[tuple[int, int, str]] = []
    start = 0
    for name, run in groupby(map(_name, map(chr, range(sys.maxunicode + 1)))):
        end = start + sum(1 for _ in run)
        if name != _SURROGATES:
            spans.append((start, end, name))
        start = end
    return tuple(spans)


@cache
def _sizes() -> dict[str, int]:
    sizes: dict[str, int] = {}
    for start, end, name in _spans():
        sizes[name] = sizes.get(name, 0) + end - start
    return sizes


def _overlaps(points: Points) -> dict[str, list[tuple[int, int]]]:
    """The points of each group that has some, groups in the order of their first code points."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in ("line ends", *_sizes())}
    at = 0
    spans = _spans()
    for start, end in points:
        while spans[at][1] <= start:
            at += 1
        place = at
        while place < len(spans) and spans[place][0] < end:
            low, high, name = spans[place]
            found[name].append((max(start, low), min(end, high)))
            place += 1
    return {name: runs for name, runs in found.items() if runs}


def _complement(points: Points) -> list[tuple[int, int]]:
    ends = [0, *(point for run in points for point in run), sys.maxunicode + 1]
    pairs = zip(ends[::2], ends[1::2], strict=True)
    return [(start, end) for start, end in pairs if start < end]


def _size(runs: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in runs)

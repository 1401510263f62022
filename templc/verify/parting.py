"""Where two texts part, and how to show it on one line.

`window("<a>\\n<b>", 4)` is `<a>⏎•<b>`: line ends are visible and the • marks the place.
"""

from __future__ import annotations

import re

BEFORE, AFTER = 60, 160
_VISIBLE = str.maketrans(
    {"\n": "⏎", "\r": "␍", "\t": "␉", "\u00a0": "⍽", "\u2028": "␤", "\u3000": "□"}
)
_OPEN_TAG = re.compile(r"[<\[][^\s<>\[\]]{0,40}$")
_WORD = re.compile(r"\w+$")


def visible(text: str) -> str:
    """Text on one line: line ends and blanks that look like others are shown."""
    return text.translate(_VISIBLE)


def parting(ours: str, theirs: str) -> int:
    """Where two texts part: the first difference, or the start of the tag or word it is in."""
    place = _first_difference(ours, theirs)
    common = ours[:place]
    if tag := _OPEN_TAG.search(common):
        return tag.start()
    inside = any(text[place : place + 1].isalnum() for text in (ours, theirs))
    word = _WORD.search(common)
    return word.start() if inside and word else place


def _first_difference(ours: str, theirs: str) -> int:
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def ending(text: str) -> str:
    """The end of a text that there is nothing to hold against."""
    return ("…" if len(text) > AFTER else "") + visible(text[-AFTER:])


def window(text: str, place: int) -> str:
    """The surroundings of `place`, which the • marks; cut ends show as …."""
    start, stop = max(0, place - BEFORE), place + AFTER
    head = ("…" if start else "") + visible(text[start:place])
    return f"{head}•{visible(text[place:stop])}" + ("…" if stop < len(text) else "")

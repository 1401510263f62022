"""Values between marks: `{key:value,...}` where a text stands between two marks and names stand bare.

    read_map('{text:<|"|>a, b<|"|>,n:2}', '<|"|>')      {"text": "a, b", "n": 2}

Inside the marks nothing has a meaning but the mark itself, so quotes, commas and braces of a text need no escapes.
"""

from __future__ import annotations

import re
from typing import Any

from templc.runtime.parser.values import DEEPEST_READ, Unreadable, read_json_at

_KEY = re.compile(r"\s*([^\s:,{}\[\]]+)\s*:\s*")
_NONE = re.compile(r"None\b")


def read_map(text: str, mark: str) -> dict[str, Any]:
    """The entries; Unreadable where the text is anything else."""
    found, end = _Reader(text, mark).value(0, 0)
    if not isinstance(found, dict):
        raise Unreadable("it does not begin with a brace")
    if text[end:].strip():
        raise Unreadable(f"something follows the last brace at character {end}")
    return found


class _Reader:
    """Each method reads at a place and gives the value with the place behind it."""

    def __init__(self, text: str, mark: str) -> None:
        self.text, self.mark = text, mark

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > DEEPEST_READ:
            raise Unreadable("it is too deep")
        if self.text.startswith(self.mark, at):
            return self._between_marks(at)
        if self.text.startswith("{", at):
            return self._entries(at + 1, depth)
        if self.text.startswith("[", at):
            return self._items(at + 1, depth)
        none = _NONE.match(self.text, at)
        return (None, none.end()) if none else read_json_at(self.text, at)

    def _between_marks(self, at: int) -> tuple[str, int]:
        start = at + len(self.mark)
        end = self.text.find(self.mark, start)
        if end < 0:
            raise Unreadable(f"a text is not closed from character {at}")
        return self.text[start:end], end + len(self.mark)

    def _entries(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        more = not self._closes("}", at)
        while more:
            key, at = self._key(at)
            found[key], at = self.value(at, depth + 1)
            more, at = self._comma("}", at)
        return found, self.text.index("}", at) + 1

    def _items(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        more = not self._closes("]", at)
        while more:
            at += len(self.text[at:]) - len(self.text[at:].lstrip())
            item, at = self.value(at, depth + 1)
            found.append(item)
            more, at = self._comma("]", at)
        return found, self.text.index("]", at) + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self.text.startswith(self.mark, at):
            key, at = self._between_marks(at)
            if self.text.startswith(":", at):
                return key, at + 1
        else:
            match = _KEY.match(self.text, at)
            if match is not None:
                return match[1], match.end()
        raise Unreadable(f"an argument has no name at character {at}")

    def _closes(self, bracket: str, at: int) -> bool:
        return re.compile(rf"\s*{re.escape(bracket)}").match(self.text, at) is not None

    def _comma(self, bracket: str, at: int) -> tuple[bool, int]:
        """Whether another one follows, and the place behind the comma."""
        match = re.compile(r"\s*,\s*").match(self.text, at)
        if match is not None:
            return True, match.end()
        if self._closes(bracket, at):
            return False, at
        raise Unreadable(f"a comma or `{bracket}` is missing at character {at}")

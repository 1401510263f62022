"""Search for a fixed set of texts in a text that is still growing.

    finder.find("so <|im_e", 0, final=False)  ->  (None, 3): "<|im_e" may go on as "<|im_end|>"

A control token is one character here (see `alphabet`), so that most searches have nothing to wait for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


class Finder:
    """Finds the leftmost, then longest of `texts`; none of them is empty."""

    __slots__ = ("_longest", "_ordered", "_prefixes", "_regex")

    def __init__(self, texts: Iterable[str]) -> None:
        self._ordered = ordered = sorted(set(texts), key=lambda text: (-len(text), text))
        self._regex: re.Pattern[str] | None = None
        self._prefixes = frozenset(text[:size] for text in ordered for size in range(1, len(text)))
        self._longest = max(map(len, ordered), default=1)

    @property
    def regex(self) -> re.Pattern[str]:
        """Compiled when it is first asked for: most states of a format are never reached."""
        found = self._regex
        if found is None:
            found = re.compile("|".join(map(re.escape, self._ordered)) or r"(?!)")
            self._regex = found
        return found

    def find(self, text: str, at: int, final: bool) -> tuple[re.Match[str] | None, int]:
        """The first match, and up to where the text surely holds none before it; `final`: nothing follows."""
        match = self.regex.search(text, at)
        open_at = len(text) if final else self.partial(text, at)
        if match is not None and match.start() < open_at:
            return match, match.start()
        return None, open_at

    def partial(self, text: str, at: int) -> int:
        """Where a match may have begun that the end of the text cuts off; the length where there is none."""
        if self._prefixes:
            for start in range(max(at, len(text) - self._longest + 1), len(text)):
                if text[start:] in self._prefixes:
                    return start
        return len(text)

    def begins(self, text: str, at: int, final: bool) -> str | None:
        """What stands at `at`, empty where it is none of the texts, None where more text decides."""
        if not final and self.partial(text, at) == at < len(text):
            return None
        match = self.regex.match(text, at)
        return match[0] if match else ""


@lru_cache(maxsize=1024)
def finder_of(texts: frozenset[str]) -> Finder:
    """A finder of these texts, made once."""
    return Finder(texts)

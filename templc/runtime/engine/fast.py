"""Another library's encoder that stands for the text engine of a `tokenizers` tokenizer.

Owns the choice, text by text, of what may go through it: not what it gave up on, and not characters whose class
or composition the two might see differently. For those the answer is None, and the caller asks the other engine.

    engine.ids("hello")              ->  [14990]
    engine.counted("hello you", [5, 9])  ->  ([14990, 498], [1, 1])   ids, and how many start in each stretch
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn, Protocol, TypeAlias

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Arrays(Protocol):
    """What a library gives by itself, for a loop over short texts: a call in between takes as long as the encoding.

    encode: a text to an array of ids; RuntimeError asks for `again`. left: so many characters may be encoded until it
    must be renewed.
    """

    encode: Callable[[str], Any]
    left: int

    def again(self, text: str) -> list[int]:
        """The ids of a text, patiently."""
        ...

    def renew(self) -> None:
        """Throws away what was kept of texts, where that has become much."""
        ...


Encoder: TypeAlias = tuple[Callable[[str], list[int]], Arrays | None]
"""What a library offers: the ids of a text, and what is faster for short ones."""


class FastEngine:
    """Text to ids. name: of the library that encodes. encoder: what it offers. sizes: the bytes of each id.

    Safe to call from several threads. arrays: what a loop over short texts calls, which has to ask how they are
    `taken`.

    compose: brings text to NFC, None where text stays. strange: characters that the two see differently.
    Where Python's Unicode data finds a text composed, `compose` would not change it: characters that only it knows
    are left to the other engine, and those that only Python knows compose with nothing.
    """

    def __init__(
        self,
        encoder: Encoder,
        sizes: Sequence[int],
        *,
        name: str,
        compose: Callable[[str], str] | None,
        strange: str,
    ) -> None:
        self.name = name
        self._encode, self.arrays = encoder
        self._sizes = sizes
        self._compose = compose
        self._strange = re.compile(f"[{re.escape(strange)}]") if strange else None

    def __reduce__(self) -> NoReturn:
        raise TypeError("an engine does not pickle: it is made again from its tokenizer")

    def ids(self, text: str) -> list[int] | None:
        """The ids of a text; None where the tokenizer's own engine has to be asked."""
        taken = text if text.isascii() else self.taken(text)
        if taken is None:
            return None
        try:
            return self._encode(taken)
        except BaseException as error:
            self.gave_up(error)
            return None

    def counted(self, text: str, ends: Sequence[int]) -> tuple[list[int], list[int]] | None:
        """The ids, and for each stretch of the text the number of tokens that start in it.

        ends: where the stretches end, the last one at the end of the text.
        """
        plain = text.isascii()
        if not plain and self.taken(text) is not text:
            return None
        try:
            ids = self._encode(text)
        except BaseException as error:
            self.gave_up(error)
            return None
        counts: list[int] = []
        sizes = self._sizes
        at = done = token = start = 0
        for end in ends[:-1]:
            done += end - start if plain else len(text[start:end].encode())
            start, first = end, token
            while at < done and token < len(ids):
                at += sizes[ids[token]]
                token += 1
            counts.append(token - first)
        counts.append(len(ids) - token)
        return ids, counts

    def starts(self, text: str) -> tuple[list[int], list[int]] | None:
        """The ids, and for each the offset of the character that it starts with or in."""
        found = self.counted(text, [len(text)])
        if found is None:
            return None
        starts: list[int] = []
        at = 0
        places = _characters(text)
        for token in found[0]:
            starts.append(places[at] if places else at)
            at += self._sizes[token]
        return found[0], starts

    @staticmethod
    def gave_up(error: BaseException) -> None:
        """Raise the error again unless the library gave up on a text.

        The patterns of tiktoken run out of stack on very long runs: a ValueError or, by release, a Rust panic. A
        ValueError of gigatoken says that it is busy.
        """
        if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
            raise error

    def taken(self, text: str) -> str | None:
        """The text as the library is given it, itself where nothing is to compose; None where it must not be."""
        if self._strange is not None and self._strange.search(text):
            return None
        # Printable characters are assigned ones, and asking for them is ten times as fast as the patterns.
        if not text.replace("\n", " ").isprintable():
            low, high = unassigned()
            if low.search(text) or (_ASTRAL.search(text) and high.search(text)):
                return None
        if self._compose is None or unicodedata.is_normalized("NFC", text):
            return text
        return self._compose(text)


def _characters(text: str) -> list[int]:
    """For each byte of the text the place of its character; empty for ASCII, where both are one."""
    if text.isascii():
        return []
    return [place for place, character in enumerate(text) for _ in character.encode()]


@cache
def unassigned() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The characters that this Python's Unicode data does not know, and surrogates: below U+10000, and above."""
    low = [(0xD800, 0xDFFF), *_ranges(0x80, 0xD800), *_ranges(0xE000, 0x10000)]
    high = [*_ranges(0x10000, 0x40000), (0x40000, 0xDFFFF), *_ranges(0xE0000, 0xF0000)]
    return _class(low), _class(high)


def _ranges(start: int, end: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in range(start, min(end, sys.maxunicode + 1)):
        if unicodedata.category(chr(code)) == "Cn":
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return found


def _class(ranges: list[tuple[int, int]]) -> re.Pattern[str]:
    spelled = (f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{''.join(spelled)}]")

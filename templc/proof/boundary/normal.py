"""Layer two: does the normaliser change characters across a joint?

Owns what is known of normalisers. Accepted: none, NFC, and replacements of single characters. NFC composes a character
with marks that follow it; the engine itself is asked whether it does, Unicode data only says where it cannot.

    nfc.apart("e", "\\u0301x", more=False)  ->  False    the accent joins the letter
    nfc.apart("\\n", "\\u0301x", more=False) ->  True
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from templc.proof.boundary.regex import Unsupported
from templc.proof.boundary.settings import steps

_LEADS = range(0x1100, 0x1113)
_SYLLABLES = range(0xAC00, 0xD7A4)
_VOWELS_AND_TAILS = (range(0x1161, 0x1176), range(0x11A8, 0x11C3))
_PER_LEAD = 588
_PER_VOWEL = 28
_LAST_MARK = "\u0345"


@dataclass(frozen=True, slots=True)
class Normalizer:
    """apply: the normaliser itself. composes: it is NFC; otherwise it replaces the characters `replaces` one by one."""

    apply: Callable[[str], str]
    composes: bool = False
    replaces: tuple[str, ...] = ()

    @property
    def identity(self) -> bool:
        """Whether it changes nothing."""
        return not self.composes and not self.replaces

    def changes(self) -> tuple[str, ...]:
        """The characters whose verdict is not that of their own symbol."""
        return changed_by_nfc() if self.composes else tuple(sorted(set(self.replaces)))

    def settled(self, literal: str) -> str:
        """The longest end of the literal that stays as it is (normalised) whatever stands before it."""
        if not self.composes:
            return self.apply(literal)
        size = 0
        while size < len(literal) and self._steady(literal[-1 - size]):
            size += 1
        return literal[len(literal) - size :]

    def apart(self, last: str, text: str, *, more: bool) -> bool:
        """Whether text, behind a settled character, is normalised as if it stood alone. more: it may go on."""
        if not self.composes or text[0].isascii():
            return True
        head = _until_ascii(text)
        if self.apply(last + head) != last + self.apply(head):
            return False
        stirs = last in _composites() or unicodedata.normalize("NFD", last) != last
        return not (more and stirs) or self._unattached(text[0])

    def beginnings(self, text: str) -> tuple[str, list[str] | None]:
        """For a text that may go on: what of its normal form is certain, and which characters may come next.

        None: marks, in an order that is not known yet. An empty list: nothing more than the certain part is known.
        """
        if not self.composes:
            return self.apply(text), []
        at = len(text) - 1
        while at > 0 and not self._steady(text[at]):
            at -= 1
        first = self.apply(text[at])[0]
        return self.apply(text[:at]), None if first in self.movable() else list(_grown(first))

    def movable(self) -> frozenset[str]:
        """The characters that NFC may move before others, as the engine has it where Python knows no better."""
        return _movable(self.apply)

    def _steady(self, char: str) -> bool:
        """Whether no character before it can change it: a starter that is never the second of a pair."""
        if char.isascii():
            return True
        assigned = unicodedata.category(char) != "Cn"
        second = char in _seconds() or any(ord(char) in part for part in _VOWELS_AND_TAILS)
        lone = not second and unicodedata.combining(char) == 0
        return assigned and lone and self.apply(char) == char

    def _unattached(self, char: str) -> bool:
        mark = unicodedata.category(char)[0] == "M" or unicodedata.combining(char) != 0
        return not mark and self._steady(self.apply(char)[0])


IDENTITY = Normalizer(lambda text: text)


def normalizer(settings: Any, apply: Callable[[str], str]) -> Normalizer:
    """From the JSON of a normalizer and what it does; `Unsupported` with the reason otherwise."""
    found = list(steps(settings, "normalizers"))
    if not found:
        return IDENTITY
    if all(step["type"] == "NFC" for step in found):
        return Normalizer(_nfc(), composes=True)
    replaced: list[str] = []
    for step in found:
        match step:
            case {"type": "Replace", "pattern": {"String": pattern}} if len(pattern) == 1:
                replaced.append(pattern)
            case {"type": kind}:
                raise Unsupported(f"the normalizer {kind}{' with others' * (len(found) > 1)}")
    return Normalizer(apply, replaces=tuple(replaced))


@cache
def _nfc() -> Callable[[str], str]:
    """The library's own: its Unicode version need not be Python's. One object, so that facts of it are found once."""
    from tokenizers import normalizers

    apply: Callable[[str], str] = normalizers.NFC().normalize_str
    return apply


@cache
def _movable(nfc: Callable[[str], str]) -> frozenset[str]:
    every = [chr(code) for code in range(0x80, sys.maxunicode + 1)]
    marks = [char for char in every if unicodedata.combining(char)]
    # A later Unicode version may know more marks: those that step before the last in the order of marks.
    unknown = [char for char in every if unicodedata.category(char) == "Cn"]
    moved = nfc("\n".join(_LAST_MARK + char for char in unknown)).split("\n")
    pairs = zip(unknown, moved, strict=True)
    return frozenset([*marks, *(char for char, pair in pairs if pair[0] != _LAST_MARK)])


@cache
def changed_by_nfc() -> tuple[str, ...]:
    """The assigned characters that NFC replaces, moves, or joins with others."""
    return tuple(char for char in map(chr, range(0x80, sys.maxunicode + 1)) if _is_changed(char))


def _is_changed(char: str) -> bool:
    category = unicodedata.category(char)
    if category in ("Cn", "Co", "Cs"):
        return False
    hangul = any(ord(char) in part for part in (_LEADS, _SYLLABLES, *_VOWELS_AND_TAILS))
    joined = hangul or char in _composites() or char in _seconds()
    return joined or category[0] == "M" or unicodedata.normalize("NFC", char) != char


def _until_ascii(text: str) -> str:
    """An ASCII character never joins what stands before it."""
    return text[: next((at for at, char in enumerate(text) if char.isascii()), len(text))]


@cache
def _pairs() -> tuple[tuple[str, str, str], ...]:
    """Every (first, second, composite) of Unicode but the Hangul syllables."""
    found: list[tuple[str, str, str]] = []
    for code in range(0xC0, 0x30000):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (chr(int(part, 16)) for part in parts)
            found.append((first, second, chr(code)))
    return tuple(found)


@cache
def _seconds() -> frozenset[str]:
    return frozenset(second for _, second, _ in _pairs())


@cache
def _composites() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for first, _, composite in _pairs():
        found[first] = (*found.get(first, ()), composite)
    return found


@cache
def _grown(char: str) -> tuple[str, ...]:
    """The characters that a character may be once more text has joined it, itself included."""
    # A mark that goes below takes a composed character apart first: é and a dot below are ẹ and an accent.
    if ord(char) in _LEADS or ord(char) in _SYLLABLES:
        return (char, *_syllables(char))
    base = unicodedata.normalize("NFD", char)[0]
    todo, seen = [char, base], set[str]()
    while todo:
        char = todo.pop()
        if char not in seen:
            seen.add(char)
            todo += _composites().get(char, ())
    return tuple(seen)


def _syllables(char: str) -> Iterator[str]:
    """The Hangul syllables that a letter or a syllable may become. Marks take none of them apart."""
    code = ord(char)
    if code in _LEADS:
        first = _SYLLABLES.start + (code - _LEADS.start) * _PER_LEAD
        yield from map(chr, range(first, first + _PER_LEAD))
    elif (code - _SYLLABLES.start) % _PER_VOWEL == 0:
        yield from map(chr, range(code, code + _PER_VOWEL))

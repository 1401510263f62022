"""Control tokens as single characters, so that a turn is one string in which text never equals a control token.

Control token k is the lone surrogate U+D800 + k, which no decoded text contains. `Alphabet(["<think>"]).inside(s)`
spells a text of the format with such characters, `outside(s)` turns them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

FIRST, COUNT = 0xD800, 0x800
STAND_INS = re.compile("[\ud800-\udfff]")
PARTS = re.compile("([\ud800-\udfff])")
BAD = "\ufffd"


class Alphabet:
    """The control tokens of one completion: those that the format knows first, others as they come."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = tuple(known)
        self._characters = {text: chr(FIRST + place) for place, text in enumerate(known)}
        self._texts = {character: text for text, character in self._characters.items()}
        longest = sorted(known, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest))) if longest else None

    def copy(self) -> Alphabet:
        """The same, to go ways of its own with further control tokens."""
        made = Alphabet.__new__(Alphabet)
        made.known, made._pattern = self.known, self._pattern
        made._characters, made._texts = self._characters.copy(), self._texts.copy()
        return made

    def character(self, text: str) -> str | None:
        """The character of a control token, a new one if need be; None when there are no more."""
        found = self._characters.get(text)
        if found is None and len(self._characters) < COUNT:
            found = chr(FIRST + len(self._characters))
            self._characters[text] = found
            self._texts[found] = text
        return found

    def inside(self, text: str) -> str:
        """A text that the format wrote, with its known control tokens as characters."""
        return (
            self._pattern.sub(lambda match: self._characters[match[0]], text)
            if self._pattern
            else text
        )

    def outside(self, text: str) -> str:
        """The text that a person sees."""
        return STAND_INS.sub(self._spelled, text) if has_stand_ins(text) else text

    def _spelled(self, match: re.Match[str]) -> str:
        return self._texts.get(match[0], match[0])


def has_stand_ins(text: str) -> bool:
    """Whether there is a lone surrogate in it; encoding tells many times faster than a search does."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def without_surrogates(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate, which would read as a control token."""
    return STAND_INS.sub(BAD, text) if has_stand_ins(text) else text


def known_controls(texts: Iterable[str], added: Mapping[str, object] | None) -> tuple[str, ...]:
    """The control tokens of a format that this vocabulary has; all of them where text is read without one."""
    return tuple(dict.fromkeys(text for text in texts if text and (added is None or text in added)))

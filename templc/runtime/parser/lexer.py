"""What comes in, tokens or text, as one growing string of characters and control tokens.

`TokenLexer(codec, alphabet).feed([...])` gives the characters that are certain so far; `units(offset)` says which
token (or, for text, which character of the text given) stands at an offset of the string.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from codecs import utf_8_decode
from collections.abc import Sequence
from itertools import accumulate, chain, compress
from operator import not_
from typing import Any, Protocol

from templc.runtime.codec import Codec
from templc.runtime.errors import TokenizerError
from templc.runtime.parser.alphabet import BAD, STAND_INS, Alphabet, without_surrogates
from templc.runtime.parser.finder import Finder
from templc.runtime.parser.vocabulary import vocabulary_of, woven


class Lexer(Protocol):
    """bad: offset of the first character that stands for what could not be read. unknown: units without an entry.

    spelled: offset of the first control token that had to be spelled out.
    """

    bad: list[int]
    unknown: list[int]
    spelled: list[int]

    @property
    def count(self) -> int:
        """How many units came in."""
        ...

    @property
    def incomplete(self) -> bool:
        """Whether the last unit has no character: it ends inside one."""
        ...

    def start_at(self, offset: int) -> None:
        """Say how many characters stand before the first unit."""
        ...

    def feed(self, given: Any) -> str:
        """The characters that are certain after this much."""
        ...

    def finish(self) -> str:
        """The characters that were held back."""
        ...

    def boundary(self, offset: int) -> int:
        """How many units start before `offset`."""
        ...

    def cover(self, start: int, end: int) -> tuple[int, int]:
        """The units that `start` to `end` touches."""
        ...


class TokenLexer:
    """Token ids; bytes that are not UTF-8 become U+FFFD, an unfinished character at the end is left out."""

    def __init__(self, codec: Codec, alphabet: Alphabet) -> None:
        self._codec = codec
        self._vocabulary = vocabulary_of(codec)
        self._controls = self._vocabulary.controls
        self._spelling = self._vocabulary.spelling(alphabet)
        self._alphabet = alphabet
        self._given: list[int] = []
        self._read: list[str] = []  # the text of each token, as far as somebody has asked for it
        self._known_starts: list[int] = []
        self._first = self._offset = 0
        self._rest = b""  # the bytes of a character that is not finished
        self.bad: list[int] = []
        self.unknown: list[int] = []
        self.spelled: list[int] = []

    @property
    def count(self) -> int:
        return len(self._given)

    @property
    def incomplete(self) -> bool:
        return len(self._read) == self.count > 0 and not self._read[-1]

    def start_at(self, offset: int) -> None:
        self._first = self._offset = offset

    def feed(self, given: Sequence[int]) -> str:
        text = None if self._rest else self._at_once(given)
        if text is None:
            self._read_all()
            texts = self._one_by_one(given)
            self._read += texts
            text = "".join(texts)
        self._given += given
        self._offset += len(text)
        return text

    def _at_once(self, given: Sequence[int]) -> str | None:
        """The text of tokens that are whole characters together; None where it takes a closer look."""
        joined = self._vocabulary.joined(self._codec, given)
        parted = None if joined is None else self._spelling.parted(joined)
        return None if parted is None else woven(parted[0], parted[1])

    def _read_all(self) -> None:
        """Work out the texts of the tokens that were read at once."""
        if len(self._read) < len(self._given):
            self._read += self._one_by_one(self._given[len(self._read) :])

    def _one_by_one(self, given: Sequence[int]) -> list[str]:
        """The text of each token; behind an unfinished character also that of the next ones, until it ends."""
        texts: list[Any] = list(map(self._spelling.texts.get, given))
        done, size = 0, len(texts)
        missing = compress(range(size), map(not_, texts))
        for at in chain([0], missing) if self._rest else missing:
            while at >= done and at < size:
                token = int(given[at])
                read = self._control if token in self._controls else self._decoded
                texts[at] = read(token, at, texts)
                at = done = at + 1
                if not self._rest:
                    break
        return texts

    @property
    def _starts(self) -> list[int]:
        """The offset at which each token starts: worked out when it is first asked for."""
        self._read_all()
        known = self._known_starts
        if len(known) < len(self._read):
            first = known[-1] + len(self._read[len(known) - 1]) if known else self._first
            known += accumulate(map(len, self._read[len(known) :]), initial=first)
            known.pop()
        return known

    def finish(self) -> str:
        return ""

    def boundary(self, offset: int) -> int:
        return bisect_left(self._starts, offset)

    def cover(self, start: int, end: int) -> tuple[int, int]:
        starts = self._starts
        return max(0, bisect_right(starts, start) - 1), bisect_left(starts, max(end, start + 1))

    def _control(self, token: int, at: int, texts: list[str]) -> str:
        character = self._alphabet.character(self._controls[token])
        broken = self._flushed(at, texts)
        if character is None:  # more kinds of control tokens than there are characters for
            self._note(self.spelled, at, texts, len(broken))
            character = self._controls[token]
        return broken + character

    def _flushed(self, at: int, texts: list[str]) -> str:
        """An unfinished character that a token cut off."""
        if not self._rest:
            return ""
        text, _ = utf_8_decode(self._rest, "replace", True)
        self._rest = b""
        self._note(self.bad, at, texts)
        return text

    def _note(self, places: list[int], at: int, texts: list[str], more: int = 0) -> None:
        """Keep the offset of token `at`, if it is the first of its kind: nobody asks for others."""
        if not places:
            places.append(self._offset + sum(map(len, texts[:at])) + more)

    def _decoded(self, token: int, at: int, texts: list[str]) -> str:
        try:
            piece = self._vocabulary.bytes_of(self._codec, token)
        except TokenizerError:
            self.unknown.append(len(self._given) + at)
            return self._flushed(at, texts) + BAD
        whole = self._rest + piece
        text, used = utf_8_decode(whole, "replace", False)
        alone, self._rest = not self._rest, whole[used:]
        if BAD in text:
            if BAD.encode() not in piece:
                self._note(self.bad, at, texts, text.index(BAD))
        elif alone and not self._rest:
            self._spelling.texts[token] = text
        return text


class TextLexer:
    """Text in which the control tokens of the format are spelled out."""

    def __init__(self, controls: Sequence[str], alphabet: Alphabet) -> None:
        self._finder = Finder(controls)
        self._alphabet = alphabet
        self._held = ""
        self._offset = self._base = self._count = 0
        self._places: list[int] = []
        self._extra: list[int] = [0]
        self.bad: list[int] = []
        self.unknown: list[int] = []
        self.spelled: list[int] = []

    @property
    def count(self) -> int:
        return self._count

    @property
    def incomplete(self) -> bool:
        return False

    def start_at(self, offset: int) -> None:
        self._offset = self._base = offset

    def feed(self, given: str) -> str:
        self._count += len(given)
        self._held += given
        return self._read(final=False)

    def finish(self) -> str:
        return self._read(final=True)

    def boundary(self, offset: int) -> int:
        before = bisect_left(self._places, offset)
        return offset - self._base + self._extra[before]

    def cover(self, start: int, end: int) -> tuple[int, int]:
        return self.boundary(start), max(self.boundary(end), self.boundary(start))

    def _read(self, final: bool) -> str:
        out: list[str] = []
        at = 0
        while True:
            match, limit = self._finder.find(self._held, at, final)
            out.append(self._plain(self._held[at:limit]))
            at = limit
            if match is None:
                self._held = self._held[at:]
                return "".join(out)
            out.append(self._control(match[0]))
            at = match.end()

    def _plain(self, text: str) -> str:
        clean = without_surrogates(text)
        if clean != text:
            self.bad += [self._offset + match.start() for match in STAND_INS.finditer(text)]
        self._offset += len(clean)
        return clean

    def _control(self, text: str) -> str:
        character = self._alphabet.character(text)
        assert character is not None, "the controls of a format have characters"
        self._places.append(self._offset)
        self._extra.append(self._extra[-1] + len(text) - 1)
        self._offset += 1
        return character

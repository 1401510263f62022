"""What comes in, tokens or text, as one growing string of characters and control tokens.

`TokenLexer(codec, alphabet).feed([...])` gives the characters that are certain so far; `units(offset)` says which
token (or, for text, which character of the text given) stands at an offset of the string.
"""

from __future__ import annotations

import codecs
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

from templc.runtime.codec import Codec
from templc.runtime.errors import TokenizerError
from templc.runtime.parser.alphabet import BAD, STAND_INS, Alphabet, without_surrogates
from templc.runtime.parser.finder import Finder


class Lexer(Protocol):
    """bad: offsets of characters that stand for what could not be read. unknown: units that the vocabulary lacks.

    spelled: offsets of control tokens that had to be spelled out.
    """

    bad: list[int]
    unknown: list[int]
    spelled: list[int]

    @property
    def count(self) -> int:
        """How many units came in."""
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


class _Known:
    """What is known of the tokens of a codec, worked out once and added to as they come.

    controls: text of each control token. bytes: of the other tokens. texts: by the control tokens that have a fixed
    character, what a token is in a turn, for control tokens and those whose bytes are characters by themselves.
    """

    def __init__(self, codec: Codec) -> None:
        self.controls = {token.id: token.text for token in codec.controls.tokens.values()}
        self.bytes: dict[int, bytes] = {}
        self._texts: dict[tuple[str, ...], dict[int, str]] = {}

    def texts(self, alphabet: Alphabet) -> dict[int, str]:
        found = self._texts.get(alphabet.known)
        if found is None:
            named = {text: number for number, text in self.controls.items()}
            fixed = (text for text in alphabet.known if text in named)
            found = {named[text]: alphabet.character(text) or text for text in fixed}
            self._texts[alphabet.known] = found
        return found


_known: weakref.WeakKeyDictionary[Any, _Known] = weakref.WeakKeyDictionary()


def _known_of(codec: Codec) -> _Known:
    try:
        found = _known.get(codec)
        if found is None:
            found = _known[codec] = _Known(codec)
    except TypeError:  # takes no weak reference
        return _Known(codec)
    return found


class TokenLexer:
    """Token ids; bytes that are not UTF-8 become U+FFFD, an unfinished character at the end is left out."""

    def __init__(self, codec: Codec, alphabet: Alphabet) -> None:
        self._codec = codec
        known = _known_of(codec)
        self._bytes, self._controls = known.bytes, known.controls
        self._texts = known.texts(alphabet)
        self._alphabet = alphabet
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._starts: list[int] = []
        self._offset = 0
        self._pending = False
        self.bad: list[int] = []
        self.unknown: list[int] = []
        self.spelled: list[int] = []

    @property
    def count(self) -> int:
        return len(self._starts)

    def start_at(self, offset: int) -> None:
        self._offset = offset

    def feed(self, given: Sequence[int]) -> str:
        try:
            texts = [] if self._pending else list(map(self._texts.__getitem__, given))
        except KeyError:
            texts = []
        if not texts:
            return self._feed_each(given)
        self._starts += accumulate(map(len, texts), initial=self._offset)
        self._offset = self._starts.pop()
        return "".join(texts)

    def _feed_each(self, given: Sequence[int]) -> str:
        out: list[str] = []
        whole, starts, offset = self._texts.get, self._starts, self._offset
        for token in given:
            starts.append(offset)
            text = None if self._pending else whole(token)
            if text is None:
                self._offset = offset
                text = self._control(token) if token in self._controls else self._decoded(token)
            out.append(text)
            offset += len(text)
        self._offset = offset
        return "".join(out)

    def finish(self) -> str:
        self._decoder.reset()
        return ""

    def boundary(self, offset: int) -> int:
        return bisect_left(self._starts, offset)

    def cover(self, start: int, end: int) -> tuple[int, int]:
        return max(0, bisect_right(self._starts, start) - 1), bisect_left(
            self._starts, max(end, start + 1)
        )

    def _control(self, token: int) -> str:
        character = self._alphabet.character(self._controls[token])
        broken = self._flushed()
        if character is None:  # more kinds of control tokens than there are characters for
            self.spelled.append(self._offset)
            character = self._controls[token]
        return broken + character

    def _flushed(self) -> str:
        """An unfinished character that a control token cut off."""
        text = self._decoder.decode(b"", True) if self._pending else ""
        self._pending = False
        self.bad += [self._offset] if text else []
        return text

    def _decoded(self, token: int) -> str:
        piece = self._bytes.get(token)
        if piece is None:
            try:
                piece = self._codec.token_bytes(token)
            except TokenizerError:
                self.unknown.append(len(self._starts) - 1)
                return self._flushed() + BAD
            self._bytes[token] = piece
        alone = not self._pending
        text = self._decoder.decode(piece)
        self._pending = bool(self._decoder.getstate()[0])
        if BAD in text:
            if BAD.encode() not in piece:
                self.bad.append(self._offset + text.index(BAD))
        elif alone and not self._pending:
            self._texts[token] = text
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

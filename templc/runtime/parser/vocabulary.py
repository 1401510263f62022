"""The tokens of a vocabulary as bytes: found out once, and only of those that came.

Control tokens are marks among them, a byte that no text has and a number. So ids become the texts between their
control tokens by one look-up, one join and one split.

    found = vocabulary_of(codec)
    found.spelling(alphabet).parted(found.joined(codec, (9707, 151645)))
    ->  (["Hello", ""], ["\\ud801"], ["Hello", "<|im_end|>", ""])
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from templc.runtime.codec import Codec
from templc.runtime.errors import TokenizerError
from templc.runtime.parser.alphabet import Alphabet

# UTF-8 never has this byte. A number behind it has three digits below 128, so that it is never cut.
MARK, DIGITS = b"\xff", 3


class Spelling(NamedTuple):
    """Tokens as they stand in a turn, for one set of control tokens that have a fixed character.

    marked: character and own text of those, by the number in their mark. texts: by id, of those and of tokens whose
    bytes are whole characters by themselves.
    """

    marked: dict[bytes, tuple[str, str]]
    texts: dict[int, str]

    def parted(self, joined: bytes) -> tuple[list[str], list[str], list[str]] | None:
        """The texts before, between and behind control tokens, these as characters, and all of it as people see it.

        None where it takes a closer look.
        """
        first, *others = joined.split(MARK)
        marked = self.marked
        try:
            text = first.decode()
            texts, controls, said = [text], [], [text]
            for part in others:
                character, name = marked[part[:DIGITS]]
                text = part[DIGITS:].decode()
                controls.append(character)
                texts.append(text)
                said += (name, text)
        except (KeyError, UnicodeDecodeError):
            return None
        return texts, controls, said


class Vocabulary:
    """What is known of the tokens of a codec. It does not hold the codec, which it must not keep alive.

    controls: text of each control token, by id. plans: see `usual`.
    """

    def __init__(self, codec: Codec) -> None:
        tokens = codec.controls.tokens.values()
        self.controls = {token.id: token.text for token in tokens}
        self.plans: dict[Any, Any] = {}
        self._numbers = {
            text: bytes((place >> 14 & 127, place >> 7 & 127, place & 127))
            for place, text in enumerate(self.controls.values())
        }
        # A dictionary of what came takes a part of the memory that a list of all tokens takes, and no more time.
        self._pieces = {id: MARK + self._numbers[text] for id, text in self.controls.items()}
        self._others: dict[int, bytes] = {}
        self._spellings: dict[tuple[str, ...], Spelling] = {}

    def spelling(self, alphabet: Alphabet) -> Spelling:
        """Tokens as a turn has them whose control tokens this alphabet spells."""
        found = self._spellings.get(alphabet.known)
        if found is None:
            named = {text: id for id, text in self.controls.items()}
            fixed = {
                text: alphabet.character(text) or text for text in alphabet.known if text in named
            }
            found = self._spellings[alphabet.known] = Spelling(
                {self._numbers[text]: (character, text) for text, character in fixed.items()},
                {named[text]: character for text, character in fixed.items()},
            )
        return found

    def joined(self, codec: Codec, ids: Sequence[int]) -> bytes | None:
        """The bytes of tokens, with marks; None where a token is unknown, empty or has the byte of a mark."""
        try:
            found: Any = itemgetter(*ids)(self._pieces)
        except KeyError:
            if not self._learned(codec, ids):
                return None
            found = itemgetter(*ids)(self._pieces)
        except TypeError:
            return None
        return b"".join(found) if len(ids) > 1 else found

    def _learned(self, codec: Codec, ids: Sequence[int]) -> bool:
        """Whether all tokens can be joined, once those that never came before were looked at."""
        try:
            new = [token for token in set(ids) if token not in self._pieces]
            return all(
                int(token) == token and not self._strange(codec, int(token)) for token in new
            )
        except (TokenizerError, TypeError, ValueError, OverflowError):
            return False

    def _strange(self, codec: Codec, token: int) -> bool:
        self.bytes_of(codec, token)
        return token in self._others

    def bytes_of(self, codec: Codec, token: int) -> bytes:
        """The bytes of a token that is no control token; `TokenizerError` where the vocabulary has none."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._others.get(token)
        if piece is None:
            piece = codec.token_bytes(token)
            (self._others if not piece or MARK in piece else self._pieces)[token] = piece
        return piece


def vocabulary_of(codec: Codec) -> Vocabulary:
    """What is known of a codec's tokens; it is kept as long as the codec is."""
    found = codec.scaffold.vocabulary
    if found is None:
        found = codec.scaffold.vocabulary = Vocabulary(codec)
    return found


def woven(texts: Sequence[str], controls: Sequence[str]) -> str:
    """Texts with the control tokens between them."""
    if not controls:
        return texts[0]
    parts = [""] * (len(texts) + len(controls))
    parts[::2], parts[1::2] = texts, controls
    return "".join(parts)

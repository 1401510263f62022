"""Layer five, on request: a joint inside one piece is safe if no entry of the vocabulary spans it.

Owns what has to be known of a vocabulary for that. If no entry is made of an end of the left text and a beginning of
the right one, no merge crosses, and each side merges as it would alone. Where a piece that is an entry is taken as a
whole, the sides must not be entries that no merges lead to: alone they would be one id, inside the piece they are not.

    Seam(vocabulary, "\\n").holds("/")   ->  False on a vocabulary with an entry "\\n/"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from templc.proof.boundary.regex import Unsupported


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """spell: text in the letters of the entries. whole: a piece that is an entry is taken as it is.

    merged: whether merges lead to an entry.
    """

    entries: frozenset[str]
    spell: Callable[[str], str]
    whole: bool
    merged: Callable[[str], bool]


class Seam:
    """The vocabulary at the end of a literal."""

    def __init__(self, vocabulary: Vocabulary, literal: str) -> None:
        self._vocabulary = vocabulary
        left = vocabulary.spell(literal)
        self._rests = frozenset(
            entry[at:]
            for entry in vocabulary.entries
            if left[-1] in entry[:-1]
            for at in range(1, len(entry))
            if left.endswith(entry[:at]) or entry[:at].endswith(left)
        )
        self._longest = max(map(len, self._rests), default=0)
        ends = (entry for entry in vocabulary.entries if _ends(left, entry))
        self._sound = not vocabulary.whole or all(map(vocabulary.merged, ends))

    def holds(self, first_piece: str) -> bool:
        """Whether the ids on both sides stay, `first_piece` being the first piece of the text behind the joint."""
        if not self._sound:
            return False
        right = self._vocabulary.spell(first_piece)
        if any(right[:size] in self._rests for size in range(1, self._longest + 1)):
            return False
        one = self._vocabulary.whole and right in self._vocabulary.entries
        return not one or self._vocabulary.merged(right)


def of_tokenizers(backend: Any, *, byte_level: bool) -> Vocabulary:
    """The vocabulary of a `tokenizers.Tokenizer`; `Unsupported` with the reason if the rule does not hold for it."""
    model = backend.model
    if type(model).__name__ != "BPE":
        raise Unsupported(f"merges of the model {type(model).__name__}")
    if model.continuing_subword_prefix or model.end_of_word_suffix:
        raise Unsupported("entries with a prefix or suffix")
    if model.unk_token is not None and model.fuse_unk:
        raise Unsupported("unknown characters become one id together")
    entries = frozenset(backend.get_vocab(with_added_tokens=False))
    guard = _guard(entries)

    def merged(entry: str) -> bool:
        return len(model.tokenize(entry + guard)) == 2

    spell = _byte_speller() if byte_level else str
    return Vocabulary(entries, spell, bool(model.ignore_merges), merged)


def of_tiktoken(encoding: Any) -> Vocabulary:
    """The vocabulary of a `tiktoken.Encoding`."""
    entries = frozenset(token.decode("latin-1") for token in encoding.token_byte_values())
    guard = _guard(entries)

    def merged(entry: str) -> bool:
        return len(encoding._encode_single_piece((entry + guard).encode("latin-1"))) == 2

    return Vocabulary(entries, lambda text: text.encode().decode("latin-1"), True, merged)


def _guard(entries: frozenset[str]) -> str:
    """An entry of one letter that stands in no other: behind it, an entry is merged and not taken as a whole."""
    inside = {letter for entry in entries if len(entry) > 1 for letter in entry}
    free = sorted(entry for entry in entries if len(entry) == 1 and entry not in inside)
    if not free:
        raise Unsupported("a vocabulary without a letter that never merges")
    return free[-1]


def _byte_speller() -> Callable[[str], str]:
    from tokenizers import pre_tokenizers

    bytes_as_letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    def spell(text: str) -> str:
        return "".join(piece for piece, _ in bytes_as_letters.pre_tokenize_str(text))

    return spell


def _ends(left: str, entry: str) -> bool:
    return left.endswith(entry) or entry.endswith(left)

"""Added tokens and where a text spells them.

Owns the search for added tokens, by the rule of the `tokenizers` library: leftmost longest, first the tokens that
are matched in the raw text, then the `normalized` ones in what remains. Example:

    matcher = Matcher([AddedToken("<|im_end|>", 151645)])
    matcher.find("hi<|im_end|>")  ->  (Match(start=2, end=12, token=AddedToken("<|im_end|>", 151645)),)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# The characters that Unicode calls white space; Python's own `\\s` has four separators more.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_LEADING = re.compile(f"[{_BLANKS}]*")
_TRAILING = re.compile(f"[{_BLANKS}]*\\Z")
_BLANK_TOKEN = re.compile(f"[{_BLANKS}\u2581]+")
_WORD = re.compile(r"\w")

_CACHED_LENGTH = 512


class AddedToken(NamedTuple):
    """An added token and its flags, named as in tokenizer.json."""

    text: str
    id: int
    special: bool = True
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False

    def is_blank(self) -> bool:
        """Whether it is a plain run of blanks: text like any other, which a message may contain.

        Gemma's runs of newlines are such tokens: they shorten text and control nothing.
        """
        return not self.special and _BLANK_TOKEN.fullmatch(self.text) is not None


class Match(NamedTuple):
    """`text[start:end]` spells `token`."""

    start: int
    end: int
    token: AddedToken


class Cut(NamedTuple):
    """A control token that stands for `text[start:end]`, which may include blanks that it takes with it.

    at: where its own text starts.
    """

    start: int
    end: int
    id: int
    at: int


# As `Cut(...)`, in half the time.
_new = tuple.__new__


class Matcher:
    """Finds a fixed set of added tokens. flagged: whether finding one takes a look at the text around it."""

    def __init__(self, tokens: Iterable[AddedToken]) -> None:
        self.tokens = {token.text: token for token in tokens if token.text}
        self.ids = frozenset(token.id for token in self.tokens.values())
        self._raw = _pattern(t.text for t in self.tokens.values() if not t.normalized)
        self._normalized = _pattern(t.text for t in self.tokens.values() if t.normalized)
        self.flagged = any(t.lstrip or t.rstrip or t.single_word for t in self.tokens.values())
        self._short = functools.lru_cache(maxsize=4096)(self._find)

    def __bool__(self) -> bool:
        return bool(self.tokens)

    def find(self, text: str) -> tuple[Match, ...]:
        """Every match in `text`, in order. Short texts are remembered: a format repeats itself."""
        return self._short(text) if len(text) <= _CACHED_LENGTH else self._find(text)

    def before_first(self, text: str) -> str:
        """The text before the first match, all of it where there is none."""
        for pattern in (self._raw, self._normalized):
            match = pattern.search(text) if pattern is not None else None
            text = text[: match.start()] if match else text
        return text

    def _find(self, text: str) -> tuple[Match, ...]:
        found = self._spelled(self._raw, text, 0, len(text))
        if self._normalized is None:
            return tuple(found)
        matches: list[Match] = []
        at = 0
        for match in found:
            matches += self._spelled(self._normalized, text, at, match.start)
            matches.append(match)
            at = match.end
        matches += self._spelled(self._normalized, text, at, len(text))
        return tuple(matches)

    def _spelled(
        self, pattern: re.Pattern[str] | None, text: str, start: int, end: int
    ) -> Iterator[Match]:
        if pattern is None:
            return
        for found in pattern.finditer(text, start, end):
            yield Match(found.start(), found.end(), self.tokens[found.group()])

    def cuts(self, text: str, stretches: Iterable[tuple[int, int]]) -> list[Cut]:
        """Where the tokens spelled inside the stretches `text[start:end]` stand, with their flags applied.

        The flags look at the whole text: blanks that a token takes with it, words that hide a token.
        """
        cuts: list[Cut] = []
        for start, end in stretches:
            for match in self.find(text[start:end]):
                at = start + match.start
                cut = _new(Cut, (at, start + match.end, match.token.id, at))
                if not self.flagged:
                    cuts.append(cut)
                elif not (match.token.single_word and _inside_word(cut, text)):
                    cuts.append(_widened(cut, match.token, text, cuts[-1].end if cuts else 0))
        return cuts


def _pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _inside_word(cut: Cut, text: str) -> bool:
    before, after = text[: cut.start][-1:], text[cut.end : cut.end + 1]
    return bool(_WORD.match(before) or _WORD.match(after))


def _widened(cut: Cut, token: AddedToken, text: str, free_from: int) -> Cut:
    start, end = cut.start, cut.end
    if token.lstrip and (blanks := _TRAILING.search(text, free_from, start)):
        start = blanks.start()
    if token.rstrip and (blanks := _LEADING.match(text, end)):
        end = blanks.end()
    return cut._replace(start=start, end=end)

"""Literal text cut at control tokens: `"\\n</think>\\n\\n"` is `Anchor("</think>", pre="\\n", post="\\n\\n")`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from templc.runtime.parser.grammar import Anchor, Blank

_EDGES = re.compile(r"(\s*)(.*?)(\s*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Literals:
    """Splits literals; `controls` are the control tokens of the format, as text; whole: a head is never cut.

    shared: control tokens that begin several anchors, so that the word behind one belongs to its anchor.
    """

    controls: tuple[str, ...]
    whole: bool = False
    shared: frozenset[str] = frozenset()
    _pattern: re.Pattern[str] | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        longest = sorted(set(self.controls), key=lambda text: (-len(text), text))
        pattern = re.compile("|".join(map(re.escape, longest))) if longest else None
        object.__setattr__(self, "_pattern", pattern)

    def found(self, text: str) -> list[tuple[int, int]]:
        """Where control tokens stand."""
        return [match.span() for match in self._pattern.finditer(text)] if self._pattern else []

    def split(self, text: str) -> list[Anchor | Blank]:
        """White space stays apart; control tokens with nothing but white space between them are anchors each."""
        places = self.found(text)
        if not places:
            return _spaced(text)
        cuts: list[tuple[int, int]] = [places[0]]
        for start, end in places[1:]:
            if text[cuts[-1][1] : start].strip():
                cuts[-1] = (cuts[-1][0], end)
            else:
                cuts.append((start, end))
        found: list[Anchor | Blank] = []
        done = 0
        for start, end in map(partial(self._with_word, text), cuts):
            found.append(Anchor(text[start:end], pre=text[done:start]))
            done = end
        last = found[-1]
        assert isinstance(last, Anchor)
        return [*found[:-1], Anchor(last.core, last.pre, text[done:])]

    def _with_word(self, text: str, place: tuple[int, int]) -> tuple[int, int]:
        """A control token, or with one that is shared also the word behind it."""
        start, end = place
        return (start, _word_end(text, end)) if text[start:end] in self.shared else place

    def head(self, text: str) -> tuple[str, Anchor, str] | None:
        """White space, the first anchor and what follows it; None where the text is blank."""
        places = self.found(text)
        if self.whole and text.strip():
            size = len(text) - len(text.lstrip())
            return text[:size], Anchor(text.strip()), text[size + len(text.strip()) :]
        if places and not text[: places[0][0]].strip():
            start, end = self._with_word(text, places[0])
            return text[:start], Anchor(text[start:end]), text[end:]
        line = re.match(r"(\s*)([^\n]*[^\s])", text)
        return (line[1], Anchor(line[2]), text[line.end() :]) if line else None

    def tail(self, text: str) -> tuple[str, Anchor, str] | None:
        """What precedes the last anchor, the anchor, and white space; None where the text is blank."""
        places = self.found(text)
        if places and not text[places[-1][1] :].strip():
            start, end = places[-1]
            return text[:start], Anchor(text[start:end]), text[end:]
        line = re.search(r"([^\s\n][^\n]*?)(\s*)\Z", text)
        return (text[: line.start()], Anchor(line[1]), line[2]) if line else None


def shared_controls(texts: Iterable[str], literals: Literals) -> frozenset[str]:
    """The control tokens with different words behind them, no other control token ending those words."""
    words: dict[str, set[str]] = {}
    for text in texts:
        places = literals.found(text)
        for at, (start, end) in enumerate(places):
            last = at + 1 == len(places)
            word = text[end : _word_end(text, end)]
            if word and (last or end + len(word) < places[at + 1][0]):
                words.setdefault(text[start:end], set()).add(word)
    return frozenset(control for control, found in words.items() if len(found) > 1)


def _word_end(text: str, at: int) -> int:
    found = re.compile(r"\S*").match(text, at)
    assert found is not None
    return found.end()


def _spaced(text: str) -> list[Anchor | Blank]:
    match = _EDGES.match(text)
    assert match is not None
    pre, core, post = match.groups()
    return [Anchor(core, pre, post)] if core else [Blank(text)] if text else []

"""Scaffold cut at its control tokens, once a tokenizer: formats write the same few stretches again and again.

Scaffold().stretch(("<|im_end|>", "\\n<|im_start|>user\\n"), codec)
    ->  Stretch(lead=(), ids=(151645, 198, 151644), counts=(1, 2), tail=((1, "user\\n"),))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from templc.runtime.codec import Codec
    from templc.runtime.parser.vocabulary import Vocabulary
    from templc.runtime.skeleton import Frames

# Formats have some dozens, all of them short; a caller who writes scaffold of his own must not fill the memory.
MOST, LONGEST = 4096, 8192
Texts = tuple[tuple[int, str], ...]


class Stretch(NamedTuple):
    """Neighbouring scaffold pieces, given as their texts.

    lead, tail: the text before the first control token and behind the last one, by pieces, each with its place among
    them. ids: the first control token to the last, with the text between them. counts: how many of these ids start in
    each piece. Without a control token all of it is lead, and there are no ids.
    """

    lead: Texts
    ids: tuple[int, ...]
    counts: tuple[int, ...]
    tail: Texts


class Scaffold:
    """The stretches of one codec, the skeletons of each renderer, what is known of its tokens.

    Safe to call from several threads.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Stretch] = {}
        self.frames: dict[tuple[type, str], Frames] = {}
        self.vocabulary: Vocabulary | None = None

    def stretch(self, texts: tuple[str, ...], codec: Codec) -> Stretch:
        """The stretch of these texts. No control token of the codec may have flags, which look beyond the stretch."""
        found = self._known.get(texts)
        if found is not None:
            return found
        found = _cut(texts, codec)
        if sum(map(len, texts)) <= LONGEST:
            if len(self._known) >= MOST:
                self._known = {}
            self._known[texts] = found
        return found


def _cut(texts: tuple[str, ...], codec: Codec) -> Stretch:
    text = "".join(texts)
    matches = codec.controls.find(text)
    if not matches:
        return Stretch(tuple(enumerate(texts)), (), (0,) * len(texts), ())
    starts = [0]
    for one in texts:
        starts.append(starts[-1] + len(one))
    ids: list[int] = []
    at = matches[0].start
    begins: list[int] = []
    for match in matches:
        between, offsets = codec.plain_starts(text[at : match.start], at_start=False)
        ids += [*between, match.token.id]
        begins += [*(at + offset for offset in offsets), match.start]
        at = match.end
    counts = [0] * len(texts)
    for begin in begins:
        counts[_owner(starts, begin)] += 1
    lead = tuple(_within(starts, text, 0, matches[0].start))
    return Stretch(lead, tuple(ids), tuple(counts), tuple(_within(starts, text, at, len(text))))


def _owner(starts: Sequence[int], at: int) -> int:
    """The piece that holds a character."""
    return next(place for place, end in enumerate(starts[1:]) if at < end)


def _within(starts: Sequence[int], text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for place, (first, last) in enumerate(pairwise(starts)):
        part = text[max(first, start) : min(last, end)]
        if part:
            yield place, part

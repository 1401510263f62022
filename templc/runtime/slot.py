"""The place of one content between control tokens: the text that is encoded with it, and whose its tokens are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from templc.runtime.codec import Codec
from templc.runtime.columns import Run
from templc.runtime.pieces import Piece
from templc.runtime.rows import Encoded, Waiting, merged
from templc.runtime.weighing import own_size


class Parts(NamedTuple):
    """The stretches of the text around and in a content, where they are not all alike.

    sizes: of their texts; `own`, that of the content, less the content. runs: what each is, sizes left out. first,
    last: the ids of what stands before and behind the content, by themselves. counts: how many each has then.
    """

    sizes: list[int]
    own: int
    runs: list[Run]
    first: list[int]
    last: list[int]
    counts: list[int]

    def ends(self, content: str) -> list[int]:
        """Where the stretches end."""
        sizes = [*self.sizes]
        sizes[self.own] += len(content)
        return list(accumulate(sizes))

    def counted(self, ids: Sequence[int], start: int, size: int) -> list[int] | None:
        """How many of the slot's ids, from `start` on, begin in each; None where the content changed others."""
        own = own_size(self.first, self.last, ids, start + len(self.first), size)
        if own < 0:
            return None
        counts = [*self.counts]
        counts[self.own] = own
        return counts


class Slot(NamedTuple):
    """The place of one content, and what follows up to the next one.

    before, after: the text that is encoded together with it. run: what its tokens are, where they are alike, else
    `parts`. ids, runs: what follows.
    """

    before: str
    after: str
    run: Run
    parts: Parts | None
    ids: list[int]
    runs: list[Run]


def slot_of(
    before: Sequence[Waiting],
    hole: Piece,
    after: Sequence[Waiting],
    behind: Encoded,
    codec: Codec,
    at_start: bool,
) -> Slot:
    """The slot of a content. hole: its piece, with a mark. before, after: the text around it. behind: what follows.

    at_start: nothing at all comes before the text.
    """
    mark = hole.message, hole.sampled, hole.weight, hole.text
    alike = merged([*before, mark, *after])
    around = ["".join(text for *_, text in waiting) for waiting in (before, after)]
    runs: list[Run] = [(0, message, sampled, weight) for message, sampled, weight, _ in alike]
    own = next(at for at, part in enumerate(alike) if hole.text in part[3])
    parts = None
    if len(alike) > 1:
        texts = [text for *_, text in alike]
        sizes = [len(text) - (at == own) for at, text in enumerate(texts)]
        first, left = _counted_texts(texts[:own], codec, at_start)
        last, right = _counted_texts(texts[own + 1 :], codec, False)
        parts = Parts(sizes, own, runs, first, last, [*left, 0, *right])
    return Slot(around[0], around[1], runs[own], parts, behind.ids, behind.runs)


def _counted_texts(
    texts: Sequence[str], codec: Codec, at_start: bool
) -> tuple[list[int], list[int]]:
    """The ids of texts that are encoded as one, and how many begin in each."""
    if not texts:
        return [], []
    ends = list(accumulate(map(len, texts)))
    return codec.plain_counted("".join(texts), ends, at_start=at_start)

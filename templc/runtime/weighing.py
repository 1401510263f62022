"""The weights of what fills a shape: known beforehand but for the number of tokens that each content has.

weighings([(1, 0, False, 0.0)], [slot])  ->  [Weighing(lead=[0.0], own=[1.0], parts=None)], [1.0]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from templc.runtime.columns import Run
from templc.runtime.slot import Parts, Slot


class Weighing(NamedTuple):
    """lead: the weights of the tokens between the content before and this one. own: that of a token of the content.

    parts: of the slot, where some of its tokens are not the content's.
    """

    lead: list[float]
    own: list[float]
    parts: Parts | None


def weighings(first: Sequence[Run], slots: Iterable[Slot]) -> tuple[list[Weighing], list[float]]:
    """Of each slot, and the weights behind the last one. first: what comes before all of them."""
    found: list[Weighing] = []
    lead = listed(first)
    for slot in slots:
        parts, behind = slot.parts, listed(slot.runs)
        if parts is not None:
            runs = [(count, *run[1:]) for count, run in zip(parts.counts, parts.runs, strict=True)]
            lead += listed(runs[: parts.own])
            behind = listed(runs[parts.own + 1 :]) + behind
        found.append(Weighing(lead, [slot.run[3]], parts))
        lead = behind
    return found, lead


def listed(runs: Iterable[Run]) -> list[float]:
    """The weight of each token."""
    return [weight for count, _, _, weight in runs for _ in range(count)]

"""The weights of what fills a shape: known beforehand but for the number of tokens that each content has.

weighings([(1, 0, False, 0.0)], [slot])  ->  [([0.0], [1.0], None)], [1.0]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from templc.runtime.columns import Columns, Run
from templc.runtime.slot import Parts, Slot

Weighing: TypeAlias = tuple[list[float], list[float], Parts | None]
"""Of a slot: the weights of the tokens between the content before and this one, and that of a token of the content.

The parts are those of the slot, where some of its tokens are not the content's. A bare tuple, which a loop takes apart
in a third of the time of a named one.
"""


def weighings(first: list[Run], slots: Iterable[Slot]) -> tuple[list[Weighing], list[float]]:
    """Of each slot, and the weights behind the last one. first: what comes before all of them."""
    found: list[Weighing] = []
    lead = Columns(first).weights
    for slot in slots:
        parts, behind = slot.parts, Columns(slot.runs).weights
        if parts is not None:
            runs = [(count, *run[1:]) for count, run in zip(parts.counts, parts.runs, strict=True)]
            lead += Columns(runs[: parts.own]).weights
            behind = Columns(runs[parts.own + 1 :]).weights + behind
        found.append((lead, [slot.run[3]], parts))
        lead = behind
    return found, lead

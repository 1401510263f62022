# cython: annotation_typing=False
"""The weights of what fills a shape: known beforehand but for the number of tokens that each content has.

As `filling.py`, these lines are compiled where that can be: `weighing.pxd` tells their types.

    weighings([(1, 0, False, 0.0)], [slot])  ->  [([0.0], [1.0], [], [])], [1.0]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from templc.runtime.columns import Columns, Run

if TYPE_CHECKING:
    from templc.runtime.fill import Fill
    from templc.runtime.slot import Slot

Weighing: TypeAlias = tuple[list[float], list[float], list[int], list[int]]
"""Of a slot: the weights of the tokens between the content before and this one, and that of a token of the content.

Then the ids in the slot that stand before and behind those of the content. A bare tuple, which a loop takes apart in a
third of the time of a named one.
"""


def weighings(first: list[Run], slots: Iterable[Slot]) -> tuple[list[Weighing], list[float]]:
    """Of each slot, and the weights behind the last one. first: what comes before all of them."""
    found: list[Weighing] = []
    lead = Columns(first).weights
    for slot in slots:
        parts, behind = slot.parts, Columns(slot.runs).weights
        around: tuple[list[int], list[int]] = [], []
        if parts is not None:
            around = parts.first, parts.last
            runs = [(count, *run[1:]) for count, run in zip(parts.counts, parts.runs, strict=True)]
            lead += Columns(runs[: parts.own]).weights
            behind = Columns(runs[parts.own + 1 :]).weights + behind
        found.append((lead, [slot.run[3]], *around))
        lead = behind
    return found, lead


def weighed(fill: Fill, ids: list[int]) -> list[float]:
    """As the runs of what fills a shape have them, in a third of the time."""
    shape, _, _, sizes, counted, _, _ = fill
    weights: list[float] = []
    for at, (lead, own, before, behind) in enumerate(shape.weighings):
        weights.extend(lead)
        size = -1 if counted else own_size(before, behind, ids, len(weights), sizes[at])
        if size < 0:
            return Columns(fill.runs(ids)).weights
        weights.extend(own * size)
    weights.extend(shape.last_weights)
    return weights


def own_size(before: list[int], behind: list[int], ids: Sequence[int], at: int, size: int) -> int:
    """How many of the ids in a slot are the content's; -1 where the content changed those around it.

    before, behind: the ids around it, by themselves. at: where its own begin, unless that is so. size: of the slot.
    """
    if not before and not behind:
        return size
    start = at - len(before)
    end = start + size
    if ids[start:at] != before or (behind and ids[end - len(behind) : end] != behind):
        return -1
    return size - len(before) - len(behind)

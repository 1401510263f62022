"""Several examples in one row: which ones fit together, and their columns.

packed([5, 3, 4], 8)      [[0, 1], [2]]

position_ids start anew with each example and segment_ids count them from 1, so attention can be kept apart.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

from templc.runtime.tokens import IGNORED_LABEL


def packed(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Examples by number, in rows of at most `size` tokens: the longest first, each where the least room is left.

    Rows are in the order of their first example, and examples in a row in their own order.
    """
    rows: list[list[int]] = []
    room: list[tuple[int, int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        place = bisect_left(room, (lengths[at], -1))
        if place == len(room):
            left, row = size, len(rows)
            rows.append([])
        else:
            left, row = room.pop(place)
        rows[row].append(at)
        insort(room, (left - lengths[at], row))
    return sorted(sorted(row) for row in rows)


def packed_columns(examples: Sequence[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """The columns of examples end to end, with positions and segments.

    The first token of an example is not trained: what stands before it belongs to another one.
    """
    found = {name: [v for row in examples for v in row[name]] for name in examples[0]}
    sizes = [len(row["input_ids"]) for row in examples]
    found["position_ids"] = [at for size in sizes for at in range(size)]
    found["segment_ids"] = [n for n, size in enumerate(sizes, 1) for _ in range(size)]
    for at, position in enumerate(found["position_ids"]):
        if position == 0:
            found["labels"][at] = IGNORED_LABEL
            if "weights" in found:
                found["weights"][at] = 0.0
    return found

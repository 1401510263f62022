"""From where tokens start to how many start in each stretch of a text.

counted([0, 2, 5], [4, 9])  ->  [2, 1]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def counted(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The number of tokens that start in each stretch; starts ascend, the last end lies behind all of them."""
    counts: list[int] = []
    done = 0
    for end in ends[:-1]:
        at = bisect_left(starts, end, lo=done)
        counts.append(at - done)
        done = at
    return [*counts, len(starts) - done]

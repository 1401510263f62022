"""Statistics of token ids: sums that parts add up to, and a picture of the lengths.

Counts(rows=2, examples=2, tokens=30, trained=10, longest=20, lengths={4: 1, 5: 1})
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

BAR = 40


@dataclass(frozen=True, slots=True)
class Counts:
    """rows read, of which `rejected` gave nothing; `examples` written in `written` rows, `cut` of them shortened.

    untrained: trained messages that cuts left out. lengths: examples by the bits of their length (4: 8 to 15 tokens).
    """

    rows: int = 0
    rejected: int = 0
    examples: int = 0
    written: int = 0
    tokens: int = 0
    trained: int = 0
    longest: int = 0
    cut: int = 0
    untrained: int = 0
    lengths: dict[int, int] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        mine, its = asdict(self), asdict(other)
        sums = {name: mine[name] + its[name] for name in mine if name not in ("longest", "lengths")}
        lengths = dict(Counter(self.lengths) + Counter(other.lengths))
        return Counts(**sums, longest=max(self.longest, other.longest), lengths=lengths)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str | bytes) -> Counts:
        found = json.loads(text)
        lengths = {int(bits): number for bits, number in found.pop("lengths").items()}
        return Counts(**found, lengths=lengths)


def lengths_of(sizes: Sequence[int]) -> dict[int, int]:
    """How many examples there are of each number of bits."""
    return dict(Counter(size.bit_length() for size in sizes))


def report(counts: Counts) -> str:
    """The statistics as text, with a histogram of the lengths."""
    share = counts.trained / counts.tokens if counts.tokens else 0.0
    mean = counts.tokens / counts.examples if counts.examples else 0.0
    lines = [
        f"rows       {counts.rows:>14,}   {counts.rejected:,} set aside",
        f"examples   {counts.examples:>14,}   in {counts.written:,} rows of output",
        f"tokens     {counts.tokens:>14,}   {share:.1%} trained",
        f"longest    {counts.longest:>14,}   mean {mean:,.0f}",
    ]
    if counts.cut:
        lines.append(
            f"shortened  {counts.cut:>14,}   {counts.untrained:,} trained messages left out"
        )
    return "\n".join([*lines, *_histogram(counts.lengths)]) + "\n"


def _histogram(lengths: dict[int, int]) -> list[str]:
    if not lengths:
        return []
    most = max(lengths.values())
    found = ["tokens an example"]
    for bits in range(min(lengths), max(lengths) + 1):
        number = lengths.get(bits, 0)
        span = f"{1 << bits >> 1:,} to {(1 << bits) - 1:,}"
        bar = "█" * round(BAR * number / most) or ("▏" if number else "")
        found.append(f"{span:>23} {bar} {number:,}".rstrip())
    return found

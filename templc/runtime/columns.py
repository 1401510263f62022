"""What is known of each token: its message, whether it was sampled, its weight.

Lists are made where somebody asks for them: tokens that are alike, and tokens that were joined, say so until then.

    flat(Joined((Alike(2, 0, False, 0.0), Alike(1, 1, True, 1.0)))).messages  ->  [0, 0, 1]
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Columns:
    """Three lists of one length."""

    __slots__ = ("messages", "sampled", "weights")

    def __init__(self) -> None:
        self.messages: list[int] = []
        self.sampled: list[bool] = []
        self.weights: list[float] = []

    def own(self, size: int, message: int, sampled: bool, weight: float) -> None:
        """The next `size` tokens are of this message."""
        self.messages += [message] * size
        self.sampled += [sampled] * size
        self.weights += [weight] * size

    def add(self, other: Columns) -> None:
        """The others behind these."""
        self.messages += other.messages
        self.sampled += other.sampled
        self.weights += other.weights


class Alike(NamedTuple):
    """So many tokens that are alike."""

    size: int
    message: int = -1
    sampled: bool = False
    weight: float = 0.0


class Joined(NamedTuple):
    """Columns one behind the other."""

    parts: tuple[AnyColumns, ...]


AnyColumns: TypeAlias = Columns | Alike | Joined


def flat(given: AnyColumns) -> Columns:
    """The lists; without recursion, for thousands may have been joined one by one."""
    found = Columns()
    left = [given]
    while left:
        match left.pop():
            case Joined(parts):
                left += reversed(parts)
            case Alike() as one:
                found.own(*one)
            case Columns() as one:
                found.add(one)
    return found

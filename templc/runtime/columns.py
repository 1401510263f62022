"""What is known of each token: its message, whether it was sampled, its weight.

Neighbouring tokens that are alike are a run. A list with an entry a token is made when somebody asks for it.

    Columns([(2, 0, False, 0.0), (1, 1, True, 1.0)]).messages  ->  [0, 0, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Run: TypeAlias = tuple[int, int, bool, float]
"""So many tokens, their message, whether they were sampled, their weight."""

_NAMES = ("_messages", "_sampled", "_weights")


class Columns:
    """runs: as they were written. A list that somebody asked for, or gave, counts instead of them."""

    __slots__ = (*_NAMES, "runs")

    def __init__(self, runs: list[Run], weights: list[float] | None = None) -> None:
        self.runs = runs
        self._messages: list[int] | None = None
        self._sampled: list[bool] | None = None
        self._weights = weights

    @property
    def messages(self) -> list[int]:
        if self._messages is None:
            self._messages = _listed(self.runs, 1)
        return self._messages

    @messages.setter
    def messages(self, given: list[int]) -> None:
        self._messages = given

    @property
    def sampled(self) -> list[bool]:
        if self._sampled is None:
            self._sampled = _listed(self.runs, 2)
        return self._sampled

    @sampled.setter
    def sampled(self, given: list[bool]) -> None:
        self._sampled = given

    @property
    def weights(self) -> list[float]:
        if self._weights is None:
            self._weights = _listed(self.runs, 3)
        return self._weights

    @weights.setter
    def weights(self, given: list[float]) -> None:
        self._weights = given


def joined(parts: Sequence[Columns | list[Run]]) -> Columns | list[Run]:
    """One behind the other; as runs where nobody asked for a list."""
    runs: list[Run] = []
    asked = False
    for part in parts:
        if isinstance(part, Columns):
            asked = True
            part = part.runs
        runs += part
    if not asked:
        return runs
    made = Columns(runs)
    known = [part if isinstance(part, Columns) else Columns(part) for part in parts]
    for place, name in enumerate(_NAMES, 1):
        if any(getattr(part, name) is not None for part in known):
            whole: list[Any] = []
            for part in known:
                column = getattr(part, name)
                whole += _listed(part.runs, place) if column is None else column
            setattr(made, name, whole)
    return made


def _listed(runs: Sequence[Run], place: int) -> list[Any]:
    size = 0
    for run in runs:
        size += run[0]
    # One list of many that are mostly alike is made in a third of the time of short ones that are joined.
    usual = runs[0][place] if runs else None
    found = [usual] * size
    at = 0
    for run in runs:
        count, value = run[0], run[place]
        if value != usual:
            found[at : at + count] = [value] * count
        at += count
    return found

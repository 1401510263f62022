"""Outcomes: every way to stand at a place of the table, and whether everything that was written is kept.

    for spot in walk.outcomes(place).spots:     # behind a node, with one last message
        for stand in spot.outlook.stands: stand.way, stand.kept

Very many conversations go on alike, so the ways on are listed once for all of them: an `Outlook`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from templc.proof.joint import Addition
from templc.proof.letters import Letter
from templc.proof.machine import State

Pair = tuple[State, State]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """All conversations that end in the same past state with the same changes; `word` is a shortest of them."""

    past: State
    changed: frozenset[Pair]
    word: tuple[Letter, ...]


class Way(NamedTuple):
    """How a conversation goes on behind a last message."""

    answer: Letter | None
    next: Letter | None
    addition: Addition


class Stand(NamedTuple):
    """A way on from a last message. kept: whether the text is. pair: what the message before the last one sees."""

    way: Way
    kept: bool
    pair: Pair


class Outlook:
    """Every way on from a last message, the same for many conversations. `kept`: in how many the text is."""

    def __init__(self, stands: tuple[Stand, ...]) -> None:
        self.stands = stands
        self.kept = sum(stand.kept for stand in stands)
        self.pairs = frozenset(stand.pair for stand in stands)
        self._changed: dict[frozenset[Pair], Outlook] = {}

    def where(self, changed: frozenset[Pair]) -> Outlook:
        """The outlook where some earlier message changes under these pairs."""
        if self.pairs.isdisjoint(changed):
            return self
        lost = self.pairs & changed
        if lost not in self._changed:
            stands = (
                stand._replace(kept=False) if stand.pair in lost else stand for stand in self.stands
            )
            self._changed[lost] = Outlook(tuple(stands))
        return self._changed[lost]


class Spot(NamedTuple):
    """The last message of some conversations, and how they go on."""

    node: Node
    last: Letter
    outlook: Outlook


@dataclass(slots=True, eq=False)
class Case:
    """One way to stand at a joint: a node, the messages around the joint, and what the last added one sees."""

    node: Node
    last: Letter
    way: Way
    pair: Pair

    @property
    def answer(self) -> Letter | None:
        return self.way.answer

    @property
    def end(self) -> State:
        return self.way.addition.end

    @property
    def added(self) -> tuple[Letter, ...]:
        """The letters behind the last message."""
        return tuple(found for found in self.way[:2] if found is not None)


class Outcomes:
    """Every case of a place, up to what cannot be told apart, those with the shortest conversation first."""

    def __init__(self, spots: Iterator[Spot]) -> None:
        self.spots = tuple(spots)
        self.total = sum(len(spot.outlook.stands) for spot in self.spots)
        self.kept = sum(spot.outlook.kept for spot in self.spots)

    def cases(self) -> Iterator[tuple[Case, bool]]:
        """Every case with its outcome."""
        for node, last, outlook in self.spots:
            for way, kept, pair in outlook.stands:
                yield Case(node, last, way, pair), kept

    def changing(self) -> Iterator[Case]:
        """The cases in which text changes."""
        return (case for case, kept in self.cases() if not kept)

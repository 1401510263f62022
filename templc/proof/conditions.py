"""Conditions: exactly when a cell of the table is stable, as few words as it takes.

    condition = condition_of(walk, names, place)
    condition.text      "the last message has reasoning and the appended message is not a query message"

Every case of the cell becomes a row of truths (facts before and behind the last message, what the messages around
the joint are, what would change among earlier ones) with its outcome. Columns that are not needed are dropped, and
what is left is covered by the fewest, shortest terms. So the condition is exact by construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from templc.model.coded import coded
from templc.model.expr import RoleIs
from templc.proof.changes import changes
from templc.proof.classes import MessageClass
from templc.proof.joint import Place
from templc.proof.letters import Letter
from templc.proof.machine import State
from templc.proof.minimise import (
    Blocks,
    Term,
    cover,
    holds,
    needed,
    packed,
    projected,
    thinned_blocks,
    unpacked,
)
from templc.proof.outcomes import Outcomes, Outlook, Pair
from templc.proof.search import Walk
from templc.proof.values import Alike
from templc.proof.vocabulary import Named, Values, Vocabulary, preference
from templc.proof.words import Said, about, led, listed, placed

ROLE = 7
Key = tuple[Any, ...]
LAST, ANSWER, NEXT = "the last message", "the sampled message", "the appended message"


@dataclass(frozen=True, slots=True)
class Column:
    """One variable of a condition: its words, how readily it is dropped (least first), and what it is, as plain data.

    key: a kind and its parts, as `recheck_if` reads them.
    """

    said: Said
    rank: int
    key: Key


@dataclass(frozen=True, slots=True)
class Condition:
    """When a cell is stable: one of the terms holds. `columns` are the kept ones of the cell's table."""

    columns: tuple[int, ...]
    terms: tuple[Term, ...]
    said: tuple[Said, ...]

    def holds(self, row: int) -> bool:
        """The truth on a full row of the cell's table."""
        kept = unpacked(row, self.columns)
        return any(holds(term, kept) for term in self.terms)

    @property
    def text(self) -> str:
        """The condition in words; what all terms share is said once."""
        shared = tuple(
            values[0] if len(set(values)) == 1 else None for values in zip(*self.terms, strict=True)
        )
        own = [
            tuple(None if both == want else want for both, want in zip(shared, term, strict=True))
            for term in self.terms
        ]
        if len(self.terms) == 1 or not any(want is not None for want in shared):
            return ", or ".join(self._words(term) for term in self.terms)
        either = ", or ".join(self._words(term) for term in own)
        return f"{self._words(shared)}, and either {either}"

    @property
    def size(self) -> int:
        """How many literals it has."""
        return sum(want is not None for term in self.terms for want in term)

    def _words(self, term: Term) -> str:
        words = [
            said.of(want) for said, want in zip(self.said, term, strict=True) if want is not None
        ]
        return listed(_folded(words)) if words else "always"


def _folded(words: list[str]) -> list[str]:
    """Words about one message in a row, its name said once."""
    found: list[str] = []
    subject = ""
    for word in words:
        named = next((name for name in (LAST, ANSWER, NEXT) if word.startswith(name)), "")
        found.append(word[len(named) + 1 :] if named and named == subject else word)
        subject = named
    return found


def _key(at: int, role: str, term: Named) -> Key:
    """A test on a message around the joint, as plain data."""
    if isinstance(term, Alike):
        return "alike", at, role, [coded(term.first), coded(term.second)]
    return "is", at, role, coded(term)


class Names:
    """What conditions of one format can speak of."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.vocabulary = Vocabulary(walk.alphabet)
        self.changes = changes(walk, self.vocabulary)
        self.roles = tuple(dict.fromkeys(letter.role for letter in walk.letters))
        machine = walk.machine
        size = 2 * len(machine.past_facts) + len(machine.lead) + 2 * len(self.changes)
        self._before_subjects = size + (len(machine.ends) > 1)
        self._known_fixed: dict[tuple[State, frozenset[Pair], Letter], int] = {}
        self._known_readings: dict[tuple[Place, int, Letter], tuple[int, ...]] = {}

    # the columns of a cell, and the rows in the same order

    def columns(self, place: Place) -> list[Column]:
        """The variables of a cell."""
        machine = self.walk.machine
        found = [
            Column(placed(fact, where), rank, ("fact", behind, at))
            for where, rank, behind in ((LAST, 0, 0), ("", 2, 1))
            for at, fact in enumerate(machine.past_facts)
        ]
        found += [Column(led(test), 3, ("lead", coded(test))) for test in machine.lead]
        found += [Column(change.said, 1, ("risk", 0, *change.key)) for change in self.changes]
        found += [
            Column(change.said, 11 if change.lasting else 1, ("risk", 1, *change.key))
            for change in self.changes
        ]
        if len(machine.ends) > 1:
            said = Said("no generation prompt follows", "a generation prompt follows")
            found.append(Column(said, 3, ("end",)))
        for at, (subject, roles) in enumerate(self._subjects(place)):
            if len(roles) > 1:
                found += [
                    self._about(subject, RoleIs(role), ROLE, ("role", at, role)) for role in roles
                ]
            for role in roles:
                terms = self.vocabulary.terms[role]
                found += [
                    self._about(subject, term, 5 + preference(term) // 3, _key(at, role, term))
                    for term in terms
                ]
        return found

    def _about(self, subject: str, term: Named | RoleIs, rank: int, key: Key) -> Column:
        said = about(term)
        return Column(Said(f"{subject} {said.yes}", f"{subject} {said.no}"), rank, key)

    def _subjects(self, place: Place) -> list[tuple[str, tuple[str, ...]]]:
        """The messages around the joint with the roles that they can have."""
        subjects = [(LAST, self.roles if place.prompted else (place.after,))]
        if place.after == "completion":
            subjects.append((ANSWER, ("assistant",)))
        if place.then != "end":
            subjects.append((NEXT, (place.then,)))
        return subjects

    def blocks(self, place: Place, outcomes: Outcomes) -> Blocks:
        """The rows of all cases with their outcomes; spots that go on alike share the part of the rows about that."""
        known: dict[tuple[Letter, Outlook], dict[int, bool]] = {}
        found: list[tuple[int, dict[int, bool]]] = []
        for node, last, outlook in outcomes.spots:
            key = (last, outlook)
            if key not in known:
                known[key] = self._rest(place, last, outlook)
            found.append((self._fixed(node.past, node.changed, last), known[key]))
        return found

    def _rest(self, place: Place, last: Letter, outlook: Outlook) -> dict[int, bool]:
        """What rows say of the messages around the joint, one for each way that their letters read."""
        found: dict[int, bool] = {}
        around: dict[tuple[Letter | None, Letter | None], list[int]] = {}
        lasts = self._readings(place, 0, last)
        for way, kept, _ in outlook.stands:
            added = around.get(way[:2])
            if added is None:
                letters = (letter for letter in way[:2] if letter is not None)
                read = [self._readings(place, at, one) for at, one in enumerate(letters, 1)]
                added = around[way[:2]] = [sum(chosen) for chosen in product(*read)]
            end = self._end(way.addition.end)
            for start in lasts:
                for more in added:
                    if found.setdefault(end | start | more, kept) is not kept:
                        raise AssertionError("a row decides the outcome")
        return found

    def row(
        self,
        place: Place,
        past: State,
        changed: frozenset[Pair],
        around: tuple[MessageClass, ...],
        end: State,
    ) -> int:
        """The row of concrete classes: the last message and what is added to it."""
        last = self.walk.alphabet.letter(around[0])
        read = [
            self._reading(place, at, self.vocabulary.values(one), one.role)
            for at, one in enumerate(around)
        ]
        return self._fixed(past, changed, last) | self._end(end) | sum(read)

    def _fixed(self, past: State, changed: frozenset[Pair], last: Letter) -> int:
        """The part of a row that is not about the messages around the joint."""
        key = (past, changed, last)
        if key not in self._known_fixed:
            self._known_fixed[key] = self._fixed_part(past, changed, last)
        return self._known_fixed[key]

    def _fixed_part(self, past: State, changed: frozenset[Pair], last: Letter) -> int:
        walk = self.walk
        behind = walk.machine.after(past, last.sample)
        after = walk.follow(past, changed, last)
        earlier = [change.of(found) for found in (changed, after) for change in self.changes]
        return packed((*past[: len(walk.machine.past_facts)], *behind, *earlier))

    def _end(self, end: State) -> int:
        """The part of a row that says whether a generation prompt follows."""
        ends = self.walk.machine.ends
        return int(len(ends) > 1 and end == ends[0]) << self._before_subjects - 1

    def _readings(self, place: Place, at: int, letter: Letter) -> tuple[int, ...]:
        """The parts of rows that say what the message at a place around the joint is."""
        key = (place, at, letter)
        if key not in self._known_readings:
            vectors = self.vocabulary.vectors(letter)
            readings = (self._reading(place, at, values, letter.role) for values in vectors)
            self._known_readings[key] = tuple(readings)
        return self._known_readings[key]

    def _reading(self, place: Place, at: int, values: Values, role: str) -> int:
        found: list[bool] = []
        subjects = self._subjects(place)
        for number, (_, possible) in enumerate(subjects[: at + 1]):
            here = number == at
            if len(possible) > 1:
                found += [here and role == one for one in possible]
            for one in possible:
                blank = (False,) * len(self.vocabulary.terms[one])
                found += values if here and one == role else blank
        return packed(found) << self._before_subjects

    def condition(self, place: Place, outcomes: Outcomes) -> Condition:
        """When the cell is stable, from the outcome of every case."""
        columns = self.columns(place)
        # What is dropped before any role is the same whichever role is to be dropped last.
        early = [at for at in range(len(columns)) if columns[at].rank < ROLE]
        early.sort(key=lambda at: columns[at].rank)
        left, table = thinned_blocks(self.blocks(place, outcomes), early)
        kept = self._needed(columns, left, table, None)
        found = {kept: _condition(columns, kept, table)}
        if sum(columns[at].rank == ROLE for at in kept) > 1:
            # Several roles are named: "is not X" may say it with one, if X is the last to be dropped.
            for favourite in (at for at, column in enumerate(columns) if column.rank == ROLE):
                kept = self._needed(columns, left, table, favourite)
                if kept not in found:
                    found[kept] = _condition(columns, kept, table)
        return min(found.values(), key=lambda one: one.size)

    def _needed(
        self,
        columns: list[Column],
        early: list[int],
        table: Mapping[int, bool],
        favourite: int | None,
    ) -> tuple[int, ...]:
        """The columns in `early`, and what is needed of those that are ranked as roles are or higher."""
        ranks = [column.rank + (at == favourite) / 2 for at, column in enumerate(columns)]
        late = [at for at in range(len(columns)) if columns[at].rank >= ROLE]
        return tuple(sorted([*early, *needed(table, sorted(late, key=lambda at: ranks[at]))]))


def _condition(
    columns: list[Column], kept: tuple[int, ...], table: Mapping[int, bool]
) -> Condition:
    """A shortest condition over some columns that decide the outcome."""
    terms = cover(projected(table, kept))
    return Condition(kept, terms, tuple(columns[at].said for at in kept))

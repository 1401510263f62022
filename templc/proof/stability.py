"""Stability: for every boundary of a format, whether what was written survives what comes next.

    stability = prove(program, {"enable_thinking": False})
    stability.at(after="assistant", then="user").verdict       "stable if"
    stability.decide(conversation, extension)                  for concrete messages, exact

Two statements are meant. *Re-render*: a conversation that ends in a message of one role, rendered without a
generation prompt, is a prefix of the same conversation with one more message of another role. *Continuation*: the
row `prompt` says whether the generation prompt is a prefix of the render with the answer, the row `completion`
whether prompt and sampled text are a prefix of the render with the answer and what follows it (`end`: nothing).

Both hold for conversations of any length and any content. A longer extension is stable where each step of it is;
`decide` answers for any extension as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from templc.ir.interpret import message_rules, runtime_options
from templc.ir.ops import Program
from templc.ir.settings import telling
from templc.model import expr
from templc.proof import table, variants
from templc.proof.classes import MessageClass, TooMany, roles_of
from templc.proof.conditions import Condition, Names
from templc.proof.joint import Place
from templc.proof.letters import Alphabet, settled
from templc.proof.machine import Machine, run, view_back
from templc.proof.outcomes import Pair
from templc.proof.reasons import Reason, reason_of
from templc.proof.search import CutOff, Walk, places_of
from templc.proof.values import Settings
from templc.proof.variants import OptionChange, Twin
from templc.proof.witness import Witness, found
from templc.runtime.errors import MessageError
from templc.runtime.messages import Reader
from templc.runtime.options import checked
from templc.runtime.records import read_records

ROUNDS = 8
# A machine that tells more classes apart than this costs more than it proves: the coarser one is kept.
FINE = 90
Verdict = Literal["stable", "stable if", "never", "refused", "not proved"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table. `number` is that of its witness, 0 where there is none.

    refused: the format accepts no such extension, so nothing can change; not proved: the search was cut off, or no
    example shows what it found.
    """

    place: Place
    verdict: Verdict
    condition: Condition | None
    reason: Reason
    witness: Witness | None
    number: int = 0

    @property
    def text(self) -> str:
        """The verdict in words."""
        return f"stable if {self.condition.text}" if self.condition else self.verdict

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "after": self.place.after,
            "then": self.place.then,
            "verdict": self.verdict,
            "condition": self.condition.text if self.condition else None,
            "reason": self.reason.text or None,
            "deciders": [{"at": str(one.span), "why": one.why} for one in self.reason.deciders],
            "witness": self.number or None,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """The table of one format for one assignment of its options, with or without tools."""

    program: Program
    names: Names | None
    settings: Settings
    cells: tuple[Cell, ...]

    @property
    def walk(self) -> Walk:
        """The search behind the table; RuntimeError where it was cut off."""
        if self.names is None:
            raise RuntimeError(
                f"{self.program.format}: {self.cells[0].reason.text}, so nothing is proved"
            )
        return self.names.walk

    @property
    def machine(self) -> Machine:
        """The states and classes that were searched."""
        return self.walk.machine

    def at(self, after: str, then: str) -> Cell:
        """The cell for what a conversation ends with and what comes next; KeyError where the table has none."""
        for cell in self.cells:
            if cell.place == Place(after, then):
                return cell
        raise KeyError(f"no cell for {then} after {after}")

    def witness(self, number: int) -> str:
        """A witness as text, by the number that the table shows."""
        for cell in self.cells:
            if cell.number == number and cell.witness is not None:
                return cell.witness.layout()
        raise KeyError(f"there is no witness {number}")

    def decide(
        self,
        conversation: Sequence[object],
        extension: Sequence[object],
        *,
        prompt: bool = False,
        then_prompt: bool = False,
    ) -> bool:
        """Whether the render of a conversation is a prefix of that of the extended one, both of any length.

        prompt: the old render ends with a generation prompt; then_prompt: the new one does. Both must not be
        empty. MessageError for messages that the format refuses.
        """
        word = self.read([*conversation, *extension])
        return self.kept(word, len(conversation), prompt=prompt, then_prompt=then_prompt)

    def continues(
        self, conversation: Sequence[object], answer: object, extension: Sequence[object] = ()
    ) -> bool:
        """Whether prompt and sampled answer are a prefix of the render with the answer and what follows it."""
        word = self.read([*conversation, answer, *extension])
        return self.kept(word, len(conversation), prompt=True, answered=True)

    def read(self, messages: Sequence[object]) -> tuple[MessageClass, ...]:
        """The classes of a conversation; MessageError where the format refuses it."""
        reader = Reader(message_rules(self.program.rules))
        word: list[MessageClass] = []
        past = self.machine.start
        for number, raw in enumerate(messages):
            message = reader.read(raw, number)
            if message.role not in roles_of(self.program):
                raise MessageError(f"no role `{message.role}`", message_index=number, field="role")
            word.append(self.machine.class_of(message))
            if not self.machine.admits(past, word[-1]):
                raise MessageError("the format refuses this message", message_index=number)
            past = self.machine.after(past, word[-1])
        return tuple(word)

    def kept(
        self,
        word: tuple[MessageClass, ...],
        size: int,
        *,
        prompt: bool = False,
        then_prompt: bool = False,
        answered: bool = False,
    ) -> bool:
        """`decide` and `continues` on classes: the first `size` are the old conversation."""
        assert 0 < size < len(word) or answered
        machine = self.machine
        pasts = list(run(machine, word))
        old = view_back(machine, word[:size], machine.end(prompt=prompt))
        end = machine.end(prompt=then_prompt)
        new = view_back(machine, word, end)
        for at in range(size - 1):
            first, second = (machine.emission(word[at], pasts[at], seen[at]) for seen in (old, new))
            if first != second and settled(machine, first, second, word[at]).kind != "same":
                return False
        joint = self.walk.joint
        addition = joint.addition(word[size:], end, answered=answered)
        return joint.match(prompt, pasts[size - 1], word[size - 1], addition).prefix

    def met_by(
        self, cell: Cell, word: tuple[MessageClass, ...], size: int, *, then_prompt: bool = False
    ) -> bool:
        """Whether the condition of a cell holds for classes; the first `size` are the old conversation."""
        if cell.condition is None:
            return cell.verdict in ("stable", "refused")
        assert self.names is not None
        past, changed = self.machine.start, frozenset[Pair]()
        for one in word[: size - 1]:
            changed = self.walk.follow(past, changed, self.walk.alphabet.letter(one))
            past = self.machine.after(past, one)
        end = self.machine.end(prompt=then_prompt)
        row = self.names.row(cell.place, past, changed, word[size - 1 :], end)
        return cell.condition.holds(row)

    @property
    def options(self) -> dict[str, tuple[OptionChange, ...]]:
        """The options, and `tools`, whose other values make another table, with the cells that they change."""
        return variants.option_changes(self, prove)

    @property
    def twin(self) -> Twin | None:
        """How the format is used append-only; None where it already is."""
        return variants.twin(self, prove)

    def to_json(self) -> dict[str, object]:
        """Plain data: settings, cells, witnesses."""
        return {
            "format": self.program.format,
            "source": self.program.source,
            "options": dict(self.settings.options),
            "tools": self.settings.tools,
            "cells": [cell.to_json() for cell in self.cells],
            "witnesses": {
                str(cell.number): cell.witness.to_json() for cell in self.cells if cell.witness
            },
        }

    def __str__(self) -> str:
        return table.text(self)


def settings_of(program: Program, options: Mapping[str, object] | None, tools: bool) -> Settings:
    """Every option with its value; OptionError for an unknown one or one of another type.

    Records are what they are for a whole conversation, and nothing hangs on what is in them: one set stands for all.
    """
    known, given = runtime_options(program), dict(options or {})
    for name in given.keys() & known.keys():
        if known[name].type == "records" and read_records(name, (), given[name], texts=True):
            [given[name]] = telling(program)[name]
    values: dict[str, object] = dict(checked(program.format, known, given))
    return Settings({**values, "as_template": False}, tools)


def prove(
    program: Program, options: Mapping[str, object] | None = None, tools: bool = False
) -> Stability:
    """The stability table of a format for given option values (its defaults otherwise), with or without tools."""
    settings = settings_of(program, options, tools)
    places = places_of(roles_of(program))
    try:
        walk = _refined(program, settings, places)
    except (CutOff, TooMany) as limit:
        unknown = tuple(_unknown(place, str(limit)) for place in places)
        return Stability(program, None, settings, unknown)
    names = Names(walk)
    cells = [_cell(walk, names, place) for place in places]
    if walk.doubted:
        sure = Names(Walk(walk.alphabet, places, doubt=False))
        cells = [_sure(sure, cell) for cell in cells]
    return Stability(program, names, settings, tuple(_numbered(cells)))


def _refined(program: Program, settings: Settings, places: Sequence[Place]) -> Walk:
    """The walk of a machine that reads enough of messages to settle every comparison that can be settled so."""
    machine = Machine(program, settings)
    walk = _explored(machine, places)
    for _ in range(ROUNDS):
        wanted = machine.wanted - machine.extra
        wanted = {one for one in wanted if isinstance(one[1], expr.Test)} or wanted
        if not wanted:
            break
        try:
            machine = Machine(program, settings, machine.extra | wanted)
            if len(machine.classes) > FINE:
                break
            walk = _explored(machine, places)
        except TooMany:
            break
    return walk


def _explored(machine: Machine, places: Sequence[Place]) -> Walk:
    """The walk of a machine with every outcome computed, so that `machine.wanted` is complete."""
    walk = Walk(Alphabet(machine), places, doubt=True)
    for place in places:
        walk.outcomes(place)
    return walk


def _cell(walk: Walk, names: Names, place: Place) -> Cell:
    outcomes = walk.outcomes(place)
    if not outcomes.total:
        return Cell(place, "refused", None, Reason("", ()), None)
    if outcomes.kept == outcomes.total:
        return Cell(place, "stable", None, Reason("", ()), None)
    reason = reason_of(walk, place, outcomes)
    witness = found(walk.machine, place, outcomes.changing())
    if witness is None:
        return Cell(place, "not proved", None, reason, None)
    if not outcomes.kept:
        return Cell(place, "never", None, reason, witness)
    return Cell(place, "stable if", names.condition(place, outcomes), reason, witness)


def _sure(sure: Names, cell: Cell) -> Cell:
    """A cell as it is, unless its verdict rests on texts that no example shows to differ."""
    if cell.verdict in ("stable", "refused"):
        return cell
    outcomes = sure.walk.outcomes(cell.place)
    kept = outcomes.kept
    same = kept == 0 if cell.verdict == "never" else 0 < kept < outcomes.total
    if same and cell.condition is not None:
        same = sure.condition(cell.place, outcomes).text == cell.condition.text
    return cell if same else Cell(cell.place, "not proved", None, cell.reason, cell.witness)


def _unknown(place: Place, why: str) -> Cell:
    return Cell(place, "not proved", None, Reason(why, ()), None)


def _numbered(cells: Sequence[Cell]) -> Iterator[Cell]:
    number = 0
    for cell in cells:
        if cell.witness is None:
            yield cell
            continue
        number += 1
        yield Cell(cell.place, cell.verdict, cell.condition, cell.reason, cell.witness, number)

"""Variants: what option values do to a table, and the append-only twin of a format that rewrites history.

option_changes(stability, prove)["thinking"]    what another value makes of which cells
twin(stability, prove).text                     "history=\"as_sampled\": ..."
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from templc.ir.facts import meaning
from templc.ir.settings import telling
from templc.proof.joint import Place

if TYPE_CHECKING:
    from templc.proof.stability import Cell, Stability

Prove = Callable[..., "Stability"]
_TURNS = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class OptionChange:
    """The cells that another value of an option changes: their verdicts with it, in words."""

    option: str
    value: object
    cells: tuple[tuple[Place, str], ...]


@dataclass(frozen=True, slots=True)
class Twin:
    """How a format is used append-only: an option value that makes it so, or `history="as_sampled"`."""

    option: str
    value: object
    changes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The twin in one line."""
        how = f"{self.option}={self.value}" if self.option else 'history="as_sampled"'
        return f"{how}: {'; '.join(self.changes)}"


def option_changes(stability: Stability, prove: Prove) -> dict[str, tuple[OptionChange, ...]]:
    """For each option, and for `tools`, the values that make another table; the others are left out."""
    found: dict[str, tuple[OptionChange, ...]] = {}
    for name, others in _others(stability, prove):
        changed = [
            OptionChange(name, value, cells)
            for value, other in others
            if (cells := _changed(stability, other))
        ]
        if changed:
            found[name] = tuple(changed)
    return found


def twin(stability: Stability, prove: Prove) -> Twin | None:
    """The append-only twin; None for a format that already keeps its history when a user or the assistant goes on."""
    if _append_only(stability):
        return None
    for name, others in _others(stability, prove):
        for value, other in others:
            if name != "tools" and _append_only(other):
                cells = _changed(stability, other)
                return Twin(
                    name, value, tuple(f"{at.after} > {at.then} is {said}" for at, said in cells)
                )
    facts = {fact.name: fact for fact in stability.program.future}
    read = {one.why for cell in stability.cells for one in cell.reason.deciders}
    frozen = [meaning(fact) for fact in facts.values() if meaning(fact) in read]
    return Twin(
        "", None, tuple(f"{why} stays what it was when the message was written" for why in frozen)
    )


def _append_only(stability: Stability) -> bool:
    """Whether everything is stable when a user or the assistant goes on."""
    roles = stability.program.roles
    return all(
        cell.verdict in ("stable", "refused")
        for cell in stability.cells
        if cell.place.after in roles and cell.place.then in _TURNS
    )


def _others(
    stability: Stability, prove: Prove
) -> Iterator[tuple[str, list[tuple[object, Stability]]]]:
    """Every option with its other values and their tables; tools last."""
    program, settings = stability.program, stability.settings
    given = {
        name: value
        for name, value in settings.options.items()
        if value is not None and name in program.options
    }
    known = telling(program)
    for name, option in program.options.items():
        values = [value for value in known[name] if value != settings.options[name]]
        tables = [
            (value, prove(program, {**given, name: value}, settings.tools)) for value in values
        ]
        if option.default is None and name in given and values:
            rest = {key: value for key, value in given.items() if key != name}
            tables.append((None, prove(program, rest, settings.tools)))
        yield name, tables
    yield "tools", [(not settings.tools, prove(program, given, not settings.tools))]


def _changed(stability: Stability, other: Stability) -> tuple[tuple[Place, str], ...]:
    def said(cells: tuple[Cell, ...]) -> dict[Place, str]:
        return {cell.place: cell.text for cell in cells}

    before, after = said(stability.cells), said(other.cells)
    return tuple((place, words) for place, words in after.items() if before.get(place) != words)

"""Demands: the boundaries that a spec says must be stable, held against what was proved.

check_demands(program, prove(program), problems)    one `prefix-not-stable` for each that is not plainly stable
"""

from __future__ import annotations

from templc.ir.ops import Program
from templc.model.spec import Demand
from templc.problems.problem import Label, Problems
from templc.proof.reasons import Decider
from templc.proof.stability import Cell, Stability
from templc.proof.words import a, listed


def check_demands(program: Program, stability: Stability, problems: Problems) -> None:
    """Report every entry of `extend.must_allow` whose cell is not `stable`."""
    for demand in program.demands:
        try:
            cell = stability.at(demand.after, demand.then)
        except KeyError:
            _no_such_cell(program, demand, problems)
            continue
        if cell.verdict != "stable":
            _not_stable(stability, demand, cell, problems)


def _no_such_cell(program: Program, demand: Demand, problems: Problems) -> None:
    missing = [role for role in (demand.after, demand.then) if role not in program.roles]
    problems.error(
        "prefix-not-stable",
        f"the format has no {listed(missing, 'or')} message",
        demand.span,
        label="this line asks for its boundary to be stable",
        helps=("remove the line, or write the role",),
    )


def _not_stable(stability: Stability, demand: Demand, cell: Cell, problems: Problems) -> None:
    what = f"{a(demand.then)} message after {a(demand.after)} message"
    asked = Label(demand.span, "this line asks for the boundary to be stable")
    deciders = cell.reason.deciders
    first = deciders[0] if deciders else Decider(demand.span, "asked for here")
    can = "rewrites" if cell.verdict == "never" else "can rewrite"
    message = f"{what} {can} text that was already emitted"
    if cell.verdict == "refused":
        message = f"the format accepts no {demand.then} message after {a(demand.after)} message"
    if cell.verdict == "not proved":
        message = f"it is not proved that {what} leaves the earlier text as it is"
    problems.error(
        "prefix-not-stable",
        message,
        first.span,
        label=_label(first.why),
        others=(*(Label(one.span, _label(one.why)) for one in deciders[1:]), asked),
        notes=_notes(stability, cell),
        helps=("remove the line, or let the turn depend on earlier messages only",),
        body=cell.witness.layout() if cell.witness else "",
    )


def _label(why: str) -> str:
    """What a place has to do with it: facts are read, everything else is written."""
    return f"reads {why}" if why.startswith("whether") else why


def _notes(stability: Stability, cell: Cell) -> tuple[str, ...]:
    notes = [f"it is {cell.text}"] if cell.condition else []
    kept = [one.place.then for one in _row(stability, cell) if one.verdict == "stable"]
    if kept:
        notes.append(f"after {a(cell.place.after)} message, {listed(kept)} messages are stable")
    return tuple(notes)


def _row(stability: Stability, cell: Cell) -> list[Cell]:
    return [one for one in stability.cells if one.place.after == cell.place.after]

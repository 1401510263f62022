"""Is a program well formed? What later stages take for granted, checked after lowering and on every program of a test.

Returns the violations as text: an empty list is a well-formed program. A violation is a bug of the compiler, never
of a spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from templc.ir.facts import facts_of
from templc.ir.ops import Body, Ops, Program, Text, Write, conditions, walk
from templc.model.expr import Cond, Const, Quantified, children, leaves

_PAST_ONLY = ("head", "assistant.prefill", "prompt", "finish")


def verify(program: Program) -> list[str]:
    """Every way in which the program breaks an invariant."""
    return list(_violations(program))


def _violations(program: Program) -> Iterator[str]:
    for place, ops in program.blocks():
        yield from _facts(program, place, ops)
    if program.prompt == program.assistant.opener + program.assistant.prefill:
        conds = (cond for cond, _ in conditions(program.assistant.opener))
        if any(fact.horizon == "future" for cond in conds for fact in facts_of(cond)):
            yield "assistant.opener: reads the future, and is the prompt"
        yield from _texts(place, ops)
    for role, checks in program.checks.items():
        for check in checks:
            if any(fact.horizon == "future" for fact in facts_of(check.cond)):
                yield f"{role}: a check reads the future"
            yield from _known(program, role, check.cond)
    names = [*program.past.values(), *program.future.values()]
    if len(names) != len(set(names)):
        yield "two facts share a name"
    if not all(name.isidentifier() for name in names):
        yield "a fact's name is no identifier"


def _facts(program: Program, place: str, ops: Ops) -> Iterator[str]:
    for cond, _ in conditions(ops):
        if isinstance(cond, Const):
            yield f"{place}: a condition is constant"
        if place in _PAST_ONLY and any(fact.horizon == "future" for fact in facts_of(cond)):
            yield f"{place}: reads the future"
        yield from _known(program, place, cond)


def _known(program: Program, place: str, cond: object) -> Iterator[str]:
    yield from _about_calls(place, cond)  # type: ignore[arg-type]
    for fact in facts_of(cond):  # type: ignore[arg-type]
        if fact not in program.past and fact not in program.future:
            yield f"{place}: the fact {fact.name} is not in the program's tables"
        for term in (fact.term, fact.among):
            if term is not None and any(facts_of(leaf) for leaf in leaves(term)):
                yield f"{place}: the fact {fact.name} reads another fact"


def _about_calls(place: str, cond: Cond) -> Iterator[str]:
    if isinstance(cond, Quantified):
        yield from (f"{place}: a question about calls reads {one.name}" for one in facts_of(cond))
        return
    for child in children(cond):
        yield from _about_calls(place, child)


def _texts(place: str, ops: Ops) -> Iterator[str]:
    for op in walk(ops):
        if not isinstance(op, Write):
            continue
        if not op.parts:
            yield f"{place}: writes nothing"
        for part, following in zip(op.parts, op.parts[1:], strict=False):
            if isinstance(part, Text) and isinstance(following, Text):
                yield f"{place}: two texts in a row"
        if any(isinstance(part, Text) and not part.text for part in op.parts):
            yield f"{place}: an empty text"
        if any(isinstance(part, Body) and not part.field for part in op.parts):
            yield f"{place}: a body without a field"

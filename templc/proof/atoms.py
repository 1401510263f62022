"""Atoms: what a program reads of one message of a role, once everything fixed is filled in.

    known(cond, "assistant", settings)     `user or calls` becomes `calls`

Two kinds of atom are read by no condition of the spec, and decide all the same whether two branches write the
same text: whether a value is empty, and whether two filters of one field agree (`Alike`). They are added for the
values that stand under a condition on the future.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from templc.ir.ops import Body, Each, Op, Ops, Program, When, Write, walk
from templc.ir.settings import option_value
from templc.model import expr
from templc.model.expr import Cond, Const, Fact, FilterUse, Ref, Test, Value
from templc.proof.values import SHRINKING, Alike, Atom, Settings, filtered, holds
from templc.runtime.messages import Message

CALLS = Test("truth", Value(Ref("message", "calls")))
ANSWERED, CALLER = Ref("message", "answered"), Ref("message", "caller_content")
# What looks for a mark and leaves a text without it alone; what gives one stretch of the text, so adds no mark.
_MARKED = frozenset({"after", "after_last", "before", "remove"})
_CUTS = SHRINKING - {"remove"}
_OF_ONE_ROLE = {
    "reasoning": "assistant",
    "calls": "assistant",
    "answered": "tool",
    "answered_number": "tool",
    "caller_content": "tool",
}


def known(cond: Cond, role: str, settings: Settings) -> Cond:
    """The condition with roles, options, tools and predicates filled in; facts and loop items stay."""
    match cond:
        case expr.Or(terms):
            return expr.disjunction(*(known(term, role, settings) for term in terms))
        case expr.And(terms):
            return expr.conjunction(*(known(term, role, settings) for term in terms))
        case expr.Not(term):
            return expr.negation(known(term, role, settings))
        case expr.RoleIs(wanted):
            return Const(role == wanted)
        case expr.Predicate(term=term):
            return known(term, role, settings)
        case expr.Test(value=value) | expr.Counted(value=value):
            return Const(holds(cond, Message(role), settings)) if fixed(value, role) else cond
        case expr.Quantified() if role != "assistant":
            return Const(cond.quantifier == "every")
        case _:
            return cond


def fixed(value: Value, role: str) -> bool:
    """Whether a value is the same for every message of a role."""
    ref = value.ref
    match ref.scope:
        case "option" | "tools":
            return True
        case "message":
            only = _OF_ONE_ROLE.get(ref.name, role) != role
            # Lists of parts are joined before anything is read, unless rendering as the template does.
            return bool(role) and (ref.name in ("role", "parts") or only)
        case _:
            return False


def specialised(ops: Ops, role: str, settings: Settings) -> Ops:
    """The operations with every condition made `known`, decided ones resolved."""
    return tuple(kept for op in ops for kept in _specialised(op, role, settings))


def _specialised(op: Op, role: str, settings: Settings) -> Ops:
    match op:
        case Write():
            return (op,)
        case When(cond, then, otherwise, span):
            found = known(cond, role, settings)
            yes, no = (specialised(block, role, settings) for block in (then, otherwise))
            if isinstance(found, Const):
                return yes if found.value else no
            return (When(found, yes, no, span),)
        case Each():
            blocks = (op.open, op.do, op.between, op.close)
            opening, do, between, close = (specialised(one, role, settings) for one in blocks)
            return (replace(op, open=opening, do=do, between=between, close=close),)


def leaves_of(cond: Cond) -> Iterator[Cond]:
    """The atoms and facts of a condition; predicates must have been filled in."""
    match cond:
        case expr.Or(terms) | expr.And(terms):
            for term in terms:
                yield from leaves_of(term)
        case expr.Not(term):
            yield from leaves_of(term)
        case expr.Const():
            return
        case _:
            yield cond


def on_lead(test: Test) -> Test:
    """A test on the leading system message, as a test on a message."""
    ref = Ref("message", test.value.ref.part)
    return Test(test.kind, Value(ref, test.value.filters), test.argument)


def scope_of(cond: Cond) -> str:
    """What kind of value a condition reads; "" for none."""
    value = getattr(cond, "value", None)
    return value.ref.scope if isinstance(value, Value) else ""


def reads_future(cond: Cond) -> bool:
    """Whether a condition reads a fact about later messages."""
    return any(isinstance(leaf, Fact) and leaf.horizon == "future" for leaf in leaves_of(cond))


def delta(ops: Ops, scope: str) -> Iterator[Atom]:
    """Emptiness and likeness of what stands under conditions on the future, of the message or the leading one."""
    values: dict[Value, None] = {}
    for op in walk(ops):
        if isinstance(op, When) and reads_future(op.cond):
            for value in _bodies((*op.then, *op.otherwise), scope):
                values.setdefault(value)
    yield from emptiness(values)


def emptiness(values: Iterable[Value]) -> Iterator[Atom]:
    """Whether each value is empty, and which values of one field are alike."""
    found = list(values)
    for value in found:
        yield Test("truth", value)
    for pair in combinations(found, 2):
        first, second = sorted(pair, key=lambda value: (len(value.filters), repr(value.filters)))
        if first.ref == second.ref and first != second:
            yield Alike(first, second)


def opener_tests(program: Program) -> tuple[Test, ...]:
    """Whether there is text for each hole of the opener, which the prompt writes without a message."""
    return tuple(Test("truth", value) for value in _bodies(program.assistant.opener))


def _bodies(ops: Ops, scope: str = "message") -> Iterator[Value]:
    for op in walk(ops):
        if isinstance(op, Write):
            for part in op.parts:
                if isinstance(part, Body) and part.value.ref.scope == scope:
                    yield part.value


def hoisted(program: Program) -> Iterator[Atom]:
    """Emptiness of what the head writes of each system message."""
    values: dict[Value, None] = {}
    for op in walk(program.head):
        if isinstance(op, Each) and op.over == "systems":
            for inner in walk(op.do):
                if isinstance(inner, Write):
                    for part in inner.parts:
                        if isinstance(part, Body) and part.value.ref.name == op.variable:
                            values.setdefault(of_message(part.value))
    yield from emptiness(values)


def plainer(value: Value, bits: Mapping[Atom, bool]) -> Value:
    """The value without the filters that look for a mark which is known not to be there."""
    kept: list[FilterUse] = []
    for use in value.filters:
        mark = Test("contains", Value(value.ref), use.argument)
        cuts = all(one.name in _CUTS for one in kept)
        if not (use.name in _MARKED and cuts and bits.get(mark) is False):
            kept.append(use)
    return Value(value.ref, tuple(kept))


def of_message(value: Value) -> Value:
    """A value of a hoisted system message (`s.content`), as a value of the message itself."""
    return Value(Ref("message", value.ref.part), value.filters)


Bits = Mapping[Atom, bool]


def truth(cond: Cond, bits: Bits, facts: Mapping[Fact, bool]) -> bool | None:
    """The truth of a `known` condition; None where it hangs on a loop item."""
    if isinstance(cond, Fact):
        return facts[cond]
    if isinstance(cond, expr.Not):
        found = truth(cond.term, bits, facts)
        return None if found is None else not found
    if isinstance(cond, (expr.And, expr.Or)):
        winner = isinstance(cond, expr.Or)
        unknown = False
        for term in cond.terms:
            found = truth(term, bits, facts)
            if found is winner:
                return winner
            unknown = unknown or found is None
        return None if unknown else not winner
    if isinstance(cond, Const):
        return cond.value
    return bits.get(cond)  # type: ignore[arg-type]


def literal(value: Value, role: str, settings: Settings) -> str | None:
    """The text of a value that is the same for every message of the role, None for any other."""
    ref = value.ref
    match ref.scope:
        case "option":
            found = option_value(settings.options, ref)
            return str(filtered(found if ref.part else found or "", value.filters) or "")
        case "message" if role and ref.name == "role":
            return str(filtered(role, value.filters))
        case "message" if role and _OF_ONE_ROLE.get(ref.name, role) != role:
            return ""
        case _:
            return None

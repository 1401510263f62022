"""Resolved values and conditions as text, in the words of the spec language.

condition(And((Predicate("kept", ...), Test("truth", reasoning))))    "kept and reasoning"
"""

from __future__ import annotations

from typing import assert_never

from templc.cli.stages.margin import quoted
from templc.model import expr
from templc.model.spec import COMPARISONS

_TESTS = {"starts": "starts with", "ends": "ends with", "contains": "contains"}


def value(found: expr.Value) -> str:
    """`content|strip`."""
    filters = "".join(
        f"|{use.name}" + (f":{quoted(use.argument)}" if use.argument is not None else "")
        for use in found.filters
    )
    return _ref(found.ref) + filters


def hole(found: expr.Value, default: str | None) -> str:
    """`${content|strip}`, with what stands in for an empty one."""
    return "${" + value(found) + (f" or {quoted(default)}" if default is not None else "") + "}"


def walked(over: str, of: str) -> str:
    """What a loop walks: `tools`, `call.arguments`, or the name of an option that holds records."""
    return of if over == "records" else f"{of}.{over}" if of else over


def _ref(ref: expr.Ref) -> str:
    match ref.scope:
        case "message":
            return ref.name
        case "lead":
            part = ref.part or ref.name
            return "system" if part in ("", "system") else f"system.{part}"
        case "item" | "record" | "option":
            return f"{ref.name}.{ref.part}" if ref.part else ref.name
        case "tools" | "systems":
            return ref.scope
        case _:
            assert_never(ref.scope)


def condition(cond: expr.Cond) -> str:
    """A condition; parentheses only where they are needed."""
    match cond:
        case expr.Or(terms):
            return " or ".join(_inner(term, (expr.Or,)) for term in terms)
        case expr.And(terms):
            return " and ".join(_inner(term, (expr.Or, expr.And)) for term in terms)
        case expr.Not(term):
            return f"not {_inner(term, (expr.Or, expr.And))}"
        case expr.Const(constant):
            return str(constant).lower()
        case expr.RoleIs(role):
            return role
        case expr.Predicate(name):
            return name
        case expr.Fact():
            return fact(cond)
        case expr.Test():
            return _test(cond)
        case expr.Counted(counted, compare, number):
            return f"count({value(counted)}) {compare} {number}"
        case expr.Quantified(quantifier, variable, term):
            return f"{quantifier}({variable}: {condition(term)})"
        case _:
            assert_never(cond)


def _inner(cond: expr.Cond, wrapped: tuple[type, ...]) -> str:
    return f"({condition(cond)})" if isinstance(cond, wrapped) else condition(cond)


def _test(test: expr.Test) -> str:
    left = value(test.value)
    match test.kind, test.argument:
        case "truth", _:
            return left
        case "is", None:
            return f"{left} is unset"
        case "is", bool() as flag:
            return f"{left} is {str(flag).lower()}"
        case kind, str() as number if kind in COMPARISONS:
            return f"{left} {COMPARISONS[kind]} {number}"
        case kind, str() as text:
            return f"{left} {_TESTS.get(kind, kind)} {quoted(text)}"
        case kind, _:
            return f"{left} {kind.replace('_', ' ')}"


def fact(found: expr.Fact) -> str:
    """`previous(tool among turn)`."""
    if found.term is None:
        return found.time
    among = "" if found.among is None else f" among {condition(found.among)}"
    return f"{found.time}({condition(found.term)}{among})"


def fact_step(found: expr.Fact) -> str:
    """The value beyond a message, in terms of that message."""
    term = "" if found.term is None else condition(found.term)
    match found.time:
        case "previous" | "next" if found.among is not None:
            return f"{term}, if {condition(found.among)}, else as before"
        case "previous" | "next" | "run":
            return term
        case "earlier" | "later":
            return f"as before, or {term}"
        case "first" | "last" | "end" | "live":
            return "no"
        case _:
            assert_never(found.time)

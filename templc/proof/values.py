"""Values and conditions of a program on one concrete message, for representatives and their texts.

    holds(Test("truth", Value(Ref("message", "reasoning"))), message, settings)

`Settings` is what is fixed for a whole proof: option values, and whether tools are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from templc.ir.filters import COMPARED, FUNCTIONS, passes
from templc.ir.settings import option_value
from templc.model import expr
from templc.model.filters import STRIPPING
from templc.runtime.messages import Message
from templc.runtime.records import record_part


@dataclass(frozen=True, slots=True)
class Settings:
    """What is fixed: the value of every option, `as_template` among them, and whether tools are given."""

    options: Mapping[str, object]
    tools: bool


@dataclass(frozen=True, slots=True)
class Alike:
    """Two values of one field, differently filtered, are the same text."""

    first: expr.Value
    second: expr.Value


Atom = expr.Test | expr.Counted | expr.Quantified | Alike

# Filters that give no text for no text, and never more characters than they were given.
SHRINKING = STRIPPING | {"after", "after_last", "before", "remove"}


def filtered(found: Any, filters: tuple[expr.FilterUse, ...]) -> Any:
    """A value after its filters."""
    for use in filters:
        found = FUNCTIONS[use.name](found, use.argument or "")
    return found


def value_of(
    value: expr.Value, message: Message, settings: Settings, items: Mapping[str, Any]
) -> Any:
    """A value read off a message, an option or a loop item."""
    return filtered(_ref(value.ref, message, settings, items), value.filters)


def _ref(ref: expr.Ref, message: Message, settings: Settings, items: Mapping[str, Any]) -> Any:
    match ref.scope:
        case "message":
            return getattr(message, ref.name)
        case "option":
            return option_value(settings.options, ref)
        case "item":
            return getattr(items[ref.name], ref.part) if ref.part else items[ref.name]
        case "record":
            return record_part(items[ref.name], ref.part)
        case "lead":
            return getattr(message, ref.part) if ref.part else message
        case "tools":
            return ({"type": "function"},) if settings.tools else None
        case "systems":
            return (message,)
    assert_never(ref.scope)


def holds(
    cond: expr.Cond | Alike,
    message: Message,
    settings: Settings,
    items: Mapping[str, Any] | None = None,
) -> bool:
    """The truth of a condition without facts on a message."""
    items = items or {}
    match cond:
        case expr.Const(value):
            return value
        case expr.Or(terms):
            return any(holds(term, message, settings, items) for term in terms)
        case expr.And(terms):
            return all(holds(term, message, settings, items) for term in terms)
        case expr.Not(term):
            return not holds(term, message, settings, items)
        case expr.RoleIs(role):
            return message.role == role
        case expr.Predicate(term=term):
            return holds(term, message, settings, items)
        case expr.Counted(value, compare, number):
            found = value_of(value, message, settings, items)
            return COMPARED[compare](len(found or ()), number)
        case expr.Quantified(quantifier, variable, term):
            each = [
                holds(term, message, settings, {**items, variable: call}) for call in message.calls
            ]
            return any(each) if quantifier == "some" else all(each)
        case expr.Test():
            return _test(cond, message, settings, items)
        case Alike(first, second):
            left, right = (value_of(value, message, settings, items) for value in (first, second))
            return bool(left == right)
        case expr.Fact():
            raise AssertionError("a fact is not read off one message")
    assert_never(cond)


def _test(test: expr.Test, message: Message, settings: Settings, items: Mapping[str, Any]) -> bool:
    ref = test.value.ref
    if test.kind == "is" and test.argument is None:
        if ref.scope == "message":
            return ref.name in message.absent
        return _ref(ref, message, settings, items) is None
    return passes(test, value_of(test.value, message, settings, items))

"""A program with its options, its tools and the role of a message filled in: what is left depends on messages only.

    fixed = Fixed({"enable_thinking": True, "as_template": False}, tools=False)
    fixed.ops(program.roles["user"].ops, "user")      conditions that are now the same for every message are gone

The result writes what the program writes with these options; the role "" stands for no message. A test holds both
against each other by the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from templc.ir.filters import FUNCTIONS, passes
from templc.ir.ops import Body, Each, Op, Ops, Text, When, Write
from templc.ir.settings import option_value
from templc.model import expr
from templc.model.expr import Cond, Const

_UNKNOWN = object()
_OF_ASSISTANT = ("reasoning", "calls")
_CALLS = expr.Test("truth", expr.Value(expr.Ref("message", "calls")))
_CALLED = expr.Fact("earlier", _CALLS, None, "earlier_calls")


@dataclass(frozen=True, slots=True)
class Fixed:
    """options: a value for each, `as_template` too. tools: whether any are given."""

    options: Mapping[str, object]
    tools: bool

    def ops(self, ops: Ops, role: str) -> Ops:
        """The operations as a message of this role runs them."""
        return tuple(found for op in ops for found in self._op(op, role))

    def _op(self, op: Op, role: str) -> Iterator[Op]:
        match op:
            case Write(parts):
                yield replace(op, parts=tuple(self._part(part, role) for part in parts))
            case When(cond, then, otherwise):
                found = self.cond(cond, role)
                if isinstance(found, Const):
                    yield from self.ops(then if found.value else otherwise, role)
                else:
                    blocks = self.ops(then, role), self.ops(otherwise, role)
                    yield When(found, *blocks, op.span)
            case Each():
                if not self._empty(op, role):
                    opening, do, between, close = (
                        self.ops(block, role) for block in (op.open, op.do, op.between, op.close)
                    )
                    yield replace(op, open=opening, do=do, between=between, close=close)
            case _:
                assert_never(op)

    def _empty(self, op: Each, role: str) -> bool:
        """Whether a list has no item for any message of the role."""
        match op.over:
            case "calls":
                return role != "assistant"
            case "tools":
                return not self.tools
            case "records":
                return not self.options[op.of]
            case _:
                return False

    def _part(self, part: Text | Body, role: str) -> Text | Body:
        if isinstance(part, Text):
            return part
        value = self._value(part.value, role)
        return part if value is _UNKNOWN else Text(str(value or part.default or ""))

    def cond(self, cond: Cond | None, role: str) -> Cond:
        """The condition as it stands for a message of this role; predicates are written out; none always holds."""
        match cond:
            case None:
                return Const(True)
            case expr.Const() | expr.Fact() | expr.Counted():
                return cond
            case expr.Predicate(term=term):
                return self.cond(term, role)
            case expr.RoleIs(wanted):
                return Const(role == wanted)
            case expr.Not(term):
                found = self.cond(term, role)
                return Const(not found.value) if isinstance(found, Const) else expr.Not(found)
            case expr.And(terms):
                return self._joined(terms, role, expr.And)
            case expr.Or(terms):
                return self._joined(terms, role, expr.Or)
            case expr.Quantified(quantifier, variable, term):
                if role != "assistant":
                    return Const(quantifier == "every")
                return expr.Quantified(quantifier, variable, self.cond(term, role))
            case expr.Test():
                return self._test(cond, role)
        assert_never(cond)

    def _joined(
        self, terms: tuple[Cond, ...], role: str, kind: type[expr.And] | type[expr.Or]
    ) -> Cond:
        """Terms that decide nothing are left out; one that decides it all is all that is left."""
        decides = kind is expr.Or
        left: list[Cond] = []
        for term in (self.cond(one, role) for one in terms):
            if not isinstance(term, Const):
                left.append(term)
            elif term.value is decides:
                return term
        return kind(tuple(left)) if left else Const(not decides)

    def _test(self, test: expr.Test, role: str) -> Cond:
        if test.kind == "is" and test.argument is None:
            return self._unset(test, role)
        value = self._value(test.value, role)
        return _of_caller(test) if value is _UNKNOWN else Const(passes(test, value))

    def _unset(self, test: expr.Test, role: str) -> Cond:
        """A message may leave any field out; there is nothing to leave out where there is no message."""
        scope = test.value.ref.scope
        if scope == "message":
            return test if role else Const(True)
        value = self._value(test.value, role)
        return test if value is _UNKNOWN else Const(value is None)

    def _value(self, value: expr.Value, role: str) -> Any:
        """A value that is the same for every message of the role."""
        found, name = _UNKNOWN, value.ref.name
        match value.ref.scope:
            case "option":
                found = option_value(self.options, value.ref)
            case "tools" if not self.tools:
                found = None
            case "tools" if not value.filters:
                found = ({},)
            case "message" if not role:
                found = ""
            case "message" if name == "role":
                found = role
            case "message" if name == "parts" and not self.options["as_template"]:
                found = False
            case "message" if name in _OF_ASSISTANT and role != "assistant":
                found = ""
        for use in value.filters if found is not _UNKNOWN else ():
            found = FUNCTIONS[use.name](found, use.argument or "")
        return found


def _of_caller(test: expr.Test) -> Cond:
    """A test on what a tool result takes over from its caller, as one on earlier messages; any other as it is."""
    match test.value.ref:
        case expr.Ref("message", "answered"):
            return expr.And((_CALLED, test))
        case expr.Ref("message", "caller_content"):
            own = expr.Value(expr.Ref("message", "content"), test.value.filters)
            asked = expr.Test(test.kind, own, test.argument)
            return expr.Fact("previous", asked, _CALLS, "caller_content")
    return test

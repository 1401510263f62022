"""Values and conditions as Python expressions, as a person would write them.

`later(query) and not calls` is `future.later_query and not m.calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from templc.emit.layout import columns, literal
from templc.ir.ops import Body
from templc.model import expr
from templc.model.filters import FILTERS
from templc.model.spec import COMPARISONS

_WRAPPERS = {
    ("message", "content"): "Content",
    ("message", "reasoning"): "Reasoning",
    ("message", "name"): "Name",
    ("message", "role"): "Name",
    ("message", "call_id"): "CallId",
    ("message", "answered"): "Name",
    ("message", "answered_number"): "CallId",
    ("message", "caller_content"): "Content",
    ("lead", "content"): "LeadContent",
    ("lead", "name"): "Name",
    ("item", "name"): "Name",
    ("item", "type"): "Name",
    ("item", "arguments"): "Arguments",
    ("item", "value"): "Arguments",
    ("item", "id"): "CallId",
    ("item", "number"): "CallId",
    ("item", "ordinal"): "CallId",
    ("item", "content"): "Content",
}


@dataclass(frozen=True, slots=True)
class Expressions:
    """Spells values and conditions; `facts` names each fact of the program."""

    facts: Mapping[expr.Fact, str]
    tokens: frozenset[str]

    def body(self, body: Body) -> str:
        """The argument of `out.write` for a body."""
        ref, text = body.value.ref, self.value(body.value)
        if ref.scope == "option" and ref.name in self.tokens:
            return f'{text} or ""'
        last = FILTERS[body.value.filters[-1].name] if body.value.filters else None
        if last is not None and last.parts:
            inner = self.value(expr.Value(ref, body.value.filters[:-1]))
            argument = body.value.filters[-1].argument
            more = "" if argument is None else f", {literal(argument)}"
            return f"*{last.parts}({self.wrapper(ref)}, {inner}{more})"
        if body.default is not None:
            text = f"{text} or {literal(body.default)}"
        return f"{self.wrapper(ref)}({text})"

    def wrapper(self, ref: expr.Ref) -> str:
        """The class that marks where a body comes from."""
        key = ref.name if ref.scope == "message" else ref.part
        default = "OptionText" if ref.scope in ("option", "record") else "ToolText"
        return _WRAPPERS.get((ref.scope, key), default)

    def value(self, value: expr.Value) -> str:
        text = self.ref(value.ref)
        for use in value.filters:
            argument = "" if use.argument is None else literal(use.argument)
            text = FILTERS[use.name].python.format(text, argument)
        return text

    def ref(self, ref: expr.Ref) -> str:
        match ref.scope:
            case "message":
                return f"m.{ref.name}"
            case "lead":
                return f"out.lead_{ref.part}" if ref.part else "out.lead"
            case "option":
                key = f".get({literal(ref.part)})" if ref.part else ""
                return f"self.{ref.name}{key}"
            case "tools" | "systems":
                return f"out.{ref.scope}"
            case "record":
                if ref.part in ("", "number"):
                    return f"{ref.name}.number" if ref.part else ref.name
                return f"{ref.name}.text({literal(ref.part)})"
            case "item":
                if ref.part == "function.parameters":
                    return f"tool_parameters({ref.name})"
                if ref.part.startswith("function."):
                    return f"tool_text({ref.name}, {literal(ref.part.removeprefix('function.'))})"
                parts = {"": "", "function": '["function"]'}
                return f"{ref.name}{parts.get(ref.part, f'.{ref.part}')}"
        assert_never(ref.scope)

    def truth(self, cond: expr.Cond) -> str:
        """A condition at the lowest binding: fit for `if` and `return bool(...)`."""
        return self._at(cond, 0)

    def spread(self, cond: expr.Cond, room: int = 100) -> list[str]:
        """A condition over several lines, each but the first behind its operator; what is still too long is nested."""
        lines: list[str] = []
        for operator, term, level in _terms(cond):
            head = f"{operator} " if lines else ""
            inner = term.term if isinstance(term, expr.Not) else term
            text = head + self._at(term, level)
            if columns(text) <= room or not isinstance(inner, expr.Or | expr.And):
                lines.append(text)
                continue
            head += "not (" if isinstance(term, expr.Not) else "("
            whole = self.truth(inner)
            nested = [whole] if columns(whole) <= room - 4 else self.spread(inner, room - 4)
            lines += [head, *(f"    {line}" for line in nested), ")"]
        return lines

    def _at(self, cond: expr.Cond, level: int) -> str:
        """A condition in a place that binds at `level`: 0 anything, 1 inside or, 2 inside and, 3 inside not."""
        match cond:
            case expr.Or(terms):
                text, own = " or ".join(self._at(term, 1) for term in terms), 0
            case expr.And(terms):
                text, own = " and ".join(self._at(term, 2) for term in terms), 1
            case expr.Not(term):
                text, own = self._negated(term), 2
            case _:
                text, own = self._leaf(cond), 4
        return f"({text})" if own < level else text

    def _negated(self, term: expr.Cond) -> str:
        match term:
            case expr.RoleIs(role):
                return f"m.role != {literal(role)}"
            case expr.Test("is", value, None):
                return self._present(value)
            case expr.Test("is", value, str() as text):
                return f"{self.value(value)} != {literal(text)}"
            case expr.Test("is", value, bool() as flag):
                return f"{self.value(value)} is not {flag}"
            case _:
                return f"not {self._at(term, 3)}"

    def _present(self, value: expr.Value) -> str:
        match value.ref.scope:
            case "message":
                return f'"{value.ref.name}" not in m.absent'
            case "tools":
                return "out.tools_given"
            case "record":
                return f"{value.ref.name}.has({literal(value.ref.part)})"
            case _:
                return f"{self.value(value)} is not None"

    def _leaf(self, cond: expr.Cond) -> str:
        match cond:
            case expr.Const(value):
                return str(value)
            case expr.RoleIs(role):
                return f"m.role == {literal(role)}"
            case expr.Predicate(name):
                return f"{name}(m)"
            case expr.Fact():
                return f"{cond.horizon}.{self.facts[cond]}"
            case expr.Counted(value, compare, number):
                return f"len({self.value(value)}) {compare} {number}"
            case expr.Quantified(quantifier, variable, term):
                word = "any" if quantifier == "some" else "all"
                return f"{word}({self._at(term, 0)} for {variable} in m.calls)"
            case expr.Test():
                return self._test(cond)
            case expr.Or() | expr.And() | expr.Not():
                raise AssertionError("not a leaf")
        assert_never(cond)

    def _test(self, test: expr.Test) -> str:
        text, argument = self.value(test.value), test.argument
        match test.kind:
            case "truth":
                return text
            case "is_text":
                return f"isinstance({text}, str)"
            case "is_mapping":
                return f"isinstance({text}, dict)"
            case "starts" | "ends":
                return f"{text}.{test.kind}with({literal(str(argument))})"
            case "contains":
                return f"{literal(str(argument))} in {text}"
            case kind if kind in COMPARISONS:
                return f"{text} {kind} {argument}"
            case "is" if argument is None:
                return self._unset(test.value)
            case "is" if isinstance(argument, bool):
                return f"{text} is {argument}"
            case _:
                return f"{text} == {literal(str(argument))}"

    def _unset(self, value: expr.Value) -> str:
        match value.ref.scope:
            case "message":
                return f'"{value.ref.name}" in m.absent'
            case "tools":
                return "not out.tools_given"
            case "record":
                return f"not {value.ref.name}.has({literal(value.ref.part)})"
            case _:
                return f"{self.value(value)} is None"


def _terms(cond: expr.Cond) -> list[tuple[str, expr.Cond, int]]:
    """Operator, term and binding of each line: an `and` inside `or` takes a line for each of its terms too."""
    match cond:
        case expr.And(terms):
            return [("and", term, 2) for term in terms]
        case expr.Or(terms):
            found: list[tuple[str, expr.Cond, int]] = []
            for term in terms:
                inner = term.terms if isinstance(term, expr.And) else (term,)
                level = 2 if isinstance(term, expr.And) else 1
                found += [("or" if at == 0 else "and", one, level) for at, one in enumerate(inner)]
            return found
        case _:
            return [("", cond, 0)]

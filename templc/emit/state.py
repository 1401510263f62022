"""Predicates and the two summaries of a conversation, as functions and named tuples.

`class Past` has one field for each past fact and `after(m)`, its step; `class Future` the same with `before(m)`.
"""

from __future__ import annotations

from collections.abc import Mapping

from templc.emit.blocks import Blocks
from templc.emit.expressions import Expressions
from templc.emit.layout import Lines, columns
from templc.ir.facts import facts_of, start
from templc.ir.ops import Program, conditions
from templc.model.expr import Cond, Fact, Not, Predicate, RoleIs, children


class State:
    """Emits what a program needs of its predicates, `Past` and `Future`."""

    def __init__(
        self, program: Program, lines: Lines, expressions: Expressions, blocks: Blocks
    ) -> None:
        self._program = program
        self._lines = lines
        self._expressions = expressions
        self._blocks = blocks

    def emit(self) -> None:
        program = self._program
        used = _predicates(program)
        for name, term in program.predicates.items():
            if name in used:
                self._predicate(name, term)
        if program.past:
            self._summary("Past", "earlier", program.past, "after")
        if program.future:
            self._summary("Future", "later", program.future, "before")

    def _predicate(self, name: str, term: Cond) -> None:
        lines = self._lines
        lines.add("", "", f"def {name}(m: Message) -> bool:")
        with lines.indented():
            lines.add(f'"""The predicate `{name}` of the spec."""')
            self._returned(term)

    def _returned(self, term: Cond) -> None:
        text = f"return bool({self._expressions.truth(term)})"
        if columns(text) <= self._lines.room:
            self._lines.add(text)
            return
        self._lines.add("return bool(")
        with self._lines.indented():
            one = self._expressions.truth(term)
            fits = columns(one) <= self._lines.room
            self._lines.add(*([one] if fits else self._expressions.spread(term, self._lines.room)))
        self._lines.add(")")

    def _summary(self, name: str, side: str, facts: Mapping[Fact, str], step: str) -> None:
        lines = self._lines
        lines.add("", "", f"class {name}(NamedTuple):")
        with lines.indented():
            lines.add(f'"""What turns read of {side} messages."""', "")
            for fact, field in facts.items():
                lines.add(f"{field}: bool = {start(fact, end=True)}")
            m = "m" if any(fact.term is not None for fact in facts) else "_"
            lines.add("", f'def {step}(self, {m}: Message) -> "{name}":')
            with lines.indented():
                where = "the message after m" if step == "after" else "the message before m"
                lines.add(
                    f'"""What {where} sees."""' if m == "m" else '"""What its neighbour sees."""'
                )
                self._step(name, facts)

    def _step(self, name: str, facts: Mapping[Fact, str]) -> None:
        lines = self._lines
        entries = [f"{field}={self._stepped(fact, field)}" for fact, field in facts.items()]
        if columns(f"return {name}({', '.join(entries)})") <= lines.room:
            lines.add(f"return {name}({', '.join(entries)})")
            return
        lines.add(f"return {name}(")
        with lines.indented():
            for fact, field in facts.items():
                lines.add(*self._entry(field, self._stepped(fact, field), lines.room))
        lines.add(")")

    def _entry(self, field: str, value: str, room: int) -> list[str]:
        """An argument on one line, or on three where its condition does not fit."""
        line = f"{field}={value},"
        if columns(line) <= room or " if " not in value:
            return [line]
        term, _, rest = value.partition(" if ")
        among, _, otherwise = rest.rpartition(" else ")
        return [f"{field}={term}", f"if {among}", f"else {otherwise},"]

    def _stepped(self, fact: Fact, field: str) -> str:
        if fact.term is None:
            return "False"
        truth = self._expressions.truth
        match fact.time:
            case "earlier" | "later":
                inner = truth(fact.term)
                return f"self.{field} or {inner if self._is_bool(fact.term) else f'bool({inner})'}"
            case _:
                inner = truth(fact.term)
                value = inner if self._is_bool(fact.term) else f"bool({inner})"
                if fact.among is None:
                    return value
                return f"{value} if {truth(fact.among)} else self.{field}"

    def _is_bool(self, term: Cond) -> bool:
        """Whether the expression for `term` gives a bool by itself."""
        return isinstance(term, Predicate | RoleIs | Not)


def _predicates(program: Program) -> set[str]:
    """The predicates that the program reads, through other predicates too."""
    found: set[str] = set()
    conds = [cond for _, ops in program.blocks() for cond, _ in conditions(ops)]
    conds += [check.cond for group in program.checks.values() for check in group]
    for cond in conds:
        _gather(cond, found)
        for fact in facts_of(cond):
            for term in (fact.term, fact.among):
                if term is not None:
                    _gather(term, found)
    return found


def _gather(cond: Cond, found: set[str]) -> None:
    if isinstance(cond, Predicate):
        found.add(cond.name)
        _gather(cond.term, found)
    for child in children(cond):
        _gather(child, found)

"""The stage `ir`: the program, one operation a line, with the facts that its conditions read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from templc.cli.stages.expressions import condition, fact, fact_step, hole, walked
from templc.cli.stages.margin import Margin, quoted
from templc.ir.facts import start
from templc.ir.ops import Body, Each, Ops, Plain, Program, RoleProgram, Sampled, Text, When, Write
from templc.model.expr import Fact
from templc.pipeline import Compilation


def lines(compilation: Compilation) -> list[str] | None:
    """The whole program."""
    program = compilation.program
    if program is None:
        return None
    margin = Margin(compilation.source)
    for line in _head(program):
        margin.put(0, line)
    if program.past or program.future:
        margin.put(0, "facts: the value at the start, then what one more message makes of it")
    _facts(margin, "past", program.past)
    _facts(margin, "future", program.future)
    for name, checks in program.checks.items():
        for check in checks:
            kind = "required by default" if check.soft else "required"
            text = f"check {name}: {kind}: {condition(check.cond)} (else: {check.say})"
            margin.put(0, text, check.span)
    _named(margin, 0, "head", program.head)
    for name, role in program.roles.items():
        _role(margin, name, role)
    _named(margin, 0, "prompt", program.prompt)
    _named(margin, 0, "finish", program.finish)
    return margin.lines


def _head(program: Program) -> Iterator[str]:
    yield f"program {program.format}"
    if program.leading:
        which = "every system message" if program.hoisting else "a leading system message"
        which = "the last system message" if program.replacing else which
        yield f"the head writes {which}"


def _facts(margin: Margin, horizon: str, facts: Mapping[Fact, str]) -> None:
    for found, name in facts.items():
        begins = "yes" if start(found) else "no"
        text = f"{horizon} {name} = {fact(found)}: {begins}, then {fact_step(found)}"
        margin.put(1, text, found.span)


def _role(margin: Margin, name: str, role: RoleProgram) -> None:
    match role:
        case Plain(ops, span):
            margin.put(0, f"role {name}", span)
            _ops(margin, 1, ops)
        case Sampled(opener, prefill, body, closer, trailer, span):
            margin.put(0, f"role {name}, sampled", span)
            for part, ops in (
                ("opener", opener),
                ("prefill", prefill),
                ("body", body),
                ("closer", closer),
                ("trailer", trailer),
            ):
                _named(margin, 1, part, ops)
        case _:
            assert_never(role)


def _named(margin: Margin, depth: int, name: str, ops: Ops) -> None:
    if ops:
        margin.put(depth, name)
        _ops(margin, depth + 1, ops)


def _ops(margin: Margin, depth: int, ops: Ops) -> None:
    for op in ops:
        match op:
            case Write(parts, span):
                margin.put(depth, "write " + " ".join(map(_part, parts)), span)
            case When(cond, then, otherwise, span):
                margin.put(depth, f"when {condition(cond)}", span)
                _ops(margin, depth + 1, then)
                if otherwise:
                    margin.put(depth, "else")
                    _ops(margin, depth + 1, otherwise)
            case Each(variable, over, of, opening, do, between, close, span):
                margin.put(depth, f"each {variable} in {walked(over, of)}", span)
                _named(margin, depth + 1, "open", opening)
                _ops(margin, depth + 1, do)
                _named(margin, depth + 1, "between", between)
                _named(margin, depth + 1, "close", close)
            case _:
                assert_never(op)


def _part(part: Text | Body) -> str:
    match part:
        case Text(text):
            return quoted(text)
        case Body(value, default):
            return hole(value, default)
        case _:
            assert_never(part)

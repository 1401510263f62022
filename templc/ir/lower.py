"""Lowering: a resolved spec to a program. Runs, hoisting and drops become plain operations and checks.

A run `{open, do, between, close}` of role R is `When(not run(R), open, between)`, do, `When(not next(R), close)`.
"""

from __future__ import annotations

from collections.abc import Mapping

from templc.ir.drops import FIELDS, shown
from templc.ir.facts import collect
from templc.ir.ops import (
    Body,
    Check,
    Each,
    Op,
    Ops,
    Plain,
    Program,
    RoleProgram,
    Sampled,
    Text,
    When,
    Write,
    walk,
)
from templc.model import expr, spec
from templc.model.expr import Const, Fact
from templc.source.span import Span

_SAYS = {
    "content": "this format shows no text here, so the content would be lost",
    "reasoning": "this format never shows reasoning, so it would be lost",
    "calls": "this format shows no tool calls here, so they would be lost",
    "system": "the template drops a system message that does not stand first",
}


def lower(model: spec.Spec) -> Program:
    """The program of a spec; total, since every problem was reported before."""
    roles = {name: _role(name, role) for name, role in model.roles.items()}
    head = _ops(model.head)
    assistant = roles["assistant"]
    assert isinstance(assistant, Sampled)
    prompt = assistant.opener + assistant.prefill if model.prompt is None else _ops(model.prompt)
    checks = {name: _checks(model, name, role) for name, role in roles.items()}
    finish = _ops(model.finish)
    blocks = [head, *(ops for role in roles.values() for ops in _blocks(role)), prompt, finish]
    blocks += assistant.accept
    past, future = collect(blocks, [check for group in checks.values() for check in group])
    system = model.roles.get("system")
    leading = isinstance(system, spec.Leading)
    return Program(
        format=model.format,
        title=model.title,
        source=model.span.source.name,
        aliases=model.aliases,
        models=model.models,
        reference=model.reference,
        specials=model.specials,
        markers=model.markers,
        stop=model.stop,
        stop_strings=model.stop_strings,
        options=model.options,
        rules=model.messages,
        predicates=model.predicates,
        past=past,
        future=future,
        checks=checks,
        head=head,
        roles=roles,
        prompt=prompt,
        finish=finish,
        leading=leading,
        hoisting=any(_about_systems(op) for op in walk(head)),
        replacing=isinstance(system, spec.Leading) and system.later == "replace",
        demands=model.demands,
        deviations=model.deviations,
        faults=model.faults,
        span=model.span,
    )


def _about_systems(op: Op) -> bool:
    """Whether an operation of the head walks the system messages, or asks whether there are any."""
    if isinstance(op, Each):
        return op.over == "systems"
    return isinstance(op, When) and op.asks_systems


def _blocks(role: RoleProgram) -> tuple[Ops, ...]:
    match role:
        case Plain(ops):
            return (ops,)
        case Sampled(opener, prefill, body, closer, trailer):
            return (opener, prefill, body, closer, trailer)


def _role(name: str, role: spec.Role) -> RoleProgram:
    match role:
        case spec.Turn(block, span):
            return Plain(_ops(block), span)
        case spec.Run():
            return Plain(_run(name, role), role.span)
        case spec.Leading(later, span):
            return Plain(() if isinstance(later, str) else _ops(later), span)
        case spec.Assistant(opener, prefill, body, closer, trailer, span, accept):
            return Sampled(
                _ops(opener),
                _ops(prefill),
                _ops(body),
                _ops(closer),
                _ops(trailer),
                span,
                tuple(map(_ops, accept)),
            )


def _run(name: str, run: spec.Run) -> Ops:
    """A run as operations: what opens it reads the past, what closes it the next message."""
    role = expr.RoleIs(name)
    inside = Fact("run", role, None, f"in_{name}_run", run.span)
    more = Fact("next", role, None, f"next_{name}", run.span)
    start = When(expr.Not(inside), _ops(run.open), _ops(run.between), _place(run.open, run.span))
    end = When(expr.Not(more), _ops(run.close), (), _place(run.close, run.span))
    return (start, *_ops(run.do), *((end,) if run.close else ()))


def _place(block: spec.Block, fallback: Span) -> Span:
    return block[0].span if block else fallback


def _ops(block: spec.Block) -> Ops:
    return _merged([_op(step) for step in block])


def _op(step: spec.Step) -> Op:
    match step:
        case spec.Written(parts, span):
            return Write(_joined(tuple(_part(part) for part in parts)), span)
        case spec.Choice(cond, then, otherwise, span):
            return When(cond, _ops(then), _ops(otherwise), span)
        case spec.Loop(variable, over, of, opening, do, between, close, span, ordered):
            return Each(
                variable,
                over,
                of,
                _ops(opening),
                _ops(do),
                _ops(between),
                _ops(close),
                span,
                ordered,
            )


def _part(part: spec.Literal | spec.Hole) -> Text | Body:
    match part:
        case spec.Literal(text):
            return Text(text)
        case spec.Hole(value, default):
            return Body(value, default, _field(value.ref))


def _field(ref: expr.Ref) -> str:
    """Which field of a message a body comes from, for spans and refusals."""
    match ref.scope:
        case "message":
            return ref.name
        case "lead":
            return ref.part
        case "item" | "record":
            return f"{ref.name}.{ref.part}" if ref.part else ref.name
        case "option":
            return f"option {ref.name}.{ref.part}" if ref.part else f"option {ref.name}"
        case scope:
            return scope


def _merged(ops: list[Op]) -> Ops:
    """Neighbouring writes as one, so that generated code reads as one line of text."""
    merged: list[Op] = []
    for op in ops:
        before = merged[-1] if merged else None
        if isinstance(op, Write) and isinstance(before, Write):
            merged[-1] = Write(_joined(before.parts + op.parts), before.span)
        else:
            merged.append(op)
    return tuple(merged)


def _joined(parts: tuple[Text | Body, ...]) -> tuple[Text | Body, ...]:
    joined: list[Text | Body] = []
    for part in parts:
        if part == Text(""):
            continue
        before = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(before, Text):
            joined[-1] = Text(before.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


def _checks(model: spec.Spec, name: str, role: RoleProgram) -> tuple[Check, ...]:
    declared = [
        Check(item.that, item.say, item.soft, item.span)
        for item in model.requirements
        if item.role == name
    ]
    system = model.roles.get(name)
    if isinstance(system, spec.Leading) and system.later in ("refuse", "replace"):
        first = Fact("first", None, None, "first", system.span)
        soft = system.later == "replace"
        declared.append(Check(first, "a system message must stand first", soft, system.span))
    return (*declared, *_drops(name, role, model.roles))


def _drops(name: str, role: RoleProgram, roles: Mapping[str, spec.Role]) -> list[Check]:
    """Soft checks for the fields that no rendering of this message would show."""
    written = roles[name]
    leading = written if isinstance(written, spec.Leading) else None
    if leading is not None and isinstance(leading.later, str):
        return []
    # What stands first is the head's.
    by_head = Const(False) if leading is None else Fact("first", None, None, "first", leading.span)
    body = tuple(op for block in _blocks(role) for op in block)
    fields = FIELDS if name == "assistant" else ("content",)
    found = []
    for field in fields:
        visible = shown(body, field)
        if visible != Const(True):
            empty = expr.negation(expr.Test("truth", expr.Value(expr.Ref("message", field))))
            cond = expr.disjunction(by_head, empty, visible)
            found.append(
                Check(cond, _SAYS[field if leading is None else "system"], True, role.span)
            )
    return found

"""The program of a format: a handful of frozen operations, no vocabulary of chat formats left in them.

`{when: calls, then: "x${content}"}` is `When(Test(...), (Write((Text("x"), Body(...))),), ())`. Text is final; a
condition reads self and fixed values and the facts that `Program.past` and `Program.future` list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from templc.model.expr import Cond, Counted, Fact, Ref, Test, Value, leaves
from templc.model.hashed import Hashed, hash_once
from templc.model.spec import Demand, Deviation, Fault, MessageRules, Option, Reference
from templc.source.span import Span


@dataclass(frozen=True, slots=True)
class Text:
    """Text that the format writes."""

    text: str


@hash_once
@dataclass(frozen=True, slots=True)
class Body(Hashed):
    """Text that comes from a message, a tool or an option; `default` stands in for an empty one."""

    value: Value
    default: str | None
    field: str


@dataclass(frozen=True, slots=True)
class Write:
    parts: tuple[Text | Body, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class When:
    cond: Cond
    then: Ops
    otherwise: Ops
    span: Span = field(compare=False)

    @property
    def asks_systems(self) -> bool:
        """Whether it asks if the conversation holds a system message."""
        tests = (leaf for leaf in leaves(self.cond) if isinstance(leaf, Test))
        return any(test.value.ref.scope == "systems" for test in tests)


@dataclass(frozen=True, slots=True)
class Each:
    """For each item of a list: `open` before the first, `between` before each later one, `close` after the last.

    `ordered`: arguments by name instead of as given. `of`: whose arguments, or which option's records.
    """

    variable: str
    over: Literal["calls", "arguments", "tools", "systems", "records"]
    of: str
    open: Ops
    do: Ops
    between: Ops
    close: Ops
    span: Span = field(compare=False)
    ordered: bool = False


FIRST = Fact("first", None, None, "first")

Op = Write | When | Each
Ops = tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A message is refused with `say` unless `cond` holds; a soft one only where the template would lose text."""

    cond: Cond
    say: str
    soft: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Plain:
    """A role whose turn the model does not write."""

    ops: Ops
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sampled:
    """The assistant's turn by its parts; body and closer are sampled, less what prefill put into the prompt.

    accept: other bodies, which are read and never written.
    """

    opener: Ops
    prefill: Ops
    body: Ops
    closer: Ops
    trailer: Ops
    span: Span = field(compare=False)
    accept: tuple[Ops, ...] = ()


RoleProgram = Plain | Sampled


@dataclass(frozen=True, slots=True)
class Program:
    """A whole format.

    `leading`: the head writes a system message that stands first; `hoisting`: it reads all of them, or with
    `replacing` the last one: it walks them, or asks whether there is one. `past` and `future` are the facts that the
    operations read; their order is the order of the state's bits.
    """

    format: str
    title: str
    source: str
    aliases: tuple[str, ...]
    models: tuple[str, ...]
    reference: Reference
    specials: tuple[str, ...]
    markers: tuple[str, ...]
    stop: tuple[str, ...]
    stop_strings: tuple[str, ...]
    options: Mapping[str, Option]
    rules: MessageRules
    predicates: Mapping[str, Cond]
    past: Mapping[Fact, str]
    future: Mapping[Fact, str]
    checks: Mapping[str, tuple[Check, ...]]
    head: Ops
    roles: Mapping[str, RoleProgram]
    prompt: Ops
    finish: Ops
    leading: bool
    hoisting: bool
    replacing: bool
    demands: tuple[Demand, ...]
    deviations: tuple[Deviation, ...]
    faults: tuple[Fault, ...]
    span: Span

    @property
    def assistant(self) -> Sampled:
        found = self.roles["assistant"]
        assert isinstance(found, Sampled)
        return found

    def blocks(self) -> Iterator[tuple[str, Ops]]:
        """Every block with the name of its place, in writing order."""
        yield "head", self.head
        for name, role in self.roles.items():
            match role:
                case Plain(ops):
                    yield name, ops
                case Sampled(opener, prefill, body, closer, trailer):
                    yield f"{name}.opener", opener
                    yield f"{name}.prefill", prefill
                    yield f"{name}.body", body
                    yield f"{name}.closer", closer
                    yield f"{name}.trailer", trailer
        yield "prompt", self.prompt
        yield "finish", self.finish

    def block(self, name: str, role: str = "") -> Ops:
        """A block by its name; `turn` is all that a message of a role writes, `sampled` what of it the model writes."""
        found, turn = dict(self.blocks()), self.assistant
        if name == "sampled":
            return (*turn.body, *turn.closer)
        if name != "turn":
            return found[name]
        if role == "assistant":
            return (*turn.opener, *turn.body, *turn.closer, *turn.trailer)
        # The head writes a system message that leads.
        leads = self.leading and role == "system"
        return (When(FIRST, (), found[role], self.span),) if leads else found[role]


def tells_missing(program: Program, name: str) -> bool:
    """Whether a turn may be written otherwise where a field of its message is missing than where it is empty."""
    assistant = program.assistant
    conds = [cond for cond, _ in conditions((*assistant.body, *assistant.closer))]
    conds += [check.cond for check in program.checks.get("assistant", ())]
    conds += program.predicates.values()
    missing = Test("is", Value(Ref("message", name)), None)
    return any(leaf == missing for cond in conds for leaf in leaves(cond))


def reads(program: Program, name: str) -> bool:
    """Whether anything reads a field of its message."""
    blocks = [ops for _, ops in program.blocks()]
    facts = [term for fact in (*program.past, *program.future) for term in (fact.term, fact.among)]
    conds = [cond for ops in blocks for cond, _ in conditions(ops)]
    conds += [check.cond for checks in program.checks.values() for check in checks]
    conds += [*program.predicates.values(), *(term for term in facts if term is not None)]
    asked = [leaf for cond in conds for leaf in leaves(cond) if isinstance(leaf, Test | Counted)]
    values = [value for ops in blocks for value in values_written(ops)]
    return Ref("message", name) in {one.ref for one in (*values, *(leaf.value for leaf in asked))}


def inner(op: Op) -> tuple[Ops, ...]:
    """The blocks inside an operation, in writing order."""
    match op:
        case Write():
            return ()
        case When(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Each(open=opening, do=do, between=between, close=close):
            return (opening, between, do, close)


def walk(ops: Ops) -> Iterator[Op]:
    """Every operation of a block, outer ones first."""
    for op in ops:
        yield op
        for block in inner(op):
            yield from walk(block)


def conditions(ops: Ops) -> Iterator[tuple[Cond, Span]]:
    """Every condition of a block with its place."""
    for op in walk(ops):
        if isinstance(op, When):
            yield op.cond, op.span


def values_written(ops: Ops) -> list[Value]:
    """The values that a block writes, in writing order."""
    parts = (part for op in walk(ops) if isinstance(op, Write) for part in op.parts)
    return [part.value for part in parts if isinstance(part, Body)]


def systems_read(ops: Ops) -> list[When | Each]:
    """What walks the system messages of a conversation, or asks whether there is one."""
    found = [op for op in walk(ops) if not isinstance(op, Write)]
    return [
        op for op in found if (op.asks_systems if isinstance(op, When) else op.over == "systems")
    ]


def facts_read(ops: Ops) -> frozenset[Fact]:
    """The facts that the conditions of a block read."""
    read = (leaf for cond, _ in conditions(ops) for leaf in leaves(cond))
    return frozenset(leaf for leaf in read if isinstance(leaf, Fact))

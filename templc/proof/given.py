"""A program with its options, and tools or none, filled in: what is left hangs on messages and on facts about them.

given = Given(program, settings)
given.turns["user"]         the operations of a user turn
given.atoms("user")         every test that a step, check, fact or predicate makes on a user message
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from templc.ir.ops import Body, Each, Ops, Plain, Program, When, Write, walk
from templc.model.expr import LOOPED, Cond, Fact, Ref, Test, Value, leaves
from templc.proof.atoms import (
    ANSWERED,
    CALLER,
    CALLS,
    delta,
    hoisted,
    known,
    leaves_of,
    on_lead,
    opener_tests,
    scope_of,
    specialised,
)
from templc.proof.values import Atom, Settings


class Given:
    """A program and its settings. `turns`: every operation of each role's turn; `checks`: what each must satisfy."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self.program, self.settings = program, settings
        self.turns = {role: self._turn(role) for role in program.roles}
        self.checks = {
            role: tuple(known(check.cond, role, settings) for check in program.checks.get(role, ()))
            for role in program.roles
        }
        self.opener_tests = opener_tests(program)

    def ops(self, ops: Ops, role: str = "") -> Ops:
        """Operations as a message of the role runs them; without a role, where there is no message."""
        return specialised(ops, role, self.settings)

    def _turn(self, role: str) -> Ops:
        found = self.program.roles[role]
        if isinstance(found, Plain):
            return self.ops(found.ops, role)
        parts = (found.opener, found.body, found.closer, found.trailer)
        return tuple(op for part in parts for op in self.ops(part, role))

    @cached_property
    def key(self) -> object:
        """The same for two settings under which messages are read, told apart and written alike, the head aside."""
        program, turn = self.program, self.program.assistant
        sampled = self.ops((*turn.body, *turn.closer), "assistant")
        ends = [self.ops(ops) for ops in (program.finish, program.prompt, turn.prefill)]
        facts = (*program.past, *program.future)
        terms = [term for fact in facts for term in (fact.term, fact.among) if term is not None]
        steps = [known(term, role, self.settings) for term in terms for role in program.roles]
        blocks = [*self.turns.values(), sampled, *ends]
        checks = list(self.checks.values())
        conds = [cond for block in blocks for cond in _conds(block)]
        conds += [*(cond for found in checks for cond in found), *steps]
        read = [self._setting(ref) for ref in _refs(blocks, conds)]
        return tuple(blocks), tuple(checks), tuple(steps), tuple(dict.fromkeys(read))

    def _setting(self, ref: Ref) -> object:
        """The value of an option or of the tools that is still read; None for anything else."""
        match ref.scope:
            case "option":
                return ref.name, repr(self.settings.options[ref.name])
            case "tools":
                return self.settings.tools
            case _:
                return None

    def atoms(self, role: str) -> tuple[Atom, ...]:
        """All atoms of messages of a role, in the order in which they are read."""
        found: dict[Atom, None] = {}
        for cond in self._conditions(role):
            for leaf in leaves_of(cond):
                if not isinstance(leaf, Fact) and scope_of(leaf) not in (*LOOPED, "lead"):
                    found.setdefault(leaf)  # type: ignore[arg-type]
        if role == "assistant":
            found.setdefault(CALLS)
            for test in self.opener_tests:
                found.setdefault(test)
        if role == "system" and self.program.hoisting:
            for atom in hoisted(self.program):
                found.setdefault(atom)
        return tuple(found)

    def _conditions(self, role: str) -> Iterator[Cond]:
        """Every condition that is evaluated on a message of the role."""
        yield from _conds(self.turns[role])
        yield from self.checks[role]
        more = (fact for fact, _ in self.registers)
        for fact in (*self.program.past, *self.program.future, *more):
            for term in (fact.term, fact.among):
                if term is not None:
                    yield known(term, role, self.settings)
        if role == "system":
            yield from (on_lead(test) for test in self.lead_tests if test.value.ref.part)

    @cached_property
    def registers(self) -> tuple[tuple[Fact, Test], ...]:
        """What a tool message takes over from the latest message with calls: a past fact for each test on it.

        A result that answers a call has one before it; a test on `caller_content` is one on the caller's content.
        """
        conds = [cond for block in self.turns.values() for cond in _conds(block)]
        conds += [cond for checks in self.checks.values() for cond in checks]
        found: dict[Test, Fact] = {}
        for cond in conds:
            for leaf in leaves_of(cond):
                if isinstance(leaf, Test) and leaf.value.ref == ANSWERED:
                    found[leaf] = Fact("earlier", CALLS, None, "earlier_calls")
                elif isinstance(leaf, Test) and leaf.value.ref == CALLER:
                    value = Value(Ref("message", "content"), leaf.value.filters)
                    test = Test(leaf.kind, value, leaf.argument)
                    names = ("caller", *(use.name for use in value.filters), leaf.kind)
                    found[leaf] = Fact("previous", test, CALLS, "_".join(names))
        return tuple((fact, test) for test, fact in found.items())

    @cached_property
    def lead_tests(self) -> tuple[Test, ...]:
        """What turns, finish and prompt read of the leading system message."""
        blocks = [
            *self.turns.values(),
            self.ops(self.program.finish),
            self.ops(self.program.prompt),
        ]
        found: dict[Test, None] = {}
        for block in blocks:
            found_in = (leaf for cond in _conds(block) for leaf in leaves_of(cond))
            for leaf in (*found_in, *delta(block, "lead")):
                if isinstance(leaf, Test) and leaf.value.ref.scope == "lead":
                    found.setdefault(leaf)
        return tuple(found)


def options_of_turns(program: Program) -> frozenset[str]:
    """The options that anything but the head reads: for all others a `Given` has the same key, whatever they are."""
    blocks = [ops for place, ops in program.blocks() if place != "head"]
    conds = [cond for block in blocks for cond in _conds(block)]
    conds += [check.cond for checks in program.checks.values() for check in checks]
    return frozenset(ref.name for ref in _refs(blocks, conds) if ref.scope == "option")


def _conds(ops: Ops) -> Iterator[Cond]:
    return (op.cond for op in walk(ops) if isinstance(op, When))


def _refs(blocks: Iterable[Ops], conds: Iterable[Cond]) -> Iterator[Ref]:
    """What operations and conditions read."""
    for op in (op for block in blocks for op in walk(block)):
        if isinstance(op, Write):
            yield from (part.value.ref for part in op.parts if isinstance(part, Body))
        elif isinstance(op, Each) and op.over == "tools":
            yield Ref("tools")
        elif isinstance(op, Each) and op.over == "records":
            yield Ref("option", op.of)
    for leaf in (leaf for cond in conds for leaf in leaves(cond)):
        value = getattr(leaf, "value", None)
        if isinstance(value, Value):
            yield value.ref

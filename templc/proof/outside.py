"""What checkers of certificates know of what lies outside of a turn: the head, and the caller of a tool result.

    checker.head_changes(["1"], ["system"], pasts)      whether a head that reads all system messages is written anew

A fact is added for each thing that a turn or a head reads of messages before it without naming a fact: whether a
system message came before, whether any role has written something, what stands beside the latest calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from templc.ir.ops import Each, Ops, Plain, Program, Text, When, Write, conditions, walk
from templc.model import expr
from templc.model.expr import Fact, Test
from templc.proof.asking import Asking

FIRST = Fact("first", None, None, "first")
CALLS = Test("truth", expr.Value(expr.Ref("message", "calls")))
CALLED = Fact("earlier", CALLS, None, "earlier_calls")
SYSTEM = Fact("earlier", expr.RoleIs("system"), None, "earlier_system")


class Outside(Asking):
    """`past`, `future`: all facts about earlier and later messages."""

    program: Program
    past: tuple[Fact, ...]
    future: tuple[Fact, ...]
    ops_of: Any

    def __init__(self) -> None:
        super().__init__()
        self.seen_by: dict[str, list[int]] = {}

    def facts(self) -> dict[str, Fact]:
        """Every fact about earlier messages, by its name."""
        more = [FIRST, *((SYSTEM, self.spoken()) if self.program.hoisting else ())]
        every = dict.fromkeys((*self.program.past, *more, *(fact for _, fact in self.taken())))
        return {fact.name: fact for fact in every}

    def spoken(self) -> Fact:
        """Whether an earlier message has a role that writes something where it stands."""
        roles = self.program.roles.items()
        speak = [name for name, role in roles if not isinstance(role, Plain) or role.ops]
        return Fact("earlier", expr.disjunction(*map(expr.RoleIs, speak)), None, "spoken")

    def taken(self) -> Iterator[tuple[Test, Fact]]:
        """The tests on what a tool result takes over from its caller, each with the fact that it hangs on."""
        conds = [cond for _, block in self.program.blocks() for cond, _ in conditions(block)]
        conds += [one.cond for checks in self.program.checks.values() for one in checks]
        for test in (leaf for cond in conds for leaf in expr.leaves(cond)):
            if isinstance(test, Test) and test.value.ref.name == "answered":
                yield test, CALLED
            elif isinstance(test, Test) and test.value.ref.name == "caller_content":
                uses = test.value.filters
                own = Test(
                    test.kind, expr.Value(expr.Ref("message", "content"), uses), test.argument
                )
                name = "_".join(("caller", *(use.name for use in uses), test.kind))
                yield test, Fact("previous", own, CALLS, name)

    def only(self, who: str, question: Any) -> bool | None:
        """What is taken over from a caller is known where the message stands."""
        ref = getattr(getattr(question, "value", None), "ref", None)
        if who in self.at and ref in (
            expr.Ref("message", "answered"),
            expr.Ref("message", "caller_content"),
        ):
            for test, fact in self.taken():
                found = self.at[who][self.past.index(fact)] if test == question else True
                if test == question and (fact is not CALLED or not found):
                    return bool(found)
        return super().only(who, question)

    def blocks(self, role: str) -> tuple[Ops, ...]:
        found: Any = self.program.roles[role]
        if isinstance(found, Plain):
            return (found.ops,)
        return found.opener, found.body, found.closer, found.trailer

    def reads(self, role: str, view: Any) -> list[bool]:
        """What the turn of a role reads of a view: where that is the same, it writes the same."""
        if role not in self.seen_by:
            ops = (op for block in self.blocks(role) for op in walk(self.ops_of(block, role)))
            leaves = {leaf for op in ops if isinstance(op, When) for leaf in expr.leaves(op.cond)}
            self.seen_by[role] = [at for at, fact in enumerate(self.future) if fact in leaves]
        return [view[at] for at in self.seen_by[role]]

    # the head

    def head_changes(
        self, names: Sequence[str], roles: Sequence[str], pasts: Sequence[Any], tail: bool
    ) -> bool:
        """Whether an added message changes a head behind which something stands. tail: the end has a text."""
        if not self.program.hoisting:
            return False
        added = [one for one in zip(names, pasts, roles, strict=False) if one[2] == "system"]
        stands = tail or bool(pasts[0][self.past.index(self.spoken())])
        return any(self.hoists(name, past, stands) for name, past, _ in added)

    def hoists(self, who: str, past: Any, stands: bool) -> bool:
        """Whether one more system message changes the head; at its end only where something stands behind it."""
        seen = past[self.past.index(SYSTEM)]
        head = self.ops_of(self.program.head, "")
        for op in walk(head):
            if isinstance(op, When) and op.asks_systems and not seen:
                return True
            if isinstance(op, Each) and op.over == "systems":
                again = seen and self.program.replacing
                if again or stands or op is not head[-1] or (seen and op.close):
                    around = op.between if seen else (*op.open, *op.close)
                    if again or self.says((*around, *op.do), who):
                        return True
        return False

    def says(self, ops: Ops, who: str) -> bool:
        """Whether a message writes anything in the loop over system messages."""
        for op in ops:
            for part in op.parts if isinstance(op, Write) else ():
                if isinstance(part, Text):
                    return True
                value = expr.Value(expr.Ref("message", part.value.ref.part), part.value.filters)
                if part.default or self.ask(who, Test("truth", value)):
                    return True
        return any(not isinstance(op, Write) for op in ops)

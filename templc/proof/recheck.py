"""Checks a certificate against a program. It shares no code with the prover and lists no classes: it asks.

    recheck(program, certificate(stability)) == []          complaints, none for a certificate that holds

Whatever is read of a message is a question, and each check is made for every way to answer. So it holds for all
messages; answers that no message could give only make the checker stricter. What is written is a string in which one
character of a private plane stands for a text that is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

from templc.ir.fixed import Fixed
from templc.ir.ops import Body, Ops, Program, When, Write, walk
from templc.model import expr
from templc.model.expr import LOOPED, Fact, Test
from templc.proof.asking import PRIVATE, Say
from templc.proof.outside import CALLS, FIRST, Outside


def recheck(program: Program, data: Mapping[str, Any]) -> list[str]:
    """Every way in which the certificate does not hold for the program."""
    return list(dict.fromkeys(Check(program, data).complaints()))


class Check(Outside):
    """One certificate and its program. `who` "" is behind all messages."""

    def __init__(self, program: Program, data: Mapping[str, Any]) -> None:
        super().__init__()
        self.program, self.data = program, data
        known, self.future = self.facts(), tuple(program.future)
        self.past = tuple(known[name] for name in data["past"] if name in known)
        fixed = Fixed(data["options"], data["tools"])
        self.ops_of, self.cond_of = cache(fixed.ops), cache(fixed.cond)

    def complaints(self) -> Say:
        data, names = self.data, [fact.name for fact in self.future]
        fits = {*data["past"]} == {*self.facts()} and len(self.past) == len(self.facts())
        fits = fits and data["future"] == names and data["version"] == 1
        options = {*self.program.options, "as_template"}
        if not fits or data["format"] != self.program.format or set(data["options"]) != options:
            yield "the certificate is for another program"
            return
        if any(ord(char) >= PRIVATE for text in self.texts() for char in text):
            yield "beyond this checker: a text holds characters of a private plane"
            return
        self.pasts = {tuple(map(int, past)) for past in data["pasts"]}
        if tuple(fact.time == "first" for fact in self.past) not in self.pasts:
            yield "the start is not among the pasts"
        roles = [role for role in self.program.roles if role != "other"]
        for past, role in product(self.pasts, roles):
            yield from self.all_ways(self.reached, past, role)
        for cell in data["cells"]:
            states = [
                [tuple(map(int, one)) for one in text.split("/")] for text in cell["invariant"]
            ]
            self.triples = {*map(tuple, states)}
            for found in self.cell(cell["after"], cell["then"], roles):
                yield f"{cell['after']}, {cell['then']}: {found}"

    def texts(self) -> Iterator[str]:
        for op in (op for _, block in self.program.blocks() for op in walk(block)):
            for part in op.parts if isinstance(op, Write) else ():
                yield (part.default or "") if isinstance(part, Body) else part.text

    def cell(self, after: str, then: str, roles: list[str]) -> Say:
        prompted = after in ("prompt", "completion")
        added = [*["assistant"] * (after == "completion"), *[then] * (then != "end")]
        if not added:
            yield "beyond this checker"
        ends = {self.end(prompt): prompt for prompt in (False, True)}.values()
        for past, last, prompt in product(self.pasts, roles if prompted else [after], ends):
            yield from self.all_ways(self.joint, past, [last, *added], after, prompt)
        for triple, past, role in product(sorted(self.triples), self.pasts, roles):
            yield from self.all_ways(self.inner, past, role, triple)

    def reached(self, past: Any, role: str) -> Say:
        if self.admits("m", role, past) and self.after("m", role, past) not in self.pasts:
            yield f"the pasts are not closed under a {role} message"

    def joint(self, past: Any, roles: list[str], after: str, prompt: bool) -> Say:
        found = self.ending(past, roles, after, prompt)
        if found is None:
            return
        kept, pair, _ = found
        if not kept:
            yield "text at the joint is not kept"
        if pair[0] != pair[1] and (past, *pair) not in self.triples:
            yield f"the invariant misses what stands before a {roles[0]} message"

    def ending(self, past: Any, roles: list[str], after: str, prompt: bool) -> Any:
        """Whether the end is kept, what is seen before the last message, the state behind it; None: not accepted."""
        names, pasts, seen = [str(at) for at in range(len(roles))], [past], [self.end(prompt)]
        for name, role in zip(names, roles, strict=True):
            if not self.admits(name, role, pasts[-1]):
                return None
            pasts.append(self.after(name, role, pasts[-1]))
        for name, role in [*zip(names, roles, strict=True)][:0:-1]:
            seen.insert(0, self.before(name, role, seen[0]))
        view, turn = self.end(after in ("prompt", "completion")), self.program.assistant
        same = self.reads(roles[0], view) == self.reads(roles[0], seen[0])
        last, anew = (
            "" if same else self.turn("0", roles[0], past, one) for one in (view, seen[0])
        )
        old = self.text(self.program.finish, pasts[1], view)
        if after in ("prompt", "completion"):
            old += self.text(self.program.prompt, pasts[1], view)
        if after == "completion":
            answer = partial(self.text, past=pasts[1], view=self.end(False, True), who="1")
            header = [self.holes.get(sign) for sign in answer(turn.opener, role="assistant")]
            if any(self.ask("1", Test("truth", hole[1])) for hole in header if hole):
                return None
            whole = "".join(answer(ops, role="assistant") for ops in (turn.body, turn.closer))
            less = self.rest(self.text(turn.prefill, pasts[1], view), whole)
            old += whole if less is None else less
        tail = bool(old) or after == "completion"
        changes = self.head_changes(names[1:], roles[1:], pasts[1:], tail)
        old, new = last + old, self.instead(last, anew)
        for one in (*zip(names, roles, pasts, seen, strict=False), None)[1:]:
            if self.rest(old, new) is not None or all(self.parted):
                break
            new += self.turn(*one) if one else self.text(self.program.finish, pasts[-1], seen[-1])
        kept = self.rest(old, new) is not None and not changes
        return kept, [self.before("0", roles[0], one) for one in (view, seen[0])], pasts[1]

    def instead(self, old: str, new: str) -> str:
        """How the last message is written in the new text."""
        return new

    def inner(self, past: Any, role: str, triple: Any) -> Say:
        if not self.admits("m", role, past) or self.after("m", role, past) != triple[0]:
            return
        read = [self.reads(role, view) for view in triple[1:]]
        turns = (self.turn("m", role, past, view) for view in triple[1:])
        if read[0] != read[1] and self.rest(*turns) != "":
            yield f"a {role} message is written otherwise"
        old, new = (self.before("m", role, view) for view in triple[1:])
        if old != new and (past, old, new) not in self.triples:
            yield f"the invariant misses what stands before a {role} message"

    def end(self, prompt: bool, live: bool = False) -> Any:
        start = {"last": True, "end": not prompt, "live": live}
        return tuple(start.get(fact.time, False) for fact in self.future)

    def after(self, who: str, role: str, past: Any) -> Any:
        steps = zip(self.past, past, strict=True)
        key = ("after", who, role, past)
        return self.once(key, lambda: tuple(self.step(who, role, *one) for one in steps))

    def before(self, who: str, role: str, view: Any) -> Any:
        steps = zip(self.future, view, strict=True)
        key = ("before", who, role, view)
        return self.once(key, lambda: tuple(self.step(who, role, *one) for one in steps))

    def step(self, who: str, role: str, fact: Fact, value: bool) -> bool:
        among, term = (
            self.cond_of(one or expr.Const(True), role) for one in (fact.among, fact.term)
        )
        if fact.term is None or not self.holds(among, {}, who):
            return value and fact.term is not None
        return (value and fact.time in ("earlier", "later")) or bool(self.holds(term, {}, who))

    def admits(self, who: str, role: str, past: Any) -> bool:
        self.at[who] = past
        facts, checks = dict(zip(self.past, past, strict=True)), self.program.checks.get(role, ())
        conds = [self.cond_of(check.cond, role) for check in checks]
        key = ("admits", who, role, past)
        return bool(self.once(key, lambda: all(self.holds(cond, facts, who) for cond in conds)))

    def holds(self, cond: Any, facts: Any, who: str) -> bool | None:
        """Whether a condition holds; None where that hangs on an item of a loop."""
        match cond:
            case expr.Const(value):
                return value
            case expr.Not(term):
                found = self.holds(term, facts, who)
                return None if found is None else not found
            case expr.And(terms) | expr.Or(terms):
                winner, sure = isinstance(cond, expr.Or), True
                for term in terms:
                    if (found := self.holds(term, facts, who)) is winner:
                        return winner
                    sure = sure and found is not None
                return not winner if sure else None
            case Fact():
                return bool(facts[cond])
            case Test(value=value) | expr.Counted(value=value) if value.ref.scope in LOOPED:
                return None
        lead = isinstance(cond, Test | expr.Counted) and cond.value.ref.scope == "lead"
        return self.ask("" if lead else who, cond)

    def turn(self, who: str, role: str, past: Any, view: Any) -> str:
        if self.program.leading and role == "system" and past[self.past.index(FIRST)]:
            return ""
        return "".join(self.text(ops, past, view, who, role) for ops in self.blocks(role))

    def text(self, ops: Ops, past: Any, view: Any, who: str = "", role: str = "") -> str:
        facts = dict(zip((*self.past, *self.future), (*past, *view), strict=True))
        key = ("text", id(ops), past, view, who, role)
        return str(self.once(key, lambda: self.written(self.ops_of(ops, role), facts, who)))

    def written(self, ops: Any, facts: Any, who: str) -> str:
        return "".join(self.one(op, facts, who) for op in ops)

    def one(self, op: Any, facts: Any, who: str) -> str:
        inner = partial(self.written, facts=facts, who=who)
        if isinstance(op, Write):
            return "".join(self.hole(part, who) for part in op.parts)
        if isinstance(op, When):
            holds = self.holds(op.cond, facts, who)
            if holds is None:
                seen = [facts[one] for one in expr.leaves(op.cond) if isinstance(one, Fact)]
                return self.sign(who, op.cond, *seen, inner(op.then), inner(op.otherwise))
            return inner(op.then if holds else op.otherwise)
        loop = self.sign(
            who, op.over, op.of, op.variable, op.ordered, *map(inner, (op.do, op.between))
        )
        if op.over == "arguments":
            return self.sign(loop, inner(op.open), inner(op.close))
        if op.over in ("tools", "records"):
            return inner(op.open) + loop + inner(op.close)
        return (
            inner(op.open) + inner(op.do) + loop + inner(op.close) if self.ask(who, CALLS) else ""
        )

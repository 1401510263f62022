"""Checks a certificate against a program. It shares no code with the prover and lists no classes: it asks.

    recheck(program, certificate(stability)) == []          complaints, none for a certificate that holds

Whatever is read of a message is a question, and each check is made for every way to answer. So it holds for all
messages; answers that no message could give only make the checker stricter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, product
from typing import Any

from templc.ir.ops import Body, Plain, Program, Text, When, Write
from templc.model import expr
from templc.model.expr import Fact, Test

FIRST = Fact("first", None, None, "first")
ROLES = ("system", "developer", "user", "tool", "assistant")
CALLS = Test("truth", expr.Value(expr.Ref("message", "calls")))
UNKNOWN = object()
Say = Iterator[str]


def recheck(program: Program, data: Mapping[str, Any]) -> list[str]:
    """Every way in which the certificate does not hold for the program."""
    return list(dict.fromkeys(_Way(program, data, (), {}).complaints()))


class _Way:
    """One way to answer: by a script, then with yes. `said` is what was asked, `who` "" is behind all messages."""

    def __init__(self, program: Program, data: Any, script: tuple[bool, ...], shared: Any) -> None:
        self.program, self.data, self.script, self.shared = program, data, script, shared
        self.said: dict[Any, bool] = {}
        self.past = tuple(dict.fromkeys((*program.past, FIRST)))
        self.future = tuple(program.future)

    def ask(self, who: str, question: Any) -> bool:
        at = len(self.said)
        return self.said.setdefault((who, question), at >= len(self.script) or self.script[at])

    def all_ways(self, check: Callable[..., Say], *given: Any) -> Say:
        todo: list[tuple[bool, ...]] = [()]
        while todo:
            way = _Way(self.program, self.data, todo.pop(), self.shared)
            yield from check(way, *given)
            said = tuple(way.said.values())
            todo += [(*said[:at], not said[at]) for at in range(len(way.script), len(said))]

    # the checks

    def complaints(self) -> Say:
        data, names = self.data, [[fact.name for fact in side] for side in (self.past, self.future)]
        fits = [data["past"], data["future"]] == names and data["version"] == 1
        options = {*self.program.options, "as_template"}
        if not fits or data["format"] != self.program.format or set(data["options"]) != options:
            yield "the certificate is for another program"
            return
        pasts = self.shared["pasts"] = {_state(digits) for digits in data["pasts"]}
        if tuple(fact.time == "first" for fact in self.past) not in pasts:
            yield "the start is not among the pasts"
        roles = [role for role in ROLES if role in self.program.roles]
        for past, role in product(pasts, roles):
            yield from self.all_ways(_Way.reached, past, role)
        ends = {self.end(prompt): prompt for prompt in (False, True)}.values()
        for cell in data["cells"]:
            after, then, invariant = cell["after"], cell["then"], {*map(_triple, cell["invariant"])}
            self.shared["invariant"] = invariant
            added = [*["assistant"] * (after == "completion"), *[then] * (then != "end")]
            lasts = roles if after in ("prompt", "completion") else [after]
            if not added or (self.program.hoisting and "system" in added):
                yield f"{after}, {then}: beyond this checker"
            for past, last, prompt in product(pasts, lasts, ends):
                for found in self.all_ways(_Way.joint, past, [last, *added], after, prompt):
                    yield f"{after}, {then}: {found}"
            for triple, past, role in product(sorted(invariant), pasts, roles):
                for found in self.all_ways(_Way.inner, past, role, triple):
                    yield f"{after}, {then}: {found}"

    def reached(self, past: Any, role: str) -> Say:
        if self.admits("m", role, past) and self.after("m", role, past) not in self.shared["pasts"]:
            yield f"the pasts are not closed under a {role} message"

    def joint(self, past: Any, roles: list[str], after: str, prompt: bool) -> Say:
        names, pasts, seen = [str(at) for at in range(len(roles))], [past], [self.end(prompt)]
        for name, role in zip(names, roles, strict=True):
            if not self.admits(name, role, pasts[-1]):
                return
            pasts.append(self.after(name, role, pasts[-1]))
        for name, role in [*zip(names, roles, strict=True)][:0:-1]:
            seen.insert(0, self.before(name, role, seen[0]))
        view, turn = self.end(after in ("prompt", "completion")), self.program.assistant
        old = self.turn("0", roles[0], past, view) + self.ops(self.program.finish, pasts[1], view)
        if after in ("prompt", "completion"):
            old += self.ops(self.program.prompt, pasts[1], view)
        if after == "completion":
            live, answer = self.end(False, True), partial(self.ops, who="1", role="assistant")
            opener = [token for token in answer(turn.opener, pasts[1], live) if token[0] == "hole"]
            if any(self.ask("1", Test("truth", token[2])) for token in opener):
                return
            whole = answer(turn.body + turn.closer, pasts[1], live)
            given, less = self.left(self.ops(turn.prefill, pasts[1], view), whole)
            old += whole if given or less is None else less
        rest: list[Any] | None = []
        for one in (*zip(names, roles, pasts, seen, strict=False), None):
            more = self.turn(*one) if one else self.ops(self.program.finish, pasts[-1], seen[-1])
            old, rest = self.left(old, [*(rest or []), *more])
            if not old or rest is None:
                break
        if old:
            yield "text at the joint is not kept"
        yield from self.covered(roles[0], past, "0", view, seen[0])

    def inner(self, past: Any, role: str, triple: Any) -> Say:
        if not self.admits("m", role, past) or self.after("m", role, past) != triple[0]:
            return
        if self.left(*(self.turn("m", role, past, view) for view in triple[1:])) != ([], []):
            yield f"a {role} message is written otherwise"
        yield from self.covered(role, past, "m", *triple[1:])

    def covered(self, role: str, past: Any, who: str, *views: Any) -> Say:
        old, new = (self.before(who, role, view) for view in views)
        if old != new and (past, old, new) not in self.shared["invariant"]:
            yield f"the invariant misses what stands before a {role} message"

    # states

    def end(self, prompt: bool, live: bool = False) -> Any:
        start = {"last": True, "end": not prompt, "live": live}
        return tuple(start.get(fact.time, False) for fact in self.future)

    def after(self, who: str, role: str, past: Any) -> Any:
        return tuple(self.step(who, role, *one) for one in zip(self.past, past, strict=True))

    def before(self, who: str, role: str, view: Any) -> Any:
        return tuple(self.step(who, role, *one) for one in zip(self.future, view, strict=True))

    def step(self, who: str, role: str, fact: Fact, value: bool) -> bool:
        if fact.time in ("first", "last", "end", "live"):
            return False
        if fact.among is not None and not self.holds(fact.among, {}, who, role):
            return value
        kept = value and fact.time in ("earlier", "later")
        return kept or bool(self.holds(fact.term, {}, who, role))

    def admits(self, who: str, role: str, past: Any) -> bool:
        facts, checks = dict(zip(self.past, past, strict=True)), self.program.checks.get(role, ())
        return all(self.holds(check.cond, facts, who, role) for check in checks)

    # conditions (None: it hangs on an item of a loop) and emissions (lists of tuples, texts among them)

    def holds(self, cond: Any, facts: Any, who: str, role: str) -> bool | None:
        match cond:
            case expr.Const(value):
                return value
            case expr.Not(term):
                found = self.holds(term, facts, who, role)
                return None if found is None else not found
            case expr.And(terms) | expr.Or(terms):
                sure, winner = True, isinstance(cond, expr.Or)
                for term in terms:
                    found = self.holds(term, facts, who, role)
                    if found is winner:
                        return winner
                    sure = sure and found is not None
                return not winner if sure else None
            case expr.Predicate(term=term):
                return self.holds(term, facts, who, role)
            case expr.RoleIs(wanted):
                return role == wanted
            case Fact():
                return bool(facts[cond])
            case expr.Quantified() if role != "assistant":
                return cond.quantifier == "every"
            case Test(kind, value, wanted) if (
                known := self.known(value, who, role)
            ) is not UNKNOWN:
                text = str(known or "")
                match kind:
                    case "is":
                        return bool(
                            known is wanted or (isinstance(wanted, str) and known == wanted)
                        )
                    case "starts" | "ends":
                        return bool(getattr(text, f"{kind}with")(wanted))
                    case _:
                        return bool(known) if kind == "truth" else str(wanted) in text
            case Test(value=value) | expr.Counted(value=value) if value.ref.scope == "item":
                return None
            case _:
                lead = (
                    getattr(getattr(getattr(cond, "value", None), "ref", None), "scope", "")
                    == "lead"
                )
                return self.ask("" if lead else who, cond)

    def known(self, value: expr.Value, who: str, role: str) -> Any:
        """A value that is the same for every message of the role."""
        scope, name, found = value.ref.scope, value.ref.name, UNKNOWN
        if scope in ("option", "tools"):
            tools: Any = ({},) if self.data["tools"] else None
            found = self.data["options"][name] if scope == "option" else tools
        elif scope == "message" and (not who or name in ("role", "parts")):
            found = {"role": role, "parts": False}.get(name) if who else None
        elif scope == "message" and role != "assistant" and name in ("reasoning", "calls"):
            found = ""
        if found is UNKNOWN or not value.filters:
            return found
        return str(found).capitalize() if value.filters[0].name == "capitalize" else UNKNOWN

    def turn(self, who: str, role: str, past: Any, view: Any) -> list[Any]:
        found = self.program.roles[role]
        if self.program.leading and role == "system" and past[self.past.index(FIRST)]:
            return []
        parts = (found.ops,) if isinstance(found, Plain) else (found.opener, found.body)
        ends = () if isinstance(found, Plain) else (found.closer, found.trailer)
        return [*chain(*(self.ops(part, past, view, who, role) for part in (*parts, *ends)))]

    def ops(self, ops: Any, past: Any, view: Any, who: str = "", role: str = "") -> list[Any]:
        facts = dict(zip((*self.past, *self.future), (*past, *view), strict=True))
        inner = partial(self.ops, past=past, view=view, who=who, role=role)
        found: list[Any] = []
        for op in ops:
            if isinstance(op, Write):
                found += [self.hole(part, who, role) for part in op.parts]
            elif isinstance(op, When):
                holds = self.holds(op.cond, facts, who, role)
                both = [tuple(inner(block)) for block in (op.then, op.otherwise)]
                fork = ("fork", op.cond, repr(facts), *both)
                found += [fork] if holds is None else both[not holds]
            else:
                blocks = [tuple(inner(block)) for block in (op.open, op.do, op.between, op.close)]
                loop = ("loop", who, op.over, op.of, op.variable, op.ordered, *blocks[1:3])
                if op.over == "arguments":
                    found.append((*loop, blocks[0], blocks[3]))
                elif self.data["tools"] if op.over == "tools" else who and self.ask(who, CALLS):
                    found += (
                        [*blocks[0], loop, *blocks[3]]
                        if role in ("", "assistant") or op.over == "tools"
                        else []
                    )
        return found

    def hole(self, part: Text | Body, who: str, role: str) -> Any:
        if isinstance(part, Text):
            return ("text", part.text)
        known = self.known(part.value, who, role)
        default = part.default or ""
        return (
            ("hole", who, part.value, default)
            if known is UNKNOWN
            else ("text", str(known or default))
        )

    def left(self, old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any] | None]:
        """What is left of both when they are matched; None for the second where they part."""
        old, new = ([token for token in side if token != ("text", "")] for side in (old, new))
        while old and new and (old[0] == new[0] or old[0][0] == new[0][0] == "text"):
            first, second = old.pop(0), new.pop(0)
            if first != second:
                size = min(len(first[1]), len(second[1]))
                if first[1][:size] != second[1][:size]:
                    return [first], None
                old[:0], new[:0] = [("text", first[1][size:])], [("text", second[1][size:])]
                return self.left(old, new)
        for side in (old, new) if old else ():
            if (
                side
                and side[0][0] == "hole"
                and not self.ask(side[0][1], Test("truth", side[0][2]))
            ):
                side[0] = ("text", side[0][3])
                return self.left(old, new)
        return old, None if old and new else new


def _state(digits: str) -> tuple[bool, ...]:
    return tuple(digit == "1" for digit in digits)


def _triple(text: str) -> Any:
    return tuple(_state(digits) for digits in text.split("/"))

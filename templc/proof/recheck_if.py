"""Checks the conditions of `stable if` cells against a program, by the questions of `recheck` and a walk of its own.

    recheck_conditions(program, certificate(stability)) == []       where each condition implies that all text is kept

A pair is two views of the future. A conversation is *at risk* under a pair when some message of it would be written
otherwise if the last one saw the second view. The walk lists the past states with their risks: where two texts are not
sure to differ, both ways are followed. At each of them, and for each way to end and to go on in which the condition
holds, everything written must be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from templc.ir.ops import Program
from templc.model.coded import decoded
from templc.proof.asking import PRIVATE, Say, Sensible
from templc.proof.recheck import Check

Pair = tuple[Any, Any]


def recheck_conditions(program: Program, data: Mapping[str, Any]) -> list[str]:
    """Every way in which a certified condition does not imply that text is kept."""
    if not data.get("conditions"):
        return []
    return list(dict.fromkeys(_Conditions(program, data).found()))


class _Conditions(Sensible, Check):
    """`pairs`: every pair that a message can have. `nodes`: past states with the pairs that put them at risk."""

    def found(self) -> Say:
        self.roles = [role for role in self.program.roles if role != "other"]
        self.pasts = {tuple(map(int, past)) for past in self.data["pasts"]}
        cells = self.data["conditions"]
        self.terms = [[[self.literal(one) for one in term] for term in c["terms"]] for c in cells]
        self.pairs: dict[Pair, None] = {}
        for cell in cells:
            self.all_pairs(cell)
        for _, kind, held in (one for terms in self.terms for term in terms for one in term):
            if kind == "risk":
                self.keep(*held[1:])
        self.nodes = self.walk()
        for cell, terms in zip(cells, self.terms, strict=True):
            for text in self.cell_if(cell["after"], cell["then"], terms):
                yield f"{cell['after']}, {cell['then']}: {text}"

    def literal(self, data: Any) -> tuple[bool, str, list[Any]]:
        want, kind, *held = data
        if kind == "risk":
            held = [held[0], *(tuple(map(int, view)) for view in held[1:])]
        elif kind in ("is", "lead"):
            held = [*held[:-1], decoded(held[-1])]
        elif kind == "alike":
            held = [*held[:-1], frozenset(map(decoded, held[-1]))]
        return bool(want), kind, held

    # pairs and nodes

    def added(self, after: str, then: str) -> list[str]:
        return [*["assistant"] * (after == "completion"), *[then] * (then != "end")]

    def ends(self) -> dict[Any, bool]:
        return {self.end(prompt): prompt for prompt in (True, False)}

    def all_pairs(self, cell: Mapping[str, Any]) -> None:
        prompted = cell["after"] in ("prompt", "completion")
        for end in self.ends():
            self.seen: set[Any] = {end}
            for role in reversed(self.added(cell["after"], cell["then"])):
                self.seen = {one for view in self.seen for one in self.views(role, view)}
            for view in self.seen:
                self.keep(self.end(prompted), view)

    def keep(self, old: Any, new: Any) -> None:
        if old != new and (old, new) not in self.pairs:
            self.pairs[old, new] = None
            self.before_it((old, new))

    def before_it(self, pair: Pair) -> None:
        for role in self.roles:
            for old, new in self.both(role, *pair):
                self.keep(old, new)

    def views(self, role: str, view: Any) -> set[Any]:
        return {old for old, _ in self.both(role, view, view)}

    def both(self, role: str, *pair: Any) -> set[Any]:
        found: set[Any] = set()

        def look() -> Iterator[str]:
            found.add(tuple(self.before("m", role, view) for view in pair))
            yield from ()

        list(self.all_ways(look))
        return found

    def walk(self) -> set[Any]:
        """The past states with their risks, from the start on."""
        start = (tuple(fact.time == "first" for fact in self.past), frozenset[Pair]())
        nodes, queue = {start}, [start]
        moves: dict[Any, set[Any]] = {}
        for past, risks in queue:
            if past not in moves:
                moves[past] = {move for role in self.roles for move in self.moves(past, role)}
            for behind, steps in moves[past]:
                after = frozenset(pair for pair, then, differs in steps if differs or then in risks)
                if (behind, after) not in nodes:
                    nodes.add((behind, after))
                    queue.append((behind, after))
        return nodes

    def moves(self, past: Any, role: str) -> set[Any]:
        found: set[Any] = set()

        def look() -> Iterator[str]:
            if self.admits("m", role, past):
                found.add((self.after("m", role, past), self.steps("m", role, past)))
            yield from ()

        list(self.all_ways(look))
        return found

    def steps(self, who: str, role: str, past: Any) -> tuple[Any, ...]:
        """For each pair: the one that the message before has, and whether this one is written otherwise."""
        return tuple(
            (
                pair,
                tuple(self.before(who, role, view) for view in pair),
                self.differs(who, role, past, pair),
            )
            for pair in self.pairs
        )

    def differs(self, who: str, role: str, past: Any, pair: Pair) -> bool:
        """Whether a message is written otherwise under the second view."""
        return self.other(who, *(self.turn(who, role, past, view) for view in pair))

    def other(self, who: str, old: str, new: str) -> bool:
        """Whether two texts of a message differ; where that hangs on its contents, it is asked."""
        left, more = self.apart(old, new)
        if not left and not more:
            return False
        # What both end with alike is no difference.
        while left and more and left[-1] == more[-1]:
            left, more = left[:-1], more[:-1]
        told = (left[:1], more[:1]) if left and more else (left or more,)
        some = all if left and more else any
        sure = some(ord(char) < PRIVATE for text in told for char in text)
        sure = sure or longer(left, more) or longer(more, left)
        return sure or self.ask(who, ("differs", old, new))

    def instead(self, old: str, new: str) -> str:
        return new if self.other("0", old, new) else old

    # conditions

    def cell_if(self, after: str, then: str, terms: list[Any]) -> Say:
        lasts = self.roles if after in ("prompt", "completion") else [after]
        added = self.added(after, then)
        if not added:
            yield "beyond this checker"
            return
        for (past, risks), last, prompt in product(self.nodes, lasts, self.ends().values()):
            here = [
                term
                for term in terms
                if all(
                    self.true(one, [last], past, past, risks, prompt) for one in term if early(one)
                )
            ]
            if here:
                given = past, risks, [last, *added], after, prompt, here
                yield from self.all_ways(self.kept_if, *given)

    def kept_if(
        self, past: Any, risks: Any, roles: list[str], after: str, prompt: bool, terms: Any
    ) -> Say:
        found = self.ending(past, roles, after, prompt)
        if found is None:
            return
        kept, pair, behind = found
        if kept and (pair[0] == pair[1] or tuple(pair) not in risks):
            return
        around = (roles, past, behind, risks, prompt)
        if any(all(self.true(one, *around) for one in term) for term in terms):
            yield "the condition holds, and text is not kept"

    def true(self, literal: Any, *around: Any) -> bool:
        """The truth of one literal at this place."""
        roles, past, behind, risks, prompt = around
        want, kind, held = literal
        match kind:
            case "fact":
                found = (behind if held[0] else past)[held[1]]
            case "risk":
                found = self.at_risk(held[1:], roles[0], past, risks, bool(held[0]))
            case "end":
                found = not prompt
            case "role":
                found = roles[held[0]] == held[1]
            case "lead":
                found = self.holds(held[0], {}, "")
            case "alike":
                found = roles[held[0]] == held[1] and self.ask(str(held[0]), held[2])
            case "is":
                cond = self.cond_of(held[2], held[1]) if roles[held[0]] == held[1] else None
                found = cond is not None and self.holds(cond, {}, str(held[0]))
            case _:  # What is not known here could hold.
                found = want
        return bool(found) is want

    def at_risk(self, pair: Any, last: str, past: Any, risks: Any, behind: bool) -> bool:
        """Whether the messages so far are at risk, up to the last one or with it."""
        if not behind:
            return tuple(pair) in risks
        before = tuple(self.before("0", last, view) for view in pair)
        return before in risks or self.differs("0", last, past, tuple(pair))


def longer(one: str, other: str) -> bool:
    """Whether a text is longer than another whatever stands in their holes."""
    holes, others = (Counter(c for c in text if ord(c) >= PRIVATE) for text in (one, other))
    return not others - holes and len(one) - holes.total() > len(other) - others.total()


def early(literal: Any) -> bool:
    """Whether a literal hangs on nothing but the walk."""
    _, kind, held = literal
    return kind == "end" or (kind in ("fact", "risk") and not held[0])

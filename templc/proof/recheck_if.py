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
from typing import Any, NamedTuple

from templc.ir.ops import Program
from templc.model.coded import decoded
from templc.proof.asking import PRIVATE, Say, Sensible
from templc.proof.recheck import Check

Pair = tuple[Any, ...]
Term = tuple[tuple[bool, Pair], ...]


class Way(NamedTuple):
    """One way to answer at a joint. told: the answers that conditions asked for; shown: it is sure to break."""

    kept: bool
    shown: bool
    pair: Pair
    terms: tuple[Term, ...]
    told: frozenset[Any]


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
            self.at = {"m": past}
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
        return sure or self.wonder(who, ("differs", old, new))

    def instead(self, old: str, new: str) -> str:
        return new if self.other("0", old, new) else old

    # conditions

    def cell_if(self, after: str, then: str, terms: list[Any]) -> Say:
        lasts = self.roles if after in ("prompt", "completion") else [after]
        added = self.added(after, then)
        if not added:
            yield "beyond this checker"
            return
        risks_of: dict[Any, list[Any]] = {}
        for past, risks in self.nodes:
            risks_of.setdefault(past, []).append(risks)
        for past, last, prompt in product(risks_of, lasts, self.ends().values()):
            self.ways: dict[Way, None] = {}
            list(self.all_ways(self.way, past, [last, *added], after, prompt, terms))
            for risks in risks_of[past]:
                yield from self.judged(risks)

    def way(self, past: Any, roles: list[str], after: str, prompt: bool, terms: Any) -> Say:
        found = self.ending(past, roles, after, prompt)
        if found is not None:
            kept, pair, behind = found
            shown = not kept and self.shown()
            self.strict = True
            left = [self.wanted(term, roles, past, behind, prompt) for term in terms]
            self.strict = False
            told = frozenset(one for one in self.said.items() if one[0] in self.meant)
            self.ways[Way(kept, shown, tuple(pair), tuple(one for one in left if one), told)] = None
        yield from ()

    def shown(self) -> bool:
        return True

    def judged(self, risks: Any) -> Say:
        """What is wrong with the condition behind messages with these risks.

        What is kept by chance, where answers to the same questions can also break it, is rightly left out.
        """
        spared: list[Any] = []
        broken: list[Any] = []
        for way in self.ways:
            holds = any(all((pair in risks) is want for want, pair in term) for term in way.terms)
            stays = way.kept and way.pair not in risks
            if holds and not stays:
                yield "the condition holds, and text is not kept"
            if not holds:
                breaks = way.pair in risks or way.shown
                (broken if breaks else spared).append(way.told)
        if any(not any(one <= told for one in broken) for told in spared):
            yield "the condition does not hold, and text is kept"

    def wanted(self, term: Any, *around: Any) -> Term | None:
        """The pairs that a term wants to be risks, or not to be; None where it fails already."""
        roles, past, behind, prompt = around
        found: list[tuple[bool, Pair]] = [(False, ((), ()))]
        for want, kind, held in term:
            if kind == "risk":
                pair = tuple(held[1:])
                if held[0]:
                    if self.differs("0", roles[0], past, pair):
                        if not want:
                            return None
                        continue
                    pair = tuple(self.before("0", roles[0], view) for view in pair)
                found.append((want, pair))
            elif self.true(kind, held, roles, past, behind, prompt, want) is not want:
                return None
        return tuple(found)

    def true(self, kind: str, held: Any, *around: Any) -> bool:
        """The truth of one literal at this place."""
        roles, past, behind, prompt, want = around
        match kind:
            case "fact":
                found = (behind if held[0] else past)[held[1]]
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
        return bool(found)


def longer(one: str, other: str) -> bool:
    """Whether a text is longer than another whatever stands in their holes."""
    holes, others = (Counter(c for c in text if ord(c) >= PRIVATE) for text in (one, other))
    return not others - holes and len(one) - holes.total() > len(other) - others.total()

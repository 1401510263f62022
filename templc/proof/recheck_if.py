"""Checks the conditions of `stable if` cells against a program, by the questions of `recheck` and the walk of `risks`.

    recheck_conditions(program, certificate(stability)) == []       where each condition is exact

At each past state with its risks, and for each way to end and to go on: where the condition holds, everything written
is kept, and where it does not hold, something is written otherwise. The second means: for some contents. Two texts
that a spec writes differently can be alike by chance, as when a content spells a mark of the format, and no condition
speaks of that. So where text is kept without the condition, messages that answer all questions of conditions in the
same way must be able to break it; where that is not sure for all of them, it is shown by samples: messages that are
stored with the certificate and read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations, product
from typing import Any, NamedTuple

from templc.ir.ops import Program
from templc.model.coded import decoded
from templc.model.expr import Test
from templc.proof.recheck import PRIVATE, Message, State, states
from templc.proof.risks import Pair, Risks
from templc.proof.samples import Samples, read
from templc.runtime import messages as runtime

Term = tuple[tuple[bool, Pair], ...]


class Way(NamedTuple):
    """One way to answer at a joint. told: what conditions asked for; shown: some messages break it.

    terms: those that may hold, as the pairs that they want to be risks or not to be.
    """

    kept: bool
    shown: bool
    pair: Pair
    terms: tuple[Term, ...]
    told: frozenset[Any]


def recheck_conditions(program: Program, data: Mapping[str, Any]) -> list[str]:
    """Every way in which a certified condition is too lax or too strict, where `recheck` finds the pasts complete."""
    if not data.get("conditions"):
        return []
    return list(dict.fromkeys(_Conditions(program, data).found()))


class _Conditions(Risks):
    """`nodes`: past states with the pairs that put them at risk. `ways`: those behind the joint that is looked at."""

    def found(self) -> Iterator[str]:
        cells = self.data["conditions"]
        self.terms = [[[self.literal(one) for one in term] for term in c["terms"]] for c in cells]
        self.seen_pairs, self.meant, self.holes = {}, set(), {}
        self.samples = Samples(self.program, self.data.get("samples", ()))
        self.settled: dict[Any, bool] = {}
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
            held = [held[0], *(states(self.future, view)[0] for view in held[1:])]
        elif kind in ("is", "lead"):
            held = [*held[:-1], decoded(held[-1])]
        elif kind == "alike":
            held = [*held[:-1], frozenset(map(decoded, held[-1]))]
        return bool(want), kind, held

    # conditions

    def cell_if(self, after: str, then: str, terms: list[Any]) -> Iterator[str]:
        lasts = self.roles if after in ("prompt", "completion") else [after]
        added = self.added(after, then)
        if not added:
            yield "beyond this checker"
            return
        asked = [held[-1] for term in terms for _, kind, held in term if kind == "is"]
        self.of_starts = any(isinstance(one, Test) and one.kind == "starts" for one in asked)
        risks_of: dict[Any, list[Any]] = {}
        for past, risks in self.nodes:
            risks_of.setdefault(past, []).append(risks)
        for past, last, end in product(risks_of, lasts, self.ends()):
            self.ways: dict[Way, None] = {}
            list(self.all_ways(self.way, past, [last, *added], after, end, terms))
            for risks in risks_of[past]:
                yield from self.judged(risks)

    def way(
        self, past: State, roles: list[str], after: str, end: State, terms: list[Any]
    ) -> Iterator[str]:
        self.meant, self.unsure = set(), False
        for changes, left, more, messages, *views in self.ending(past, roles, after, end):
            pair = tuple(self.before(messages[0], view) for view in views)
            self.strict = True
            held = [self.wanted(term, messages, end) for term in terms]
            self.strict = False
            shown = changes or (bool(left) and self.shown(roles, left, more))
            told = frozenset(one for one in self.said.items() if one[0] in self.meant)
            kept = not (changes or left or self.unsure)
            some = tuple(one for one in held if one)
            self.ways[Way(kept, shown, pair, some, told)] = None
        yield from ()

    def shown(self, roles: list[str], left: str, more: str) -> bool:
        """Whether the text is sure to break, or breaks with samples that answer all that was asked in this way."""
        chance = {who for who, _ in self.said.keys() - self.meant}
        if parts(left, more) and not chance:
            return True
        holes = [self.holes[char] for char in (left[:1] + more[:1]) if char in self.holes]
        about = sorted(chance | {m.name for m, *_ in holes})
        if "" in about and "system" in roles:  # It may be the leading one.
            return False
        told = [{q: said for (of, q), said in self.said.items() if of == who} for who in about]
        named = [roles[int(who)] if who else "system" for who in about]
        key = (
            left,
            more,
            *((who, role, *one.items()) for who, role, one in zip(about, named, told, strict=True)),
        )
        if key not in self.settled:
            fitting = [self.samples.fits(role, one) for role, one in zip(named, told, strict=True)]
            chosen = (dict(zip(about, found, strict=True)) for found in product(*fitting))
            self.settled[key] = any(self.breaks(left, more, given) for given in chosen)
        return self.settled[key]

    def breaks(self, left: str, more: str, given: Mapping[str, runtime.Message]) -> bool:
        """Whether two texts part with some messages put into them, and are alike where that was said."""
        for (who, question), said in self.said.items():
            if who in given and isinstance(question, tuple):
                both = [self.filled(one, given) for one in question[1:]]
                if (
                    both[0] != both[1] and any(parts(*pair) for pair in permutations(both))
                ) is not said:
                    return False
        return parts(*(self.filled(one, given) for one in (left, more)))

    def filled(self, text: str, given: Mapping[str, runtime.Message]) -> str:
        return "".join(
            str(read(self.holes[char][1], given[self.holes[char][0].name]) or self.holes[char][2])
            if char in self.holes and self.holes[char][0].name in given
            else char
            for char in text
        )

    def judged(self, risks: Any) -> Iterator[str]:
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

    def wanted(self, term: Any, messages: list[Message], end: State) -> Term | None:
        """The pairs that a term wants to be risks, or not to be; None where it fails already."""
        found: list[tuple[bool, Pair]] = [(False, ((), ()))]
        last = messages[0]
        for want, kind, held in term:
            if kind == "risk":
                pair = tuple(held[1:])
                if held[0]:
                    if self.differs(last, pair):
                        if not want:
                            return None
                        continue
                    pair = tuple(self.before(last, view) for view in pair)
                found.append((want, pair))
            elif self.true(kind, held, messages, end, want) is not want:
                return None
        return tuple(found)

    def true(self, kind: str, held: Any, messages: list[Message], end: State, want: bool) -> bool:
        """The truth of one literal at this place."""
        last = messages[0]
        match kind:
            case "fact":
                found = self.past[held[1]] in (self.after(last) if held[0] else last.past)
            case "end":
                found = not self.ends()[end]
            case "role":
                found = messages[held[0]].role == held[1]
            case "lead":
                found = self.holds(held[0], last)
            case "alike" | "is" if messages[held[0]].role != held[1]:
                found = False
            case "alike":
                found = self.ask(str(held[0]), held[2])
            case "is":
                found = self.holds(self.fixed.cond(held[2], held[1]), messages[held[0]])
            case _:  # What is not known here could hold.
                found = want
        return bool(found)


def parts(old: str, new: str) -> bool:
    """Whether a text is sure to be no beginning of another, whatever stands in their holes."""
    at = next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None
    )
    if at is None:
        return any(char < PRIVATE for char in old[len(new) :])
    return max(old[at], new[at]) < PRIVATE

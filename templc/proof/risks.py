"""The walk of conditions: every past state, with what puts the messages before it at risk.

A pair is two views of the future. A conversation is *at risk* under a pair when some message of it would be written
otherwise if the last one saw the second view. The walk lists the past states with their risks: where two texts are
not sure to differ, both ways are followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from templc.model.expr import Test
from templc.proof.asking import PRIVATE
from templc.proof.recheck import Check
from templc.proof.sensible import Sensible

Pair = tuple[Any, ...]


class Risks(Sensible, Check):
    """`pairs`: every pair that a message can have. `roles`: whose messages are accepted."""

    roles: list[str]
    pairs: dict[Pair, None]

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
        sure = sure or self.longer(left, more) or self.longer(more, left)
        return sure or self.wonder(who, ("differs", old, new))

    def instead(self, old: str, new: str) -> str:
        return new if self.other("0", old, new) else old

    def longer(self, one: str, other: str) -> bool:
        """Whether a text is longer than another whatever stands in their holes."""
        holes, others = (Counter(c for c in text if ord(c) >= PRIVATE) for text in (one, other))
        more = [self.holes.get(sign, ("", None)) for sign in holes - others]
        full = sum(bool(self.said.get((who, Test("truth", value)))) for who, value, *_ in more)
        return not others - holes and len(one) - holes.total() + full > len(other) - others.total()

"""The walk of conditions: every past state, with what puts the messages before it at risk.

A pair is two views of the future. A conversation is *at risk* under a pair when some message of it would be written
otherwise if the last one saw the second view. The walk lists the past states with their risks: where two texts are
not sure to differ, both ways are followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from templc.ir.ops import FIRST, Body, Each, Op, Ops, Text, When, Write, facts_read
from templc.model import expr
from templc.model.expr import LOOPED, Ref, Test, Value
from templc.proof.recheck import PRIVATE, SYSTEM, Message, State
from templc.proof.sensible import Sensible

Pair = tuple[Any, ...]
CALLS = Test("truth", Value(Ref("message", "calls")))


class Risks(Sensible):
    """`seen_pairs`: every pair that a message can have. `meant`: what conditions ask, and which texts are empty.

    All else is chance: whether two texts are alike; `strict`: nothing is. `holes`: whose text a sign is. `unsure`: what
    a model adds to a prompt hangs on contents. `of_starts`: the condition at hand speaks of how texts begin.
    """

    seen_pairs: dict[Pair, None]
    meant: set[Any]
    holes: dict[str, tuple[Message, Value, str]]
    strict = False
    unsure = False
    of_starts = False

    def ask(self, name: str, question: Any) -> bool:
        if self.strict or not isinstance(question, frozenset | tuple):
            self.meant.add((name, question))
        return super().ask(name, question)

    # texts

    def written(self, block: Ops, m: Message, view: State) -> str:
        return "".join(self.one(op, m, view) for op in block)

    def one(self, op: Op, m: Message, view: State) -> str:
        """What is written, with the ends of loops, and what is written for the first call."""
        if isinstance(op, When) and looped(op.cond):
            return self.sign(m, op, facts_read((op,)) & (m.past | view))
        found = super().written((op,), m, view)
        if isinstance(op, Each) and op.over in ("calls", "tools", "records"):
            if op.over == "calls" and not self.ask(m.name, CALLS):
                return ""
            first = op.do if op.over == "calls" else ()
            around = ((*op.open, *first), op.close)
            opening, close = (self.written(part, m, view) for part in around)
            return opening + found + close
        return found

    def part(self, part: Text | Body, m: Message) -> str:
        """A text of a message is a sign, though it may be empty: that is asked where it matters."""
        if isinstance(part, Text):
            return super().part(part, m)
        m = Message() if part.value.ref.scope == "lead" else m
        sign = self.sign(m, part.value, part.default)
        if part.value.ref.scope not in LOOPED:
            self.holes[sign] = (m, part.value, part.default or "")
        return sign

    def apart(self, old: str, new: str) -> tuple[str, str]:
        """As it is, where texts may be empty and two of one field alike."""
        left, more = super().apart(old, new)
        for sign in (left[:1], more[:1]):
            if sign in self.holes:
                m, value, default = self.holes[sign]
                if not self.holds(self.fixed.cond(Test("truth", value), m.role), m):
                    return self.apart(left.replace(sign, default), more.replace(sign, default))
        if left and self.alike(*(self.holes.get(sign) for sign in (left[:1], more[:1]))):
            return self.apart(left.replace(more[0], left[0]), more.replace(more[0], left[0]))
        return left, more

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two holes hold the same: it is asked of one field under different filters, when neither is empty."""
        same = one and other and one[0] == other[0] and one[1].ref == other[1].ref
        return bool(same) and self.ask(one[0].name, frozenset({one[1], other[1]}))

    def sampled(self, m: Message, behind: Message, now: State, prompt: str) -> str | None:
        """What may begin with what the prompt holds is taken not to: for some contents it does not.

        That a text does is chance, unless the condition speaks of how texts begin.
        """
        if self.of_starts:
            return super().sampled(m, behind, now, prompt)
        found = super().sampled(m, behind, now, "")
        self.unsure = found == self.sign("may begin with what the prompt holds")
        found = self.text("sampled", m, self.end(False, True)) if self.unsure else found
        return None if found is None else prompt + found

    def turns(self, m: Message, *views: State) -> tuple[str, ...]:
        """What the last message writes is the same where it is not sure to differ."""
        old, new = super().turns(m, *views)
        return old, new if m.name != "0" or self.other("0", old, new) else old

    def anew(self, m: Message, stands: bool) -> list[Any]:
        return [op for op in super().anew(m, stands) if self.says(op, m)]

    def says(self, op: Op, m: Message) -> bool:
        """Whether a system message writes anything in a loop over all of them, or must be read for a condition."""
        seen = SYSTEM in m.past
        if not isinstance(op, Each) or (seen and self.program.replacing):
            return True
        ops = (*(op.between if seen else (*op.open, *op.close)), *op.do)
        parts = [part for one in ops if isinstance(one, Write) for part in one.parts]
        values = [part.value for part in parts if isinstance(part, Body)]
        own = [Value(Ref("message", value.ref.part), value.filters) for value in values]
        sure = any(isinstance(part, Text) or part.default for part in parts)
        sure = sure or not all(isinstance(one, Write) for one in ops)
        return sure or any(self.ask(m.name, Test("truth", value)) for value in own)

    # the walk

    def added(self, after: str, then: str) -> list[str]:
        return [*["assistant"] * (after == "completion"), *[then] * (then != "end")]

    def ends(self) -> dict[State, bool]:
        return {self.end(prompt): prompt for prompt in (True, False)}

    def all_pairs(self, cell: Mapping[str, Any]) -> None:
        prompted = cell["after"] in ("prompt", "completion")
        for end in self.ends():
            seen = {end}
            for role in reversed(self.added(cell["after"], cell["then"])):
                seen = {one for view in seen for one, _ in self.both(role, view, view)}
            for view in seen:
                self.keep(self.end(prompted), view)

    def keep(self, old: State, new: State) -> None:
        if old != new and (old, new) not in self.seen_pairs:
            self.seen_pairs[old, new] = None
            for role in self.roles:
                for pair in self.both(role, old, new):
                    self.keep(*pair)

    def both(self, role: str, *pair: State) -> set[Any]:
        """What a message in front of one that sees a pair can see."""
        found: set[Any] = set()

        def look(m: Message) -> Iterator[str]:
            found.add(tuple(self.before(m, view) for view in pair))
            yield from ()

        for past in self.pairs:
            list(self.all_ways(look, Message("m", role, past)))
        return found

    def walk(self) -> set[Any]:
        """The past states with their risks, from the start on."""
        start = (frozenset({FIRST}), frozenset[Pair]())
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

    def moves(self, past: State, role: str) -> set[Any]:
        found: set[Any] = set()

        def look(m: Message) -> Iterator[str]:
            if (behind := self.after(m)) is not None:
                found.add((behind, self.steps(m)))
            yield from ()

        list(self.all_ways(look, Message("m", role, past)))
        return found

    def steps(self, m: Message) -> tuple[Any, ...]:
        """For each pair: the one that the message before has, and whether this one is written otherwise."""
        return tuple(
            (pair, tuple(self.before(m, view) for view in pair), self.differs(m, pair))
            for pair in self.seen_pairs
        )

    def differs(self, m: Message, pair: Pair) -> bool:
        """Whether a message is written otherwise under the second view."""
        return self.other(m.name, *(self.text("turn", m, view) for view in pair))

    def other(self, name: str, old: str, new: str) -> bool:
        """Whether two texts of a message differ; where that hangs on its contents, it is asked."""
        left, more = self.apart(old, new)
        if not left and not more:
            return False
        # What both end with alike is no difference.
        while left and more and left[-1] == more[-1]:
            left, more = left[:-1], more[:-1]
        told = (left[:1], more[:1]) if left and more else (left or more,)
        some = all if left and more else any
        sure = some(char < PRIVATE for text in told for char in text)
        sure = sure or self.longer(left, more) or self.longer(more, left)
        return sure or self.ask(name, ("differs", old, new))

    def longer(self, one: str, other: str) -> bool:
        """Whether a text is longer than another whatever stands in their holes."""
        holes, others = (Counter(c for c in text if c >= PRIVATE) for text in (one, other))
        more = [self.holes.get(sign) for sign in holes - others]
        asked = [(hole[0].name, Test("truth", hole[1])) for hole in more if hole]
        full = sum(self.said.get(one, False) for one in asked)
        return not others - holes and len(one) - holes.total() + full > len(other) - others.total()


def looped(cond: expr.Cond) -> bool:
    """Whether a condition reads what a loop walks."""
    if isinstance(cond, expr.Quantified):
        return False
    own = isinstance(cond, Test | expr.Counted) and cond.value.ref.scope in LOOPED
    return own or any(map(looped, expr.children(cond)))

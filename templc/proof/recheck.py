"""Checks the certificate of the stable cells of a program, and shares no code with the prover.

    recheck(program, certificate(stability)) == []          complaints, none for a certificate that holds

A cell claims: where a conversation that ends with `after` goes on with `then`, its text begins the new text. At a
place in a conversation the *past* is the set of the facts about earlier messages that are true there, and the *view*
that of the facts about later ones, for the message before it. A certificate lists pasts, and with each the pairs of
views that this message may have: in the old conversation and in the new one. It is an invariant, since it holds only if

- the past of the start is listed, and so is the past behind every message that is accepted at one (`anywhere`);
- at the end of a cell the text from the last message on begins what is written there anew, and the message before
  that sees the same as it did, or a pair that is listed (`joint`);
- a message before a listed past is written alike under each of its pairs, and the one before that sees the same under
  both, or again a pair that is listed (`anywhere`).

So no message but the last is written otherwise: by induction from the end of any conversation to its start. What a
message holds is not known: each question about it is answered both ways, and whatever it writes is a sign, one
character of a private plane for a text. The same text is the same sign, so what is alike is alike for all contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product, takewhile
from typing import Any, NamedTuple

from templc.ir import fixed, ops
from templc.model import coded, expr
from templc.model.expr import Fact, Test

PRIVATE = "\U000f0000"
PROMPTED = ("prompt", "completion")
SYSTEM = Fact("earlier", expr.RoleIs("system"), None, "earlier_system")
State = frozenset[Fact]


class Message(NamedTuple):
    """A message of which its place is known. Without a name: the leading one; without a role: where there is none."""

    name: str = ""
    role: str = ""
    past: State = frozenset()


def recheck(program: ops.Program, data: Mapping[str, Any]) -> list[str]:
    """Every way in which the certificate does not hold for the program."""
    try:
        return list(dict.fromkeys(Check(program, data).complaints()))
    except (LookupError, TypeError, ValueError) as error:
        return [f"the certificate does not fit: {error!r}"]


def once(work: Callable[..., Any]) -> Callable[..., Any]:
    """A method that remembers what it found by the answers that this hangs on: a tree with a branch for each."""

    def remembered(self: Check, *given: Any) -> Any:
        root = branch = self.known.setdefault((work, *given), {})
        while "asks" in branch:
            branch = branch.setdefault(self.ask(*branch["asks"]), {})
        if "found" not in branch:
            outer, self.trace = self.trace, []
            found, branch = work(self, *given), root
            for branch["asks"], said in self.trace:
                branch = branch.setdefault(said, {})
            branch["found"], self.trace = found, outer + self.trace
        return branch["found"]

    return remembered


class Check:
    """One certificate and its program. `pairs`: those of each past.

    `said`: the answers so far; `script`: those to give, then yes; `todo`: other scripts; `trace`: what was asked when.
    """

    def __init__(self, program: ops.Program, data: Mapping[str, Any]) -> None:
        self.program, self.data = program, data
        self.fixed = fixed.Fixed(data["options"], data["tools"])
        self.known, self.signs = dict[Any, Any](), dict[Any, str]()
        self.roles = [role for role in program.roles if role != "other"]
        facts = {name: Fact(*(*coded.decoded(one), name)) for name, one in data["facts"].items()}
        facts |= {fact.name: fact for fact in (ops.FIRST, *program.past)}
        self.past, self.future = tuple(facts[name] for name in data["past"]), tuple(program.future)
        self.pairs = {
            states(self.past, past)[0]: {states(self.future, pair) for pair in pairs}
            for past, pairs in data["pasts"].items()
        }

    def all_ways(self, check: Callable[..., Iterator[str]], *given: Any) -> Iterator[str]:
        """The complaints of a check, for every way to answer what it asks."""
        self.todo: list[tuple[bool, ...]] = [()]
        while self.todo:
            self.script, self.said, self.trace = self.todo.pop(), dict[Any, bool](), list[Any]()
            yield from check(*given)

    def ask(self, name: str, question: Any) -> bool:
        """The answer of a message: the same each time, and in another way to answer the other one."""
        key = name, question
        if key not in self.said:
            if len(self.said) == len(self.script):
                self.todo.append((*self.script, False))
                self.script = (*self.script, True)
            self.said[key] = self.script[len(self.said)]
        self.trace.append((key, self.said[key]))
        return self.said[key]

    def complaints(self) -> Iterator[str]:
        """What does not hold; ValueError where the certificate is for another program."""
        data, program = self.data, self.program
        names, times = [fact.name for fact in self.future], {fact.horizon for fact in self.past}
        told = data["version"], data["format"], data["future"], {*data["options"]}, times
        fits = told == (2, program.format, names, {*program.options, "as_template"}, {"past"})
        if not fits or data["options"]["as_template"]:
            raise ValueError("it is for another program")
        if frozenset({ops.FIRST}) not in self.pairs:
            yield "the start is not among the pasts"
        for past, role in product(self.pairs, self.roles):
            yield from self.all_ways(self.anywhere, Message("m", role, past))
        for cell in data["cells"]:
            for found in self.cell(cell["after"], cell["then"]):
                yield f"{cell['after']}, {cell['then']}: {found}"

    def anywhere(self, m: Message) -> Iterator[str]:
        """A message that is not the last: it leads to a listed past, and keeps its text under each pair of that."""
        if (behind := self.after(m)) not in (None, *self.pairs):
            yield f"the pasts are not closed under a {m.role} message"
        for old, new in self.pairs.get(behind, ()):
            if any(self.apart(*self.turns(m, old, new))):
                yield f"a {m.role} message is written otherwise"
            yield from self.covered(m, old, new)

    def covered(self, m: Message, *views: State) -> Iterator[str]:
        """What the message before this one sees under two views is the same, or a listed pair."""
        old, new = (self.before(m, view) for view in views)
        if old != new and (old, new) not in self.pairs[m.past]:
            yield f"the invariant misses what stands before a {m.role} message"

    def cell(self, after: str, then: str) -> Iterator[str]:
        """Every way to end and to go on; what a model sampled is the first message that is added."""
        lasts = self.roles if after in PROMPTED else [after]
        added = [*["assistant"] * (after == "completion"), *[then] * (then != "end")]
        if not {*lasts, *added} <= {*self.roles}:
            raise ValueError(f"{after}, {then} is no cell")
        for past, last, end in product(self.pairs, lasts, {self.end(False), self.end(True)}):
            yield from self.all_ways(self.joint, past, [last, *added], after, end)

    def joint(self, *place: Any) -> Iterator[str]:
        """The last message and those that are added: what was written is kept, and those before see what is listed."""
        for changes, left, _, messages, *views in self.ending(*place):
            if changes or left:
                yield "text at the joint is not kept"
            yield from self.covered(messages[0], *views)

    def ending(self, past: State, roles: Sequence[str], after: str, end: State) -> Iterator[Any]:
        """Whether the head changes, where texts part, the messages, and both views of the last; if it can go on so."""
        messages, views, now = [], [end], self.end(after in PROMPTED)
        for number, role in enumerate(roles):
            messages.append(Message(str(number), role, past))
            if (past := self.after(messages[-1])) is None:
                return
        for m in messages[:0:-1]:
            views.insert(0, self.before(m, views[0]))
        behind = Message(past=messages[1].past)
        old, new = self.turns(messages[0], now, views[0])
        ends = ("finish", *["prompt"] * (after in PROMPTED))
        tail: Any = "".join(self.text(name, behind, now) for name in ends)
        if after == "completion" and (tail := self.sampled(messages[1], behind, now, tail)) is None:
            return
        left, rest = self.apart(old + tail, new)
        for m, view in zip([*messages[1:], Message(past=past)], [*views[1:], end], strict=True):
            if left and not rest:
                left, rest = self.apart(left, self.text("turn" if m.role else "finish", m, view))
        hoisted = [m for m in messages[1:] if m.role == "system" and self.program.hoisting]
        yield any(self.anew(m, bool(tail)) for m in hoisted), left, rest, messages, now, views[0]

    def apart(self, old: str, new: str) -> tuple[str, str]:
        """What both texts have from the place on where they part."""
        at = len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])
        return old[at:], new[at:]

    def sampled(self, m: Message, behind: Message, now: State, prompt: str) -> str | None:
        """The prompt, which holds a part of some turns, and what a model adds; None: it cannot write what openers do.

        Where only a text of the message may begin with what is held, and nothing else can end that, it is asked.
        """
        opened = ops.values_written(self.block("assistant.opener", m.role)[0])
        if any(self.holds(Test("truth", one), m) for one in opened if one.ref.scope == "message"):
            return None
        whole = self.text("sampled", m, self.end(False, True))
        left, rest = self.apart(self.text("assistant.prefill", behind, now), whole)
        if not left or max(left[0], rest[:1]) < PRIVATE:
            return prompt + (whole if left else rest)
        of, *what = next(key for key, sign in self.signs.items() if sign in (left[0], rest[:1]))
        known = of == m and isinstance(what[0], expr.Value) and max(left + rest[1:2]) < PRIVATE
        if not known or rest[1:2] in left[1:] or not prompt.endswith(left):
            return prompt + self.sign("may begin with what the prompt holds")
        begins = self.ask(m.name, Test("starts", what[0], left))
        return prompt.removesuffix(left) + rest if begins else prompt + whole

    def anew(self, m: Message, stands: bool) -> list[Any]:
        """What one more system message writes anew in a head that reads all: not a loop at its end that goes on."""
        writing = [name for name, role in self.program.roles.items() if getattr(role, "ops", True)]
        spoken = Fact("earlier", expr.disjunction(*map(expr.RoleIs, writing)), None, "spoken")
        (head, _), seen = self.block("head", ""), self.holds(SYSTEM, m)
        stands = stands or self.holds(spoken, m) or (seen and self.program.replacing)
        read = ops.systems_read(head)
        asked = [op for op in read if isinstance(op, ops.When) and not seen]
        walked = [op for op in read if isinstance(op, ops.Each)]
        return asked + [op for op in walked if stands or op is not head[-1] or (seen and op.close)]

    def turns(self, m: Message, *views: State) -> tuple[str, ...]:
        """What a message writes under two views; nothing where its turn reads no difference between them."""
        same = (views[0] ^ views[1]).isdisjoint(self.block("turn", m.role)[1])
        return ("", "") if same else tuple(self.text("turn", m, view) for view in views)

    @once
    def block(self, name: str, role: str) -> tuple[ops.Ops, State]:
        """A block as messages of a role run it, and the facts that it reads."""
        block = self.fixed.ops(self.program.block(name, role), role)
        return block, ops.facts_read(block)

    @once
    def text(self, name: str, m: Message, view: State) -> str:
        """What a block writes for a message at its place."""
        return self.written(self.block(name, m.role)[0], m, view)

    def written(self, block: ops.Ops, m: Message, view: State) -> str:
        """A text with a sign for each text of a message that is not empty, and for each loop, empty or not."""
        found = ""
        for op in block:
            match op:
                case ops.Write(parts):
                    found += "".join(self.part(part, m) for part in parts)
                case ops.When(cond, then, otherwise):
                    found += self.written(then if self.holds(cond, m, view) else otherwise, m, view)
                case ops.Each():
                    found += self.sign(m, op, ops.facts_read((op,)) & (m.past | view))
        return found

    def part(self, part: ops.Text | ops.Body, m: Message) -> str:
        """Text of the format as it is; a character of the private plane has a sign too, lest it be taken for one."""
        if isinstance(part, ops.Body) and self.holds(Test("truth", part.value), m):
            return self.sign(m if part.value.ref.scope == "message" else "", part.value)
        text = part.text if isinstance(part, ops.Text) else part.default or ""
        return "".join(char if char < PRIVATE else self.sign(char) for char in text)

    def sign(self, *unknown: Any) -> str:
        """The character that stands for a text which these things decide."""
        return self.signs.setdefault(unknown, chr(ord(PRIVATE) + len(self.signs)))

    def end(self, prompt: bool, live: bool = False) -> State:
        """What the last message sees: behind it a prompt or nothing; `live`: the model is writing it."""
        true = {"last": True, "end": not prompt, "live": live}
        return frozenset(fact for fact in self.future if true.get(fact.time))

    @once
    def after(self, m: Message) -> State | None:
        """The past behind a message; None where it is not accepted."""
        checks = (self.fixed.cond(one.cond, m.role) for one in self.program.checks.get(m.role, ()))
        behind = (fact for fact in self.past if self.step(fact, m, fact in m.past))
        return frozenset(behind) if all(self.holds(cond, m) for cond in checks) else None

    @once
    def before(self, m: Message, view: State) -> State:
        """What the message before this one sees."""
        return frozenset(fact for fact in self.future if self.step(fact, m, fact in view))

    def step(self, fact: Fact, m: Message, value: bool) -> bool:
        """Whether a fact is true on the other side of a message."""
        if fact.term is None or (value and fact.time in ("earlier", "later")):
            return value and fact.term is not None
        among, term = (self.fixed.cond(one, m.role) for one in (fact.among, fact.term))
        return self.holds(term, m) if self.holds(among, m) else value

    def holds(self, cond: Any, m: Message, view: State | None = None) -> bool:
        """Whether a condition holds; without a view: one that cannot read a fact about later messages."""
        return expr.truth(cond, lambda term: self.answer(term, m, view))

    def answer(self, term: Any, m: Message, view: State | None) -> bool:
        """A fact is known; all else is asked, also a question about calls, in which no fact may hide."""
        for fact in (leaf for leaf in expr.leaves(term) if isinstance(leaf, Fact)):
            if fact != term or fact not in (self.past if view is None else self.past + self.future):
                raise ValueError(f"{fact.name} cannot be known here")
            return fact in m.past or fact in (view or ())
        lead = isinstance(term, Test | expr.Counted) and term.value.ref.scope == "lead"
        return self.ask("" if lead else m.name, term)


def states(facts: Sequence[Fact], text: str) -> tuple[State, ...]:
    """States, each written with one digit for each fact."""
    rows = (zip(facts, digits, strict=True) for digits in text.split("/"))
    return tuple(frozenset(fact for fact, digit in row if digit == "1") for row in rows)

"""The machine of a format: message classes, past and future states, and what each class writes in each of them.

    machine = Machine(program, Settings(options, tools=False))
    past = machine.after(machine.start, user)           # forward, from the start
    future = machine.before(machine.end(), user)        # backward, from the end
    machine.emission(assistant, past, future)

What is read of messages can be refined: `wanted` collects the atoms that would settle an unclear comparison, and
a machine made with them as `extra` tells those contents apart.

A past state is the truth of every past fact, and of a few more bits that only the proof needs; a future state is
the truth of every future fact. Everything here is a pure function of its arguments and is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from templc.ir import facts as rules
from templc.ir.ops import Body, Ops, Program, When, Write, walk
from templc.model import expr
from templc.model.expr import Cond, Fact, RoleIs, Test, Value
from templc.proof.atoms import (
    Bits,
    emptiness,
    known,
    leaves_of,
    on_lead,
    truth,
)
from templc.proof.classes import Extra, MessageClass, class_of, impossible, message_classes
from templc.proof.emission import (
    Emission,
    Hole,
    Kind,
    Match,
    Token,
    View,
    deciding,
    emit,
)
from templc.proof.given import Given
from templc.proof.head import changes_head
from templc.proof.prefilled import less
from templc.proof.values import Atom, Settings
from templc.runtime.fold import PROMPT
from templc.runtime.messages import Message

State = tuple[bool, ...]
Picked = Callable[[State], object]
Steps = tuple[tuple[bool, bool], ...]

FIRST = Fact("first", None, None, "first")
SYSTEM = Fact("earlier", RoleIs("system"), None, "earlier_system")


class Machine:
    """A program with everything fixed filled in. `past_facts` and `future_facts` name the bits of the states."""

    def __init__(
        self,
        program: Program,
        settings: Settings,
        extra: Extra = frozenset(),
        given: Given | None = None,
    ) -> None:
        self.program, self.settings, self.extra = program, settings, extra
        self._given = given = given or Given(program, settings)
        self.classes = message_classes(given, extra)
        self.wanted: set[tuple[str, Atom]] = set()
        self._by_key = {found.key: found for found in self.classes}
        self.registers = given.registers
        self.past_facts = _past_facts(program, self.registers)
        self.future_facts = tuple(program.future)
        self.lead = given.lead_tests
        self._seen_at_end: dict[tuple[bool, bool], State] = {}
        # The past of the first message, and what the last message of a finished conversation can see: without and
        # with a generation prompt.
        self.start = (*(rules.start(fact) for fact in self.past_facts), *(False for _ in self.lead))
        self.ends = tuple(dict.fromkeys((self.end(), self.end(prompt=True))))
        self._turns = given.turns
        ends = {"finish": program.finish, "prompt": program.prompt}
        ends["prefill"] = program.assistant.prefill
        self._ends = {name: given.ops(ops) for name, ops in ends.items()}
        sampled = (*program.assistant.body, *program.assistant.closer)
        self._sampled = given.ops(sampled, "assistant")
        self.opener_tests = given.opener_tests
        self._terms = {found: self._steps(found) for found in self.classes}
        self._after: dict[tuple[State, MessageClass], State] = {}
        self._before: dict[tuple[State, MessageClass], State] = {}
        # Few facts are read at each place, so what is found out there is known by those.
        self._reads = {role: self._facts_read(ops) for role, ops in self._turns.items()}
        self._reads_sampled, _ = self._facts_read((*self._sampled, *self._ends["prefill"]))
        self._reads_end = {name: self._facts_read(ops)[0] for name, ops in self._ends.items()}
        self._reads_checks = {role: self._checked(role) for role in self._turns}
        self._admits: dict[object, bool] = {}
        self._emissions: dict[object, Emission] = {}
        self._kept: dict[Emission, Emission] = {}
        self._holes: dict[object, dict[Body, Token]] = {}
        self._facts: dict[tuple[State, State], dict[Fact, bool]] = {}
        # How emissions of a class compare, for `letters.settled`; what is hoisted of a class.
        self.settled: dict[tuple[int, int, MessageClass], Match] = {}
        self._hoisted: dict[tuple[MessageClass, State, bool], bool] = {}

    def __repr__(self) -> str:
        return f"<machine of {self.program.format}, {len(self.classes)} classes>"

    # states

    def end(self, *, prompt: bool = False, live: bool = False) -> State:
        """What the last message sees of the future."""
        key = (prompt, live)
        if key not in self._seen_at_end:
            self._seen_at_end[key] = tuple(
                rules.start(fact, end=not prompt, live=live) for fact in self.future_facts
            )
        return self._seen_at_end[key]

    def after(self, past: State, found: MessageClass) -> State:
        """The past state behind a message."""
        key = (past, found)
        if key not in self._after:
            self._after[key] = self._stepped(past, found)
        return self._after[key]

    def _stepped(self, past: State, found: MessageClass) -> State:
        steps, size = self._terms[found][0], len(self.past_facts)
        pairs = zip(self.past_facts, past, steps, strict=False)
        bits = [rules.step(fact, value, *terms) for fact, value, terms in pairs]
        if past[self.past_facts.index(FIRST)]:
            return (*bits, *(self._leads(found, test) for test in self.lead))
        return (*bits, *past[size:])

    def before(self, future: State, found: MessageClass) -> State:
        """What the message before this one sees of the future."""
        key = (future, found)
        if key not in self._before:
            pairs = zip(self.future_facts, future, self._terms[found][1], strict=True)
            self._before[key] = tuple(
                rules.step(fact, value, *terms) for fact, value, terms in pairs
            )
        return self._before[key]

    def admits(self, past: State, found: MessageClass) -> bool:
        """Whether the format accepts the message at this place."""
        key = (found, self._reads_checks[found.role](past))
        known = self._admits.get(key)
        if known is None:
            known = self._admits[key] = self._accepts(past, found)
        return known

    def _checked(self, role: str) -> Picked:
        """What the checks of a role read of a past."""
        conds = self._given.checks[role]
        facts: set[object] = {leaf for cond in conds for leaf in leaves_of(cond)}
        facts |= {fact for fact, _ in self.registers}
        return _picking([at for at, fact in enumerate(self.past_facts) if fact in facts])

    def _accepts(self, past: State, found: MessageClass) -> bool:
        facts = self.facts(past, self.end())
        if any(
            found.bits[test] and not facts[fact]
            for fact, test in self._taken_over(found, "answered")
        ):
            return False
        if any(
            found.bits[test] != facts[fact]
            for fact, test in self._taken_over(found, "caller_content")
        ):
            return False
        return all(
            truth(cond, found.bits, facts) is not False for cond in self._given.checks[found.role]
        )

    def _taken_over(self, found: MessageClass, name: str) -> Iterator[tuple[Fact, Test]]:
        """The tests of a tool message on what it takes over from its caller."""
        for fact, test in self.registers:
            if test.value.ref.name == name and test in found.bits:
                yield fact, test

    def facts(self, past: State, future: State) -> dict[Fact, bool]:
        """Every fact with its value."""
        key = (past, future)
        found = self._facts.get(key)
        if found is None:
            found = dict(zip(self.past_facts, past, strict=False))
            found.update(zip(self.future_facts, future, strict=True))
            self._facts[key] = found
        return found

    def class_of(self, message: Message) -> MessageClass:
        """The class of a canonical message; KeyError for a role that the format does not have."""
        return class_of(message, self._by_key, self.settings)

    def has_class(self, role: str, bits: tuple[bool, ...]) -> bool:
        """Whether there is a class of the role with these truths of its atoms."""
        return (role, bits) in self._by_key

    def _steps(self, found: MessageClass) -> tuple[Steps, Steps]:
        """What the past facts and the future facts ask of a message: C and D of each."""
        past, future = (
            tuple((self._holds(fact.term, found), self._holds(fact.among, found)) for fact in facts)
            for facts in (self.past_facts, self.future_facts)
        )
        return past, future

    def _holds(self, cond: Cond | None, found: MessageClass) -> bool:
        if cond is None:
            return True
        value = truth(known(cond, found.role, self.settings), found.bits, {})
        assert value is not None, "every test of a fact is an atom"
        return value

    def _leads(self, found: MessageClass, test: Test) -> bool:
        if found.role != "system":
            return False
        return not test.value.ref.part or bool(found.bits.get(on_lead(test), False))

    def sampleable(self, found: MessageClass) -> bool:
        """Whether a model can sample the message: it has nothing that only the opener writes, such as a name."""
        return found.role == "assistant" and not any(found.bits[test] for test in self.opener_tests)

    def want(self, match: Match, around: Mapping[str, MessageClass]) -> None:
        """Note what would tell apart the contents for which an unclear match is one or the other."""
        holes = [token for token in match.rest if isinstance(token, Hole) and token.owner in around]
        values = [hole.value for hole in holes if hole.value.ref.scope == "message"]
        for hole in holes:
            for atom in emptiness(values):
                found = around[hole.owner]
                if match.kind == "unclear" and atom not in found.bits:
                    self.wanted.add((found.role, atom))

    def want_blank(
        self, old: Emission, new: Emission, around: Mapping[str, MessageClass], *kinds: Kind
    ) -> None:
        """Note which texts of messages, by being empty, make two texts compare as one of some kinds.

        That a message has nothing to write is no chance, as the likeness of two texts is: conditions speak of it.
        """

        def undecided(hole: Hole) -> bool:
            found, atom = around.get(hole.owner), Test("truth", hole.value)
            if found is None or hole.value.ref.scope != "message" or atom in found.bits:
                return False
            return not impossible({**found.bits, atom: False})

        for hole in deciding(old, new, kinds, undecided) or ():
            self.wanted.add((around[hole.owner].role, Test("truth", hole.value)))

    # what is written

    def kept(self, emission: Emission) -> Emission:
        """The emission that stands for all equal ones, so that one is known by its `id` as long as the machine is."""
        return self._kept.setdefault(emission, emission)

    def emission(self, found: MessageClass, past: State, future: State) -> Emission:
        """What a message writes; equal ones are one object."""
        of_past, of_future = self._reads[found.role]
        key = (found, of_past(past), of_future(future))
        known = self._emissions.get(key)
        if known is None:
            known = self._emissions[key] = self.kept(self._emission(found, past, future))
        return known

    def read(self, found: MessageClass, past: State, future: State) -> object:
        """What the turn of a message reads of the states around it."""
        of_past, of_future = self._reads[found.role]
        return of_past(past), of_future(future)

    def unlike(self, role: str, pasts: Iterable[State]) -> list[State]:
        """Of some pasts, one for each way that a turn of the role, and what is sampled of it, reads them."""
        picked = (self._reads[role][0], self._reads_sampled, *self._reads_end.values())
        return list({tuple(pick(past) for pick in picked): past for past in pasts}.values())

    def unlike_futures(self, role: str, futures: Iterable[State]) -> list[State]:
        """Of some futures, one for each way that a turn of the role reads them."""
        return list({self._reads[role][1](future): future for future in futures}.values())

    def _facts_read(self, ops: Ops) -> tuple[Picked, Picked]:
        """What the emission of operations can hang on: it is picked out of a past, and out of a future."""
        own, size = len(self.past_facts), len(self.past_facts) + len(self.lead)
        facts = {leaf for op in walk(ops) if isinstance(op, When) for leaf in leaves_of(op.cond)}
        facts |= {FIRST} if self.lead or self.program.leading else set()
        past = [at for at, fact in enumerate(self.past_facts) if fact in facts]
        future = [at for at, fact in enumerate(self.future_facts) if fact in facts]
        return _picking([*past, *range(own, size)]), _picking(future)

    def _emission(self, found: MessageClass, past: State, future: State) -> Emission:
        view = self._view(found, past, future)
        if self.program.leading and found.role == "system" and view.facts[FIRST]:
            return ()
        return emit(self._turns[found.role], view)

    def _view(self, found: MessageClass, past: State, future: State) -> View:
        """A message where it stands, with what is known of the leading one; the first message leads itself."""
        lead: tuple[bool, ...] = ()
        if self.lead:
            own = past[self.past_facts.index(FIRST)]
            seen = past[len(self.past_facts) :]
            lead = tuple(self._leads(found, test) for test in self.lead) if own else seen
        bits = found.bits
        if lead:
            bits = {**bits, **dict(zip(self.lead, lead, strict=True))}
        holes = self._holes.setdefault((found, lead), {})
        facts = self.facts(past, future)
        return View(found.role, bits, facts, self.settings, "m", holes=holes)

    def turn(self, role: str) -> Ops:
        """The operations of a role's turn, everything fixed filled in."""
        return self._turns[role]

    def written(self, role: str) -> tuple[Value, ...]:
        """The values of its message that a role's turn writes."""
        writes = (op for op in walk(self._turns[role]) if isinstance(op, Write))
        bodies = (part for op in writes for part in op.parts if isinstance(part, Body))
        values = (body.value for body in bodies if body.value.ref.scope == "message")
        return tuple(dict.fromkeys(values))

    def written_at_end(self, name: str, past: State) -> Emission:
        """The `finish` or the `prompt` behind a past."""
        key = (name, self._reads_end[name](past))
        known = self._emissions.get(key)
        if known is None:
            bits: Bits = dict(zip(self.lead, past[len(self.past_facts) :], strict=True))
            view = View("", bits, self.facts(past, self.end()), self.settings, "", PROMPT)
            known = self._emissions[key] = self.kept(emit(self._ends[name], view))
        return known

    def sampled(self, found: MessageClass, past: State) -> Emission:
        """What the model samples when it answers so, less what the prompt already holds."""
        key = ("sampled", found, self._reads_sampled(past))
        known = self._emissions.get(key)
        if known is None:
            whole = emit(self._sampled, self._view(found, past, self.end(live=True)))
            left = less(whole, self.written_at_end("prefill", past), found.bits)
            known = self._emissions[key] = self.kept(left)
        return known

    def hoisted(self, found: MessageClass, past: State, *, stands: bool = True) -> bool:
        """Whether a later message changes the head, or adds to its end where something `stands` behind it.

        Never, unless it is a system message of a hoisting format.
        """
        if not self.program.hoisting or found.role != "system":
            return False
        key = (found, past, stands)
        if key not in self._hoisted:
            view = View("system", found.bits, self.facts(past, self.end()), self.settings, "m")
            seen, head = view.facts[SYSTEM], self._given.ops(self.program.head)
            self._hoisted[key] = changes_head(self.program, head, view, seen=seen, stands=stands)
        return self._hoisted[key]

    def silent(self, past: State) -> bool:
        """Whether no turn before this place can have written anything."""
        return not dict(zip(self.past_facts, past, strict=False)).get(_spoken(self.program), True)


def _picking(places: Sequence[int]) -> Picked:
    """Picks some bits out of a state."""
    return itemgetter(*places) if places else lambda state: None


def _past_facts(program: Program, taken_over: tuple[tuple[Fact, Test], ...]) -> tuple[Fact, ...]:
    extra = (FIRST, *((SYSTEM, _spoken(program)) if program.hoisting else ()))
    return tuple(dict.fromkeys((*program.past, *extra, *(fact for fact, _ in taken_over))))


def _spoken(program: Program) -> Fact:
    """Whether an earlier message has a role that writes something where it stands."""
    roles = [role for role in program.roles if role == "assistant" or _writes(program, role)]
    return Fact("earlier", expr.disjunction(*(RoleIs(role) for role in roles)), None, "spoken")


def _writes(program: Program, role: str) -> bool:
    return bool(getattr(program.roles[role], "ops", ()))


def run(
    machine: Machine, word: Iterable[MessageClass], past: State | None = None
) -> Iterator[State]:
    """The past before each message of a word, and behind the last one."""
    past = machine.start if past is None else past
    yield past
    for found in word:
        past = machine.after(past, found)
        yield past


def view_back(machine: Machine, word: tuple[MessageClass, ...], last: State) -> list[State]:
    """What each message of a word sees of the future when the last one sees `last`."""
    found = [last] if word else []
    for later in reversed(word[1:]):
        found.append(machine.before(found[-1], later))
    return found[::-1]

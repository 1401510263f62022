"""Reasons: why a cell is not stable, and the conditions of the spec that decide it.

reason = reason_of(walk, place, cases)
reason.text           "an assistant turn is written otherwise once a query message comes later"
reason.deciders[0]    Decider("later_query", span of `later(query)`, "whether a query message comes later")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from templc.ir.facts import meaning
from templc.ir.ops import Each, Ops, When, Write
from templc.model.expr import Cond, Fact
from templc.proof.atoms import Bits, leaves_of, truth
from templc.proof.classes import MessageClass
from templc.proof.emission import compare, joined
from templc.proof.joint import Place
from templc.proof.machine import Machine, State
from templc.proof.outcomes import Case, Outcomes, Outlook, Pair, Stand
from templc.proof.search import Walk
from templc.proof.words import a, listed
from templc.source.span import Span


@dataclass(frozen=True, slots=True)
class Decider:
    """A place of the spec that decides whether old text is kept: `why` says what it reads or writes."""

    span: Span
    why: str

    @property
    def line(self) -> int:
        return self.span.line


@dataclass(frozen=True, slots=True)
class Reason:
    """Why old text changes, in words, with the places that decide it, most telling first."""

    text: str
    deciders: tuple[Decider, ...]


def reason_of(walk: Walk, place: Place, outcomes: Outcomes) -> Reason:
    """What the changing cases of a cell have in common."""
    told: dict[str, dict[str, None]] = {}
    deciders: dict[Decider, None] = {}
    for who, why, decider in dict.fromkeys(
        found for case in _unlike(walk, place, outcomes) for found in _found(walk, place, case)
    ):
        told.setdefault(who, {}).setdefault(why)
        deciders.setdefault(decider)
    words = [f"{who} {listed(list(whys))}" if any(whys) else who for who, whys in told.items()]
    return Reason(listed(words) if words else "", tuple(deciders))


def _unlike(walk: Walk, place: Place, outcomes: Outcomes) -> Iterable[Case]:
    """One changing case for each reason that there may be."""
    found: dict[object, Case] = {}
    unlike: dict[Outlook, list[Stand]] = {}
    # Nothing else of a conversation tells.
    alike = {(spot.node.past, spot.last, spot.outlook): spot for spot in outcomes.spots}
    for node, last, outlook in alike.values():
        if outlook not in unlike:
            behind = walk.machine.after(node.past, last.sample)
            unlike[outlook] = list(_unlike_stands(walk, behind, outlook))
        for stand in unlike[outlook]:
            case = Case(node, last, stand.way, stand.pair)
            found.setdefault(_key(walk, place, case), case)
    return found.values()


def _unlike_stands(walk: Walk, behind: State, outlook: Outlook) -> Iterable[Stand]:
    """The same of one outlook."""
    found: dict[object, Stand] = {}
    for stand in outlook.stands:
        if not stand.kept:
            added = stand.way.addition
            answer = (added.classes[0], added.seen[0]) if added.answered else None
            head = walk.joint.head_changes(behind, added.classes)
            found.setdefault((added.view, answer, head), stand)
    return found.values()


def _key(walk: Walk, place: Place, case: Case) -> object:
    """What a reason depends on; what is added matters only where the turns before it are kept."""
    added, past = case.way.addition, case.node.past
    behind = walk.machine.after(past, case.last.sample)
    if walk.joint.head_changes(behind, added.classes):
        return None
    views = walk.joint.views(place.prompted, added)
    earlier = case.pair in case.node.changed
    if earlier or walk.differs(case.last, past, views):
        return past, case.last, views, earlier
    return (behind, added.classes[0], added.seen[0]) if added.answered else behind


# Who is written otherwise, according to what, and where the spec says so.
Found = tuple[str, str, Decider]


def _found(walk: Walk, place: Place, case: Case) -> Iterator[Found]:
    machine, last, added = walk.machine, case.last.sample, case.way.addition
    behind = machine.after(case.node.past, last)
    if walk.joint.head_changes(behind, added.classes):
        span = machine.program.head[0].span
        yield (
            "the head depends on the system messages",
            "",
            Decider(span, "written before all turns"),
        )
        return
    views, pair = walk.joint.views(place.prompted, added), case.pair
    if pair in case.node.changed:
        if pair not in walk.explained:
            walk.explained[pair] = tuple(dict.fromkeys(_earlier(walk, pair)))
        yield from walk.explained[pair]
    if walk.differs(case.last, case.node.past, views):
        yield from _flips(walk, last, case.node.past, views)
    elif pair not in case.node.changed:
        yield from _behind_last(walk, place, case)


def _earlier(walk: Walk, pair: Pair) -> Iterator[Found]:
    """What flips in the messages before the last one, however far back."""
    seen, queue = {pair}, [pair]
    for now in queue:
        for letter in walk.letters:
            for past in walk.alphabet.pasts:
                if walk.differs(letter, past, now):
                    yield from _flips(walk, letter.sample, past, now)
            then = walk.step(now, letter)
            if then[0] != then[1] and then not in seen:
                seen.add(then)
                queue.append(then)


def _flips(walk: Walk, found: MessageClass, past: State, pair: Pair) -> tuple[Found, ...]:
    """The conditions of a turn that are decided otherwise under the second view."""
    machine = walk.machine
    if machine.emission(found, past, pair[0]) == machine.emission(found, past, pair[1]):
        return ()
    key = (found, *(machine.read(found, past, view) for view in pair))
    if key not in walk.explained:
        old, new = (machine.facts(past, view) for view in pair)
        walk.explained[key] = tuple(_flipping(machine, found, old, new))
    return walk.explained[key]


def _flipping(
    machine: Machine, found: MessageClass, old: dict[Fact, bool], new: dict[Fact, bool]
) -> Iterator[Found]:
    for op, facts in flipped(machine.turn(found.role), found.bits, old, new):
        for fact in facts:
            span = fact.span or op.span
            why = meaning(fact)
            yield f"{a(found.role)} turn depends on", why, Decider(span, why)


def flipped(
    ops: Ops, bits: Bits, old: dict[Fact, bool], new: dict[Fact, bool]
) -> Iterator[tuple[When, list[Fact]]]:
    """The choices that two sets of facts decide differently, outer ones first, with the facts that differ."""
    for op in ops:
        match op:
            case Write():
                continue
            case Each(open=opening, do=do, between=between, close=close):
                for block in (opening, do, between, close):
                    yield from flipped(block, bits, old, new)
            case When(cond, then, otherwise):
                before, after = truth(cond, bits, old), truth(cond, bits, new)
                if before != after:
                    leaves = [leaf for leaf in leaves_of(cond) if isinstance(leaf, Fact)]
                    differing = [fact for fact in dict.fromkeys(leaves) if old[fact] != new[fact]]
                    yield op, _telling(cond, bits, old, new, differing)
                elif before is None:
                    for block in (then, otherwise):
                        yield from flipped(block, bits, old, new)
                else:
                    yield from flipped(then if before else otherwise, bits, old, new)


def _telling(
    cond: Cond, bits: Bits, old: dict[Fact, bool], new: dict[Fact, bool], facts: list[Fact]
) -> list[Fact]:
    """Of the differing facts, those that alone decide the condition otherwise; all of them where none does."""
    before = truth(cond, bits, old)
    return [
        fact for fact in facts if truth(cond, bits, {**old, fact: new[fact]}) != before
    ] or facts


def _behind_last(walk: Walk, place: Place, case: Case) -> Iterator[Found]:
    """What does not fit behind the last turn: the finish, the prompt, or what was sampled."""
    machine, added, program = walk.machine, case.way.addition, walk.machine.program
    behind = machine.after(case.node.past, case.last.sample)
    if added.answered and _prompt_fits(machine, added.classes[0], behind, added.seen[0]):
        key = (added.classes[0], behind, added.seen[0])
        if key not in walk.explained:
            walk.explained[key] = tuple(_sampled_otherwise(machine, *key))
        yield from walk.explained[key]
    elif place.prompted:
        ops = program.assistant.prefill or program.prompt
        span = ops[0].span if ops else program.span
        decider = Decider(span, "what the prompt writes")
        yield "the generation prompt is not how every answer begins", "", decider
    elif machine.written_at_end("finish", behind):
        decider = Decider(program.finish[0].span, "written behind the last message")
        yield "what ends the text is not how every turn begins", "", decider


def _prompt_fits(machine: Machine, answer: MessageClass, behind: State, view: State) -> bool:
    prompt = (*machine.written_at_end("finish", behind), *machine.written_at_end("prompt", behind))
    return compare(joined(prompt), machine.emission(answer, behind, view)).prefix


def _sampled_otherwise(
    machine: Machine, answer: MessageClass, behind: State, view: State
) -> Iterator[Found]:
    """What a finished turn decides otherwise than the model did when it sampled it."""
    old, new = machine.facts(behind, machine.end(live=True)), machine.facts(behind, view)
    for op, facts in flipped(machine.turn("assistant"), answer.bits, old, new):
        for fact in facts:
            why = meaning(fact)
            yield "an assistant turn depends on", why, Decider(fact.span or op.span, why)

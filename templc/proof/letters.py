"""Letters: message classes that no question of stability tells apart, as one.

    alphabet = Alphabet(machine)        # Qwen3: six letters out of thirty classes

Two classes are one letter when they have the same role, step every reachable state alike, are accepted at the same
places, and when what they write differs between any two futures in the same way. Proved cells do not rest on this:
the certificate is checked class by class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, permutations
from typing import Any

from templc.proof.classes import MessageClass
from templc.proof.emission import Emission, Lit, Match, compare, joined, text_of
from templc.proof.machine import Machine, State
from templc.proof.prefilled import compared, plainly, undecided
from templc.runtime.messages import Message


@dataclass(frozen=True, slots=True, eq=False)
class Letter:
    """Classes that behave alike, those with the simplest example first; `sample` stands for all of them."""

    role: str
    classes: tuple[MessageClass, ...]

    @property
    def sample(self) -> MessageClass:
        return self.classes[0]

    @property
    def real(self) -> bool:
        """Whether some message is known to be of this letter."""
        return bool(self.sample.examples)


class Alphabet:
    """The letters of a machine with its reachable states."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.pasts = reachable_pasts(machine)
        self.futures = reachable_futures(machine)
        roles = dict.fromkeys(found.role for found in machine.classes)
        self._futures = {role: machine.unlike_futures(role, self.futures) for role in roles}
        self._reach = self._longest_open_end()
        grouped: dict[Any, list[MessageClass]] = {}
        self.classes = tuple(
            found
            for found in machine.classes
            if any(machine.admits(past, found) for past in self.pasts)
        )
        for found in self.classes:
            grouped.setdefault(self._signature(found), []).append(found)
        letters = [
            Letter(group[0].role, tuple(_simplest_first(group))) for group in grouped.values()
        ]
        self.letters = tuple(letters)
        self._of = {found: letter for letter in letters for found in letter.classes}

    def letter(self, found: MessageClass) -> Letter:
        """The letter of a class."""
        return self._of[found]

    def _signature(self, found: MessageClass) -> Any:
        machine = self.machine
        admitted = tuple(machine.admits(past, found) for past in self.pasts)
        places = machine.unlike(found.role, compress(self.pasts, admitted))
        return (
            found.role,
            machine.sampleable(found),
            admitted,
            tuple(machine.after(past, found) for past in self.pasts),
            tuple(machine.before(future, found) for future in self.futures),
            tuple(self._written(found, past) for past in places),
            tuple(self._sampled(found, past) for past in places)
            if found.role == "assistant"
            else (),
            tuple(
                machine.hoisted(found, past, stands=stands)
                for past in (self.pasts if machine.program.hoisting else ())
                for stands in (True, False)
            ),
        )

    def _texts(self, found: MessageClass, past: State) -> list[Emission]:
        """What a message writes in each future that its turn tells apart."""
        return [self.machine.emission(found, past, at) for at in self._futures[found.role]]

    def _written(self, found: MessageClass, past: State) -> Any:
        """How what is written differs between futures, and how it begins."""
        texts = self._texts(found, past)
        kinds = list({id(text): text for text in texts}.values())
        pairs = [
            self._outcome(one, other, found) for one in kinds for other in kinds if one is not other
        ]
        starts = tuple(leading(kind)[: self._reach] for kind in kinds)
        number = {id(kind): at for at, kind in enumerate(kinds)}
        return tuple(number[id(text)] for text in texts), tuple(pairs), starts

    def _sampled(self, found: MessageClass, past: State) -> Any:
        """How the prompt, and what the model sampled, stand to what a render writes, in each future."""
        machine = self.machine
        ends = (machine.written_at_end(name, past) for name in ("finish", "prompt"))
        prompt = joined(tuple(token for end in ends for token in end))
        texts = self._texts(found, past)
        given = tuple(compare(prompt, text).kind for text in texts)
        for text in (one for one, kind in zip(texts, given, strict=True) if kind == "unclear"):
            machine.want_blank(prompt, text, {"m": found}, "same", "longer")
        old = machine.kept(joined((*prompt, *machine.sampled(found, past))))
        return given, tuple(self._outcome(old, text, found) for text in texts)

    def _longest_open_end(self) -> int:
        """How many characters of the message after it can decide whether the last one keeps its text."""
        machine = self.machine
        ends = [machine.written_at_end("finish", past) for past in self.pasts]
        kinds: dict[frozenset[int], dict[int, Emission]] = {}
        for found in machine.classes:
            for past in machine.unlike(found.role, self.pasts):
                texts = {id(text): text for text in self._texts(found, past)}
                kinds.setdefault(frozenset(texts), texts)
        for texts in kinds.values():
            pairs = permutations(texts.values(), 2)
            matches = [compare(one, other) for one, other in pairs]
            ends += [match.rest for match in matches if match.kind in ("rest", "longer")]
        return max(sum(len(t.text) if isinstance(t, Lit) else 1 for t in end) for end in ends)

    def _outcome(self, old: Emission, new: Emission, found: MessageClass) -> Match:
        return settled(self.machine, old, new, found)


def settled(machine: Machine, old: Emission, new: Emission, found: MessageClass) -> Match:
    """How two emissions of a class compare; what is unclear is a clash where an example shows that they differ."""
    # Emissions of the machine are kept as long as it is.
    key = (id(old), id(new), found)
    match = machine.settled.get(key)
    if match is None:
        match = machine.settled[key] = _settled(machine, old, new, found)
    return match


def _settled(machine: Machine, old: Emission, new: Emission, found: MessageClass) -> Match:
    match = compared(old, new)
    if match.kind != "unclear" or undecided(match):
        return match
    differ = [_differ(old, new, message, machine) for _, message in found.examples]
    if not differ or not all(differ):
        machine.want(match, {"m": found})
    else:
        machine.want_blank(plainly(old), new, {"m": found}, "same", "longer", "rest")
    return Match("clash") if any(differ) else Match("unclear")


def _differ(old: Emission, new: Emission, message: Message, machine: Machine) -> bool:
    texts = [text_of(one, {"m": message}, machine.settings) for one in (old, new)]
    return not texts[1].startswith(texts[0])


def leading(emission: Emission) -> str:
    """The text of the format that an emission begins with."""
    first = emission[0] if emission else None
    return first.text if isinstance(first, Lit) else ""


def _simplest_first(group: list[MessageClass]) -> Iterable[MessageClass]:
    return sorted(group, key=lambda found: not found.examples)


def reachable_pasts(machine: Machine) -> tuple[State, ...]:
    """Every past state that accepted messages lead to, nearest first."""
    found = {machine.start: None}
    queue = [machine.start]
    for past in queue:
        for one in machine.classes:
            if machine.admits(past, one):
                then = machine.after(past, one)
                if then not in found:
                    found[then] = None
                    queue.append(then)
    return tuple(found)


def reachable_futures(machine: Machine) -> tuple[State, ...]:
    """Every future state of a finished conversation, nearest to its end first."""
    found = dict.fromkeys(machine.ends)
    queue = list(found)
    for future in queue:
        for one in machine.classes:
            seen = machine.before(future, one)
            if seen not in found:
                found[seen] = None
                queue.append(seen)
    return tuple(found)

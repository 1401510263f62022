"""The joint: is what stands at the end of a conversation kept when something is added to it?

    joint = Joint(machine)
    joint.match(False, past, assistant, joint.addition((user,), end))

A place of the stability table is what the conversation ends with (a role, `prompt`, or `completion`: a prompt and
what the model sampled) and what comes next (a role, or `end` for nothing). At the joint a prefix is enough: text of
the last message may be completed by its new emission and by what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from templc.proof.classes import KEPT, MessageClass
from templc.proof.emission import Emission, Match, joined, owned, text_of
from templc.proof.machine import Machine, State, view_back
from templc.proof.prefilled import compared, plainly, undecided
from templc.runtime.messages import Message

PROMPT = "prompt"
COMPLETION = "completion"
END = "end"


class Place(NamedTuple):
    """A cell of the table: what the conversation ends with, and what comes next."""

    after: str
    then: str

    @property
    def prompted(self) -> bool:
        return self.after in (PROMPT, COMPLETION)


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """What is added behind a last message; `answered`: the first of it is what the model sampled.

    seen: what each added message sees of the future. view: what the last message sees.
    """

    classes: tuple[MessageClass, ...]
    answered: bool
    end: State
    seen: tuple[State, ...]
    view: State


class Views(NamedTuple):
    """What the last message sees of the future: in the old render, and in the new one."""

    old: State
    new: State


# An emission, and which of the added messages wrote it; LAST: the last message did; None: none did.
Part = tuple[Emission, int | None]
Parts = tuple[Part, ...]
LAST = -1


class Tail(NamedTuple):
    """What stands behind the last message in the old text and in the new one; `key`: the same for equal parts.

    clash: the head changes, and something stands behind it.
    """

    old: Parts
    new: Parts
    key: object
    clash: bool


class Joint:
    """Comparisons at the joint, remembered."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._additions: dict[object, Addition] = {}
        self._tails: dict[object, Tail] = {}
        self._compared: dict[object, Match] = {}
        self._known: dict[object, Match] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._owned: dict[tuple[int, int], Emission] = {}

    def addition(
        self, classes: tuple[MessageClass, ...], end: State, *, answered: bool = False
    ) -> Addition:
        """Messages as an addition; the last of them sees `end`."""
        key = (classes, end, answered)
        if key not in self._additions:
            seen = view_back(self.machine, classes, end)
            view = self.machine.before(seen[0], classes[0]) if classes else end
            self._additions[key] = Addition(classes, answered, end, tuple(seen), view)
        return self._additions[key]

    def views(self, prompted: bool, added: Addition) -> Views:
        """The two views of the last message."""
        return Views(self.machine.end(prompt=prompted), added.view)

    def match(self, prompted: bool, past: State, last: MessageClass, added: Addition) -> Match:
        """How the end of the old text, from the last message on, stands to the new text.

        prompted: the old text ends with a generation prompt. past: before the last message.
        """
        views = self.views(prompted, added)
        written = {view: self.machine.emission(last, past, view) for view in views}
        return self.followed(prompted, self.machine.after(past, last), last, written, added)

    def followed(
        self,
        prompted: bool,
        behind: State,
        last: MessageClass,
        written: Mapping[State, Emission],
        added: Addition,
    ) -> Match:
        """`match`, where it is known how the last message is written under each view."""
        tail = self._tail(prompted, behind, added)
        if tail.clash:
            return Match("clash")
        old, new = written[self.machine.end(prompt=prompted)], written[added.view]
        # Where the last message is written alike, only what stands behind it matters.
        alike = old is new
        key = tail.key if alike else (id(old), id(new), tail.key)
        match = self._compared.get(key)
        if match is None:
            texts = (self._tokens(side) for side in _sides(alike, old, new, tail))
            match = self._compared[key] = compared(*texts)
        if match.kind != "unclear":
            return match
        full = (None if alike else last, key, added.classes)
        if full not in self._known:
            sides, around = _sides(alike, old, new, tail), (*added.classes, last)
            self._known[full] = self._by_examples(match, sides, around)
        return self._known[full]

    def _by_examples(
        self,
        match: Match,
        sides: tuple[Parts, Parts],
        around: tuple[MessageClass, ...],
    ) -> Match:
        """An unclear match, which is a clash where an example shows that the texts differ."""
        rest = undecided(match)
        if rest is not None:
            # Examples do not tell how all other texts of the class begin.
            self.machine.wanted |= {("assistant", rest.asks)} if rest.asks else set()
            return match
        differ = list(self._differ(sides, around))
        names = [*map(_name, range(len(around) - 1)), _name(LAST)]
        of = dict(zip(names, around, strict=True))
        if not differ or not all(differ):
            self.machine.want(match, of)
        else:
            old, new = (self._tokens(side) for side in sides)
            self.machine.want_blank(plainly(old), new, of, "same", "longer")
        return Match("clash") if any(differ) else match

    def texts(
        self, prompted: bool, past: State, last: MessageClass, added: Addition
    ) -> tuple[Emission, Emission]:
        """The two texts from the last message on; the new one is whole."""
        tail = self._tail(prompted, self.machine.after(past, last), added)
        old, new = (self.machine.emission(last, past, view) for view in self.views(prompted, added))
        first, second = (joined(self._tokens(side)) for side in _sides(False, old, new, tail))
        return first, second

    def _tail(self, prompted: bool, behind: State, added: Addition) -> Tail:
        key = (prompted, behind, added)
        tail = self._tails.get(key)
        if tail is None:
            tail = self._tails[key] = self._stands(prompted, behind, added)
        return tail

    def _stands(self, prompted: bool, behind: State, added: Addition) -> Tail:
        """The two tails, as emissions of one message or of none."""
        machine = self.machine
        old: list[Part] = [(machine.written_at_end("finish", behind), None)]
        old += [(machine.written_at_end("prompt", behind), None)] if prompted else []
        if added.answered:
            old.append((machine.sampled(added.classes[0], behind), 0))
        # A head that ends with the system messages may go on where nothing stands behind it.
        stands = added.answered or not machine.silent(behind) or any(text for text, _ in old)
        clash = self.head_changes(behind, added.classes, stands=stands)
        new: list[Part] = []
        for number, (found, seen) in enumerate(zip(added.classes, added.seen, strict=True)):
            new.append((machine.emission(found, behind, seen), number))
            behind = machine.after(behind, found)
        new.append((machine.written_at_end("finish", behind), None))
        key = tuple(tuple((id(emission), of) for emission, of in side) for side in (old, new))
        return Tail(tuple(old), tuple(new), key, clash)

    def head_changes(
        self, behind: State, added: tuple[MessageClass, ...], *, stands: bool = True
    ) -> bool:
        """Whether an added message changes the head, or adds to its end where something `stands` behind it."""
        if not self.machine.program.hoisting:
            return False
        for found in added:
            if self.machine.hoisted(found, behind, stands=stands):
                return True
            behind = self.machine.after(behind, found)
        return False

    def _differ(
        self, sides: tuple[Parts, Parts], around: tuple[MessageClass, ...]
    ) -> Iterator[bool]:
        """Whether the texts differ, for some examples of the classes."""
        for rank in range(KEPT if all(found.examples for found in around) else 0):
            chosen = [found.examples[min(rank, len(found.examples) - 1)][1] for found in around]
            texts = ["".join(self._text(part, chosen) for part in parts) for parts in sides]
            yield not texts[1].startswith(texts[0])

    def _text(self, part: Part, chosen: list[Message]) -> str:
        """The text of a part on examples of the added messages and, at the end, of the last one."""
        emission, number = part
        message = chosen[LAST if number is None else number]
        # Both are kept by the machine as long as this is.
        key = (id(emission), id(message))
        if key not in self._texts:
            owners = {} if number is None else {"m": message}
            self._texts[key] = text_of(emission, owners, self.machine.settings)
        return self._texts[key]

    def _tokens(self, parts: Parts) -> Emission:
        return tuple(token for part in parts for token in self._named(part))

    def _named(self, part: Part) -> Emission:
        """The emission of a part with the name of its message."""
        emission, number = part
        if number is None:
            return emission
        key = (id(emission), number)
        if key not in self._owned:
            self._owned[key] = owned(emission, _name(number))
        return self._owned[key]


def _sides(alike: bool, old: Emission, new: Emission, tail: Tail) -> tuple[Parts, Parts]:
    """The two texts; the last message is left out where it is written `alike`."""
    return (tail.old, tail.new) if alike else (((old, LAST), *tail.old), ((new, LAST), *tail.new))


def _name(number: int) -> str:
    """The name of a message around the joint in emissions."""
    return "last" if number == LAST else f"added {number}"

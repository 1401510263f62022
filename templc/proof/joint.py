"""The joint: is what stands at the end of a conversation kept when something is added to it?

    Joint(machine).match(False, past, Ending(last=assistant, added=(user,)), end)

A place of the stability table is what the conversation ends with (a role, `prompt`, or `completion`: a prompt and
what the model sampled) and what comes next (a role, or `end` for nothing). At the joint a prefix is enough: text of
the last message may be completed by its new emission and by what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from templc.proof.classes import KEPT, MessageClass
from templc.proof.emission import Emission, Match, compare, joined, owned, text_of
from templc.proof.machine import Machine, State, view_back
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


@dataclass(frozen=True, slots=True)
class Ending:
    """The last message and what is added behind it; `answered`: the first of it is what the model sampled."""

    last: MessageClass
    added: tuple[MessageClass, ...]
    answered: bool = False

    def owner(self, number: int) -> str:
        """The name of an added message in emissions."""
        return f"added {number}"


# An emission, and which of the added messages wrote it; None: none did.
Part = tuple[Emission, int | None]
LAST = -1


class Views(NamedTuple):
    """What the last message sees of the future: in the old render, and in the new one."""

    old: State
    new: State


class Joint:
    """Comparisons at the joint, remembered."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[object, Match] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._owned: dict[tuple[int, int], Emission] = {}

    def views(self, prompted: bool, ending: Ending, end: State) -> Views:
        """The two views of the last message; `end` is what the last added message sees."""
        for found in reversed(ending.added):
            end = self.machine.before(end, found)
        return Views(self.machine.end(prompt=prompted), end)

    def match(self, prompted: bool, past: State, ending: Ending, end: State) -> Match:
        """How the end of the old text, from the last message on, stands to the new text.

        prompted: the old text ends with a generation prompt. past: before the last message.
        """
        machine, views = self.machine, self.views(prompted, ending, end)
        texts = [machine.emission(ending.last, past, view) for view in views]
        # Where the last message is written alike, only the state behind it matters.
        place: object = (
            (past, ending.last) if texts[0] != texts[1] else machine.after(past, ending.last)
        )
        key = (prompted, place, ending.added, ending.answered, end)
        if key not in self._known:
            self._known[key] = self._match(prompted, past, ending, end)
        return self._known[key]

    def _match(self, prompted: bool, past: State, ending: Ending, end: State) -> Match:
        behind = self.machine.after(past, ending.last)
        if self.head_changes(behind, ending.added) and (prompted or self._written(behind)):
            return Match("clash")
        old, new = self._parts(prompted, past, ending, end)
        match = compare(self._whole(old, ending), self._whole(new, ending))
        if match.kind != "unclear":
            return match
        differ = list(self._differ(old, new, ending))
        if not differ or not all(differ):
            around = {ending.owner(number): found for number, found in enumerate(ending.added)}
            self.machine.want(match, {"last": ending.last, **around})
        return Match("clash") if any(differ) else match

    def texts(
        self, prompted: bool, past: State, ending: Ending, end: State
    ) -> tuple[Emission, Emission]:
        """The two texts from the last message on; the new one is whole."""
        old, new = self._parts(prompted, past, ending, end)
        return self._whole(old, ending), self._whole(new, ending)

    def _parts(
        self, prompted: bool, past: State, ending: Ending, end: State
    ) -> tuple[list[Part], list[Part]]:
        """The two texts from the last message on, as emissions of one message or of none."""
        machine, views = self.machine, self.views(prompted, ending, end)
        behind = machine.after(past, ending.last)
        old: list[Part] = [(machine.emission(ending.last, past, views.old), LAST)]
        old.append((machine.written_at_end("finish", behind), None))
        old += [(machine.written_at_end("prompt", behind), None)] if prompted else []
        if ending.answered:
            old.append((machine.sampled(ending.added[0], behind), 0))
        new: list[Part] = [(machine.emission(ending.last, past, views.new), LAST)]
        seen = view_back(machine, ending.added, end)
        for number, found in enumerate(ending.added):
            new.append((machine.emission(found, behind, seen[number]), number))
            behind = machine.after(behind, found)
        new.append((machine.written_at_end("finish", behind), None))
        return old, new

    def head_changes(self, behind: State, added: tuple[MessageClass, ...]) -> bool:
        """Whether an added message changes the head."""
        for found in added:
            if self.machine.hoisted(found, behind):
                return True
            behind = self.machine.after(behind, found)
        return False

    def _written(self, behind: State) -> bool:
        """Whether anything can stand behind the head."""
        return not self.machine.silent(behind) or bool(
            self.machine.written_at_end("finish", behind)
        )

    def _differ(self, old: list[Part], new: list[Part], ending: Ending) -> Iterator[bool]:
        """Whether the texts differ, for some examples of the classes."""
        around = (*ending.added, ending.last)
        for rank in range(KEPT if all(found.examples for found in around) else 0):
            chosen = [found.examples[min(rank, len(found.examples) - 1)][1] for found in around]
            texts = ["".join(self._text(part, chosen) for part in parts) for parts in (old, new)]
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

    def _whole(self, parts: list[Part], ending: Ending) -> Emission:
        return joined(tuple(token for part in parts for token in self._named(part, ending)))

    def _named(self, part: Part, ending: Ending) -> Emission:
        """The emission of a part with the name of its message."""
        emission, number = part
        if number is None:
            return emission
        key = (id(emission), number)
        if key not in self._owned:
            name = "last" if number == LAST else ending.owner(number)
            self._owned[key] = owned(emission, name)
        return self._owned[key]

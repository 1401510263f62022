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


class Views(NamedTuple):
    """What the last message sees of the future: in the old render, and in the new one."""

    old: State
    new: State


class Joint:
    """Comparisons at the joint, remembered."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[object, Match] = {}

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
        old, new = self.texts(prompted, past, ending, end)
        match = compare(old, new)
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
        machine, views = self.machine, self.views(prompted, ending, end)
        behind = machine.after(past, ending.last)
        old = [owned(machine.emission(ending.last, past, views.old), "last")]
        old.append(machine.written_at_end("finish", behind))
        old += [machine.written_at_end("prompt", behind)] if prompted else []
        if ending.answered:
            old.append(owned(machine.sampled(ending.added[0], behind), ending.owner(0)))
        new = [owned(machine.emission(ending.last, past, views.new), "last")]
        seen = view_back(machine, ending.added, end)
        for number, found in enumerate(ending.added):
            new.append(owned(machine.emission(found, behind, seen[number]), ending.owner(number)))
            behind = machine.after(behind, found)
        new.append(machine.written_at_end("finish", behind))
        return _whole(old), _whole(new)

    def head_changes(self, behind: State, added: tuple[MessageClass, ...]) -> bool:
        """Whether an added message puts something into the head."""
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

    def _differ(self, old: Emission, new: Emission, ending: Ending) -> Iterator[bool]:
        """Whether the texts differ, for some examples of the classes."""
        settings, around = self.machine.settings, (ending.last, *ending.added)
        names = ["last", *(ending.owner(number) for number in range(len(ending.added)))]
        for rank in range(KEPT if all(found.examples for found in around) else 0):
            owners = {
                name: found.examples[min(rank, len(found.examples) - 1)][1]
                for name, found in zip(names, around, strict=True)
            }
            texts = [text_of(one, owners, settings) for one in (old, new)]
            yield not texts[1].startswith(texts[0])


def _whole(parts: list[Emission]) -> Emission:
    return joined(tuple(token for part in parts for token in part))

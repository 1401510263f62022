"""The states of the automaton of a response, and the ways from one to the next.

Owns `Table`, which `table` builds and the machine walks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from templc.runtime.parser.alphabet import PARTS, STAND_INS, Alphabet
from templc.runtime.parser.finder import Finder, finder_of
from templc.runtime.parser.grammar import (
    ArgumentCall,
    Calls,
    CallShape,
    FieldCall,
    JsonCall,
    MapCall,
    Strip,
)
from templc.runtime.parser.values import usual_beginning

Place = tuple[int, int]
SOLID = re.compile(r"\S")
NOTHING = finder_of(frozenset())


@dataclass(slots=True)
class Exit:
    """What an anchor does: `kind` is enter, section, leave, call or stop; `target` the state that follows.

    pre: taken off the text before it. alone: separator that stands there for no text at all. post: what follows.
    others: further shapes that a call may have here. spelled: the core as people see it. ends: finds the first anchor
    that may end the call, where `walk` reads calls of this shape; last: those anchors, if each is one control token.
    usual: how a call in JSON usually begins, up to its arguments, and what stands behind these. bare: whether only
    white space of the format stands before the anchor. free: whether all that stands there is text of a field.
    """

    kind: str
    core: str
    pre: str = ""
    alone: str | None = None
    post: str = ""
    target: int = -1
    calls: Calls | None = None
    others: list[CallShape] = field(default_factory=list)
    spelled: str = ""
    ends: Finder | None = None
    last: frozenset[str] = frozenset()
    usual: tuple[re.Pattern[str], str] | None = None
    bare: bool = False
    free: bool = False


class Opening(NamedTuple):
    """An anchor that begins with a control token, taken apart as `walk` has a turn.

    controls: those behind the first. texts: what stands behind each control token, the first one too; behind the last
    one more may follow. lead: whether it counts only before any text.
    """

    core: str
    controls: list[str]
    texts: list[str]
    lead: bool


@dataclass(slots=True)
class State:
    """A stretch of text: the `name` of its field, and what ends it.

    lead: exits that count only while nothing but white space was read. late: text behind calls. empty: control
    tokens that lead elsewhere where they stand at the very beginning. gap: a section of
    calls, where text is junk. opener: the anchor that led here, which models repeat. plain: text of a field, and
    every anchor here begins with a control token. openings: those that do, by it, the longest first. texts: finds the
    others; lead_texts: also those that count only before text. mixed: one of them has a control token inside. sealed:
    ways by control token, where every anchor begins with one and no other begins with this one. stripped: text loses
    white space.
    """

    places: frozenset[Place]
    name: str = "content"
    strip: Strip = field(default_factory=Strip)
    exits: dict[str, Exit] = field(default_factory=dict)
    lead: dict[str, Exit] = field(default_factory=dict)
    empty: dict[str, Exit] = field(default_factory=dict)
    late: bool = False
    gap: bool = False
    opener: str = ""
    plain: bool = False
    mixed: bool = False
    stripped: bool = False
    openings: dict[str, tuple[Opening, ...]] = field(default_factory=dict)
    sealed: dict[str, Exit] = field(default_factory=dict)
    texts: Finder = NOTHING
    lead_texts: Finder = NOTHING
    finder: Finder = NOTHING
    lead_finder: Finder = NOTHING
    pres: frozenset[str] = frozenset()

    @property
    def leads(self) -> bool:
        """Whether its first white space has to be kept until more is known."""
        return bool(self.lead or self.late or self.strip.left != "") or any(
            found.alone for found in self.exits.values()
        )


class Begin(NamedTuple):
    """Where a machine is before it reads text of a state: the white space to come, whether reasoning was opened."""

    state: State
    eat: str
    reasoned: bool


@dataclass(frozen=True, slots=True)
class Table:
    """States by number, 0 first. start: white space before the first hole. end: white space before the end.

    begins: what is known of the state behind the part of a turn that a prompt holds, see `usual`.
    """

    states: tuple[State, ...]
    start: str
    end: str
    stops: tuple[str, ...]
    begins: dict[str, Begin | None] = field(default_factory=dict, compare=False)


def finish(state: State, stops: Iterable[str], alphabet: Alphabet) -> None:
    """Work out what reading needs, once all ways from the state are known."""
    if state.opener and state.name == "reasoning":
        state.lead.setdefault(state.opener, Exit("again", state.opener))
    state.finder = finder_of(frozenset(state.exits))
    state.lead_finder = finder_of(frozenset((*state.exits, *state.lead)))
    sealed = all(STAND_INS.match(core) for core in (*state.exits, *state.lead))
    state.plain = sealed and state.name in ("content", "reasoning")
    pres = {way.pre for way in state.exits.values() if way.pre}
    state.pres = frozenset(pre[:size] for pre in pres for size in range(1, len(pre) + 1))
    state.stripped = state.strip != Strip()
    _part(state)
    for core, way in {**state.lead, **state.exits}.items():
        way.spelled, ends = alphabet.outside(way.core), _ends(way, frozenset(stops))
        way.bare = state.late or core not in state.exits
        way.free = not (way.bare or state.gap or state.stripped or way.pre) and way.alone is None
        way.ends = finder_of(ends) if ends else None
        way.last = ends if all(map(STAND_INS.fullmatch, ends)) else frozenset()
        if way.last and way.calls is not None and isinstance(way.calls.call, JsonCall):
            call = way.calls.call
            begins = usual_beginning(call.name, call.arguments, call.open.post)
            way.usual = begins, "}" + call.close.pre


def _part(state: State) -> None:
    """Anchors that begin with a control token apart from others."""
    cores = sorted({*state.exits, *state.lead}, key=lambda core: (-len(core), core))
    texts = [core for core in cores if not STAND_INS.match(core)]
    state.mixed = any(map(STAND_INS.search, texts))
    if texts:
        state.texts = finder_of(frozenset(state.exits).intersection(texts))
        state.lead_texts = finder_of(frozenset(texts))
    openings: dict[str, list[Opening]] = {}
    for core in cores:
        if core not in texts:
            first, *rest = PARTS.split(core)[1:]
            opening = Opening(core, rest[1::2], rest[::2], core not in state.exits)
            openings.setdefault(first, []).append(opening)
    state.openings = {first: tuple(found) for first, found in openings.items()}
    ways = {**state.lead, **state.exits}
    if state.plain:
        state.sealed = {
            first: ways[first]
            for first, found in openings.items()
            if len(found) == 1 and first in ways and first not in state.empty
        }


def _ends(way: Exit, stops: frozenset[str]) -> frozenset[str]:
    """The anchors that may end a call; none where `walk` does not read it."""
    if way.kind != "call" or way.calls is None:
        return frozenset()
    call = way.calls.call
    known = (JsonCall, FieldCall, ArgumentCall, MapCall)
    if not all(isinstance(shape, known) for shape in (call, *way.others)):
        return frozenset()
    sections = (anchor.core for anchor in (way.calls.open, way.calls.close) if anchor)
    return stops.union((call.open.core, call.close.core), sections) - {""}

"""The format, with the options, that writes what a published template writes.

    match = best(templates()[0])
    match.equal, match.candidate, match.differs

A candidate is a format with some of its options set. The options that a conversation brings along are given to it
too where it has them; where it has not, they must not matter.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from templc import Renderer
from templc.runtime.errors import TemplcError
from tests.coverage.battery import BATTERY, Conversation
from tests.coverage.renders import BOS, EOS, Template, Texts, texts
from tests.support.formats import FORMATS, dates, option_kinds, option_sets, program, renderer
from tests.support.published import path_of

FEWEST = 8
"""A template that takes fewer conversations of the battery than these is not one of chats."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format with options; `texts` are its renders of the battery, with the words of each refusal beside them."""

    format: str
    options: Mapping[str, Any]
    tokens: tuple[str, str]
    texts: Texts
    refusals: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.format, *(f"{key}={value}" for key, value in self.options.items())])


@dataclass(frozen=True, slots=True)
class Match:
    """The nearest candidate of a template.

    equal: it writes the same for every conversation that the template takes. refused: places in the battery that the
    template takes and the format refuses, in words of its own. different: places where two texts differ.
    """

    template: Template
    candidate: Candidate
    accepted: int
    refused: tuple[int, ...]
    different: tuple[int, ...]

    @property
    def chat(self) -> bool:
        return self.accepted >= FEWEST

    @property
    def equal(self) -> bool:
        return self.chat and not self.refused and not self.different

    @property
    def smallest(self) -> int:
        """The place of the smallest conversation that differs."""
        places = self.different or self.refused
        return min(places, key=lambda place: (len(BATTERY[place].messages), place))


@functools.cache
def candidates() -> tuple[Candidate, ...]:
    """Every format with every combination of the options that take a few values."""
    return tuple(itertools.chain.from_iterable(map(of_format, FORMATS)))


def of_format(name: str) -> Iterator[Candidate]:
    """A format with every combination of options; of those that write the same, the one with the fewest.

    Without records: no conversation of the battery brings any along.
    """
    seen: set[Texts] = set()
    for options in sorted(option_sets(name), key=len):
        if option_kinds(name, options) & {"record", "records"}:
            continue
        found = _candidate(name, options)
        if found.texts not in seen:
            seen.add(found.texts)
            yield found


def _candidate(name: str, options: Mapping[str, Any]) -> Candidate:
    known = program(name).options
    tokens = {str(item.bind): str(item.default or "") for item in known.values() if item.bind}
    stop = tokens.get("eos") or (program(name).stop or ("",))[0]
    rows = [_render(name, options, row) for row in BATTERY]
    return Candidate(
        name,
        options,
        (tokens.get("bos", BOS), stop),
        tuple(text for text, _ in rows),
        tuple(why for _, why in rows),
    )


def _render(name: str, options: Mapping[str, Any], row: Conversation) -> tuple[str | None, str]:
    known = program(name).options
    given = {**options, **{key: value for key, value in row.options.items() if key in known}}
    try:
        one = _made(name, tuple(given.items()))
        text = one.render_text(row.messages, tools=row.tools, add_generation_prompt=row.prompt)
    except TemplcError as error:
        return None, error.message
    return text, ""


@functools.cache
def _made(name: str, options: tuple[tuple[str, Any], ...]) -> Renderer:
    warnings.simplefilter("ignore", UserWarning)
    return renderer(name, unsupported="as_template", **{**dates(name), **dict(options)})


def best(template: Template, among: Sequence[Candidate] | None = None) -> Match:
    """The candidate with the fewest places that differ or are refused; of those the one that refuses more.

    Of several that are equal the format that follows the template, then the one whose control tokens it spells.
    """
    theirs = texts(template)
    accepted = [place for place, text in enumerate(theirs) if text is not None]
    spelled: dict[tuple[str, str], Texts] = {}
    found = []
    for candidate in among if among is not None else candidates():
        if candidate.tokens not in spelled:
            spelled[candidate.tokens] = tuple(bound(text, candidate.tokens) for text in theirs)
        found.append(_match(template, candidate, spelled[candidate.tokens], accepted))
    return min(found, key=_order)


def _order(match: Match) -> tuple[int, int, bool, int, int]:
    apart = len(match.different) + len(match.refused)
    if not match.equal:
        return apart, len(match.different), True, 0, 0
    known = program(match.candidate.format)
    another = known.reference.sha256 != match.template.sha256
    there = [token in source(match.template.name) for token in known.specials]
    return apart, len(match.different), another, there.count(False), -there.count(True)


@functools.cache
def source(name: str) -> str:
    """The text of a template."""
    return path_of(name).read_text(encoding="utf-8")


def bound(text: str | None, tokens: tuple[str, str]) -> str | None:
    """A render with the tokens of a format in the place of those that were not known."""
    return None if text is None else text.replace(BOS, tokens[0]).replace(EOS, tokens[1])


def _match(
    template: Template, candidate: Candidate, theirs: Texts, accepted: Sequence[int]
) -> Match:
    apart = [place for place in accepted if candidate.texts[place] != theirs[place]]
    refused = tuple(place for place in apart if candidate.texts[place] is None)
    different = tuple(place for place in apart if candidate.texts[place] is not None)
    return Match(template, candidate, len(accepted), refused, different)

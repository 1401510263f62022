"""The shares of the coverage report, as text and as the table that recognition reads.

shares(matches).downloads      # percent of all downloads whose template a format equals
lines(matches)                 # the printed report
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from templc.verify.parting import parting, window
from tests.coverage.battery import BATTERY, KINDS
from tests.coverage.match import Match, bound
from tests.coverage.renders import texts


@dataclass(frozen=True, slots=True)
class Shares:
    """A number of templates, and their parts of all downloads and of all repositories in percent."""

    templates: int
    downloads: float
    repositories: float

    def __str__(self) -> str:
        return f"{self.templates:>4} {self.downloads:>7.2f} {self.repositories:>7.2f}"


def shares(some: Iterable[Match], every: Sequence[Match]) -> Shares:
    """What part of `every` the matches of `some` are."""
    chosen = [match.template for match in some]
    templates = [match.template for match in every]
    return Shares(
        len(chosen),
        100 * sum(t.downloads for t in chosen) / max(1, sum(t.downloads for t in templates)),
        100 * sum(t.repositories for t in chosen) / max(1, sum(t.repositories for t in templates)),
    )


def lines(matches: Sequence[Match]) -> Iterator[str]:
    """Every line of the report: shares, formats by weight, then all other templates by weight."""
    yield from _summary(matches)
    yield ""
    yield f"{'n':>4} {'% dl':>7} {'% repo':>7}  equal to"
    groups: dict[str, list[Match]] = defaultdict(list)
    for match in matches:
        if match.equal:
            groups[str(match.candidate)].append(match)
    weighed = [(shares(group, matches), name) for name, group in groups.items()]
    weighed.sort(key=lambda row: -row[0].downloads - row[0].repositories)
    yield from (f"{part}  {name}" for part, name in weighed)
    yield ""
    yield "the others, with the smallest difference from the nearest format"
    rest = [(shares([match], matches), match) for match in matches if not match.equal]
    rest.sort(key=lambda row: -row[0].downloads - row[0].repositories)
    for part, match in rest:
        yield from _other(part, match)


def _summary(matches: Sequence[Match]) -> Iterator[str]:
    chats = [match for match in matches if match.chat]
    yield f"{len(matches)} templates, {len(BATTERY)} renders each ({', '.join(KINDS)})"
    yield f"{'n':>4} {'% dl':>7} {'% repo':>7}"
    yield f"{shares((m for m in matches if m.equal), matches)}  equal wherever the template renders"
    agreeing = (m for m in chats if not m.different)
    yield f"{shares(agreeing, matches)}  equal wherever both render (a format refuses some)"
    yield f"{shares((m for m in matches if not m.chat), matches)}  not templates of chats"


def _other(part: Shares, match: Match) -> Iterator[str]:
    count = len(match.different) + len(match.refused)
    yield f"{part}  {match.template.name}: {match.candidate}, {count} of {match.accepted} apart"
    if not match.chat:
        return
    place = match.smallest
    theirs = bound(texts(match.template)[place], match.candidate.tokens) or ""
    ours = match.candidate.texts[place]
    if ours is None:
        yield f"        {BATTERY[place]}: refused, {match.candidate.refusals[place]}"
        return
    at = parting(ours, theirs)
    yield f"        {BATTERY[place]}"
    yield f"        ours      {window(ours, at)}"
    yield f"        template  {window(theirs, at)}"


def table(matches: Iterable[Match]) -> str:
    """The table of `templc.recognise`: one JSON line a template, by digest."""
    rows = {}
    for match in matches:
        template, candidate = match.template, match.candidate
        rows[template.sha256] = {
            "equal": match.equal,
            "format": candidate.format if match.chat else None,
            "options": dict(candidate.options) if match.equal else {},
            "models": sorted({template.repository, *template.aliases}),
        }
    body = ",\n".join(
        f"{json.dumps(digest)}: {json.dumps(row, ensure_ascii=False)}"
        for digest, row in sorted(rows.items())
    )
    return "{\n" + body + "\n}\n"

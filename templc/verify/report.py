"""What a comparison found, and how it reads: counts, then the smallest example of each mismatch.

Owns outcomes, examples and the report. In its text, line ends show as ⏎ and the • stands where two
texts part.

    smallest of `different`: [user, assistant+reasoning]
      ours      …<|im_start|>assistant⏎•<think>⏎r⏎</think>⏎⏎a<|im_end|>⏎
      template  …<|im_start|>assistant⏎•a<|im_end|>⏎
      messages  [{"role": "user", "content": "u"}, …]
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from templc.verify.parting import ending, parting, visible, window
from templc.verify.shapes import Case, describe

TOP_REASONS = 5


class Outcome(StrEnum):
    """How the two renders of one case stand to each other; the value is what reports show."""

    EQUAL = "equal"
    BOTH_REFUSE = "both refuse"
    DIFFERENT = "different"
    WE_REFUSE = "we refuse, the template renders"
    TEMPLATE_RAISES = "we render, the template raises"
    CRASH = "we crash"

    @property
    def agrees(self) -> bool:
        return self in (Outcome.EQUAL, Outcome.BOTH_REFUSE)


@dataclass(frozen=True, slots=True)
class Render:
    """A text, or why there is none."""

    text: str | None
    reason: str = ""
    crashed: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """One mismatch: the case and what each side made of it."""

    case: Case
    ours: Render
    theirs: Render


@dataclass(slots=True)
class Report:
    """What a comparison found.

    examples: the smallest case of each kind of mismatch. reasons: how often each side gave each
    reason for a refusal that the other did not share. stopped: the limit of mismatches was reached
    before the cases ended.
    """

    name: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    examples: dict[Outcome, Example] = field(default_factory=dict)
    reasons: Counter[tuple[Outcome, str]] = field(default_factory=Counter)
    stopped: bool = False

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def mismatches(self) -> int:
        return sum(number for outcome, number in self.counts.items() if not outcome.agrees)

    @property
    def ok(self) -> bool:
        """Whether something was compared and nothing differs."""
        return self.total > 0 and self.mismatches == 0

    @property
    def smallest(self) -> Example | None:
        """The smallest mismatch of any kind; a difference in text before the others of its size."""
        found = [self.examples[outcome] for outcome in Outcome if outcome in self.examples]
        return min(found, key=lambda example: _size(example.case), default=None)

    def as_text(self) -> str:
        """Counts, then the smallest example of each mismatch; plain text, no final line end."""
        lines = [*_table(self)]
        for outcome in Outcome:
            if example := self.examples.get(outcome):
                lines += ["", *_example(outcome, example), *_reasons(self, outcome)]
        return "\n".join(lines)

    def add(self, example: Example) -> None:
        outcome = outcome_of(example.ours, example.theirs)
        self.counts[outcome] += 1
        if outcome.agrees:
            return
        if reason := example.ours.reason or example.theirs.reason:
            self.reasons[outcome, reason] += 1
        known = self.examples.get(outcome)
        if known is None or _size(example.case) < _size(known.case):
            self.examples[outcome] = example


def outcome_of(ours: Render, theirs: Render) -> Outcome:
    """How two renders of one case stand to each other."""
    if ours.crashed:
        return Outcome.CRASH
    match ours.text, theirs.text:
        case None, None:
            return Outcome.BOTH_REFUSE
        case None, _:
            return Outcome.WE_REFUSE
        case _, None:
            return Outcome.TEMPLATE_RAISES
        case mine, other:
            return Outcome.EQUAL if mine == other else Outcome.DIFFERENT


def _size(case: Case) -> tuple[int, int, int, bool]:
    """By what a case is smaller than another; of equals the earlier one stays."""
    return (
        len(case.messages),
        len(case.tools or ()) + (case.tools is not None),
        len(case.options),
        case.add_generation_prompt,
    )


def _table(report: Report) -> Iterator[str]:
    yield f"{report.total:,} conversations against {report.name}"
    for outcome in Outcome:
        number = report.counts[outcome]
        if number or outcome in (Outcome.EQUAL, Outcome.DIFFERENT):
            yield f"  {outcome:<32}{number:>12,}"
    if report.stopped:
        yield f"  stopped at {report.mismatches:,} mismatches; there may be more"


def _example(outcome: Outcome, example: Example) -> Iterator[str]:
    yield f"smallest of `{outcome}`: {describe(example.case)}"
    for label, said in zip(("ours", "template"), _sides(example.ours, example.theirs), strict=True):
        yield f"  {label:<10}{said}"
    yield from _input(example)


def _sides(ours: Render, theirs: Render) -> tuple[str, str]:
    """Both texts around the place where they part, or each alone where one is missing."""
    if ours.text is None or theirs.text is None:
        return _alone(ours), _alone(theirs)
    place = parting(ours.text, theirs.text)
    return window(ours.text, place), window(theirs.text, place)


def _alone(render: Render) -> str:
    """One side of a case in which the other has no text."""
    return f"no text: {visible(render.reason)}" if render.text is None else ending(render.text)


def _input(example: Example) -> Iterator[str]:
    case = example.case
    yield f"  {'messages':<10}{_json(list(case.messages))}"
    if case.tools is not None:
        yield f"  {'tools':<10}{_json(list(case.tools))}"


def _reasons(report: Report, outcome: Outcome) -> Iterator[str]:
    """Why texts were refused, most frequent first, where there is more than one reason."""
    found = [
        (reason, number) for (kind, reason), number in report.reasons.items() if kind is outcome
    ]
    if len(found) < 2:
        return
    found.sort(key=lambda item: (-item[1], item[0]))
    yield "  reasons"
    for reason, number in found[:TOP_REASONS]:
        yield f"    {number:>10,}  {visible(reason)}"
    if len(found) > TOP_REASONS:
        yield f"    and {len(found) - TOP_REASONS} more"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

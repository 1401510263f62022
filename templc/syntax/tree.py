"""The syntax trees of patterns and conditions: frozen, every part with its span, no name resolved yet.

`"<b>${content|strip}"` is `Pattern((Literal("<b>"), Hole(Value((Word("content"),), (FilterCall("strip"),)))))`.
"""

from __future__ import annotations

from dataclasses import dataclass

from templc.source.span import Span


@dataclass(frozen=True, slots=True)
class Word:
    """A bare name."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class FilterCall:
    """`|name` or `|name:"argument"`."""

    name: Word
    argument: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Value:
    """A dotted name with filters."""

    words: tuple[Word, ...]
    filters: tuple[FilterCall, ...]
    span: Span

    @property
    def dotted(self) -> str:
        return ".".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that the spec writes; `$${` has become `${`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Hole:
    """`${value}` or `${value or "text"}`."""

    value: Value
    default: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Pattern:
    parts: tuple[Literal | Hole, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Or:
    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class And:
    terms: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Not:
    term: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class Temporal:
    """`previous(C)`, `next(C)`, `earlier(C)`, `later(C)`, each also `(C among D)`."""

    time: Word
    term: Condition
    among: Condition | None
    span: Span


@dataclass(frozen=True, slots=True)
class Quantified:
    """`some(call: C)` or `every(call: C)`: over the tool calls of the message."""

    quantifier: Word
    variable: Word
    term: Condition
    span: Span


@dataclass(frozen=True, slots=True)
class Counted:
    """`count(calls) > 1`."""

    value: Value
    compare: str
    number: int
    span: Span


@dataclass(frozen=True, slots=True)
class Test:
    """`value is X`, `value starts with "X"`, ...; `kind`: is, is_text, is_mapping, starts, ends, contains, truth.

    `value is 5` and `value is at most 5` have `==` and `<=` as their kind, and the number as text.
    """

    kind: str
    value: Value
    argument: str | bool | None
    span: Span


Condition = Or | And | Not | Temporal | Quantified | Counted | Test

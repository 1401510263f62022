"""Resolved values, conditions and facts: what patterns and conditions mean.

A condition reads *self* values (this message), *fixed* ones (options, tools, the leading system message) and
*facts*, each of which looks to the past or to the future. `later(query)` is
`Fact("later", query, None, "later_query")`; it is the only kind of term that looks beyond the message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from templc.model.hashed import Hashed, hash_once
from templc.source.span import Span

Horizon = Literal["fixed", "self", "past", "future"]
Scope = Literal["message", "lead", "item", "record", "option", "tools", "systems"]
Time = Literal["previous", "earlier", "first", "run", "next", "later", "last", "end", "live"]

LOOPED: frozenset[str] = frozenset({"item", "record"})
"""The scopes of what a loop walks: a value in them is another one for each item."""
PAST: frozenset[str] = frozenset({"previous", "earlier", "first", "run"})


@dataclass(frozen=True, slots=True)
class Ref:
    """What a dotted name stands for.

    `name` is the field (message, lead), the option's name, or the loop variable (item, record); `part` is the field
    of an item, of a record of an option, or of the leading message: `call.name` is `Ref("item", "call", "name")`.
    """

    scope: Scope
    name: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class FilterUse:
    name: str
    argument: str | None = None


@hash_once
@dataclass(frozen=True, slots=True)
class Value(Hashed):
    ref: Ref
    filters: tuple[FilterUse, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Const:
    value: bool


@hash_once
@dataclass(frozen=True, slots=True)
class Or(Hashed):
    terms: tuple[Cond, ...]


@hash_once
@dataclass(frozen=True, slots=True)
class And(Hashed):
    terms: tuple[Cond, ...]


@hash_once
@dataclass(frozen=True, slots=True)
class Not(Hashed):
    term: Cond


@dataclass(frozen=True, slots=True)
class RoleIs:
    """The message has this role; only inside predicates and facts."""

    role: str


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate of the spec, by name; `term` is its definition."""

    name: str
    term: Cond = field(compare=False)


@hash_once
@dataclass(frozen=True, slots=True)
class Test(Hashed):
    """A test on one value; `kind`: truth, is, is_text, is_mapping, starts, ends, contains, or a comparison.

    The argument of a comparison is the number as text.
    """

    kind: str
    value: Value
    argument: str | bool | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    value: Value
    compare: str
    number: int


@hash_once
@dataclass(frozen=True, slots=True)
class Quantified(Hashed):
    """`some`/`every` tool call of the message satisfies `term`, where it is named `variable`."""

    quantifier: str
    variable: str
    term: Cond


@hash_once
@dataclass(frozen=True, slots=True)
class Fact(Hashed):
    """A bit about earlier or later messages.

    previous(C among D)  the nearest earlier message in D satisfies C      (false when there is none)
    earlier(C)           some earlier message satisfies C
    first                there is no earlier message
    run                  the message before has the role of `term`, and its run is still open
    next, later, last    the mirror images
    end                  last, and no generation prompt follows
    live                 the model is sampling this very turn; never true in a finished render
    """

    time: Time
    term: Cond | None
    among: Cond | None
    name: str = field(compare=False)
    span: Span | None = field(default=None, compare=False)

    @property
    def horizon(self) -> Horizon:
        return "past" if self.time in PAST else "future"


Cond = Const | Or | And | Not | RoleIs | Predicate | Test | Counted | Quantified | Fact


def disjunction(*terms: Cond) -> Cond:
    """`Or` with constants and nesting removed."""
    flat: list[Cond] = []
    for term in terms:
        if term == Const(True):
            return term
        flat.extend(term.terms if isinstance(term, Or) else [term] if term != Const(False) else [])
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else Or(unique) if unique else Const(False)


def conjunction(*terms: Cond) -> Cond:
    """`And` with constants and nesting removed."""
    flat: list[Cond] = []
    for term in terms:
        if term == Const(False):
            return term
        flat.extend(term.terms if isinstance(term, And) else [term] if term != Const(True) else [])
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else And(unique) if unique else Const(True)


def negation(term: Cond) -> Cond:
    match term:
        case Const(value):
            return Const(not value)
        case Not(inner):
            return inner
        case _:
            return Not(term)


def children(cond: Cond) -> tuple[Cond, ...]:
    """The direct parts of a condition; facts and predicates are leaves."""
    match cond:
        case Or(terms) | And(terms):
            return terms
        case Not(term):
            return (term,)
        case Quantified(term=term):
            return (term,)
        case _:
            return ()


def leaves(cond: Cond) -> list[Cond]:
    """Every term of a condition that is not an `and`, `or`, `not` or quantifier, in reading order."""
    below = children(cond)
    return [leaf for child in below for leaf in leaves(child)] if below else [cond]


def truth(cond: Cond, term: Callable[[Cond], bool]) -> bool:
    """The truth of a condition by that of its terms; those of a quantifier are its own business."""
    match cond:
        case Const(value):
            return value
        case Not(inner):
            return not truth(inner, term)
        case And(terms):
            return all(truth(one, term) for one in terms)
        case Or(terms):
            return any(truth(one, term) for one in terms)
    return term(cond)

"""Conditions that are always the same: found by trying every combination of the terms that they are made of.

`verdict(Or((calls, Not(calls))))` is True, `verdict(And((first, previous_user)))` is False: a first message has none
before it. None stands for a condition that can be either, or that has too many terms to try.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from templc.model import expr
from templc.model.expr import Cond, Const

MAX_TERMS = 8


def verdict(cond: Cond, given: Sequence[Cond] = ()) -> bool | None:
    """What `cond` always is where all of `given` hold; None when it can be true and false."""
    for known in (tuple(given), ()):
        terms = tuple(dict.fromkeys(term for part in (cond, *known) for term in _terms(part)))
        if len(terms) <= MAX_TERMS:
            return _tried(cond, known, terms)
    return None


def _tried(cond: Cond, given: tuple[Cond, ...], terms: tuple[Cond, ...]) -> bool | None:
    seen: set[bool] = set()
    for values in product((False, True), repeat=len(terms)):
        world = dict(zip(terms, values, strict=True))
        if _possible(world) and all(_holds(part, world) for part in given):
            seen.add(_holds(cond, world))
            if len(seen) == 2:
                return None
    return seen.pop() if len(seen) == 1 else None


def _terms(cond: Cond) -> Iterator[Cond]:
    """The terms whose truth decides: predicates by what they stand for."""
    match cond:
        case expr.Or(terms) | expr.And(terms):
            for term in terms:
                yield from _terms(term)
        case expr.Not(term) | expr.Predicate(term=term):
            yield from _terms(term)
        case Const():
            return
        case _:
            yield cond


def _holds(cond: Cond, world: Mapping[Cond, bool]) -> bool:
    match cond:
        case Const(value):
            return value
        case expr.Or(terms):
            return any(_holds(term, world) for term in terms)
        case expr.And(terms):
            return all(_holds(term, world) for term in terms)
        case expr.Not(term) | expr.Predicate(term=term):
            inner = _holds(term, world)
            return not inner if isinstance(cond, expr.Not) else inner
        case _:
            return world[cond]


def _possible(world: Mapping[Cond, bool]) -> bool:
    """Whether the terms can be true and false together like this."""
    true = [term for term, value in world.items() if value]
    if sum(isinstance(term, expr.RoleIs) for term in true) > 1:
        return False
    return _values_agree(world) and _facts_agree(world)


def _values_agree(world: Mapping[Cond, bool]) -> bool:
    """One value is one thing: not two texts, not present and unset."""
    tests = [(term, value) for term, value in world.items() if isinstance(term, expr.Test)]
    for value in {term.value for term, _ in tests}:
        about = {(term.kind, term.argument): held for term, held in tests if term.value == value}
        equal = [argument for (kind, argument), held in about.items() if kind == "is" and held]
        if len(equal) > 1:
            return False
        bare = about.get(("truth", None))
        if equal and bare is not None and bare != bool(equal[0]):
            return False
    return True


def _facts_agree(world: Mapping[Cond, bool]) -> bool:
    """A first message has none before it, a last one none behind it; a neighbour is among all."""
    facts = [(term, value) for term, value in world.items() if isinstance(term, expr.Fact)]
    held = {fact.time for fact, value in facts if value}
    if "first" in held and held & {"previous", "earlier", "run"}:
        return False
    if held & {"last", "end"} and held & {"next", "later"}:
        return False
    if "end" in held and any(fact.time == "last" and not value for fact, value in facts):
        return False
    denied = {(fact.time, fact.term) for fact, value in facts if not value}
    return not any((_WIDER.get(fact.time), fact.term) in denied for fact, value in facts if value)


_WIDER = {"previous": "earlier", "next": "later"}

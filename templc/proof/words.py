"""Conditions in words: what a test, a fact or a change says about a message, when it holds and when it does not.

about(CALLS)[True]                          "has tool calls"
placed(Fact("earlier", query), "it")        {True: "a query message came before it", False: "no query ..."}
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from templc.model import expr
from templc.model.scope import words_of
from templc.proof.values import Alike, Atom

_FIELDS = {
    "content": ("has content", "has no content"),
    "reasoning": ("has reasoning", "has no reasoning"),
    "calls": ("has tool calls", "has no tool calls"),
    "name": ("has a name", "has no name"),
    "call_id": ("has a call id", "has no call id"),
}

# What a text is made of where a filter leaves nothing of it.
_BLANK = {
    f"{side}strip{what}": blank
    for side in ("", "l", "r")
    for what, blank in (("", "white space"), ("_newlines", "line ends"))
}


class Said(NamedTuple):
    """The words where something holds, and where it does not."""

    yes: str
    no: str

    def of(self, holds: bool) -> str:
        return self.yes if holds else self.no


def kind(cond: expr.Cond | None) -> str:
    """A kind of message: `query` is "query message"."""
    return "message" if cond is None else f"{words_of(cond).replace('_', ' ')} message"


def a(noun: str) -> str:
    """A noun with its article."""
    return f"an {noun}" if noun[:1] in "aeio" else f"a {noun}"


def about(term: Atom | expr.Predicate | expr.RoleIs) -> Said:
    """What a test says about the message it reads."""
    match term:
        case expr.Predicate() | expr.RoleIs():
            return Said(f"is {a(kind(term))}", f"is not {a(kind(term))}")
        case Alike():
            return _alike(term)
        case expr.Test():
            return _test(term)
        case expr.Counted(value, compare, number):
            said = f"{compare} {number} {value.ref.name}"
            return Said(f"has {said}", f"does not have {said}")
        case expr.Quantified():
            name = words_of(term).replace("_", " ")
            return Said(f"has `{name}`", f"does not have `{name}`")
    assert_never(term)


def _alike(term: Alike) -> Said:
    """Two filters of one field, of which one is often no filter at all."""
    plain, other = sorted((term.first, term.second), key=lambda value: len(value.filters))
    name = plain.ref.name
    if not plain.filters:
        leave = "leave" if len(other.filters) > 1 else "leaves"
        changed = "change" if len(other.filters) > 1 else "changes"
        filters = _filters(other)
        return Said(
            f"has {name} that {filters} {leave} as it is", f"has {name} that {filters} {changed}"
        )
    same = f"the same under {_filters(plain)} as under {_filters(other)}"
    return Said(f"has {name} that is {same}", f"has {name} that is not {same}")


def _filters(value: expr.Value) -> str:
    return " and ".join(f"`{use.name}`" for use in value.filters) or "no filter"


def _test(test: expr.Test) -> Said:
    value = test.value
    name = value.ref.name
    shown = f"`{'|'.join([name, *(use.name for use in value.filters)])}`"
    match test.kind:
        case "truth":
            blanks = [_BLANK.get(use.name, "") for use in value.filters]
            if name in _FIELDS and not blanks:
                return Said(*_FIELDS[name])
            if name in _FIELDS and len(blanks) == 1 and blanks[0]:
                return Said(*(f"{words} other than {blanks[0]}" for words in _FIELDS[name]))
            return Said(f"has text in {shown}", f"has no text in {shown}")
        case "is" if test.argument is None:
            return Said(f"is given without {name}", f"is given with {name}")
        case "is":
            return Said(
                f"has {test.argument!r} as {shown}", f"has not {test.argument!r} as {shown}"
            )
        case "contains":
            argument = f"{test.argument!r} in {shown}"
            return Said(f"has {argument}", f"has no {argument}")
        case word:
            argument = f"{shown} that {word} with {test.argument!r}"
            return Said(f"has a {argument}", f"has no {argument}")


def placed(fact: expr.Fact, place: str) -> Said:
    """What a past fact says, seen from a message (`it`), or from behind the last one (the empty place)."""
    what = kind(fact.term)
    noun = a(what)
    before = f" {place}" if place else ""
    where = f"the message before {place}" if place else "the last message"
    if fact.among is not None:
        where = f"the latest {kind(fact.among)}{' before' if place else ''}{before}"
    match fact.time:
        case "earlier":
            return Said(f"{noun} came before{before}", f"no {what} came before{before}")
        case "previous" | "run":
            return Said(f"{where} is {noun}", f"{where} is not {noun}")
        case "first":
            return Said(f"{place} is the first message", f"{place} is not the first message")
        case _:
            return Said(f"{place} sees {fact.name}", f"{place} does not see {fact.name}")


def led(test: expr.Test) -> Said:
    """What a test on the leading system message says about the conversation."""
    if not test.value.ref.part:
        return Said("a system message leads", "no system message leads")
    part = expr.Value(expr.Ref("message", test.value.ref.part), test.value.filters)
    said = about(expr.Test(test.kind, part, test.argument))
    return Said(*(f"the leading message {words}" for words in said))


def listed(items: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"

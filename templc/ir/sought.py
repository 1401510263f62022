"""What a format looks for in the content of a message.

A content without any of these texts is to it like any other one: of a message that is such a content and a role, and
nothing else, only the role counts. `sought(program)` of Qwen3 is `("<tool_response>", "</tool_response>")`: a user
message that is one block of results is no query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from templc.ir.ops import Body, Program
from templc.model.expr import Cond, Counted, Fact, Predicate, Quantified, Ref, Test, Value, children
from templc.model.filters import STRIPPING

_FINDING = frozenset({"starts", "ends", "contains", "is"})
_CUTTING = frozenset({"after", "after_last", "before", "remove"})
_OF_NOBODY = frozenset({"lead", "systems"})


class Look(NamedTuple):
    """texts: that are looked for in a content. strips: white space is taken off its ends."""

    texts: tuple[str, ...] = ()
    strips: bool = False


def look(use: Value | Body | Test) -> Look | None:
    """What is asked of a content that is not blank, to copy it or for a decision; None where that is more.

    A mere value is one that is counted.
    """
    if isinstance(use, Value):
        return None
    value = use.value
    texts: list[str] = []
    for one in value.filters:
        if one.name in _CUTTING and one.argument:
            texts.append(one.argument)
        elif one.name == "drop_spans" and one.argument:
            # A closing mark is taken out also where none was opened.
            texts += one.argument.split(" ")
        elif one.name not in STRIPPING:
            return None
    strips = any(one.name in STRIPPING for one in value.filters)
    match use:
        case Test(kind=kind, argument=str(text)) if kind in _FINDING and text:
            texts.append(text)
        case Test(kind=kind, argument=argument):
            if kind != "truth" and not (kind == "is" and argument is None):
                return None
    return Look(tuple(texts), strips)


def sought(program: Program) -> tuple[str, ...] | None:
    """What facts and checks look for; None where one asks more of a content, or something of the system messages.

    It holds for messages that have a role and a content that is not blank, and nothing else. Of tools a check may ask
    whether there are any, and how many.
    """
    found: list[str] = []
    for term in _asked(program):
        value = term.value
        if value.ref.scope in _OF_NOBODY:
            return None
        if value.ref == Ref("message", "content"):
            asked = look(term) if isinstance(term, Test) else None
            if asked is None:
                return None
            found += asked.texts
    return tuple(dict.fromkeys(found))


def _asked(program: Program) -> Iterator[Test | Counted]:
    """Every term that facts and checks are made of."""
    for checks in program.checks.values():
        for check in checks:
            yield from _terms(check.cond)
    for fact in (*program.past, *program.future):
        yield from _terms(fact)


def _terms(cond: Cond) -> Iterator[Test | Counted]:
    match cond:
        case Fact(term=term, among=among):
            for one in (term, among):
                if one is not None:
                    yield from _terms(one)
        case Predicate(term=term):
            yield from _terms(term)
        case Quantified():
            return  # of calls, which such a message has none of
        case Test() | Counted():
            yield cond
        case _:
            for child in children(cond):
                yield from _terms(child)

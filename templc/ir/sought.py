"""What a format looks for in the content of a message.

A content without any of these texts is to it like any other one: of a message that is such a content and a role, and
nothing else, only the role counts. `sought(program)` of Qwen3 is `("<tool_response>", "</tool_response>")`: a user
message that is one block of results is no query.
"""

from __future__ import annotations

from collections.abc import Iterator

from templc.ir.ops import Body, Program
from templc.model.expr import (
    And,
    Cond,
    Counted,
    Fact,
    Predicate,
    Quantified,
    Ref,
    Test,
    Value,
    children,
)
from templc.model.filters import STRIPPING
from templc.runtime.opaque import Look

_FINDING = frozenset({"starts", "ends", "contains", "is"})
_CUTTING = frozenset({"after", "after_last", "before", "remove"})
_OF_NOBODY = frozenset({"lead", "systems"})
_AS_TEMPLATE = Test("truth", Value(Ref("option", "as_template")))
_TEXTS = frozenset({Ref("message", "content"), Ref("message", "reasoning")})


def look(use: Value | Body | Test) -> Look | None:
    """What is asked of a content that is not blank, to copy it or for a decision; None where that is more.

    A mere value is one that is counted.
    """
    if isinstance(use, Value):
        return None
    value = use.value
    if isinstance(use, Body) and [one.name for one in value.filters] == ["json"]:
        return Look(quotes=True)
    texts: list[str] = []
    for one in value.filters:
        if one.name in _CUTTING and one.argument:
            texts.append(one.argument)
        elif one.name == "drop_spans" and one.argument:
            # A closing mark is taken out also where none was opened.
            texts += one.argument.split(" ")
        elif one.name not in STRIPPING:
            return None
    stripping = {one.name for one in value.filters} & STRIPPING
    newlines = {name for name in stripping if name.endswith("newlines")}
    match use:
        case Test(kind=kind, argument=str(text)) if kind in _FINDING and text:
            texts.append(text)
        case Test(kind=kind, argument=argument):
            if kind != "truth" and not (kind == "is" and argument is None):
                return None
    return Look(strips=stripping > newlines, newlines=bool(newlines), sought=tuple(texts))


def sought(program: Program) -> tuple[str, ...] | None:
    """What facts and checks look for; None where one asks more of a content, or something of the system messages.

    It holds for messages that have a role and a content that is not blank, and nothing else, and for those that have
    none of the fields `asked_closely`. Of tools a check may ask whether there are any, and how many.
    """
    found: list[str] = []
    for term in _asked(program):
        if isinstance(term, Quantified):
            continue  # of calls, which such a message has none of
        ref = term.value.ref
        if ref.scope in _OF_NOBODY or (ref.scope == "tools" and term.value.filters):
            return None
        asked = look(term) if isinstance(term, Test) else None
        if ref == Ref("message", "content") and asked is None:
            return None
        if ref in _TEXTS and asked is not None:
            found += asked.sought
    return tuple(dict.fromkeys(found))


def asked_closely(program: Program) -> tuple[str, ...]:
    """The further fields of a message of which facts and checks ask more than whether they are there.

    Of reasoning they may look for the same as in a content, and of calls ask how many there are.
    """
    closely: set[str] = set()
    for term in _asked(program):
        if isinstance(term, Quantified):
            closely.add("calls")
        elif term.value.ref.scope == "message" and not _told_by_kind(term):
            closely.add(term.value.ref.name)
    return tuple(sorted(closely))


def _told_by_kind(term: Test | Counted) -> bool:
    """Whether it is known of a message by what it has, unless it has a text that is looked for."""
    asked = look(term) if isinstance(term, Test) else None
    match term.value.ref.name:
        case "content" | "role" | "parts":
            return True  # the texts of contents are `sought`, and messages with parts are never known so
        case "calls":
            return not term.value.filters
        case "reasoning":
            return asked is not None
        case "name" | "call_id" | "answered":
            return asked is not None and not asked.sought
    return False


def _asked(program: Program) -> Iterator[Test | Counted | Quantified]:
    """Every term that facts and checks are made of."""
    for checks in program.checks.values():
        for check in checks:
            yield from _terms(check.cond)
    for fact in (*program.past, *program.future):
        yield from _terms(fact)


def _terms(cond: Cond) -> Iterator[Test | Counted | Quantified]:
    match cond:
        case Fact(term=term, among=among):
            for one in (term, among):
                if one is not None:
                    yield from _terms(one)
        case Predicate(term=term):
            yield from _terms(term)
        case And(terms) if _AS_TEMPLATE in terms:
            return  # whoever renders as the template does fills nothing in
        case Test() | Counted() | Quantified():
            yield cond
        case _:
            for child in children(cond):
                yield from _terms(child)

"""Answers that no message can give together, for checkers: a condition may rest on what cannot be.

    class Checker(Sensible): ...      never asks whether a field that contains a mark is empty

What is left out is empty, so is what filters make of nothing; a text that contains a mark is not empty, and the end of
one behind a mark is not the whole; what is the same is empty together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from templc.ir.filters import FUNCTIONS
from templc.model.expr import Test, Value
from templc.proof.recheck import Check

CUTS = ("after", "after_last", "before", "remove")
STRIPS = tuple(f"{side}strip{what}" for side in ("", "l", "r") for what in ("", "_newlines"))


class Sensible(Check):
    """Asks without the answers that no message can give together: a condition may rest on what cannot be."""

    def ask(self, name: str, question: Any) -> bool:
        if (name, question) not in self.said and len(self.said) == len(self.script):
            told = {one: said for (of, one), said in self.said.items() if of == name}
            for only in islice(self.forced(question, told), 1):
                self.said[name, question] = only
                self.script = (*self.script, only)
        return super().ask(name, question)

    def forced(self, question: Any, told: Mapping[Any, bool]) -> Iterator[bool]:
        """Every answer that follows from one that was given."""
        if isinstance(question, frozenset):
            yield from alike(question, told)
            return
        value = getattr(question, "value", None)
        if not isinstance(value, Value) or value.ref.scope != "message":
            return
        # An id that is left out may have been filled in.
        left_out = value.ref.name != "call_id" and Test("is", Value(value.ref), None)
        if is_truth(question, value.ref):
            yield from full(value, left_out, told)
        elif question == left_out:
            yield from (False for one, said in told.items() if said and is_truth(one, value.ref))
        elif marks(question, value.ref) and blank(value.ref, told):
            yield False


def alike(values: frozenset[Value], told: Mapping[Any, bool]) -> Iterator[bool]:
    """Whether values of one field are the same."""
    known = [told.get(Test("truth", value)) for value in values]
    if None not in known and (len({*known}) == 2 or not any(known)):
        yield len({*known}) == 1
    if any(cut(value, told) for value in values):
        yield False
    kinds = [telling(value, told) for value in values]
    if all(kind == kinds[0] for kind in kinds):
        yield True


def full(value: Value, left_out: Any, told: Mapping[Any, bool]) -> Iterator[bool]:
    """Whether there is text in a value."""
    plain, kind = Value(value.ref), emptied(value, told)
    for one, said in told.items():
        if is_truth(one, value.ref):
            if emptied(one.value, told) in (kind, stricter(kind, said)):
                yield said
            if said and value == plain and not of_nothing(one.value):
                yield True
        elif said and isinstance(one, frozenset) and value in one:
            same = told.get(Test("truth", next(iter(one - {value}), value)))
            yield from () if same is None else (same,)
        elif said and marks(one, value.ref) and all(use.name in STRIPS for use in value.filters):
            yield True
    if told.get(left_out) and not of_nothing(value):
        yield False
    if told.get(Test("truth", plain)) is False:
        yield of_nothing(value)


def is_truth(question: Any, ref: Any) -> bool:
    """Whether a question asks if a value of this field is empty."""
    return isinstance(question, Test) and question.kind == "truth" and question.value.ref == ref


def cut(value: Value, told: Mapping[Any, bool]) -> bool:
    """Whether the filters of a value take a mark out of a text that contains it, and add nothing."""
    mark = value.filters[0].argument if value.filters else None
    shorter = all(use.name in (*CUTS, *STRIPS) for use in value.filters)
    inside = bool(mark) and told.get(Test("contains", Value(value.ref), mark))
    return bool(inside) and shorter and value.filters[0].name in CUTS


def blank(ref: Any, told: Mapping[Any, bool]) -> bool:
    """Whether a field is known to be empty or white space."""
    empty = (one.value.filters for one, said in told.items() if not said and is_truth(one, ref))
    return any(all(use.name in STRIPS for use in uses) for uses in empty)


def telling(value: Value, told: Mapping[Any, bool]) -> list[Any]:
    """The filters of a value, less those that look for a mark which is not there."""
    kept: list[Any] = []
    for use in value.filters:
        bare = bool(str(use.argument).strip()) and blank(value.ref, told)
        gone = bare or told.get(Test("contains", Value(value.ref), use.argument)) is False
        inside = all(name in STRIPS or name in CUTS[:3] for name, _ in kept)
        if not (use.name in CUTS and inside and gone):
            kept.append((use.name, use.argument))
    return kept


def emptied(value: Value, told: Mapping[Any, bool]) -> list[Any]:
    """Filters, the same for values that are empty together: a strip stands for one from either end."""
    kept = telling(value, told)
    if kept and kept[-1][0] in STRIPS:
        kept[-1] = ("strip", "newlines" in kept[-1][0])
    return kept


def stricter(kind: list[Any], said: bool) -> list[Any]:
    """The filters for which an answer settles this one: line ends are white space, but not the other way."""
    same = kind[-1:] == [("strip", said)]
    return [*kind[:-1], ("strip", not said)] if same else kind


def marks(question: Any, ref: Any) -> bool:
    """Whether a question asks if a field, white space aside, holds a text that is not blank."""
    kinds = ("contains", "starts", "ends")
    if not isinstance(question, Test) or question.kind not in kinds or question.value.ref != ref:
        return False
    stripped = all(use.name in STRIPS for use in question.value.filters)
    return stripped and bool(str(question.argument).strip())


def of_nothing(value: Value) -> bool:
    """Whether the filters of a value make a text of no text."""
    found: Any = ""
    for use in value.filters:
        found = FUNCTIONS[use.name](found, use.argument or "")
    return bool(found)

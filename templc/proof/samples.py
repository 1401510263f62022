"""Messages that show that texts differ, for the checkers of certificates: given with a certificate, read here.

samples = Samples(program, ['[{"role": "user", "content": "u"}]'])       each the messages up to the one meant
samples.fits("user", answers)                                            those of which every answer is true
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from templc.ir.filters import COMPARED, FUNCTIONS, passes
from templc.ir.interpret import message_rules
from templc.ir.ops import Program
from templc.model import expr
from templc.runtime.messages import Message, Reader


class Samples:
    """Messages by role, as renderers read them."""

    def __init__(self, program: Program, texts: Iterable[str]) -> None:
        self.by_role: dict[str, list[Message]] = {}
        for text in texts:
            reader = Reader(message_rules(program.rules))
            *_, last = [reader.read(raw, at) for at, raw in enumerate(json.loads(text))]
            self.by_role.setdefault(last.role, []).append(last)
        self.known: dict[Any, bool | None] = {}

    def fits(self, role: str, answers: Mapping[Any, bool]) -> list[Message]:
        """The messages of a role that answer questions so; whether texts differ is not asked of them."""
        asked = [one for one in answers.items() if not isinstance(one[0], tuple)]
        return [
            message
            for at, message in enumerate(self.by_role.get(role, ()))
            if all(self.answer(role, at, message, question) is said for question, said in asked)
        ]

    def answer(self, role: str, at: int, message: Message, question: Any) -> bool | None:
        key = (role, at, question)
        if key not in self.known:
            self.known[key] = true(question, message)
        return self.known[key]


def true(question: Any, message: Message, item: Any = None) -> bool | None:
    """The answer of a message, or of one of its calls; None for what does not hang on it."""
    if isinstance(question, frozenset):
        return len({str(read(value, message)) for value in question}) == 1
    match question:
        case expr.And(terms) | expr.Or(terms):
            some = any if isinstance(question, expr.Or) else all
            return some(true(term, message, item) for term in terms)
        case expr.Not(term):
            return not true(term, message, item)
        case expr.Quantified(quantifier, _, term):
            found = [bool(true(term, message, call)) for call in message.calls]
            return any(found) if quantifier == "some" else all(found)
        case expr.Counted(value, compare, number):
            return COMPARED[compare](len(read(value, message, item) or ()), number)
        case expr.Test(value=value) if value.ref.scope in ("message", "item", "lead"):
            left_out = (question.kind, question.argument) == ("is", None)
            if left_out and value.ref.scope == "message":
                return value.ref.name in message.absent
            return passes(question, read(value, message, item))
    return None


def read(value: expr.Value, message: Message, item: Any = None) -> Any:
    """A value of a message, or of one of its calls."""
    ref = value.ref
    found: Any
    match ref.scope:
        case "message":
            found = getattr(message, ref.name)
        case "lead":
            found = getattr(message, ref.part) if ref.part else message
        case _:
            found = getattr(item, ref.part)
    for use in value.filters:
        found = FUNCTIONS[use.name](found, use.argument or "")
    return found

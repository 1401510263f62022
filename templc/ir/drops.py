"""What a format never shows: for each field, the condition under which some rendering writes it.

Derived from the operations, so a silent drop is impossible. For Qwen3 Instruct nothing ever writes `reasoning`;
for DeepSeek-V3 `calls` are written only where content is empty. A fact counts as true and as false here: what another
future shows is not dropped but retained or not, and that is the format's business.
"""

from __future__ import annotations

from templc.ir.ops import Body, Each, Op, Ops, When, Write
from templc.model import expr
from templc.model.expr import Cond, Const

FIELDS = ("content", "reasoning", "calls")


def shown(ops: Ops, field: str) -> Cond:
    """When a block can write the field of its message, whatever comes before or after."""
    return expr.disjunction(*(_shown(op, field) for op in ops))


def _shown(op: Op, field: str) -> Cond:
    match op:
        case Write(parts):
            return Const(any(isinstance(part, Body) and _is_field(part, field) for part in parts))
        case When(cond, then, otherwise):
            return expr.disjunction(
                expr.conjunction(possible(cond, True), shown(then, field)),
                expr.conjunction(possible(cond, False), shown(otherwise, field)),
            )
        case Each(over=over, open=opening, do=do):
            return Const(field == "calls" and over == "calls" and bool(do or opening))


def _is_field(body: Body, field: str) -> bool:
    return body.value.ref.scope == "message" and body.value.ref.name == field


def possible(cond: Cond, wanted: bool) -> Cond:
    """When `cond` can have the value `wanted` for some past and future: facts replaced by true on both sides."""
    match cond:
        case expr.Fact():
            return Const(True)
        case expr.Not(term):
            return possible(term, not wanted)
        case expr.And(terms) | expr.Or(terms):
            join = expr.conjunction if isinstance(cond, expr.And) == wanted else expr.disjunction
            return join(*(possible(term, wanted) for term in terms))
        case _:
            return cond if wanted else expr.negation(cond)

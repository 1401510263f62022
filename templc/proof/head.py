"""Whether one more system message changes the head of a format that writes all of them there."""

from __future__ import annotations

from templc.ir.ops import Body, Each, Ops, Program, Text, When, Write, walk
from templc.proof.atoms import of_message
from templc.proof.emission import View, emit


def changes_head(program: Program, head: Ops, view: View, *, seen: bool, stands: bool) -> bool:
    """Whether the message changes the head, or adds to its end where something `stands` behind it.

    seen: whether there was a system message before.
    """
    for op in walk(head):
        if isinstance(op, When) and op.asks_systems and not seen:
            return True
        if isinstance(op, Each) and op.over == "systems":
            anew = seen and (program.replacing or bool(op.close))
            if op is head[-1] and not stands and not anew:
                continue
            if seen and program.replacing:
                return True
            blocks = (op.between, op.do, ()) if seen else (op.open, op.do, op.close)
            if any(emit(_moved(block, op.variable), view) for block in blocks):
                return True
    return False


def _moved(ops: Ops, variable: str) -> Ops:
    """Steps about a hoisted message, as steps of that message."""
    return tuple(
        Write(tuple(_moved_part(part, variable) for part in op.parts), op.span)
        if isinstance(op, Write)
        else op
        for op in ops
    )


def _moved_part(part: Text | Body, variable: str) -> Text | Body:
    if isinstance(part, Body) and part.value.ref.name == variable:
        return Body(of_message(part.value), part.default, part.field)
    return part

"""Where the spec writes what a token shows: the line of its field, or of the turn for what the format writes.

places = Places(program)
places.of(cell)     "qwen3.yaml:42"
"""

from __future__ import annotations

from pathlib import PurePath

from templc.cli.cells import Cell
from templc.ir.ops import Body, Ops, Plain, Program, Sampled, Write, walk
from templc.source.span import Span


class Places:
    """Lines of one spec; a place in a spec that it extends has that file's name."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def of(self, cell: Cell) -> str:
        """File and line, by field and by whether the model sampled it."""
        blocks = self._blocks(cell)
        span = _field(blocks, cell.field) or next((op.span for ops in blocks for op in ops), None)
        return "" if span is None else f"{PurePath(span.source.name).name}:{span.line}"

    def _blocks(self, cell: Cell) -> tuple[Ops, ...]:
        program = self._program
        if cell.message < 0:
            return (program.head, program.prompt)
        match program.roles.get(cell.role) or program.roles.get("other"):
            case Plain(ops):
                return (ops, program.head)
            case Sampled(opener, prefill, body, closer, trailer):
                return (body, closer) if cell.sampled else (opener, prefill, trailer, body)
            case None:
                return (program.head,)


def _field(blocks: tuple[Ops, ...], field: str) -> Span | None:
    """The first pattern with a hole for the field."""
    for ops in blocks if field else ():
        for op in walk(ops):
            if isinstance(op, Write) and any(
                isinstance(part, Body) and part.field.split(".")[-1] == field.split(".")[-1]
                for part in op.parts
            ):
                return op.span
    return None

"""Operations as Python statements: the bodies of turn methods.

Each decision carries the line of the spec that makes it, as a comment.
"""

from __future__ import annotations

from collections.abc import Mapping

from templc.emit.expressions import Expressions
from templc.emit.layout import Lines, columns, literal
from templc.ir.ops import Body, Each, Op, Ops, Text, When, Write
from templc.model.expr import And, Cond, negation
from templc.source.span import Span

LONG_TEXT = 100


class Blocks:
    """Writes blocks into `lines`; `constants` maps long texts to the names of their module constants."""

    def __init__(
        self, lines: Lines, expressions: Expressions, constants: Mapping[str, str], home: str
    ) -> None:
        self._lines = lines
        self._expressions = expressions
        self._constants = constants
        self._home = home

    def line_comment(self, span: Span) -> str:
        """`# line 36`, or `# qwen3.yaml:36` for what a variant took from its base."""
        name = span.source.name
        return (
            f"# line {span.line}"
            if name == self._home
            else f"# {name.rsplit('/', 1)[-1]}:{span.line}"
        )

    def block(self, ops: Ops, loop: int = 0) -> None:
        """The statements of a block; `pass` for an empty one."""
        if not ops:
            self._lines.add("pass")
        for op in ops:
            self._op(op, loop)

    def _op(self, op: Op, loop: int) -> None:
        match op:
            case Write(parts):
                self._lines.call("out.write", [self._part(part) for part in parts])
            case When():
                self._when(op, loop, "if")
            case Each():
                self._each(op, loop)

    def _part(self, part: Text | Body) -> str:
        if isinstance(part, Body):
            return self._expressions.body(part)
        return self._constants.get(part.text, literal(part.text))

    def _when(self, op: When, loop: int, word: str) -> None:
        cond, then, otherwise = op.cond, op.then, op.otherwise
        if not then:
            cond, then, otherwise = _flipped(op)
        self.condition(word, cond, op.span)
        with self._lines.indented():
            self.block(then, loop)
        match otherwise:
            case ():
                return
            case (When() as only,):
                self._when(only, loop, "elif")
            case _:
                self._lines.add("else:")
                with self._lines.indented():
                    self.block(otherwise, loop)

    def condition(self, word: str, cond: Cond, span: Span, prefix: str = "") -> None:
        """`if COND:  # line N`, over several lines where it is too long; `prefix` is or-ed in front."""
        text = self._expressions.truth(cond)
        if prefix:
            text = f"{prefix} or ({text})" if isinstance(cond, And) else f"{prefix} or {text}"
        comment = self.line_comment(span)
        if columns(f"{word} {text}:") <= self._lines.room:
            self._lines.commented(f"{word} {text}:", comment)
            return
        self._lines.commented(f"{word} (", comment)
        with self._lines.indented():
            spread = self._expressions.spread(cond, self._lines.room)
            if prefix:
                spread = [
                    prefix,
                    *(
                        [f"or ({self._expressions.truth(cond)})"]
                        if isinstance(cond, And)
                        else [f"or {spread[0]}", *spread[1:]]
                    ),
                ]
            self._lines.add(*spread)
        self._lines.add("):")

    def _each(self, op: Each, loop: int) -> None:
        lines, source = self._lines, self._iterable(op)
        around = bool(op.close) or (bool(op.open) and not op.between)
        if around and op.over == "arguments" and not op.ordered:
            lines.add(f"{op.variable}s = list({source})")
            source = f"{op.variable}s"
        if not around:
            self._loop(op, source, loop)
            return
        lines.commented(f"if {source}:", self.line_comment(op.span))
        with lines.indented():
            if op.open:
                self.block(op.open, loop)
            self._loop(op, source, loop, opened=True)
            if op.close:
                self.block(op.close, loop)

    def _iterable(self, op: Each) -> str:
        match op.over:
            case "calls":
                return "m.calls"
            case "arguments":
                return f"{op.of}.sorted_items()" if op.ordered else f"{op.of}.items()"
            case "tools":
                return "out.tools"
            case "systems":
                return "out.systems"
            case "records":
                return f"self.{op.of}"

    def _loop(self, op: Each, source: str, loop: int, *, opened: bool = False) -> None:
        lines, index = self._lines, "ijk"[loop % 3]
        first = () if opened else op.open
        counted = bool(op.between or first)
        target = f"(out.message, {op.variable})" if op.over == "systems" else op.variable
        head = (
            f"for {index}, {target} in enumerate({source}):"
            if counted
            else f"for {target.strip('()')} in {source}:"
        )
        lines.commented(head, self.line_comment(op.span))
        with lines.indented():
            if counted:
                self._separators(op.between, first, index, loop)
            self.block(op.do, loop + 1)
        if op.over == "systems":
            lines.add("out.message = -1")

    def _separators(self, between: Ops, first: Ops, index: str, loop: int) -> None:
        lines = self._lines
        match first:
            case (When(cond, then, (), span),) if then == between:
                self.condition("if", cond, span, prefix=f"{index} > 0")
                with lines.indented():
                    self.block(then, loop)
                return
        if between:
            lines.add(f"if {index} > 0:")
            with lines.indented():
                self.block(between, loop)
        if first:
            lines.add("else:" if between else f"if {index} == 0:")
            with lines.indented():
                self.block(first, loop)


def _flipped(op: When) -> tuple[Cond, Ops, Ops]:
    return negation(op.cond), op.otherwise, ()

"""The method `response`: the shape of what the model samples, from which completions are read back.

It is spelled as nested calls of the runtime's small data classes; conditions on options and earlier messages stay
Python conditions, so that the shape is that of the prompt at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from templc.emit.expressions import Expressions
from templc.emit.layout import Lines, columns, literal
from templc.ir.facts import facts_of
from templc.ir.ops import Program
from templc.ir.response import KNOWN_SCOPES, Choice, Guarded, Shape, Token, response
from templc.model.expr import Cond, Const, Counted, Test, leaves
from templc.runtime.parser.grammar import (
    Anchor,
    ArgumentCall,
    BareCall,
    Blank,
    Calls,
    FieldCall,
    Hole,
    JsonCall,
    MapCall,
    Part,
    PythonCalls,
    TreeCall,
)

NAMES = (
    "Anchor",
    "ArgumentCall",
    "BareCall",
    "Blank",
    "Calls",
    "Either",
    "FieldCall",
    "Hole",
    "If",
    "JsonCall",
    "MapCall",
    "Part",
    "PythonCalls",
    "Response",
    "TreeCall",
)


@dataclass(frozen=True, slots=True)
class _Node:
    """`head(arguments)`; a leaf has no arguments and stands as its head, or as `spread` where that is too long."""

    head: str
    arguments: tuple[_Node, ...] | None = None
    spread: tuple[str, ...] = ()

    def flat(self) -> str:
        if self.arguments is None:
            return self.head
        inner = ", ".join(argument.flat() for argument in self.arguments)
        return f"{self.head}({inner}{',' if self.head[-1:] in ('', '=') and len(self.arguments) == 1 else ''})"


def emit_response(program: Program, lines: Lines, expressions: Expressions) -> None:
    """Write the method into the class that `lines` is inside of."""
    shapes = response(program)
    conds = _conditions(shapes)
    parameters = ["self"]
    if any(_reads_out(leaf) for cond in conds for leaf in leaves(cond)):
        parameters.append("out: Writer")
    if any(facts_of(cond) for cond in conds):
        parameters.append("past: Past")
    lines.add("", f"def response({', '.join(parameters)}) -> Response:")
    node = _Node("Response", tuple(_item(shape, expressions) for shape in shapes))
    with lines.indented():
        _write(lines, "return ", node, "")


def _reads_out(leaf: Cond) -> bool:
    """Whether a term is about tools or system messages, which the writer holds."""
    if not isinstance(leaf, Test | Counted):
        return False
    return leaf.value.ref.scope in KNOWN_SCOPES and leaf.value.ref.scope != "option"


def _conditions(shapes: Sequence[Shape]) -> list[Cond]:
    found: list[Cond] = []
    for shape in shapes:
        options = (
            shape.options
            if isinstance(shape, Choice)
            else (shape,)
            if isinstance(shape, Guarded)
            else ()
        )
        for option in options:
            found += [option.cond, *_conditions(option.items)]
    return found


def _write(lines: Lines, before: str, node: _Node, after: str) -> None:
    """A node on one line, or one argument a line, as `ruff format` has it."""
    flat = f"{before}{node.flat()}{after}"
    if node.arguments is None or columns(flat) <= lines.room:
        fits = columns(flat) <= lines.room or len(node.spread) < 2
        lines.add(*([flat] if fits else (*node.spread[:-1], f"{node.spread[-1]}{after}")))
        return
    lines.add(f"{before}{node.head}(")
    with lines.indented():
        for argument in node.arguments:
            _write(lines, "", argument, ",")
    lines.add(f"){after}")


def _item(shape: Shape, expressions: Expressions) -> _Node:
    match shape:
        case Choice(options):
            return _Node("Either", tuple(_option(option, expressions) for option in options))
        case Guarded():
            return _option(shape, expressions)
        case Hole(field, strip):
            return _call("Hole", field, *((strip,) if strip else ()))
        case Blank(text):
            return _call("Blank", text)
        case Token(option):
            return _Node("Anchor", (_Node(f'self.{option} or ""'),))
        case Anchor():
            return _anchor(shape)
        case Calls():
            return _calls(shape)


def _option(option: Guarded, expressions: Expressions) -> _Node:
    items = tuple(_item(shape, expressions) for shape in option.items)
    if option.cond == Const(True):
        return _Node("", items)
    cond = _Node(expressions.truth(option.cond), spread=tuple(expressions.spread(option.cond)))
    return _Node("If", (cond, *items))


def _call(head: str, *texts: str) -> _Node:
    return _Node(head, tuple(_Node(literal(text)) for text in texts))


def _anchor(anchor: Anchor) -> _Node:
    given = {"pre": anchor.pre, "post": anchor.post}
    named = [_Node(f"{name}={literal(text)}") for name, text in given.items() if text]
    return _Node("Anchor", (_Node(literal(anchor.core)), *named))


def _named(name: str, node: _Node) -> _Node:
    return _Node(f"{name}={node.head}", node.arguments)


def _calls(calls: Calls) -> _Node:
    shape = _shape(calls)
    texts = {"before": calls.before, "alone": calls.alone, "between": calls.between}
    named = [_Node(f"{name}={literal(text)}") for name, text in texts.items() if text]
    anchors = {"open": calls.open, "close": calls.close}
    named += [_named(name, _anchor(anchor)) for name, anchor in anchors.items() if anchor]
    return _Node("Calls", (shape, *named))


def _shape(calls: Calls) -> _Node:
    shape = calls.call
    if isinstance(shape, BareCall):
        return _call("BareCall", shape.name, shape.arguments, *([shape.id] if shape.id else []))
    edges = (_anchor(shape.open), _anchor(shape.close))
    match shape:
        case JsonCall():
            defaults = {item.name: item.default for item in fields(JsonCall)}
            keys = {"name": shape.name, "arguments": shape.arguments, "id": shape.id}
            named = [
                _Node(f"{name}={literal(key)}")
                for name, key in keys.items()
                if key != defaults[name]
            ]
            return _Node("JsonCall", (*edges, *named))
        case PythonCalls():
            return _Node("PythonCalls", edges)
        case MapCall(before=before, mark=mark):
            return _Node("MapCall", (*edges, _Node(literal(before)), _Node(literal(mark))))
        case TreeCall(head=head, mark=mark):
            named = [_Node("head=", tuple(_part(item) for item in head))]
            return _Node("TreeCall", (*edges, *named, _Node(f"mark={literal(mark)}")))
        case FieldCall(inner=inner):
            return _Node("FieldCall", (*edges, *(_part(item) for item in inner)))
        case ArgumentCall(head=head, argument=argument, other=other):
            parts = [
                _Node(f"{name}=", tuple(_part(item) for item in items))
                for name, items in (("head", head), ("argument", argument), ("other", other))
                if items
            ]
            texts = {"tail": shape.tail, "between": shape.between}
            named = [_Node(f"{name}={literal(text)}") for name, text in texts.items() if text]
            return _Node("ArgumentCall", (*edges, *parts, *named))


def _part(item: str | Part) -> _Node:
    return _call("Part", item.name) if isinstance(item, Part) else _Node(literal(item))

"""How a format writes one call, read off its loop over calls: as JSON, as fields, or argument by argument.

`<tool_call>\\n{"name": "${call.name}", "arguments": ${call.arguments|json}}\\n</tool_call>` is
`JsonCall(Anchor("<tool_call>", post="\\n"), Anchor("</tool_call>", pre="\\n"))`.
"""

from __future__ import annotations

import json
from dataclasses import replace

from templc.ir.filters import MARKS
from templc.ir.literals import Literals
from templc.ir.ops import Body, Each, Op, Ops, Text, When, Write
from templc.model import expr
from templc.model.expr import Ref, Test, Value
from templc.runtime.parser.grammar import (
    Anchor,
    ArgumentCall,
    BareCall,
    CallShape,
    FieldCall,
    JsonCall,
    MapCall,
    Part,
    PythonCalls,
    TreeCall,
)

_MARK = "\x00"
_Run = list[str | Part | Each]


def call_shape(loop: Each, literals: Literals) -> tuple[CallShape, str] | None:
    """The encoding of one call and the white space before it; None for one that cannot be told from text."""
    run, quoted = _run(loop.do)
    if _is_python(run):
        return PythonCalls(Anchor(""), Anchor("")), ""
    if len(run) > 1 and isinstance(run[-1], Part):
        return _to_the_stop(run, literals)
    match run:
        case [str(), *_, str()]:
            pass
        case _:
            return None
    arguments = next((at for at, item in enumerate(run) if isinstance(item, Each)), None)
    if arguments is not None:
        return _by_argument(run, arguments, literals)
    return _as_json(run, quoted, literals) or _as_fields(run, literals)


def _is_python(run: _Run) -> bool:
    """Whether a call is written as `name(key=value, ...)`; what stands around all of them is the loop's."""
    match run:
        case [Part("name"), "(", Each(over="arguments") as inner, ")"]:
            return _run(inner.do)[0] == [Part("name"), "=", Part("value")]
        case _:
            return False


def _run(ops: Ops) -> tuple[_Run, set[str]]:
    """Texts, parts and the inner loop, in order; and the parts that a filter puts into quotes."""
    run: _Run = []
    quoted: set[str] = set()
    for op in ops:
        match op:
            case Write(parts):
                for part in parts:
                    _add(run, part.text if isinstance(part, Text) else _part(part, quoted))
            case When():
                inner, more = _run(_usual(op))
                quoted |= more
                for item in inner:
                    _add(run, item)
            case Each(over="arguments"):
                run.append(op)
            case Each():
                continue
    return run, quoted


def _usual(op: When) -> Ops:
    """The side that is written for what a model says, not for text of a caller or a mistake that is asked for."""
    match op.cond:
        case Test("truth", Value(Ref("option", "as_template"))):
            return op.otherwise
        case _:
            one_by_one = any(isinstance(it, Each) and it.over == "arguments" for it in op.otherwise)
            return op.otherwise if one_by_one else op.then or op.otherwise


def _part(body: Body, quoted: set[str]) -> Part:
    ref = body.value.ref
    # A model that numbers its calls says by the number which one it means.
    name = {"number": "id", "ordinal": "id"}.get(ref.part, ref.part or ref.name)
    if any(use.name.startswith("json") for use in body.value.filters):
        quoted.add(name)
    return Part(name)


def _add(run: _Run, item: str | Part | Each) -> None:
    if isinstance(item, str) and run and isinstance(run[-1], str):
        run[-1] += item
    elif item != "":
        run.append(item)


def _as_json(run: _Run, quoted: set[str], literals: Literals) -> tuple[CallShape, str] | None:
    first, last = str(run[0]), str(run[-1])
    if "{" not in first or "}" not in last:
        return None
    opening, closing = (
        literals.head(first[: first.index("{")]),
        literals.tail(last[last.rindex("}") + 1 :]),
    )
    keys = _keys(_spelled(run, quoted, first.index("{"), last.rindex("}") + 1))
    before, behind = first[: first.index("{")], last[last.rindex("}") + 1 :]
    if not (before + behind).strip() and {"name", "arguments"} <= keys.keys():
        return BareCall(keys["name"], keys["arguments"], keys.get("id", "")), before
    if opening is None or closing is None or "name" not in keys or "arguments" not in keys:
        return None
    open_anchor = replace(opening[1], post=opening[2])
    close_anchor = replace(closing[1], pre=closing[0], post=closing[2])
    shape = JsonCall(open_anchor, close_anchor, keys["name"], keys["arguments"], keys.get("id", ""))
    return shape, opening[0]


def _spelled(run: _Run, quoted: set[str], start: int, end: int) -> str:
    """The object as JSON with a mark in place of each part."""
    texts = [item if isinstance(item, str) else "" for item in run]
    texts[-1], texts[0] = texts[-1][:end], texts[0][start:]
    for at, item in enumerate(run):
        if isinstance(item, Part):
            mark = json.dumps(_MARK + item.name)
            bare = item.name != "arguments" and item.name not in quoted
            texts[at] = mark[1:-1] if bare else mark
    return "".join(texts)


def _keys(text: str) -> dict[str, str]:
    """Part to key of a flat JSON object whose values are marks."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        value[1:]: key
        for key, value in found.items()
        if isinstance(value, str) and value.startswith(_MARK)
    }


def _as_fields(run: _Run, literals: Literals) -> tuple[CallShape, str] | None:
    opening, closing = literals.head(str(run[0])), literals.tail(str(run[-1]))
    if opening is None or closing is None:
        return None
    inner = _trimmed([opening[2], *run[1:-1], closing[0]])
    return FieldCall(opening[1], replace(closing[1], post=closing[2]), *inner), opening[0]


def _to_the_stop(run: _Run, literals: Literals) -> tuple[CallShape, str] | None:
    """A call with nothing behind its last part: what stops the turn closes it."""
    opening = literals.head(run[0]) if isinstance(run[0], str) else None
    if opening is None:
        return None
    return FieldCall(opening[1], Anchor(""), *_trimmed([opening[2], *run[1:]])), opening[0]


def _by_argument(run: _Run, at: int, literals: Literals) -> tuple[CallShape, str] | None:
    opening, closing = literals.head(str(run[0])), literals.tail(str(run[-1]))
    loop = run[at]
    if opening is None or closing is None or not isinstance(loop, Each):
        return None
    head: _Run = [opening[2], *run[1:at]]
    for item in _run(loop.open)[0]:
        _add(head, item)
    tail = "".join(str(item) for item in (*_run(loop.close)[0], closing[0]))
    argument, *others = (_trimmed(_run(side)[0]) for side in _sides(loop.do))
    close_anchor = replace(closing[1], post=closing[2])
    marked = [mark for mark in map(_mark_of, loop.do) if mark]
    if marked and len(head) == 3 and head[2] == "{" and tail == "}":
        return MapCall(opening[1], close_anchor, str(head[0]), marked[0]), opening[0]
    mark = _tree_mark(loop.do)
    if mark and argument == (
        f"{mark}<",
        Part("name"),
        ">",
        Part("value"),
        f"{mark}</",
        Part("name"),
        ">",
    ):
        return TreeCall(opening[1], close_anchor, _trimmed(head), mark), opening[0]
    if _is_keyword(argument) and not literals.found(str(run[-1])):
        return _keywords(run, loop, opening, (argument, *others))
    if not all(_plain(one) for one in (argument, *others)):
        return None
    if any((one[0], one[-1]) != (argument[0], argument[-1]) for one in others):
        return None
    other = next((one for one in others if one != argument), ())
    return ArgumentCall(opening[1], close_anchor, _trimmed(head), argument, tail, other), opening[0]


def _is_keyword(argument: tuple[str | Part, ...]) -> bool:
    """Whether an argument begins with its name and ends with a text behind its value."""
    match argument:
        case (Part("name"), str(), Part("value"), str()):
            return True
        case _:
            return False


def _keywords(
    run: _Run,
    loop: Each,
    opening: tuple[str, Anchor, str],
    sides: tuple[tuple[str | Part, ...], ...],
) -> tuple[CallShape, str] | None:
    """A call as `name(key="value", ...)` that the end of the turn closes."""
    between = "".join(str(item) for item in _run(loop.between)[0])
    argument, *others = sides
    match run:
        case [_, Part("name"), str() as edge, Each(), str() as tail] if between:
            head = _trimmed([opening[2], Part("name"), edge])
        case _:
            return None
    if not all(one[:1] == (Part("name"),) and len(one) == 3 for one in others):
        return None
    other = next(iter(others), ())
    shape = ArgumentCall(opening[1], Anchor(""), head, argument, tail, other, between)
    return shape, opening[0]


def _sides(ops: Ops) -> list[Ops]:
    """How an argument is written; where that hangs on whether it is a text, that of texts first."""
    match ops:
        case (When(Test("is_text"), then, otherwise),) if then and otherwise:
            return [then, otherwise]
        case (When(expr.Not(Test("is_text")), then, otherwise),) if then and otherwise:
            return [otherwise, then]
        case _:
            return [ops]


def _plain(argument: tuple[str | Part, ...]) -> bool:
    """Whether an argument is a name and a value, each once, with texts around both."""
    match argument:
        case (str(), Part(), str(), Part(), str()):
            return True
        case _:
            return False


def _mark_of(op: Op) -> str:
    """What stands around texts in the value that an operation writes, where its filter has such a mark."""
    parts = op.parts if isinstance(op, Write) else ()
    uses = (use for part in parts if isinstance(part, Body) for use in part.value.filters)
    return next((MARKS[use.name] for use in uses if use.name in MARKS), "")


def _tree_mark(ops: Ops) -> str:
    """What stands before each tag, where a value is written as a tree of tags."""
    for op in ops:
        if isinstance(op, When):
            return _tree_mark(_usual(op))
        for part in op.parts if isinstance(op, Write) else ():
            for use in part.value.filters if isinstance(part, Body) else ():
                if use.name == "tree":
                    return use.argument or ""
    return ""


def _trimmed(run: _Run) -> tuple[str | Part, ...]:
    return tuple(item for item in run if item != "" and not isinstance(item, Each))

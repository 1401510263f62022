"""The text of one call to its parts: name, arguments and their raw text, id.

`Reading(shape, ...).read('{"name": "f", "arguments": {"a": 1}}')` is a `ReadCall("f", {"a": 1}, '{"a": 1}')`. What
cannot be read raises `BadCall`, whose code says why; what is odd is in `notes`, a value of another type in `errors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.between import BadCall as BadCall
from templc.runtime.parser.between import after, split
from templc.runtime.parser.grammar import (
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
from templc.runtime.parser.keywords import keywords
from templc.runtime.parser.map_calls import read_map
from templc.runtime.parser.python_calls import python_calls
from templc.runtime.parser.scan import LOOK_AHEAD, argument_edges
from templc.runtime.parser.tree_calls import node_value, read_tree
from templc.runtime.parser.values import (
    Typed,
    Unreadable,
    decoded_arguments,
    members,
    read_json,
    typed,
    usual_beginning,
    usual_members,
)
from templc.runtime.text import Verbatim, to_json

Raw = str | dict[str, str]
Problem = tuple[str, str]


@dataclass(slots=True)
class ReadCall:
    """One call; `raw`: the sampled text of its arguments, by name where the format writes them one by one."""

    name: str
    arguments: dict[str, Any]
    raw: Raw
    id: str | None = None
    type: str = "function"
    errors: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)


class Reading(NamedTuple):
    """Reads calls of one shape; `schemas`: parameters by declared tool, None where no tools are known."""

    schemas: Mapping[str, Any] | None
    call_id: str
    alphabet: Alphabet

    def body(self, shape: CallShape, text: str) -> str:
        """The raw text of a call without the white space that the format writes around it."""
        if isinstance(shape, BareCall):
            return "{" + text + "}"
        post, pre = shape.open.post, shape.close.pre
        text = text.removeprefix(post)
        return text.removesuffix(pre)

    def usual(self, begins: re.Pattern[str], end: str, text: str) -> ReadCall | None:
        """A JSON call that is written in the usual way, of a known tool; None where it takes a closer look.

        begins, end: of the whole text, see `usual_members`.
        """
        found = usual_members(text, begins, end)
        if found is None:
            return None
        name, value, raw = found
        known = self.schemas is None or name in self.schemas
        return ReadCall(name, value, Verbatim(raw)) if known and type(value) is dict else None

    def read_all(self, shape: CallShape, text: str) -> list[ReadCall]:
        """The calls that stand between opener and closer: one, but for the Python form."""
        if not isinstance(shape, PythonCalls):
            return [self.read(shape, text)]
        try:
            found = python_calls(self.alphabet.outside(self.body(shape, text)))
        except Unreadable as error:
            raise BadCall("bad_call", str(error)) from None
        if not found:
            raise BadCall("no_name", "there is no call")
        return [self._known(ReadCall(*call)) for call in found]

    def read(
        self, shape: JsonCall | FieldCall | ArgumentCall | BareCall | MapCall | TreeCall, text: str
    ) -> ReadCall:
        """The call that stands between opener and closer."""
        match shape:
            case JsonCall():
                call = self._json(shape, self.alphabet.outside(self.body(shape, text)))
            case FieldCall():
                call = self._field_by_field(shape, text)
            case ArgumentCall(between=""):
                call = self._arguments(shape, text)
            case ArgumentCall():
                call = self._keywords(shape, text)
            case MapCall():
                call = self._map(shape, text)
            case TreeCall():
                call = self._tree(shape, text)
            case BareCall(name, arguments, id):
                inner = JsonCall(shape.open, shape.close, name, arguments, id)
                call = self._json(inner, self.alphabet.outside("{" + text + "}"))
        return self._known(call)

    def _known(self, call: ReadCall) -> ReadCall:
        if self.schemas is not None and call.name not in self.schemas:
            call.notes.append(("unknown_tool", f"no tool is named {call.name!r}"))
        return call

    def _json(self, shape: JsonCall, text: str) -> ReadCall:
        usual = usual_members(text, usual_beginning(shape.name, shape.arguments), "}")
        if usual is not None:
            name, value, raw = usual
            return ReadCall(name, _object(name, value), Verbatim(raw))
        try:
            found = members(text)
        except Unreadable as error:
            raise BadCall("invalid_json", str(error)) from None
        name, _ = found.get(shape.name, (None, ""))
        if not isinstance(name, str) or not name:
            raise BadCall("no_name", "the call has no name")
        if shape.arguments not in found:
            raise BadCall("bad_arguments", f"the call to {name!r} has no {shape.arguments}")
        value, raw = found[shape.arguments]
        call = ReadCall(name, _object(name, value), Verbatim(raw))
        call_id = found.get(shape.id, (None, ""))[0] if shape.id else None
        call.id = call_id if isinstance(call_id, str) and call_id else None
        extra = sorted(found.keys() - {shape.name, shape.arguments, shape.id})
        call.notes += [("extra_keys", f"the call also has {', '.join(extra)}")] if extra else []
        return call

    def _field_by_field(self, shape: FieldCall, text: str) -> ReadCall:
        found = {
            name: self.alphabet.outside(part) for name, part in split(shape.inner, text).items()
        }
        call_id = found.get("id", "").strip()
        notes: list[Problem] = []
        name = found["name"].strip() if "name" in found else self._named(call_id, notes)
        if not name:
            raise BadCall(
                "no_name",
                f"the id {call_id!r} names no function" if call_id else "the call has no name",
            )
        raw = found.get("arguments", "")
        try:
            arguments = _object(name, read_json(raw))
        except Unreadable as error:
            raise BadCall("invalid_json", str(error)) from None
        return ReadCall(
            name,
            arguments,
            Verbatim(raw),
            call_id or None,
            found.get("type", "").strip() or "function",
            notes=notes,
        )

    def _map(self, shape: MapCall, text: str) -> ReadCall:
        before, mark = self.alphabet.outside(shape.before), self.alphabet.outside(shape.mark)
        inner = self.alphabet.outside(text)
        inner = after(inner, before) if before else inner
        name, brace, rest = inner.partition("{")
        if not name.strip() or not brace:
            raise BadCall("no_name", "the call is not a name and braces")
        name, whole = name.strip(), brace + rest
        with suppress(BadCall, Unreadable):
            # Arguments that a caller gave as JSON text are written as they are, between the braces.
            return ReadCall(name, _object(name, read_json(whole[1:-1])), whole[1:-1])
        try:
            return ReadCall(name, read_map(whole, mark), whole)
        except Unreadable as error:
            raise BadCall("bad_arguments", f"the arguments of {name!r}: {error}") from None

    def _tree(self, shape: TreeCall, text: str) -> ReadCall:
        """Read with the mark as a character of its own, so that no text in a value is taken for one."""
        start = text.find(shape.mark)
        head, rest = (text, "") if start < 0 else (text[:start], text[start:])
        name = self.alphabet.outside(split(shape.head, head).get("name", "")).strip()
        if not name:
            raise BadCall("no_name", "the call has no name")
        try:
            found = read_tree(rest, shape.mark)
        except Unreadable as error:
            raise BadCall("bad_arguments", f"the arguments of {name!r}: {error}") from None
        call, parameters = ReadCall(name, {}, {}), self._parameters(name)
        for inner, node, raw in found:
            key, schema = self.alphabet.outside(inner), (parameters or {}).get(inner)
            value = node_value(node, schema, self.alphabet.outside)
            _take(call, key, self.alphabet.outside(raw), value, parameters)
        return call

    def _named(self, call_id: str, notes: list[Problem]) -> str:
        """The name in an id that is built as the format has it, or in a simpler one."""
        if not self.call_id:
            return ""
        pattern = (
            re.escape(self.call_id).replace(r"\{name\}", "(.+)").replace(r"\{index\}", "[0-9]+")
        )
        if match := re.fullmatch(pattern, call_id, re.DOTALL):
            return match[1]
        plain = re.fullmatch(r"(.+?)(:[0-9]+)?", call_id, re.DOTALL)
        if plain is None:
            return ""
        known = self.schemas is not None and plain[1] in self.schemas
        if not known and (self.schemas is not None or not plain[2]):
            return ""
        notes.append(("foreign_id", f"the id {call_id!r} is not built as {self.call_id}"))
        return plain[1]

    def _arguments(self, shape: ArgumentCall, text: str) -> ReadCall:
        text = self.alphabet.outside(text)
        shape = _outside(shape, self.alphabet)
        opening, _ = argument_edges(shape)
        start = text.find(opening)
        head = text if start < 0 else text[:start]
        if start < 0 and shape.tail.strip():
            head = head.rstrip().removesuffix(shape.tail.strip())
        found = split(shape.head, head)
        name = found.get("name", "").strip()
        if not name:
            raise BadCall("no_name", "the call has no name")
        edge = str(shape.head[-1]).strip() if isinstance(shape.head[-1], str) else ""
        if edge and edge in name:
            name = name.partition(edge)[0]
            raise BadCall("bad_arguments", f"the arguments of {name!r} do not begin as they should")
        call = ReadCall(name, {}, {}, found.get("id", "").strip() or None)
        rest = _each(shape, text, start, self._parameters(name), call) if start >= 0 else ""
        if rest.strip() != shape.tail.strip() and start >= 0:
            raise BadCall("bad_arguments", f"the arguments of {name!r} do not end as they should")
        return call

    def _keywords(self, shape: ArgumentCall, text: str) -> ReadCall:
        text, shape = self.alphabet.outside(text), _outside(shape, self.alphabet)
        edge = str(shape.head[-1])
        head, found, rest = text.partition(edge)
        name = split(shape.head, head + found).get("name", "").strip()
        if not name:
            raise BadCall("no_name", "the call has no name")
        if not rest.rstrip().endswith(shape.tail):
            raise BadCall("bad_arguments", f"the arguments of {name!r} do not end as they should")
        call, parameters = ReadCall(name, {}, {}), self._parameters(name)
        try:
            read = keywords(shape, rest.rstrip().removesuffix(shape.tail))
        except Unreadable as error:
            raise BadCall("bad_arguments", f"the arguments of {name!r}: {error}") from None
        for key, raw, quoted in read:
            _take(call, key, raw, _marked(raw, text=quoted), parameters)
            _respell(call, key)
        return call

    def _parameters(self, name: str) -> Mapping[str, Any] | None:
        """The declared parameters of a tool, None where the tool is unknown."""
        schema = None if self.schemas is None else self.schemas.get(name)
        if not isinstance(schema, Mapping):
            return None
        properties = schema.get("properties")
        return properties if isinstance(properties, Mapping) else {}


def _object(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = decoded_arguments(value)
        except Unreadable as error:
            raise BadCall(
                "bad_arguments", f"the arguments of {name!r} are text that is not JSON: {error}"
            ) from None
    if not isinstance(value, dict):
        raise BadCall("bad_arguments", f"the arguments of {name!r} are not an object")
    return value


def _outside(shape: ArgumentCall, alphabet: Alphabet) -> ArgumentCall:
    def run(items: tuple[str | Part, ...]) -> tuple[str | Part, ...]:
        return tuple(alphabet.outside(item) if isinstance(item, str) else item for item in items)

    return ArgumentCall(
        shape.open,
        shape.close,
        run(shape.head),
        run(shape.argument),
        alphabet.outside(shape.tail),
        run(shape.other),
        alphabet.outside(shape.between),
    )


def _each(
    shape: ArgumentCall, text: str, at: int, parameters: Mapping[str, Any] | None, call: ReadCall
) -> str:
    """Read every argument from `at` on into `call`; what follows the last one."""
    opening, closing = argument_edges(shape)
    middles = [str(spelling[2]).strip() for spelling in (shape.argument, shape.other) if spelling]
    between = re.compile("|".join(map(re.escape, middles)))
    follow = "|".join(re.escape(item) for item in (opening, shape.tail.strip()) if item)
    ends = re.compile(rf"{re.escape(closing)}(?=\s{{0,{LOOK_AHEAD}}}(?:{follow}|\Z))")
    while text.startswith(opening, at):
        separator = between.search(text, at + len(opening))
        if separator is None:
            raise BadCall("bad_arguments", f"an argument of {call.name!r} has no name")
        key = text[at + len(opening) : separator.start()].strip()
        start = separator.end()
        end = ends.search(text, start)
        if end is None:
            raise BadCall("bad_arguments", f"the argument {key!r} of {call.name!r} is not closed")
        value = _bare(shape, text[start : end.start()])
        if shape.other:
            _take(call, key, value, _marked(value, text=separator[0] == middles[0]), None)
            _respell(call, key)
        else:
            found = typed(value, None if parameters is None else parameters.get(key))
            _take(call, key, value, found, parameters)
        at = end.end()
        at += len(text[at : at + LOOK_AHEAD]) - len(text[at : at + LOOK_AHEAD].lstrip())
    return text[at:]


def _bare(shape: ArgumentCall, value: str) -> str:
    """A value without the white space that the format writes around it."""
    middle, last = str(shape.argument[2]), str(shape.argument[-1])
    value = value.removeprefix(middle[len(middle.rstrip()) :])
    return value.removesuffix(last[: len(last) - len(last.lstrip())])


def _marked(value: str, *, text: bool) -> Typed:
    """An argument whose spelling says whether it is a text; no schema is needed."""
    if text:
        return Typed(value)
    try:
        return Typed(read_json(value))
    except Unreadable as error:
        return Typed(value, error=str(error))


def _respell(call: ReadCall, key: str) -> None:
    """Leave out the raw text of a value that is spelled as usual: it is written so again, not taken for a text."""
    assert isinstance(call.raw, dict)
    if to_json(call.arguments[key]) == call.raw[key]:
        del call.raw[key]


def _take(
    call: ReadCall, key: str, value: str, found: Typed, parameters: Mapping[str, Any] | None
) -> None:
    assert isinstance(call.raw, dict)
    if key in call.raw:
        call.notes.append(("duplicate_argument", f"{call.name!r} has the argument {key!r} twice"))
    if parameters is not None and key not in parameters:
        call.notes.append(("unknown_argument", f"{call.name!r} declares no argument {key!r}"))
    call.arguments[key], call.raw[key] = found.value, value
    call.errors += (
        [("bad_value", f"{key!r} of {call.name!r}: {found.error}")] if found.error else []
    )
    call.notes += [(found.note, f"{key!r} of {call.name!r}")] if found.note else []

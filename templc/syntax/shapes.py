"""Findings about the shape of a spec as problems: what to say, where to point, how to cure it.

A missing key is shown at the key of the mapping that lacks it, an unknown one where it stands, a wrong value where
its first line does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from templc.problems.problem import Problems
from templc.problems.render import suggest
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from templc.source.span import Span
from templc.syntax.branches import Finding

MAX_NAME = 100
_TYPES = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a number",
}
_KINDS = {"text": "a text", "bool": "true or false", "int": "a number", "null": "nothing"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A node and the key that it stands under."""

    node: Node
    key: ScalarNode | None

    @property
    def name(self) -> str:
        return f"`{clipped(self.node.path)}`" if self.node.path else "a spec"

    @property
    def span(self) -> Span:
        """A short span for the whole node: itself when it is on one line, else its key or its start."""
        span = self.node.span
        if isinstance(self.node, ScalarNode) or span.first_line == span:
            return span.first_line
        if self.key is not None:
            return self.key.span
        first = self.node.entries[0].key if isinstance(self.node, MappingNode) else None
        return first.span if first and first.span.start == span.start else span.first_line

    @property
    def lacking(self) -> Span:
        """Where to say that something is missing."""
        return self.key.span if self.key is not None else self.span


def clipped(name: str) -> str:
    """A name for a message, cut where no name is that long."""
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}..."


@cache
def pattern_of(pattern: str) -> re.Pattern[str]:
    """As ECMA 262 has it: `$` is the end of the text, not also the place before a last newline."""
    return re.compile(pattern.replace("$", r"\Z"))


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern of the schema is in a text."""
    return pattern_of(pattern).search(text) is not None


def spot(root: Node, path: tuple[str | int, ...]) -> Spot:
    """The node at a path; the last one that there is."""
    found = Spot(root, None)
    for step in path:
        match found.node:
            case MappingNode():
                entry = found.node.entry(str(step))
                if entry is None:
                    return found
                found = Spot(entry.value, entry.key)
            case SequenceNode(items=items):
                found = Spot(items[int(step)], None)
            case ScalarNode():
                return found
    return found


def report(place: Spot, found: Finding, schema: Mapping[str, Any], problems: Problems) -> None:
    """Report one finding."""
    match found.rule:
        case "unknown":
            for key in found.value:
                _unknown(place, key, found, problems)
        case "missing" | "either":
            _missing(place, found, schema, problems)
        case "name":
            _name(place, found, problems)
        case "uniqueItems":
            _twice(place, problems)
        case _:
            _wrong_type(place, found, problems)


def _unknown(place: Spot, key: str, found: Finding, problems: Problems) -> None:
    known = list(found.schema.get("properties", {}))
    close = suggest(key, known)
    problems.error(
        "unknown-key",
        f"{place.name} has no key `{clipped(key)}`",
        _key(place, key),
        label="unknown",
        helps=(f"did you mean `{close}`?" if close else f"known here: {', '.join(known)}",),
    )


def _key(place: Spot, key: str) -> Span:
    entry = place.node.entry(key) if isinstance(place.node, MappingNode) else None
    return entry.key.span if entry else place.span


def _missing(place: Spot, found: Finding, schema: Mapping[str, Any], problems: Problems) -> None:
    joint = " or " if found.rule == "either" else " and no "
    lacks = "neither " if found.rule == "either" else "no "
    joint = " nor " if found.rule == "either" else joint
    keys = joint.join(f"`{key}`" for key in found.value)
    problems.error(
        "missing-key",
        f"{place.name} has {lacks}{keys}",
        place.lacking,
        label="incomplete",
        helps=tuple(_about(key, found.schema, schema) for key in found.value),
    )


def _about(key: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """What a key is for, with an example."""
    part = schema.get("properties", {}).get(key, {})
    if "description" not in part:
        part = _described(root, key) or {}
    examples = part.get("examples")
    shown = f"; for example `{key}: {_shown(examples[0])}`" if examples else ""
    return f"`{key}`: {_lower(part.get('description', 'it is needed'))}{shown}"


def _described(schema: object, key: str) -> Mapping[str, Any] | None:
    """The first description of a key anywhere in the schema."""
    if not isinstance(schema, Mapping):
        return None
    part = schema.get("properties", {}).get(key)
    if isinstance(part, Mapping) and "description" in part:
        return part
    return next((found for value in schema.values() if (found := _described(value, key))), None)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _shown(example: object) -> str:
    """An example as a YAML author would write it: JSON, which is YAML too."""
    return json.dumps(example, ensure_ascii=False)


def _name(place: Spot, found: Finding, problems: Problems) -> None:
    if "enum" in found.schema:
        close = suggest(found.value, found.schema["enum"])
        cure = f"did you mean `{close}`?" if close else f"one of {', '.join(found.schema['enum'])}"
    else:
        cure = f"choose {found.schema.get('patternErrorMessage', 'a shorter one')}"
    message = f"`{clipped(found.value)}` cannot be a name under {place.name}"
    span = _key(place, found.value)
    problems.error("unknown-key", message, span, label="as a name", helps=(cure,))


def _twice(place: Spot, problems: Problems) -> None:
    items = place.node.items if isinstance(place.node, SequenceNode) else ()
    seen: set[str] = set()
    for item in items:
        value = item.value if isinstance(item, ScalarNode) else ""
        if value in seen:
            message = f"{place.name} lists `{clipped(value)}` twice"
            problems.error("wrong-type", message, item.span, label="again", helps=("remove it",))
        seen.add(value)


def _wrong_type(place: Spot, found: Finding, problems: Problems) -> None:
    problems.error(
        "wrong-type",
        f"{place.name} {_wrong(place.node, found)}",
        _offending(place, found),
        label="here",
        helps=_cures(place.node, found),
    )


def _offending(place: Spot, found: Finding) -> Span:
    """The first character that a one-line text cannot hold; the whole place for anything else."""
    node = place.node
    if found.rule == "pattern" and "[^" in found.value and isinstance(node, ScalarNode):
        for at, char in enumerate(node.value):
            if not fits(found.value, f"x{char}"):
                return node.at(at, at + 1)
    return place.span


def _wrong(node: Node, found: Finding) -> str:
    value = found.value
    match found.rule:
        case "type":
            return f"must be {_types(value)}, not {_kind(node)}"
        case "marks":
            return f"has none of the keys {_either(f'`{key}`' for key in value)}"
        case "enum":
            return f"must be one of {', '.join(str(item) for item in value if item is not None)}"
        case "const":
            return f"must be `{value}`"
        case "pattern":
            return f"must be {found.schema.get('patternErrorMessage', 'of another form')}"
        case "minLength":
            return "is empty" if not found.instance else f"must have at least {value} characters"
        case "minItems":
            return "is an empty list"
        case "maxLength":
            return f"is too long: {len(found.instance)} characters, at most {value}"
        case "minimum" | "maximum":
            return f"must be at {'least' if found.rule == 'minimum' else 'most'} {value}"
        case _:
            return "does not have the right shape"


def _types(value: str | list[str]) -> str:
    names = [value] if isinstance(value, str) else value
    return _either(dict.fromkeys(_TYPES[name] for name in names if name != "null"))


def _either(words: Iterable[str]) -> str:
    """`a`, `b` or `c`; with a comma before an `or` that would run into another one."""
    *first, last = words
    if not first:
        return last
    return f"{', '.join(first)}{',' if ' or ' in last else ''} or {last}"


def _kind(node: Node) -> str:
    match node:
        case ScalarNode(kind=kind):
            return _KINDS[kind]
        case SequenceNode():
            return "a list"
        case MappingNode():
            return "a mapping"


def _cures(node: Node, found: Finding) -> tuple[str, ...]:
    if found.rule == "marks":
        return ("a step is a text, a mapping with one of these keys, or a list of steps",)
    if found.rule == "enum" and isinstance(found.instance, str):
        close = suggest(found.instance, [item for item in found.value if isinstance(item, str)])
        return (f"did you mean `{close}`?",) if close else ()
    text_wanted = found.rule == "type" and "string" in found.value
    if text_wanted and isinstance(node, ScalarNode) and node.kind in ("bool", "int"):
        return (f'quote it: "{node.value}"',)
    examples = found.schema.get("examples", [])
    return (f"for example: {_shown(examples[0])}",) if examples else ()

"""Located nodes: YAML text to a tree in which every part knows its place, and nothing was guessed.

PyYAML's events are read, never its loader: a key twice, a tag, an anchor, or a word that YAML 1.1 takes for something
else (`on`, `1_000`) is a problem, not a silent value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from yaml import events

from templc.problems.problem import Label, Problems
from templc.source.guesses import guess
from templc.source.mistakes import report_syntax
from templc.source.scalars import offsets
from templc.source.span import Source, Span

MAX_DEPTH = 40
MAX_NODES = 20_000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
Kind = Literal["text", "bool", "int", "null"]


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar: its text, and what kind it is when written plain."""

    value: str
    kind: Kind
    span: Span
    path: str
    style: str | None = field(default=None, compare=False)
    _offsets: list[int] = field(default_factory=list, compare=False, repr=False)

    def at(self, start: int, end: int) -> Span:
        """Where `value[start:end]` stands in the file."""
        if not self.value:
            return self.span
        if not self._offsets:
            text = self.span.source.text
            self._offsets.extend(offsets(text, self.span.start, self.span.end, self.style, self.value))
        last = len(self.value)
        start, end = min(start, last - 1), min(end, last)
        first = self._offsets[start]
        stop = self._offsets[end] if end < last else self._stop()
        return Span(self.span.source, first, max(stop, first + 1))

    def _stop(self) -> int:
        """The end of the last character: before the closing quote."""
        return self.span.end - 1 if self.style in ("'", '"') else self._offsets[-1] + 1


@dataclass(frozen=True, slots=True)
class SequenceNode:
    items: tuple[Node, ...]
    span: Span
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    entries: tuple[Entry, ...]
    span: Span
    path: str

    def entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key.value == name), None)

    def get(self, name: str) -> Node | None:
        found = self.entry(name)
        return found.value if found else None

    def keys(self) -> list[str]:
        return [entry.key.value for entry in self.entries]


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> Any:
    """The node as Python values."""
    match node:
        case ScalarNode(value, kind):
            if kind == "text":
                return value
            return {"true": True, "false": False}[value] if kind == "bool" else int(value) if kind == "int" else None
        case SequenceNode(items):
            return [plain(item) for item in items]
        case MappingNode(entries):
            return {entry.key.value: plain(entry.value) for entry in entries}


def parse_nodes(source: Source, problems: Problems) -> Node | None:
    """The one document of a source, or None after problems were reported."""
    before = len(problems)
    try:
        root = _Parser(source, problems).document()
    except yaml.MarkedYAMLError as error:
        report_syntax(source, error, problems)
        return None
    except yaml.reader.ReaderError as error:
        at = min(error.position, max(len(source.text) - 1, 0))
        problems.error(
            "not-text",
            f"the character U+{ord(str(error.character)) if isinstance(error.character, str) else error.character:04X} cannot stand in YAML",
            Span(source, at, at + 1),
            label="here",
            helps=("write it as an escape in double quotes",),
        )
        return None
    except _Stop:
        return None
    if root is None and len(problems) == before:
        problems.error("empty", "there is nothing in this file", Span(source, 0, 0), helps=("a spec starts with `format: NAME`",))
    return root


class _Stop(Exception):
    """A problem after which going on makes no sense was reported."""


class _Parser:
    """Events to nodes; reports what a spec may not hold and goes on where it can."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._events: Iterator[Any] = yaml.parse(source.text, Loader=yaml.SafeLoader)
        self._count = 0

    def document(self) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in self._events:
            match event:
                case events.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        self._error("yaml-feature", "a second document", event, "a spec is one document")
                        raise _Stop
                    if event.version or event.tags:
                        self._error("yaml-feature", "a YAML directive", event, "remove the line that starts with %")
                case events.ScalarEvent() | events.SequenceStartEvent() | events.MappingStartEvent() | events.AliasEvent():
                    root = self._node(event, "", 0)
        if isinstance(root, ScalarNode) and root.kind == "null" and not root.span.text:
            return None
        return root

    def _span(self, event: Any) -> Span:
        return Span(self._source, event.start_mark.index, max(event.end_mark.index, event.start_mark.index))

    def _error(self, code: str, message: str, event: Any, cure: str) -> None:
        self._problems.error(code, message, self._span(event), label="here", helps=(cure,))

    def _node(self, event: Any, path: str, depth: int) -> Node:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_NODES:
            what = f"nested over {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else f"of over {MAX_NODES} parts"
            self._error("too-deep" if depth > MAX_DEPTH else "too-large", f"a spec {what}", event, "split it up, or simplify it")
            raise _Stop
        self._features(event)
        match event:
            case events.SequenceStartEvent():
                return self._sequence(event, path, depth)
            case events.MappingStartEvent():
                return self._mapping(event, path, depth)
            case events.ScalarEvent():
                return self._scalar(event, path)
        return ScalarNode("", "null", self._span(event), path)

    def _features(self, event: Any) -> None:
        if getattr(event, "anchor", None):
            what = "an alias" if isinstance(event, events.AliasEvent) else "an anchor"
            self._error("yaml-feature", f"{what} cannot stand in a spec", event, "name the part under `fragments` or `texts`")
        if getattr(event, "tag", None):
            self._error("yaml-feature", f"the tag `{event.tag}` cannot stand in a spec", event, "remove it: a spec is plain data")

    def _sequence(self, start: Any, path: str, depth: int) -> SequenceNode:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, events.SequenceEndEvent):
                span = Span(self._source, start.start_mark.index, self._end(event, items))
                return SequenceNode(tuple(items), span, path)
            items.append(self._node(event, f"{path}/{len(items)}" if path else str(len(items)), depth + 1))
        raise _Stop

    def _mapping(self, start: Any, path: str, depth: int) -> MappingNode:
        entries: list[Entry] = []
        seen: dict[str, ScalarNode] = {}
        for event in self._events:
            if isinstance(event, events.MappingEndEvent):
                span = Span(self._source, start.start_mark.index, self._end(event, [entry.value for entry in entries]))
                return MappingNode(tuple(entries), span, path)
            key = self._key(event, path, depth)
            below = f"{path}/{key.value}" if path else key.value
            value = self._node(next(self._events), below, depth + 1)
            if key.value in seen:
                self._duplicate(key, seen[key.value])
            else:
                seen[key.value] = key
                entries.append(Entry(key, value))
        raise _Stop

    def _end(self, event: Any, parts: list[Node]) -> int:
        """Block collections end where their last part does; flow ones at their bracket."""
        if event.end_mark.index > event.start_mark.index:
            return int(event.end_mark.index)
        return parts[-1].span.end if parts else int(event.start_mark.index)

    def _duplicate(self, key: ScalarNode, first: ScalarNode) -> None:
        self._problems.error(
            "duplicate-key",
            f"the key `{key.value}` stands twice",
            key.span,
            label="again here",
            others=(Label(first.span, "first here"),),
            helps=("remove one of them: YAML readers keep only the last, in silence",),
        )

    def _key(self, event: Any, path: str, depth: int) -> ScalarNode:
        node = self._node(event, path, depth + 1)
        if isinstance(node, ScalarNode):
            if node.value == "<<" and node.style is None:
                self._problems.error("yaml-feature", "a merge key cannot stand in a spec", node.span, label="here", helps=("use `extends` or `fragments`",))
            elif node.kind in ("bool", "null"):
                self._problems.error("yaml-guess", f"`{node.span.text}` is not a name", node.span, label="used as a key", helps=("quote it",))
            return node
        self._problems.error("wrong-type", "a key must be a name", node.span, label="here", helps=("did you mean to quote a text with `{` or `[`?",))
        return ScalarNode("?", "text", node.span, path)

    def _scalar(self, event: Any, path: str) -> ScalarNode:
        span, value = self._span(event), event.value
        if event.style is not None:
            return ScalarNode(value, "text", span, path, event.style)
        kind: Kind = "text"
        if value in ("true", "false"):
            kind = "bool"
        elif value in ("", "~", "null"):
            kind = "null"
        elif _INTEGER.fullmatch(value):
            kind = "int"
        else:
            guessed = guess(value)
            if guessed:
                self._problems.error(
                    "yaml-guess",
                    f"`{value}` may be read as {guessed}",
                    span,
                    label="YAML 1.1 readers guess here",
                    helps=(f'quote it: "{value}"' if guessed != "true or false" else f'write true or false, or quote it: "{value}"',),
                )
        return ScalarNode(value, kind, span, path)

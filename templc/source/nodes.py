"""Located nodes: YAML text to a tree in which every part knows its place, and nothing was guessed.

Input: a `Source`; output: nodes, or problems. PyYAML's events are read, never its loader: a key
twice, a tag, an anchor, or a word that YAML 1.1 takes for something else is a problem, not a silent
value. `parse_nodes(Source("x.yaml", "a: on"), problems)` reports `on`; `a: "on"` is a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, assert_never

import yaml
from yaml import events

from templc.problems.problem import Label, Problem, Problems
from templc.source.guesses import Kind, kind_of
from templc.source.libyaml import loader
from templc.source.mistakes import report_bad_escape, report_syntax
from templc.source.refusals import (
    refuse_feature,
    refuse_guess,
    refuse_key,
    refuse_surrogates,
    refuse_unprintable,
)
from templc.source.scalars import Place, places
from templc.source.span import Source, Span

MAX_DEPTH = 40
MAX_NODES = 20_000
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s|(?<=\s)#.*)*){1,2}")


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar: its text, and what kind it is when written plain.

    `path` is the keys and indexes that lead here, such as `roles/user/emit`; the path of a key is
    that of its mapping. `style` is the quote or block indicator, None for a plain scalar; `indent`
    the column of the block around it.
    """

    value: str
    kind: Kind
    span: Span
    path: str
    style: str | None = field(default=None, compare=False)
    indent: int = field(default=-1, compare=False, repr=False)
    # Most scalars never need their places, so the list is filled when the first one is asked for.
    _places: list[Place] = field(default_factory=list, compare=False, repr=False)

    def at(self, start: int, end: int) -> Span:
        """Where `value[start:end]` stands: its characters, escapes and folded line breaks.

        Offsets past the value are clamped to it; an empty range is an empty span, an empty value
        its whole scalar.
        """
        if not self.value:
            return self.span
        source, found = self.span.source, self._located()
        start = min(max(start, 0), len(found))
        end = min(max(end, start), len(found))
        if start == end:
            place = found[start][0] if start < len(found) else found[-1][1]
            return Span(source, place, place)
        return Span(source, found[start][0], found[end - 1][1])

    def _located(self) -> list[Place]:
        if not self._places:
            text, span = self.span.source.text, self.span
            found = places(text, span.start, span.end, self.style, self.value, self.indent)
            self._places.extend(found)
        return self._places


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list of nodes."""

    items: tuple[Node, ...]
    span: Span
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value."""

    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Entries in the order of the file; no key stands twice."""

    entries: tuple[Entry, ...]
    span: Span
    path: str

    def entry(self, name: str) -> Entry | None:
        """The entry whose key is `name`."""
        return next((entry for entry in self.entries if entry.key.value == name), None)

    def get(self, name: str) -> Node | None:
        """The value of the key `name`."""
        found = self.entry(name)
        return found.value if found else None

    def keys(self) -> list[str]:
        """All keys, in order."""
        return [entry.key.value for entry in self.entries]


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> object:
    """The node as Python values: str, bool, int, None, list and dict."""
    match node:
        case ScalarNode():
            return _plain_scalar(node.value, node.kind)
        case SequenceNode():
            return [plain(item) for item in node.items]
        case MappingNode():
            return {entry.key.value: plain(entry.value) for entry in node.entries}
        case _:
            assert_never(node)


def _plain_scalar(value: str, kind: Kind) -> object:
    match kind:
        case "text":
            return value
        case "bool":
            return value == "true"
        case "int":
            return int(value)
        case "null":
            return None
        case _:
            assert_never(kind)


def parse_nodes(source: Source, problems: Problems) -> Node | None:
    """The one document of a source; None only after at least one error was reported.

    A tree that comes with errors is whole enough to look at, not to rely on.
    """
    found, said = _read(source)
    for problem in said:
        problems.add(problem)
    return found


@lru_cache(maxsize=128)
def _read(source: Source) -> tuple[Node | None, tuple[Problem, ...]]:
    """The document and what is wrong with it; remembered, since many variants read one base."""
    found = _without_mistake(source)
    if found is not None:
        return found, ()
    problems = Problems()
    return _document(source, problems), tuple(problems)


def _without_mistake(source: Source) -> Node | None:
    """The document as libyaml reads it; None where it may be wrong, or where PyYAML may read it otherwise."""
    fast, problems = loader(source.text), Problems()
    if fast is None:
        return None
    parser = _Parser(source, problems, fast)
    try:
        found = parser.document()
    except (yaml.YAMLError, ValueError, OverflowError, _Stop):
        return None
    # The two do not agree on where a value that was left out stands.
    return None if len(problems) or parser.left_out else found


def _document(source: Source, problems: Problems) -> Node | None:
    if refuse_unprintable(source, problems):
        return None
    parser = _Parser(source, problems, yaml.SafeLoader)
    try:
        return parser.document()
    except yaml.MarkedYAMLError as error:
        report_syntax(source, error, problems)
    except (ValueError, OverflowError):
        if not report_bad_escape(source, parser.last, problems):
            raise
    except _Stop:
        pass
    return None


class _Stop(Exception):
    """A problem after which going on makes no sense was reported."""


class _Parser:
    """Events to nodes; reports what a spec may not hold and goes on where it can.

    `last` is where the last event ended, `left_out` whether some value was, `_indents` the columns of the block
    collections around it.
    """

    def __init__(self, source: Source, problems: Problems, loader: Any) -> None:
        self.last = 0
        self.left_out = False
        self._source = source
        self._problems = problems
        self._events: Iterator[Any] = yaml.parse(source.text, Loader=loader)
        self._count = 0
        self._indents = [-1]
        self._anchors: set[str] = set()

    def document(self) -> Node | None:
        """The root of the only document."""
        root: Node | None = None
        for event in self._events:
            match event:
                case events.DocumentStartEvent():
                    self._document_start(event, again=root is not None)
                case events.NodeEvent():
                    root = self._node(event, "", 0)
        if root is None or _nothing(root):
            help_text = "a spec starts with `format: NAME`"
            span = Span(self._source, 0, 0)
            self._problems.error("empty", "there is nothing in this file", span, helps=(help_text,))
            return None
        return root

    def _document_start(self, event: Any, *, again: bool) -> None:
        if again:
            self._refuse("a second document", self._span(event), "a spec is one document")
            raise _Stop
        start = event.start_mark.index
        if self._source.text.startswith("%", start):
            line = self._source.line_text(self._source.position(start)[0])
            span = Span(self._source, start, start + len(line))
            self._refuse("a YAML directive", span, "remove the lines that start with `%`")

    def _span(self, event: Any) -> Span:
        self.last = max(self.last, event.end_mark.index)
        return Span(self._source, event.start_mark.index, event.end_mark.index)

    def _refuse(self, what: str, span: Span, cure: str) -> None:
        refuse_feature(what, span, cure, self._problems)

    def _node(self, event: Any, path: str, depth: int) -> Node:
        self._bound(event, depth)
        self._features(event)
        match event:
            case events.SequenceStartEvent():
                return self._sequence(event, path, depth)
            case events.MappingStartEvent():
                return self._mapping(event, path, depth)
            case events.ScalarEvent():
                return self._scalar(event, path)
            case _:  # An alias, which was refused.
                return ScalarNode("", "null", self._span(event), path)

    def _bound(self, event: Any, depth: int) -> None:
        """Stop early: neither the stack nor the memory belongs to the author of a spec."""
        self._count += 1
        if depth > MAX_DEPTH:
            code, message = "too-deep", f"this is nested over {MAX_DEPTH} levels deep"
        elif self._count > MAX_NODES:
            code, message = "too-large", f"a spec has at most {MAX_NODES:,} keys and values"
        else:
            return
        span = Span(self._source, event.start_mark.index, event.start_mark.index + 1)
        self._problems.error(code, message, span, label="here", helps=("simplify the spec",))
        raise _Stop

    def _features(self, event: Any) -> None:
        if isinstance(event, events.AliasEvent):
            # What it stands for was refused already, unless nothing has this name.
            if event.anchor not in self._anchors:
                message = "quote a text that starts with `*`"
                self._refuse("an alias", self._span(event), message)
        elif event.anchor:
            self._anchors.add(event.anchor)
            cure = "name the part under `fragments` or `texts`, and use it by that name"
            self._refuse_property(event, f"&{event.anchor}", "an anchor", cure)
        if getattr(event, "tag", None):
            self._refuse_property(event, "!", "a tag", "remove it: a spec is plain data")

    def _refuse_property(self, event: Any, written: str, what: str, cure: str) -> None:
        """Refuse an anchor or a tag, which stand before the node in either order."""
        start = self._source.text.find(written, event.start_mark.index)
        end = start + len(self._source.text[start:].split(maxsplit=1)[0].rstrip(",]}"))
        self._refuse(what, Span(self._source, start, end), cure)

    def _sequence(self, start: Any, path: str, depth: int) -> SequenceNode:
        items: list[Node] = []
        with_indent = self._enter(start)
        for event in self._events:
            if isinstance(event, events.SequenceEndEvent):
                break
            items.append(self._node(event, _below(path, str(len(items))), depth + 1))
        self._leave(with_indent)
        return SequenceNode(tuple(items), self._around(start, event, items), path)

    def _mapping(self, start: Any, path: str, depth: int) -> MappingNode:
        entries: list[Entry] = []
        parts: list[Node] = []
        first: dict[str, ScalarNode] = {}
        with_indent = self._enter(start)
        for event in self._events:
            if isinstance(event, events.MappingEndEvent):
                break
            key = self._key(event, path, depth)
            fresh = key is not None and first.setdefault(key.value, key) is key
            if key is not None and not fresh:
                self._duplicate(key, first[key.value])
            value = self._node(
                next(self._events), _below(path, key.value if key else "?"), depth + 1
            )
            parts.append(value)
            if key is not None and fresh:
                entries.append(Entry(key, value))
        self._leave(with_indent)
        return MappingNode(tuple(entries), self._around(start, event, parts), path)

    def _enter(self, start: Any) -> bool:
        if not start.flow_style:
            self._indents.append(start.start_mark.column)
        return not start.flow_style

    def _leave(self, with_indent: bool) -> None:
        if with_indent:
            self._indents.pop()

    def _around(self, start: Any, end: Any, parts: list[Node]) -> Span:
        """Flow collections end at their bracket, block ones where their last part does."""
        flow = end.end_mark.index > end.start_mark.index
        stop = end.end_mark.index if flow or not parts else parts[-1].span.end
        return Span(self._source, start.start_mark.index, stop)

    def _duplicate(self, key: ScalarNode, first: ScalarNode) -> None:
        self._problems.error(
            "duplicate-key",
            f"the key `{key.value}` stands twice",
            key.span,
            label="again here",
            others=(Label(first.span, "it first stands here"),),
            helps=("remove one of them: YAML readers keep only the last, in silence",),
        )

    def _key(self, event: Any, path: str, depth: int) -> ScalarNode | None:
        """The key that an event starts, None after a problem."""
        node = self._node(event, path, depth + 1)
        if not isinstance(node, ScalarNode) or node.style in ("|", ">"):
            message, help_text = "a key must be a name", "quote a text that starts with `{` or `[`"
            self._problems.error(
                "wrong-type", message, _start(node.span), label="here", helps=(help_text,)
            )
            return None
        if node.kind != "text":
            if not isinstance(event, events.AliasEvent):
                refuse_key(node, self._problems)
            return None
        return node

    def _scalar(self, event: Any, path: str) -> ScalarNode:
        style = event.style or None
        kind = "text" if style else kind_of(event.value)
        self.left_out = self.left_out or not (style or event.value)
        indent = self._indents[-1]
        node = ScalarNode(event.value, kind, self._scalar_span(event), path, style, indent)
        if style is None and kind == "text":
            refuse_guess(node, self._problems)
        refuse_surrogates(node, self._problems)
        return node

    def _scalar_span(self, event: Any) -> Span:
        """The scalar without its anchor and tag, which were refused."""
        span = self._span(event)
        if not (event.anchor or event.tag):
            return span
        found = _PROPERTIES.match(self._source.text, span.start, span.end)
        return Span(self._source, found.end() if found else span.start, span.end)


def _nothing(root: Node) -> bool:
    return isinstance(root, ScalarNode) and root.kind == "null" and not root.span.text


def _below(path: str, step: str) -> str:
    return f"{path}/{step}" if path else step


def _start(span: Span) -> Span:
    return Span(span.source, span.start, min(span.start + 1, span.end))

"""Reading a mapping whose shape the schema has already checked: typed access without type tests.

`Fields(node).text("title")` is the text of a key, "" when the key is missing or null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from templc.source.span import Span


@dataclass(frozen=True, slots=True)
class Fields:
    """The keys of `owner`, which may also be missing altogether."""

    owner: Node | None
    place: Span | None = None

    @property
    def present(self) -> bool:
        return isinstance(self.owner, MappingNode)

    @property
    def span(self) -> Span:
        found = self.owner.span if self.owner is not None else self.place
        assert found is not None
        return found

    def node(self, key: str) -> Node | None:
        """The node under `key`; None when it is missing or null."""
        found = self.owner.get(key) if isinstance(self.owner, MappingNode) else None
        return None if isinstance(found, ScalarNode) and found.kind == "null" else found

    def child(self, key: str) -> Fields:
        found = self.node(key)
        return Fields(found, self.place if self.owner is None else self.owner.span)

    def text(self, key: str) -> str:
        found = self.node(key)
        return found.value if isinstance(found, ScalarNode) else ""

    def number(self, key: str) -> int | None:
        """A whole number; None when missing."""
        found = self.constant(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def constant(self, key: str) -> bool | str | int | None:
        """A text, boolean or whole number; None when missing."""
        found = self.node(key)
        if not isinstance(found, ScalarNode):
            return None
        if found.kind == "int":
            return int(found.value)
        return found.value == "true" if found.kind == "bool" else found.value

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(item.value for item in self.items(key))

    def children(self, key: str) -> tuple[Fields, ...]:
        found = self.node(key)
        return (
            tuple(Fields(item) for item in found.items) if isinstance(found, SequenceNode) else ()
        )

    def pairs(self) -> Iterator[tuple[str, Node]]:
        """Keys and nodes, null ones left out (a variant removes with null)."""
        if isinstance(self.owner, MappingNode):
            for entry in self.owner.entries:
                if not (isinstance(entry.value, ScalarNode) and entry.value.kind == "null"):
                    yield entry.key.value, entry.value

    def items(self, key: str) -> tuple[ScalarNode, ...]:
        """The texts of a list, each with its place."""
        found = self.node(key)
        items = found.items if isinstance(found, SequenceNode) else ()
        return tuple(item for item in items if isinstance(item, ScalarNode))

    def key_span(self, key: str) -> Span | None:
        """Where a key stands; None when it is missing."""
        entry = self.owner.entry(key) if isinstance(self.owner, MappingNode) else None
        return entry.key.span if entry else None

    def scalars(self) -> Iterator[tuple[str, ScalarNode]]:
        for key, node in self.pairs():
            if isinstance(node, ScalarNode):
                yield key, node

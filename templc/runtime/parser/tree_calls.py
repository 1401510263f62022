"""Arguments as a tree of tags, a mark before each: the counterpart of `runtime.trees`.

    read_tree("^<a>1^</a>^<b>^<item>x^</item>^</b>", "^")
        {"a": ("1", "1"), "b": ([("item", "x")], "^<item>x^</item>")}

A node is a text, or a list of names with nodes. `node_value` gives it its type: by the schema where there is one;
without one, nodes that are all called `item` are a list, others an object, and what holds no tags stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from templc.runtime.parser.values import DEEPEST_READ, Typed, Unreadable, kinds_of, typed

ITEM = "item"
LONGEST_TAG = 256
_TAG = re.compile(rf"<(/?)([^<>]{{1,{LONGEST_TAG}}})>")

Node = str | list[tuple[str, "Node"]]


def tag_at(text: str, at: int) -> re.Match[str] | None:
    """The tag that stands at `at`, behind its mark: group 1 is `/` where it closes, group 2 the name."""
    return _TAG.match(text, at)


def read_tree(text: str, mark: str) -> list[tuple[str, Node, str]]:
    """Name, node and raw text of each argument, in order; Unreadable where the tags do not nest."""
    reader = _Reader(text, mark)
    found = []
    at = reader.blank(0)
    while at < len(text):
        name, node, start, end, at = reader.tagged(at, 0)
        found.append((name, node, text[start:end]))
        at = reader.blank(at)
    return found


class _Reader:
    def __init__(self, text: str, mark: str) -> None:
        self.text, self.mark = text, mark

    def blank(self, at: int) -> int:
        """The place behind white space."""
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def tagged(self, at: int, depth: int) -> tuple[str, Node, int, int, int]:
        """Name and node of the tag that opens at `at`; where its inside begins and ends, and the place behind it."""
        if depth > DEEPEST_READ:
            raise Unreadable("it is too deep")
        opening = self._tag(at)
        if opening is None or opening[1]:
            raise Unreadable(f"a tag is missing at character {at}")
        start = opening.end()
        node, end = self._inside(start, depth)
        closing = self._tag(end)
        if closing is None or not closing[1] or closing[2] != opening[2]:
            raise Unreadable(f"<{opening[2]}> is not closed")
        return opening[2], node, start, end, closing.end()

    def _tag(self, at: int) -> re.Match[str] | None:
        if not self.text.startswith(self.mark, at):
            return None
        return tag_at(self.text, at + len(self.mark))

    def _inside(self, at: int, depth: int) -> tuple[Node, int]:
        """What stands between two tags: text up to the next mark, or further tags."""
        end = self.text.find(self.mark, at)
        if end < 0:
            raise Unreadable("a tag is not closed")
        following = self._tag(end)
        if following is None or following[1] or self.text[at:end].strip():
            return self.text[at:end], end
        nodes: list[tuple[str, Node]] = []
        while following is not None and not following[1]:
            name, node, _, _, end = self.tagged(end, depth + 1)
            nodes.append((name, node))
            end = self.blank(end)
            following = self._tag(end)
        return nodes, end


def node_value(node: Node, schema: object, shown: Callable[[str], str]) -> Typed:
    """The value of a node by its schema, `shown` being its texts as a person sees them.

    The first error and the first note found in it are its own.
    """
    kinds = kinds_of(schema)
    if isinstance(node, str):
        if not node and "string" not in kinds:
            # Nothing is what an empty list, an empty object and null are written as.
            for kind, empty in (("array", []), ("object", {}), ("null", None)):
                if kind in kinds:
                    return Typed(empty)
        return typed(shown(node), schema)
    if _is_list(node, kinds):
        items = schema.get("items") if isinstance(schema, Mapping) else None
        found = [node_value(inner, items, shown) for _, inner in node]
        value: Any = [one.value for one in found]
    else:
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        known = properties if isinstance(properties, Mapping) else {}
        found = [node_value(inner, known.get(name), shown) for name, inner in node]
        value = {shown(name): one.value for (name, _), one in zip(node, found, strict=True)}
    unfit = kinds and ("array" if isinstance(value, list) else "object") not in kinds
    error = f"it is no {' or '.join(sorted(kinds))}" if unfit else ""
    return Typed(
        value,
        error or next((one.error for one in found if one.error), ""),
        next((one.note for one in found if one.note), ""),
    )


def _is_list(node: list[tuple[str, Node]], kinds: set[str]) -> bool:
    if any(name != ITEM for name, _ in node):
        return False
    return "array" in kinds or "object" not in kinds

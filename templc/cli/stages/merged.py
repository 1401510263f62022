"""The stage `spec`: the file merged over the ones it extends, as YAML, with the line that each part comes from.

The result is a spec of its own: it extends nothing and compiles to the same program.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never

from templc.cli.stages.margin import Margin, quoted
from templc.pipeline import Compilation
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")


def lines(compilation: Compilation) -> list[str] | None:
    """The merged spec."""
    if compilation.shaped is None:
        return None
    margin = Margin(compilation.source, "# ")
    entries = tuple(e for e in compilation.shaped.entries if e.key.value != "extends")
    _mapping(margin, 0, replace(compilation.shaped, entries=entries), "")
    return margin.lines


def _mapping(margin: Margin, depth: int, node: MappingNode, bullet: str) -> None:
    for number, entry in enumerate(node.entries):
        head = f"{_name(entry.key.value)}:"
        if bullet and number == 0:
            _value(margin, depth, bullet + head, entry.value, entry.key, depth + 2)
        else:
            at = depth + bool(bullet)
            _value(margin, at, head, entry.value, entry.key, at + 1)


def _value(margin: Margin, depth: int, head: str, node: Node, place: Node, below: int) -> None:
    """`head` with a value behind it, or at depth `below`; `place` gives the line."""
    match node:
        case ScalarNode():
            margin.put(depth, f"{head} {_scalar(node)}", place.span)
        case SequenceNode(()) | MappingNode(()):
            margin.put(
                depth, f"{head} {'[]' if isinstance(node, SequenceNode) else '{}'}", place.span
            )
        case SequenceNode(items):
            margin.put(depth, head, place.span)
            for item in items:
                _item(margin, below, item)
        case MappingNode():
            margin.put(depth, head, place.span)
            _mapping(margin, below, node, "")
        case _:
            assert_never(node)


def _item(margin: Margin, depth: int, node: Node) -> None:
    if isinstance(node, MappingNode) and node.entries:
        _mapping(margin, depth, node, "- ")
    else:
        _value(margin, depth, "-", node, node, depth + 1)


def _scalar(node: ScalarNode) -> str:
    return quoted(node.value) if node.kind == "text" else node.value or "null"


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else quoted(text)

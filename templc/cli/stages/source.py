"""The stage `source`: located nodes, each with its place, kind and value.

roles/user: text "<|im_start|>user\\n${content}<|im_end|>\\n"         42:9-42:52
"""

from __future__ import annotations

from typing import assert_never

from templc.cli.stages.margin import INDENT, WIDTH, Margin, quoted
from templc.emit.layout import columns
from templc.pipeline import Compilation
from templc.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from templc.source.span import Span


def lines(compilation: Compilation) -> list[str] | None:
    """One line a node."""
    if compilation.nodes is None:
        return None
    margin = Margin(compilation.source)
    _node(margin, 0, "(document)", compilation.nodes)
    return margin.lines


def _node(margin: Margin, depth: int, name: str, node: Node) -> None:
    match node:
        case ScalarNode(value, kind, span):
            shown = {"text": quoted(value), "null": ""}.get(kind, value)
            _line(margin, depth, f"{name}: {kind} {shown}".rstrip(), span)
        case SequenceNode(items, span):
            _line(margin, depth, f"{name}: list of {len(items)}", span)
            for number, item in enumerate(items):
                _node(margin, depth + 1, str(number), item)
        case MappingNode(entries, span):
            _line(margin, depth, f"{name}: mapping of {len(entries)}", span)
            for entry in entries:
                _node(margin, depth + 1, entry.key.value, entry.value)
        case _:
            assert_never(node)


def _line(margin: Margin, depth: int, text: str, span: Span) -> None:
    end_line, end_column = span.source.position(span.end)
    left = INDENT * depth + text
    gap = " " * (WIDTH - columns(left))
    margin.put(0, f"{left}{gap}  {span.line}:{span.column}-{end_line}:{end_column}")

"""Reading a text as a spec file: its tree, its problems, its scalars. `good("a: b")` is the root node."""

from __future__ import annotations

from collections.abc import Iterator

from templc.problems.problem import Problem, Problems
from templc.source.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_nodes,
)
from templc.source.span import Source, Span


def read(text: str) -> tuple[Node | None, list[Problem]]:
    problems = Problems()
    return parse_nodes(Source("x.yaml", text), problems), list(problems)


def good(text: str) -> Node:
    node, problems = read(text)
    assert node is not None and not problems, problems
    return node


def only(text: str) -> Problem:
    problems = read(text)[1]
    assert len(problems) == 1, problems
    return problems[0]


def scalar(text: str, *path: str | int) -> ScalarNode:
    node = good(text)
    for step in path:
        match node:
            case MappingNode():
                found = node.get(str(step))
                assert found is not None
                node = found
            case SequenceNode():
                node = node.items[int(step)]
    assert isinstance(node, ScalarNode)
    return node


def walk(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case SequenceNode():
            for item in node.items:
                yield from walk(item)
        case MappingNode():
            for entry in node.entries:
                yield entry.key
                yield from walk(entry.value)


def inside(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end

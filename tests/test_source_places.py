"""Places: which characters of the file a part of a scalar value stands at."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.source.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    plain,
)
from templc.source.span import Source, Span
from tests.support.trees import inside, read, scalar, walk


def check_places(node: ScalarNode) -> None:
    """Each character is written where `at` says: as itself, as an escape, or as a folded break."""
    stop = node.span.start
    for index, char in enumerate(node.value):
        span = node.at(index, index + 1)
        written = span.text
        assert stop <= span.start < span.end <= node.span.end
        stop = span.end
        match node.style:
            case '"' if written.startswith("\\"):
                assert yaml.safe_load(f'"{written}"') == char
            case "'" if char == "'":
                assert written == "''"
            case _ if written in ("\n", "\r", "\r\n", "\x85"):
                assert char == "\n" or (char == " " and node.style != "|")
            case _:
                assert written == char
    assert node.at(0, len(node.value)).end == (stop if node.value else node.span.end)


def check_tree(text: str, root: Node) -> None:
    """Spans lie inside one another, slice to their own text, and scalars know their places."""
    for node in walk(root):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        match node:
            case ScalarNode():
                check_places(node)
                if node.style in ('"', "'"):
                    assert yaml.safe_load(node.span.text) == node.value
                elif node.style is None and not node.span.text.startswith("*"):
                    assert "".join(node.span.text.split()) == "".join(node.value.split())
            case SequenceNode():
                assert node.span.text[0] in "[-"
                assert all(inside(item.span, node.span) for item in node.items)
            case MappingNode():
                assert all(inside(entry.value.span, node.span) for entry in node.entries)


@settings(max_examples=400)
@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n'\"\\:#\t-")),
    st.sampled_from([None, '"', "'", "|", ">"]),
    st.sampled_from([5, 20, 80]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_places_in_what_pyyaml_writes(
    value: str, style: str | None, width: int, unicode: bool, line_break: str
) -> None:
    data = {"k": [value, {"other": [value]}]}
    text = yaml.dump(
        data, default_style=style, width=width, allow_unicode=unicode, line_break=line_break
    )
    root = read(text)[0]
    assert root is not None
    assert read(text)[1] or plain(root) == yaml.safe_load(text)
    check_tree(text, root)


PIECES = st.sampled_from(
    [
        *" \n\t\r\x85\u2028\u4e2dab0'\"\\|>2+-[]{},?&*!%#",
        "  ",
        "\n  ",
        ": ",
        "- ",
        "\r\n",
        "''",
        "true",
    ]
) | st.sampled_from(["\\n", "\\x41", "|\n  ", ">-\n  ", "|2+\n ", "a: ", "\nb: ", "\n  c: "])


@settings(max_examples=600)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_is_a_tree_that_pyyaml_agrees_with_or_a_problem(text: str) -> None:
    root, problems = read(text)
    assert root is not None or problems
    for problem in problems:
        assert problem.span is not None and problem.span.end <= len(text)
    if root is not None:
        check_tree(text, root)
    if not problems:
        assert root is not None and plain(root) == yaml.safe_load(text)


@settings(max_examples=300)
@given(st.sampled_from(["", "x:\n  - "]), st.sampled_from("|>"), st.data())
def test_places_in_blocks(before: str, style: str, data: st.DataObject) -> None:
    header = data.draw(st.sampled_from(["", "-", "+", "1", "2-", "+3", " # c"]))
    lines = st.lists(st.sampled_from(["", " ", "a", " b", "\tc", "d e ", "\u4e2d", "    "]))
    indent = " " * data.draw(st.integers(1, 6))
    body = "".join(f"\n{indent}{line}" for line in data.draw(lines))
    root = read(f"{before}{style}{header}{body}")[0]
    if root is not None:
        check_tree(f"{before}{style}{header}{body}", root)


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("a b", "a b", ["a", " ", "b"]),
        ("a \n  b\n\n  c", "a b\nc", ["a", "\n", "b", "\n", "c"]),
        ("'it''s'", "it's", ["i", "t", "''", "s"]),
        (r'"\x41\u00e9\t\"\U0001F600"', 'A\u00e9\t"\U0001f600', None),
        ('"a \\\n   b\\  c"', "a b  c", ["a", " ", "b", "\\ ", " ", "c"]),
        ("|\n  a\n   b\n", "a\n b\n", ["a", "\n", " ", "b", "\n"]),
        (">-\n  a\n  b\n\n  c\n", "a b\nc", ["a", "\n", "b", "\n", "c"]),
        ("|2+\n   a\n\n", " a\n\n", [" ", "a", "\n", "\n"]),
    ],
)
def test_places(text: str, value: str, written: list[str] | None) -> None:
    node = scalar(f"k: {text}", "k")
    assert node.value == value
    found = [node.at(index, index + 1).text for index in range(len(value))]
    assert found == (written or [r"\x41", r"\u00e9", r"\t", r"\"", r"\U0001F600"])


def test_ranges_of_places() -> None:
    node = scalar('k: "<${a}\\n>"', "k")
    assert node.at(1, 5).text == "${a}" and str(node.at(1, 5)) == "x.yaml:1:6"
    assert (node.at(5, 5).start, node.at(5, 5).end) == (9, 9)
    assert (node.at(7, 7).start, node.at(90, 99).start, node.at(-3, 1).text) == (12, 12, "<")
    assert node.at(6, 99).text == ">" and node.at(3, 1).text == ""
    assert scalar('k: ""', "k").at(0, 0).text == '""'


def test_a_scalar_that_is_not_what_stands_there_points_at_all_of_it() -> None:
    span = Span(Source("x", "abc"), 0, 3)
    assert ScalarNode("other", "text", span, "").at(1, 2) == span

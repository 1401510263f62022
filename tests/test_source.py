"""Text and places: spans slice to their own text, each mistake is named where it stands."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.problems.codes import CODES
from templc.problems.problem import Problem, Problems
from templc.source.files import MAX_BYTES, read_source
from templc.source.guesses import guess, kind_of
from templc.source.nodes import (
    MAX_DEPTH,
    MAX_NODES,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    parse_nodes,
    plain,
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


# sources and spans


@given(st.text(alphabet="ab\r\n\u2028\t"), st.data())
def test_positions_and_lines_agree(text: str, data: st.DataObject) -> None:
    source = Source("x", text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.position(offset)
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    inside = text[offset - 1 : offset + 1] == "\r\n"
    assert line == before.count("\n") + (0 if inside else 1)
    if text[offset : offset + 1] not in ("", "\r", "\n"):
        assert source.line_text(line)[column - 1] == text[offset]
    lines = [source.line_text(number + 1) for number in range(source.line_count)]
    assert "\n".join(lines) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_outside_of_a_source() -> None:
    source = Source("x", "ab\n")
    assert source.position(3) == (2, 1) and source.line_text(2) == ""
    for offset in (-1, 4):
        with pytest.raises(ValueError, match="outside of x"):
            source.position(offset)
    for line in (0, 3):
        with pytest.raises(ValueError, match="no line"):
            source.line_text(line)


def test_span() -> None:
    source = Source("specs/x.yaml", "a: b\nc: d\n")
    first, second = Span(source, 3, 4), Span(source, 5, 6)
    assert str(second) == "specs/x.yaml:2:1" and (second.line, second.column) == (2, 1)
    assert first.to(second).text == "b\nc"
    assert second.to(first) == second
    assert len({source, Source("specs/x.yaml", "a: b\nc: d\n")}) == 1


# files


def refused(path: Path, name: str | None = "s.yaml") -> Problem:
    problems = Problems()
    assert read_source(path, problems, name) is None
    (problem,) = problems
    return problem


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a: 1\r\nb: 2\r\n", "a: 1\r\nb: 2\r\n"),
        (b"\xef\xbb\xbfa: \xc3\xa9", "a: \u00e9"),
        (b"", ""),
        (b"#" * MAX_BYTES, "#" * MAX_BYTES),
    ],
    ids=["crlf", "bom", "empty", "at the limit"],
)
def test_files_that_can_be_read(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    problems = Problems()
    source = read_source(path, problems)
    assert source == Source(str(path), text) and not len(problems)


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (b"\xff\xfea\0", "not-text", "s.yaml is UTF-16"),
        (b"\xfe\xff\0a", "not-text", "s.yaml is UTF-16"),
        (b"ab\0c", "not-text", "s.yaml is a binary file: byte 2 is zero"),
        (
            b"#" * (MAX_BYTES + 1),
            "too-large",
            "s.yaml is larger than the 1,048,576 bytes that a spec may have",
        ),
    ],
    ids=["utf-16 le", "utf-16 be", "binary", "one byte too many"],
)
def test_files_that_are_no_specs(tmp_path: Path, data: bytes, code: str, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    problem = refused(path)
    assert (problem.code, problem.message) == (code, message) and problem.helps


@pytest.mark.parametrize(("start", "at"), [(b"", 7), (b"\xef\xbb\xbf", 10)], ids=["", "bom"])
def test_not_utf8_names_byte_and_line(tmp_path: Path, start: bytes, at: int) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(start + b"a: \xc3\xa9\nb\xe9c: d\n")
    problem = refused(path)
    assert problem.code == "not-text" and problem.label == "the byte 0xe9"
    assert problem.message == f"byte {at} of the file, on line 2, is not UTF-8"
    assert problem.span is not None and str(problem.span) == "s.yaml:2:2"
    assert problem.span.source.line_text(2) == "b\ufffdc: d"


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert refused(tmp_path).message == "s.yaml is a folder"
    (tmp_path / "y.yaml").touch()
    problem = refused(tmp_path / "x.yaml")
    assert problem.message == "there is no file s.yaml"
    assert problem.helps == ("in that folder: y.yaml",)
    assert refused(tmp_path / "no" / "x.yaml").helps == ("check the path",)
    under_a_file = refused(tmp_path / "y.yaml" / "x.yaml")
    assert under_a_file.message == "s.yaml cannot be read: not a directory"
    assert refused(tmp_path / "a\0b").message == "s.yaml cannot be read: embedded null byte"


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.yaml").touch()
    monkeypatch.setattr(Path, "open", denied)
    assert refused(tmp_path / "x.yaml").message == "s.yaml cannot be read: permission denied"


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    tracemalloc.start()
    assert refused(path).code == "too-large"
    assert tracemalloc.get_traced_memory()[1] < 4 * MAX_BYTES
    tracemalloc.stop()


# nodes


def test_paths_kinds_and_values() -> None:
    root = good('roles:\n  user:\n  - {a: 1, "b c": "1"}\n  - [true, ~, null, x]\n  - \n')
    assert plain(root) == {"roles": {"user": [{"a": 1, "b c": "1"}, [True, None, None, "x"], None]}}
    found = {node.path: node for node in walk(root) if isinstance(node, ScalarNode)}
    assert found["roles/user/0/b c"].kind == "text"
    assert found["roles/user/1/0"].span.text == "true"
    assert isinstance(root, MappingNode) and root.keys() == ["roles"]
    entry = root.entry("roles")
    assert entry is not None and entry.key.path == "" and entry.value.path == "roles"
    assert root.get("rules") is None and root.entry("rules") is None


def test_spans_of_collections() -> None:
    text = "a:\n  - b: {c: d}\n    e: [f,\n     g]\nh: |\n  i\nj:\n"
    values = [node for node in walk(good(text)) if not isinstance(node, ScalarNode)]
    shown = {node.path: node.span.text for node in values}
    assert shown["a"] == "- b: {c: d}\n    e: [f,\n     g]"
    assert shown["a/0"] == "b: {c: d}\n    e: [f,\n     g]"
    assert shown["a/0/b"] == "{c: d}" and shown["a/0/e"] == "[f,\n     g]"
    assert shown[""] == text.removesuffix("\n")
    assert scalar(text, "h").span.text == "|\n  i\n" and scalar(text, "j").span.text == ""


def test_one_explicit_document_is_fine() -> None:
    assert plain(good("---\na: 1\n...\n# end\n")) == {"a": 1}


GUESSES = (
    "yes No ON off True FALSE y N Null NULL = << 1_000 0x1f 010 0o7 0b1 +1 -0 00 1:30 1:30.5 1.5 "
    "1. .5 -1e3 1.5e+3 .inf -.INF .nan 2024-01-01 2024-1-1T10:00:00Z 9999999999999999999"
)


@pytest.mark.parametrize("value", GUESSES.split())
def test_guesses_are_refused_as_values_and_keys(value: str) -> None:
    for text in (f"a: {value}", f"[{value}]", f"{value}: a"):
        problem = only(text)
        assert problem.code == ("yaml-feature" if value == "<<" else "yaml-guess")
        assert problem.span is not None and problem.span.text == value
        assert problem.helps[0].endswith(("quote the text", f'quote it: "{value}"'))
    assert not read(f"a: \"{value}\"\nb: '{value}'\n")[1]


@pytest.mark.parametrize(
    "value",
    ["qwen3", "nope", "1.2.3", "v1", "-", "a=b", "1 2", "0x", "2024-01", "1e", "tRUE", "._."],
)
def test_what_nobody_guesses_is_text(value: str) -> None:
    assert kind_of(value) == "text" and guess(value) is None


@settings(max_examples=300)
@given(st.text(alphabet="0123456789_+-.:exXobaftnyTsNuUrlLE~=<> ", max_size=12))
def test_no_plain_scalar_means_more_to_pyyaml_than_to_us(value: str) -> None:
    loader: Any = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, value, (True, False))
    wanted = {"text": "str", "bool": "bool", "int": "int", "null": "null"}[kind_of(value)]
    assert guess(value) or tag == f"tag:yaml.org,2002:{wanted}"


# mistakes: code: text, place, what the carets mark, start of message, start of cure

MISTAKES = {
    "empty": [
        ("", "1:1", "", "there is nothing in this file", "a spec starts with"),
        ("# only a comment\n", "1:1", "", "there is nothing", "a spec starts with"),
        ("---\n", "1:1", "", "there is nothing", "a spec starts with"),
    ],
    "duplicate-key": [
        ("a: 1\nb: 2\na: 3", "3:1", "a", "the key `a` stands twice", "remove one"),
    ],
    "yaml-feature": [
        ("a: *b", "1:4", "*b", "an alias cannot stand", "quote a text"),
        ("a: &b c", "1:4", "&b", "an anchor cannot stand", "name the part"),
        ("a: &b {c: d}", "1:4", "&b", "an anchor cannot stand", "name the part"),
        ("a: !!str b", "1:4", "!!str", "a tag cannot stand", "remove it"),
        ("[! b, c]", "1:2", "!", "a tag cannot stand", "remove it"),
        ("<<: {a: b}", "1:1", "<<", "a merge key cannot stand", "use `extends`"),
        ("%YAML 1.1\n---\na: b", "1:1", "%YAML 1.1", "a YAML directive", "remove"),
        ("%X y\n---\na: b", "1:1", "%X y", "a YAML directive", "remove"),
        ("a: b\n---\nc: d", "2:1", "---", "a second document", "a spec is one"),
    ],
    "wrong-type": [
        ("? [a]\n: b", "1:3", "[", "a key must be a name", "quote a text"),
        ("{a: b}: c", "1:1", "{", "a key must be a name", "quote a text"),
        ("? |\n  a\n: b", "1:3", "|", "a key must be a name", "quote a text"),
    ],
    "yaml-guess": [
        ("1: a", "1:1", "1", "the key `1` is a number", 'quote it: "1"'),
        ("true: a", "1:1", "true", "the key `true` is true or f", 'quote it: "true"'),
        ("~: a", "1:1", "~", "the key `~` is nothing", 'quote it: "~"'),
        ("?\n: a", "1:2", "", "a key is missing", "write a name before"),
        ("a: On", "1:4", "On", "YAML 1.1 readers take `On` for `true`", "write true, or"),
        ("a: no", "1:4", "no", "YAML 1.1 readers take `no` for `f", "write false, or"),
    ],
    "not-text": [
        ("a: \x07", "1:4", "\x07", "the character U+0007 cannot", "remove it"),
        ("a: \ud800", "1:4", "\ud800", "the character U+D800 cannot", "remove it"),
        ('a: "x\\ud83d\\ude00"', "1:6", "\\ud83d\\ude00", "U+D83D is half", "write \\U0001F600"),
        ('a: "\\udc00"', "1:5", "\\udc00", "U+DC00 is half", "write the whole"),
    ],
    "yaml-syntax": [
        (
            'a: "\\Uffffffff"',
            "1:5",
            "\\Uffffffff",
            "there is no such character",
            "write a backslash as `\\\\`, or",
        ),
        (
            'a: "\\U00110000"',
            "1:5",
            "\\U00110000",
            "there is no such character",
            "write a backslash as `\\\\`, or",
        ),
        ("a:\n\tb: c", "2:1", "\t", "a tab cannot stand here", "indent with blanks"),
        ("a: |\n  b\n\tc", "3:1", "\t", "a tab cannot stand here", "indent with blanks"),
        ("a: @b", "1:4", "@", "a text cannot start with `@`", "quote the text"),
        ("- `b", "1:3", "`", "a text cannot start with ```", "quote the text"),
        ("a: %b", "1:4", "%", "a text cannot start with `%`", "quote the text"),
        ('a: "b\nc: d\n', "1:4", '"', "this quote is not closed", "close the quote"),
        ("a: 'b\n---\n'", "1:4", "'", "this quote is not closed", "close the quote"),
        (
            'a: "b\nc: "d"',
            "2:5",
            "d",
            "the text goes on behind its closing quote",
            "quote the whole text; in",
        ),
        (
            "a: 'it's'",
            "1:8",
            "s",
            "the text goes on behind its closing quote",
            "quote the whole text; in",
        ),
        ("a: b: c", "1:5", ":", "a second key on one line", 'quote a text that holds ": "'),
        (
            "a:b\nc: d",
            "1:2",
            ":",
            "a blank is missing behind this colon",
            "put a blank after the colon",
        ),
        (
            "a: b\nc:d\ne: f",
            "2:2",
            ":",
            "a blank is missing behind this colon",
            "put a blank after the colon",
        ),
        (
            "a: b\nc\ne: f",
            "3:1",
            "e",
            "the line before is neither `key: value` nor",
            "a key is followed by `: `; a",
        ),
        (
            "a: b\n  c: d",
            "2:4",
            ":",
            "this line goes on with the text of the line",
            "check the indentation: keys",
        ),
        (
            "a: [${b}]",
            "1:6",
            "{",
            "`{` cannot stand in a text inside brackets",
            "quote a text that holds one",
        ),
        (
            "a: {b} c",
            "1:8",
            "c",
            "the text goes on behind a closing bracket",
            "quote a text that starts with",
        ),
        (
            "a: [B] c",
            "1:8",
            "c",
            "the text goes on behind a closing bracket",
            "quote a text that starts with",
        ),
        ("a: [b\nc: d", "1:4", "[", "this `[` is not closed", "close it: `]`"),
        ("a: {b: c\n", "1:4", "{", "this `{` is not closed", "close it: `}`"),
        ("a: **b**", "1:4", "*", "a text cannot start with `*`", "quote the text"),
        ("a: !b!c d", "1:4", "!", "a text cannot start with `!`", "quote the text"),
        (
            "a: |b",
            "1:5",
            "b",
            "nothing stands behind `|` on its line",
            "quote a text that starts with",
        ),
        ("a: ? b", "1:4", "?", "a text cannot start with `?` and a blank", "quote the text"),
        (
            "a: - b",
            "1:4",
            "-",
            "a list cannot start on the line of its key",
            "start the list on the next",
        ),
        ("a: ]", "1:4", "]", "a text cannot start with `]`", "quote the text"),
        ("a: b\n: c", "2:1", ":", "a key is missing", "write a name before it"),
        (
            "- a\nb: c",
            "2:1",
            "b",
            "this line does not fit the lines above",
            "check the indentation: keys",
        ),
        (
            "%YAML 1.1\na: b",
            "2:1",
            "a",
            "a YAML directive cannot stand in a spec",
            "remove the lines that start",
        ),
        ('a: "\\q"', "1:6", "q", "there is no escape `\\q`", "write a backslash as `\\\\`, or"),
        (
            'a: "\\xg"',
            "1:7",
            "g",
            "an escape has too few hexadecimal digits",
            "an escape is `\\x41`, `\\u0041`",
        ),
        (
            "[a,b]\n- a",
            "2:1",
            "-",
            "the spec has ended before this line",
            "check: keys of one mapping",
        ),
    ],
    "too-deep": [
        ("- " * 50, "1:83", "-", "this is nested over 40", "simplify"),
    ],
}


@pytest.mark.parametrize(
    ("code", "text", "place", "marked", "message", "cure"),
    [(code, *row) for code, rows in MISTAKES.items() for row in rows],
)
def test_mistakes(code: str, text: str, place: str, marked: str, message: str, cure: str) -> None:
    problem = only(text)
    assert problem.span is not None and problem.code == code
    assert (str(problem.span), problem.span.text) == (f"x.yaml:{place}", marked)
    assert problem.message.startswith(message)
    assert problem.helps[0].startswith(cure)


def test_every_code_of_this_stage_has_a_mistake() -> None:
    codes = list(CODES)
    stage = set(codes[: codes.index("unknown-key")])
    assert stage - MISTAKES.keys() == {"unreadable", "too-large"}


def test_all_mistakes_are_reported_in_one_pass() -> None:
    node, problems = read('a: on\na: 1\nb: &x !t 0x1\na: 2\nc: [*x, {d: 1, d: 2}]\ne: "\n')
    assert node is None
    assert [(problem.code, problem.span and problem.span.line) for problem in problems] == [
        ("yaml-guess", 1),
        ("duplicate-key", 2),
        ("yaml-feature", 3),
        ("yaml-feature", 3),
        ("yaml-guess", 3),
        ("duplicate-key", 4),
        ("duplicate-key", 5),
        ("yaml-syntax", 6),
    ]


def test_a_tree_comes_with_its_problems() -> None:
    node, problems = read("a: 1\na: 2\nb: *x\n")
    assert node is not None and plain(node) == {"a": 1, "b": None} and len(problems) == 2


def test_bounds_stop_early() -> None:
    assert good("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert only("[" * (MAX_DEPTH + 2)).code == "too-deep"
    assert only("[" * 500_000).code == "too-deep"
    assert good("[" + "a," * (MAX_NODES - 1) + "]")
    assert only("[" + "a," * 500_000).code == "too-large"


def test_tags_that_only_text_follows() -> None:
    node, problems = read("a: !!str &x on\n")
    assert isinstance(node, MappingNode)
    assert {problem.span.text for problem in problems if problem.span} == {"!!str", "&x", "on"}


# places: value[start:end] in the file


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


def inside(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


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

"""Text and places: spans slice to their own text, each mistake is named where it stands."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.problems.problem import Problem, Problems
from templc.source.files import MAX_BYTES, read_source
from templc.source.guesses import guess, kind_of
from templc.source.nodes import (
    MappingNode,
    ScalarNode,
    plain,
)
from templc.source.span import Source, Span
from tests.support.trees import good, only, read, scalar, walk


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

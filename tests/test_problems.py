"""Problems: what is collected, how a frame looks, and that carets stand under what they mean."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from templc.problems.cells import MAX_WIDTH, visible, visible_text, width, window
from templc.problems.codes import CODES
from templc.problems.problem import Label, Problem, Problems, SpecError
from templc.problems.render import render_json, render_text, suggest
from templc.source.span import Source, Span

LINE = '    emit: "${start}user\\n${m.contnt}${end}\\n"'
SOURCE = Source("specs/qwen3.yaml", "#\n" * 27 + LINE + "\n" + "#\n" * 80)


def span_of(source: Source, text: str) -> Span:
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def page(problem: Problem) -> str:
    return render_text([problem])


# collecting


def test_problems_keep_their_order_and_equal_ones_once() -> None:
    problems = Problems()
    problems.warning("unknown-name", "one", helps=("drop it",))
    assert problems.ok and not problems.errors
    problems.error("cycle", "two")
    problems.error("cycle", "two")
    problems.add(Problem("cycle", "three", "warning"))
    assert [problem.message for problem in problems] == ["one", "two", "three"]
    assert len(problems) == 3 and not problems.ok
    assert problems.errors == (Problem("cycle", "two"),)


def test_both_severities_take_the_same_details() -> None:
    span = span_of(SOURCE, "start")
    details: dict[str, Any] = {
        "label": "a",
        "others": (Label(span, "b"),),
        "notes": ("c",),
        "helps": ("d",),
        "body": "e",
    }
    problems = Problems()
    problems.error("cycle", "x", span, **details)
    problems.warning("cycle", "x", span, **details)
    error, warning = problems
    assert error == Problem("cycle", "x", "error", span, **details)
    assert warning == Problem("cycle", "x", "warning", span, **details)


def test_unknown_codes_are_refused() -> None:
    for report in (Problems().error, Problems().warning):
        with pytest.raises(AssertionError, match="unknown code no-such-code"):
            report("no-such-code", "x")


def test_codes_are_words_with_a_title_and_a_reason() -> None:
    for code, (title, why) in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        assert title and not title.endswith(".") and why.endswith(".")


def test_a_spec_error_shows_every_problem() -> None:
    problems = Problems()
    problems.error("empty", "one")
    problems.error("empty", "two")
    error = SpecError(problems)
    assert str(error) == "error[empty]: one\n\nerror[empty]: two\n"
    assert error.problems is problems


# the frame


def test_the_frame_of_the_design() -> None:
    problem = Problem(
        "unknown-field",
        "a message has no field `contnt`",
        span=span_of(SOURCE, "contnt"),
        label="not one of the 5 message fields",
        notes=("in the pattern for role `user`, at roles/user/emit",),
        helps=("did you mean `m.content`?",),
    )
    assert page(problem) == (
        "error[unknown-field]: a message has no field `contnt`\n"
        "  --> specs/qwen3.yaml:28:30\n"
        "   |\n"
        '28 |     emit: "${start}user\\n${m.contnt}${end}\\n"\n'
        "   |                              ^^^^^^ not one of the 5 message fields\n"
        "   |\n"
        "   = note: in the pattern for role `user`, at roles/user/emit\n"
        "   = help: did you mean `m.content`?\n"
    )


def test_further_places_and_a_body() -> None:
    source = Source("x.yaml", "#\n" * 8 + "a: 1\n" + "b: 2\n")
    problem = Problem(
        "no-stop-token",
        "old text changes",
        "warning",
        span_of(source, "b: 2"),
        "reads the future",
        (Label(span_of(source, "1"), "this line asks for it"),),
        ("first", "second\nline"),
        ("drop it",),
        "shortest example:\n\n  before  a\n",
    )
    assert page(problem) == (
        "warning[no-stop-token]: old text changes\n"
        "  --> x.yaml:10:1\n"
        "   |\n"
        "10 | b: 2\n"
        "   | ^^^^ reads the future\n"
        "   |\n"
        "note: this line asks for it\n"
        "  --> x.yaml:9:4\n"
        "   |\n"
        " 9 | a: 1\n"
        "   |    ^\n"
        "\n"
        "   shortest example:\n"
        "\n"
        "     before  a\n"
        "   = note: first\n"
        "   = note: second\n"
        "           line\n"
        "   = help: drop it\n"
    )


def test_without_a_place() -> None:
    problem = Problem("unreadable", "there is no file x", helps=("check the path",))
    assert page(problem) == "error[unreadable]: there is no file x\n   = help: check the path\n"


def test_nothing_hangs_below_a_frame_without_notes() -> None:
    shown = page(Problem("empty", "m", span=Span(Source("x", "ab"), 1, 2)))
    assert shown == "error[empty]: m\n --> x:1:2\n  |\n1 | ab\n  |  ^\n"


def test_a_span_over_several_lines_shows_the_first() -> None:
    source = Source("x", "a: [b,\r\n  c]\n")
    assert "1 | a: [b,\n  |    ^^^\n" in page(
        Problem("empty", "m", span=span_of(source, "[b,\r\n  c]"))
    )
    at_the_end = Span(source, source.text.index("\n"), source.text.index("]"))
    assert "1 | a: [b,\n  |       ^\n" in page(Problem("empty", "m", span=at_the_end))


def test_nothing_in_a_message_reaches_the_terminal_as_a_command() -> None:
    source = Source("x\x1b.yaml", "a\u202eb\n")
    problem = Problem(
        "empty", "m\x1b[2J", span=Span(source, 1, 2), label="\x07", notes=("\x1b",), body="\x1b"
    )
    shown = page(problem)
    assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in shown.replace("\n", ""))
    assert "1 | a<U+202E>b\n  |  ^^^^^^^^ \u2407\n" in shown


def test_colours_only_colour() -> None:
    source = Source("x", "ab")
    other = Label(Span(source, 0, 1), "there")
    problem = Problem("empty", "m", "error", Span(source, 1, 2), "here", (other,), ("n",), ("h",))
    colored = render_text([problem], color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == page(problem)
    assert colored.startswith("\x1b[31;1merror[empty]\x1b[0m: m\n")
    assert "= \x1b[34mnote\x1b[0m: n" in colored and "= \x1b[32mhelp\x1b[0m: h" in colored
    assert "\x1b[31;1m^\x1b[0m here" in colored and "\x1b" not in page(problem)


# cells


@pytest.mark.parametrize(
    ("char", "shown", "columns"),
    [
        ("a", "a", 1),
        ("\t", "    ", 4),
        ("\x00", "\u2400", 1),
        ("\x1b", "\u241b", 1),
        ("\x7f", "\u2421", 1),
        ("\x85", "<U+0085>", 8),
        ("\u200d", "<U+200D>", 8),
        ("\u2028", "<U+2028>", 8),
        ("\ud800", "<U+D800>", 8),
        ("\ufeff", "<U+FEFF>", 8),
        ("\u4e2d", "\u4e2d", 2),
        ("\uff21", "\uff21", 2),
        ("\U0001f600", "\U0001f600", 2),
        ("\u0301", "\u0301", 0),
        ("\u1161", "\u1161", 0),
        ("\xe9", "\xe9", 1),
    ],
)
def test_characters(char: str, shown: str, columns: int) -> None:
    assert visible(char) == shown and width(shown) == columns


LINES = st.text(
    st.sampled_from("ab\t\x01\x7f\u4e2d\u0301\U0001f600\uff21\u202e\xe9")
    | st.characters(exclude_characters="\r\n"),
    max_size=300,
)


def columns(shown: str, start: int, stop: int) -> str:
    """The characters of a shown line that begin in the columns from `start` on, up to `stop`."""
    found, at = "", 0
    for char in shown:
        if start <= at < stop:
            found += char
        at += width(char)
    return found


@settings(max_examples=500)
@given(LINES, st.data())
def test_carets_stand_under_the_span(line: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    shown = window(line, start, end)
    assert width(shown.text) <= MAX_WIDTH and shown.width >= 1
    marked = columns(shown.text, shown.start, shown.start + shown.width)
    whole = width(visible_text(line)) <= MAX_WIDTH
    bases = [char for char in visible_text(line[start:end]) if width(char)]
    under = [char for char in marked if width(char)]
    if not bases:
        assert shown.width == 1
    elif whole:
        assert shown.text == visible_text(line) and under == bases
    else:
        assert under and under == bases[: len(under)]
        assert len(under) == len(bases) or width("".join(under)) >= MAX_WIDTH // 2


@given(LINES, st.data())
def test_the_page_marks_the_column_it_names(line: str, data: st.DataObject) -> None:
    before = data.draw(st.lists(st.just("#\n"), max_size=12))
    start = data.draw(st.integers(0, len(line)))
    source = Source("x", "".join(before) + line + "\n")
    at = sum(map(len, before)) + start
    shown = page(Problem("empty", "m", span=Span(source, at, at), label="here")).split("\n")
    gutter = len(str(len(before) + 1)) + len(" | ")
    assert shown[1].endswith(f"--> x:{len(before) + 1}:{start + 1}")
    expected = window(line, start, start)
    assert shown[3][gutter:] == expected.text.rstrip()
    assert shown[4][gutter:] == " " * expected.start + "^ here"


def test_long_lines_are_cut_around_the_span() -> None:
    line = "a" * 500 + "HERE" + "b" * 500
    shown = window(line, 500, 504)
    assert shown.text.startswith("...a") and shown.text.endswith("b...")
    assert len(shown.text) == MAX_WIDTH
    assert columns(shown.text, shown.start, shown.start + shown.width) == "HERE"
    assert window(line, 0, 1).text.startswith("aaa") and window(line, 1003, 1004).text.endswith(
        "bb"
    )
    wide = window("\u4e2d" * 500, 100, 400)
    assert wide.start + wide.width <= MAX_WIDTH and width(wide.text) <= MAX_WIDTH


# JSON and suggestions


def test_json_has_every_field() -> None:
    source = Source("x.yaml", "a: b\nc: d\n")
    whole = Span(source, 3, 9)
    problem = Problem(
        "cycle", "m", "warning", whole, "l", (Label(Span(source, 0, 1), "t"),), ("n",), ("h",), "b"
    )
    place = {"file": "x.yaml", "line": 1, "column": 4, "end_line": 2, "end_column": 5}
    first = {"file": "x.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 2}
    assert json.loads(render_json([problem])) == [
        {
            "code": "cycle",
            "severity": "warning",
            "message": "m",
            **place,
            "label": "l",
            "others": [{**first, "text": "t"}],
            "notes": ["n"],
            "helps": ["h"],
            "body": "b",
        }
    ]


def test_json_without_a_place_and_with_half_a_character() -> None:
    text = render_json([Problem("empty", "caf\xe9 \ud800")])
    assert text.encode() and "caf\xe9" in text
    (found,) = json.loads(text)
    assert found["message"] == "caf\xe9 \ud800"
    assert all(found[key] is None for key in ("file", "line", "column", "end_line", "end_column"))
    assert json.loads(render_json([])) == []


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("contnt", ["content", "reasoning"], "content"),
        ("tol", ["role", "tool"], "tool"),
        ("xyz", ["content", "tool"], None),
        ("content", [], None),
        ("", ["a"], None),
    ],
)
def test_suggestions(name: str, known: list[str], found: str | None) -> None:
    assert suggest(name, known) == found
    assert suggest(name, iter(known)) == found

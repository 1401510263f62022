"""How problems look: text with carets, or JSON; and "did you mean".

    error[unknown-field]: nothing is called `contnt`
      --> specs/qwen3.yaml:28:30
       |
    28 |     emit: "${start}user\\n${contnt}"
       |                             ^^^^^^ not one of the 7 message fields
       |
       = help: did you mean `content`?
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from templc.problems.problem import Problem
from templc.source.span import Span

MAX_WIDTH = 110
_COLORS = {"error": "31;1", "warning": "33;1", "note": "34;1", "help": "32;1", "frame": "34"}


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, None when none is."""
    close = get_close_matches(name, list(known), 1, 0.6)
    return close[0] if close else None


def render_text(problems: Iterable[Problem], *, color: bool = False) -> str:
    """All problems, one frame each, separated by empty lines."""
    return "\n".join("\n".join(_problem(problem, color)) + "\n" for problem in problems)


def _paint(text: str, kind: str, color: bool) -> str:
    return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if color and text else text


def _problem(problem: Problem, color: bool) -> Iterator[str]:
    head = _paint(f"{problem.severity}[{problem.code}]", problem.severity, color)
    yield f"{head}: {problem.message}"
    gutter = " " * max((len(str(span.line)) for span in _spans(problem)), default=2)
    if problem.span is not None:
        yield from _frame(problem.span, problem.label, gutter, problem.severity, color)
    for other in problem.others:
        yield f"{_paint('note', 'note', color)}: {other.text}"
        yield from _frame(other.span, "", gutter, "note", color)
    if problem.body:
        yield ""
        yield from problem.body.rstrip("\n").split("\n")
        yield ""
    for kind, texts in (("note", problem.notes), ("help", problem.helps)):
        for text in texts:
            yield f"{gutter} = {_paint(kind, kind, color)}: {text}"


def _spans(problem: Problem) -> list[Span]:
    return [span for span in (problem.span, *(other.span for other in problem.others)) if span is not None]


def _frame(span: Span, label: str, gutter: str, kind: str, color: bool) -> Iterator[str]:
    line, column = span.source.position(span.start)
    bar = _paint("|", "frame", color)
    yield f"{gutter}{_paint('-->', 'frame', color)} {span}"
    yield f"{gutter} {bar}"
    text = span.source.line_text(line)
    length = max(1, min(span.end - span.start, len(text) - column + 1))
    shown, start = _window(text, column - 1, length)
    number = str(line).rjust(len(gutter))
    yield f"{_paint(number, 'frame', color)} {bar} {_visible(shown)}".rstrip()
    at = column - 1 - start
    marks = " " * _width(shown[:at]) + _paint("^" * max(1, _width(shown[at : at + length])), kind, color)
    yield f"{gutter} {bar} {marks} {label}".rstrip()
    yield f"{gutter} {bar}"


def _window(text: str, at: int, length: int) -> tuple[str, int]:
    """The part of a long line around a place, and where it starts (the dots counted in)."""
    if _width(text) <= MAX_WIDTH:
        return text, 0
    start = max(0, at - MAX_WIDTH // 2)
    end = max(at + min(length, MAX_WIDTH // 2), start + MAX_WIDTH)
    head = "..." if start else ""
    return head + text[start:end] + ("..." if end < len(text) else ""), start - len(head)


def _width(text: str) -> int:
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _visible(text: str) -> str:
    """Tabs and control characters as one visible character each, so that carets stay true."""
    return "".join(" " if char == "\t" else "\u2423" if unicodedata.category(char) == "Cc" else char for char in text)


def render_json(problems: Iterable[Problem]) -> str:
    """All problems as a JSON list."""
    return json.dumps([_as_json(problem) for problem in problems], indent=2, ensure_ascii=False)


def _as_json(problem: Problem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        **_place(problem.span),
        "label": problem.label,
        "others": [{**_place(other.span), "text": other.text} for other in problem.others],
        "notes": list(problem.notes),
        "helps": list(problem.helps),
        "body": problem.body,
    }


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "line": None, "column": None, "end_line": None, "end_column": None}
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": span.line,
        "column": span.column,
        "end_line": end_line,
        "end_column": end_column,
    }

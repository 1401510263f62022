"""How problems look: text with carets, or JSON; and "did you mean".

Input: problems; output: text. One problem:

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
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Literal

from templc.problems.cells import visible_text, window
from templc.problems.problem import Label, Problem
from templc.source.span import Span

Ink = Literal["error", "warning", "note", "help", "frame"]
_COLORS: dict[Ink, str] = {
    "error": "31;1",
    "warning": "33;1",
    "note": "34",
    "help": "32",
    "frame": "34",
}


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, None when none is."""
    names = list(known)
    close = get_close_matches(name, names, 1, 0.6)
    swapped = (other for other in names if sorted(other) == sorted(name))
    return close[0] if close else next(swapped, None)


def render_text(problems: Iterable[Problem], *, color: bool = False) -> str:
    """All problems, one block each, with an empty line between them."""
    return "\n".join("\n".join(_Page(problem, color).lines()) + "\n" for problem in problems)


class _Page:
    """The lines of one problem; `gutter` is as wide as its largest line number."""

    def __init__(self, problem: Problem, color: bool) -> None:
        self._problem = problem
        self._color = color
        spans = [problem.span, *(other.span for other in problem.others)]
        self._gutter = max((len(str(span.line)) for span in spans if span is not None), default=2)
        self._indent = " " * self._gutter

    def lines(self) -> Iterator[str]:
        problem = self._problem
        head = self._paint(f"{problem.severity}[{problem.code}]", problem.severity)
        yield f"{head}: {visible_text(problem.message)}"
        blocks = [*self._frames()]
        footer = [*self._footer()]
        for index, block in enumerate(blocks):
            yield from block
            # The bar leads on to what follows; the body has an empty line of its own.
            if index + 1 < len(blocks) or (footer and not problem.body):
                yield f"{self._indent} {self._paint('|', 'frame')}"
        if problem.body:
            yield ""
            yield from self._body()
        yield from footer

    def _frames(self) -> Iterator[list[str]]:
        problem = self._problem
        if problem.span is not None:
            yield [*self._frame(problem.span, problem.label, problem.severity)]
        for other in problem.others:
            yield [*self._other(other)]

    def _other(self, other: Label) -> Iterator[str]:
        yield f"{self._paint('note', 'note')}: {visible_text(other.text)}"
        yield from self._frame(other.span, "", "note")

    def _frame(self, span: Span, label: str, ink: Ink) -> Iterator[str]:
        bar = self._paint("|", "frame")
        line, column = span.source.position(span.start)
        text = span.source.line_text(line)
        # A span over several lines shows the first one, to its end.
        start = min(column - 1, len(text))
        shown = window(text, start, start + span.end - span.start)
        number = self._paint(str(line).rjust(self._gutter), "frame")
        carets = " " * shown.start + self._paint("^" * shown.width, ink)
        yield f"{self._indent}{self._paint('-->', 'frame')} {visible_text(str(span))}"
        yield f"{self._indent} {bar}"
        yield f"{number} {bar} {shown.text}".rstrip()
        yield f"{self._indent} {bar} {carets} {visible_text(label)}".rstrip()

    def _body(self) -> Iterator[str]:
        for line in self._problem.body.strip("\n").split("\n"):
            yield f"{self._indent} {visible_text(line)}".rstrip()

    def _footer(self) -> Iterator[str]:
        rows: list[tuple[Ink, str]] = [("note", text) for text in self._problem.notes]
        rows += [("help", text) for text in self._problem.helps]
        for ink, text in rows:
            first, *more = text.split("\n")
            yield f"{self._indent} = {self._paint(ink, ink)}: {visible_text(first)}"
            yield from (f"{self._indent}         {visible_text(line)}".rstrip() for line in more)

    def _paint(self, text: str, ink: Ink) -> str:
        return f"\x1b[{_COLORS[ink]}m{text}\x1b[0m" if self._color else text


def render_json(problems: Iterable[Problem]) -> str:
    """All problems as a JSON list; lines and columns from 1, ends one past the last character."""
    text = json.dumps([_as_json(problem) for problem in problems], indent=2, ensure_ascii=False)
    # Half a character cannot be printed; its escape is the same JSON.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


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


def _place(span: Span | None) -> dict[str, str | int | None]:
    if span is None:
        return dict.fromkeys(("file", "line", "column", "end_line", "end_column"))
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": span.line,
        "column": span.column,
        "end_line": end_line,
        "end_column": end_column,
    }

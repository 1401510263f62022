"""YAML's own syntax errors: where they stand, what they mean, and the usual cure.

Input: what PyYAML raised; output: one problem in the words of a spec's author. For `a: "b` PyYAML
blames the end of the file; the problem shows the quote that was opened, and says to close it.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import yaml

from templc.problems.problem import Label, Problems
from templc.source.span import Source, Span


class _Mistake(NamedTuple):
    """A row: what PyYAML says, what the lines look like, and what to tell the author.

    `lines` is matched against the line before, a newline, and the line with `HERE` at the place.
    `shows` is the place, where the construct around it starts, or the last colon of the line before.
    `{char}` stands for the character at the place, `{opener}` for that at the start.
    """

    said: str
    lines: str
    message: str
    label: str
    help: str
    shows: Literal["place", "start", "above"] = "place"


HERE = "\0"
_FIT = "keys of one mapping stand in one column, and so do the items of a list"
_MISTAKES = (
    _Mistake(
        r"quoted scalar: found unexpected",
        "",
        "this quote is not closed",
        "opened here",
        "close the quote",
        "start",
    ),
    _Mistake(
        r"found character '\\t'", "", "a tab cannot stand here", "a tab", "indent with blanks"
    ),
    _Mistake(
        r"cannot start any token",
        "",
        "a text cannot start with `{char}`",
        "starts a text",
        "quote the text",
    ),
    _Mistake(
        r"mapping values are not|find expected ':'",
        r"^\s*[^\s:'\"#]+:[^\s:].*\n",
        "a blank is missing behind this colon",
        "no key without it",
        "put a blank after the colon",
        "above",
    ),
    _Mistake(
        r"mapping values are not",
        rf"\n\s+[^\s:]+{HERE}:(\s|$)",
        "this line goes on with the text of the line before",
        "so this is no key",
        f"check the indentation: {_FIT}",
    ),
    _Mistake(
        r"mapping values are not",
        "",
        "a second key on one line",
        "its colon",
        'quote a text that holds ": "',
    ),
    _Mistake(
        r"find expected ':'",
        "",
        "the line before is neither `key: value` nor part of a text",
        "found when this line started",
        "a key is followed by `: `; a text of several lines stands deeper than its key",
    ),
    _Mistake(
        r"scanning an? (alias|anchor)",
        "",
        "a text cannot start with `{opener}`",
        "starts a text",
        "quote the text",
        "start",
    ),
    _Mistake(
        r"tag", "", "a text cannot start with `!`", "starts a text", "quote the text", "start"
    ),
    _Mistake(
        r"block scalar",
        "",
        "nothing stands behind `{opener}` on its line",
        "left over",
        "quote a text that starts with `{opener}`, or start it on the next line",
    ),
    _Mistake(
        r"mapping keys are not",
        "",
        "a text cannot start with `?` and a blank",
        "starts a text",
        "quote the text",
    ),
    _Mistake(
        r"sequence entries are not",
        "",
        "a list cannot start on the line of its key",
        "starts a list",
        "start the list on the next line, or write `[a, b]`",
    ),
    _Mistake(
        r"the node content",
        "",
        "a text cannot start with `{char}`",
        "starts a text",
        "quote the text",
    ),
    _Mistake(
        r"found unknown escape",
        "",
        "there is no escape `\\{char}`",
        "unknown",
        "write a backslash as `\\\\`, or use single quotes, which know no escapes",
    ),
    _Mistake(
        r"escape sequence",
        "",
        "an escape has too few hexadecimal digits",
        "not one of them",
        "an escape is `\\x41`, `\\u0041` or `\\U00000041`",
    ),
    _Mistake(
        r"<document start>",
        r"^%",
        "a YAML directive cannot stand in a spec",
        "follows it",
        "remove the lines that start with `%`",
    ),
    _Mistake(
        r"<document start>",
        "",
        "the spec has ended before this line",
        "left over",
        f"check: {_FIT}",
    ),
    _Mistake(
        r"directive|YAML document",
        "",
        "a YAML directive cannot stand in a spec",
        "here",
        "remove the lines that start with `%`",
    ),
    _Mistake(
        r"<block end>", rf"\n\s*{HERE}:", "a key is missing", "its colon", "write a name before it"
    ),
    _Mistake(
        r"<block end>",
        rf"\n.*'.*{HERE}",
        "the text goes on behind its closing quote",
        "left over",
        "quote the whole text; in single quotes, `''` writes a quote",
    ),
    _Mistake(
        r"<block end>",
        rf"\n.*\".*{HERE}",
        "the text goes on behind its closing quote",
        "left over",
        'quote the whole text; in double quotes, `\\"` writes a quote; or close an earlier quote',
    ),
    _Mistake(
        r"<block end>",
        rf"\n.*[\]}}].*{HERE}",
        "the text goes on behind a closing bracket",
        "left over",
        "quote a text that starts with `{` or `[`",
    ),
    _Mistake(
        r"<block end>",
        "",
        "this line does not fit the lines above",
        "in another column",
        f"check the indentation: {_FIT}",
    ),
    _Mistake(
        r"expected ',' or",
        rf"{HERE}[\[\]{{}}]",
        "`{char}` cannot stand in a text inside brackets",
        "a mark of YAML",
        "quote a text that holds one of `{ } [ ] ,`",
    ),
)
_BEYOND = re.compile(r"\\U[0-9a-fA-F]{8}")
_LAST = 0x10FFFF
_CLOSES = {"[": "]", "{": "}"}


def report_syntax(source: Source, error: yaml.MarkedYAMLError, problems: Problems) -> None:
    """Report an error of PyYAML's scanner or parser at its place."""
    mark = error.problem_mark or error.context_mark
    at = _shown(source, mark.index if mark else 0)
    start = error.context_mark.index if error.context_mark else at
    said = f"{error.context or ''}: {error.problem or 'this is not YAML'}"
    lines = _lines(source, at)
    for row in _MISTAKES:
        if re.search(row.said, said) and re.search(row.lines, lines):
            _report(row, source, at, start, problems)
            return
    if "expected ',' or" in said:
        _unclosed(source, at, start, problems)
        return
    message = (error.problem or "this is not YAML").rstrip(".")
    problems.error("yaml-syntax", message, _character(source, at), label="here")


def _lines(source: Source, at: int) -> str:
    """The line before and the line itself, with `HERE` at the place."""
    line, column = source.position(at)
    before = source.line_text(line - 1) if line > 1 else ""
    text = source.line_text(line)
    return f"{before}\n{text[: column - 1]}{HERE}{text[column - 1 :]}"


def _report(row: _Mistake, source: Source, at: int, start: int, problems: Problems) -> None:
    line = source.position(at)[0]
    above = at - source.position(at)[1]
    places = {
        "place": at,
        "start": start,
        "above": source.text.find(":", source.text.rfind("\n", 0, max(above, 0)) + 1),
    }
    span = _character(source, places[row.shows] if line > 1 or row.shows != "above" else at)

    def filled(text: str) -> str:
        opener = source.text[start : start + 1]
        return text.replace("{char}", source.text[at : at + 1]).replace("{opener}", opener)

    problems.error(
        "yaml-syntax", filled(row.message), span, label=row.label, helps=(filled(row.help),)
    )


def _unclosed(source: Source, at: int, start: int, problems: Problems) -> None:
    """A bracket that was opened and, before this place, not closed."""
    opener = source.text[start : start + 1]
    closer = _CLOSES.get(opener, "]")
    problems.error(
        "yaml-syntax",
        f"this `{opener}` is not closed",
        _character(source, start),
        label="opened here",
        others=(Label(_character(source, at), f"`{closer}` or a comma must stand before this"),),
        helps=(f"close it: `{closer}`",),
    )


def _character(source: Source, at: int) -> Span:
    return Span(source, at, min(at + 1, len(source.text)))


def _shown(source: Source, at: int) -> int:
    """The nearest character to show: the last one of a text that stops too early."""
    text = source.text
    at = min(at, len(text))
    return max(len(text.rstrip()) - 1, 0) if not text[at:].strip() else at


def report_bad_escape(source: Source, last: int, problems: Problems) -> bool:
    """Report the first escape behind `last` that is no character; False when there is none."""
    for found in _BEYOND.finditer(source.text, last):
        if int(found.group()[2:], 16) > _LAST:
            problems.error(
                "yaml-syntax",
                "there is no such character",
                Span(source, *found.span()),
                label="beyond U+10FFFF",
                helps=("write a backslash as `\\\\`, or use single quotes",),
            )
            return True
    return False

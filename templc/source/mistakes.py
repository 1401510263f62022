"""YAML's own syntax errors, in plain words and with the usual cure."""

from __future__ import annotations

import yaml

from templc.problems.problem import Problems
from templc.source.span import Source, Span


def report_syntax(source: Source, error: yaml.MarkedYAMLError, problems: Problems) -> None:
    """Report an error of PyYAML's scanner or parser at its place."""
    mark = error.problem_mark or error.context_mark
    at = min(mark.index if mark else 0, max(len(source.text) - 1, 0))
    message = (error.problem or "this is not YAML").rstrip(".").lower()
    note = f"{error.context.rstrip('.').lower()}, line {error.context_mark.line + 1}" if error.context and error.context_mark else ""
    problems.error(
        "yaml-syntax",
        message,
        Span(source, at, at + 1 if source.text else at),
        label="here",
        notes=(note,) if note else (),
        helps=_cures(source, at, message),
    )


def _cures(source: Source, at: int, message: str) -> tuple[str, ...]:
    char = source.text[at : at + 1]
    line = source.line_text(source.position(at)[0]) if source.text else ""
    if char == "\t" or "'\\t'" in message:
        return ("indent with blanks, not tabs",)
    if char in "@`%" and "cannot start" in message:
        return (f"quote a text that starts with {char}",)
    if "mapping values are not allowed" in message:
        return ('quote a text that holds ": "',)
    if "scanning a quoted scalar" in message or "unexpected end of stream" in message:
        return ("close the quote",)
    if "expected <block end>" in message or "expected the node content" in message:
        return ("check the indentation, and quote a text that starts with {, [, * or &",)
    if "could not find expected ':'" in message:
        return (f"put a blank after the colon: `{line.strip()[:30]}`",) if ":" in line else ("a key is followed by `: `",)
    return ()

"""Broken specs and what is said about them: every file under `cases/`, with the expected text in its own tail.

A case is a spec, the line `# ---`, and the problems that it has, each line behind `# `. To accept new texts, run
`pytest tests/test_cases.py --update-cases` and read the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from templc.pipeline import compile_source, weighed
from templc.problems.codes import CODES
from templc.problems.problem import Problem
from templc.problems.render import render_text
from templc.source.span import Source

CASES = Path(__file__).parent / "cases"
MARK = "# ---\n"
FILES = sorted(CASES.glob("*/*.yaml"))
# Reported about what cannot be committed (a huge file, a folder), or by the proof and the build.
ELSEWHERE = {"unreadable", "prefix-not-stable", "not-generated", "shared-name"}


def split(path: Path) -> tuple[str, str]:
    """A case's spec and its tail."""
    spec, _, tail = path.read_text(encoding="utf-8").partition(MARK)
    return spec, tail


def problems_of(path: Path) -> list[Problem]:
    source = Source(f"{path.parent.name}/{path.name}", split(path)[0])
    return list(weighed(compile_source(source, folders=(path.parent,))).problems)


def as_tail(problems: list[Problem]) -> str:
    lines = render_text(problems).rstrip("\n").split("\n")
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path, request: pytest.FixtureRequest) -> None:
    found = as_tail(problems_of(path))
    if request.config.getoption("--update-cases"):
        path.write_text(split(path)[0] + MARK + found, encoding="utf-8")
    assert split(path)[1] == found


def test_every_code_has_a_case() -> None:
    shown = {problem.code for path in FILES for problem in problems_of(path)}
    assert set(CODES) - shown == ELSEWHERE

"""`templc check`: the problems of specs, with their places."""

from __future__ import annotations

import sys

import click

from templc.cli.console import colored
from templc.cli.failures import BAD_INPUT, FINDING
from templc.cli.formats import spec_path
from templc.pipeline import compile_path, weighed
from templc.problems.problem import Problem
from templc.problems.render import render_json, render_text

EPILOG = """\b
Examples:
  templc check specs/mine.yaml
  templc check specs/*.yaml --format json
"""


@click.command("check", epilog=EPILOG)
@click.argument("specs", nargs=-1, required=True, metavar="SPEC ...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How problems are printed; json is a list with file, line, column, code, message and help.",
)
def command(specs: tuple[str, ...], form: str) -> int:
    """Report every problem of specs: what is wrong, where, and what to do.

    SPEC is the path of a spec file, or the name of a format. Exit status 1 when a spec has errors, 2 when a file
    cannot be read.
    """
    problems: list[Problem] = []
    for spec in specs:
        path = spec_path(spec)
        name = str(path) if str(path) == spec else f"{path.parent.name}/{path.name}"
        problems += weighed(compile_path(path, name)).problems
    if form == "json":
        sys.stdout.write(render_json(problems) + "\n")
    else:
        _print(problems, len(specs))
    errors = {problem.code for problem in problems if problem.severity == "error"}
    return BAD_INPUT if "unreadable" in errors else FINDING if errors else 0


def _print(problems: list[Problem], specs: int) -> None:
    if problems:
        sys.stdout.write(render_text(problems, color=colored(sys.stdout)) + "\n")
    errors = sum(problem.severity == "error" for problem in problems)
    counted = f"{_number(errors, 'error')}, {_number(len(problems) - errors, 'warning')}"
    sys.stdout.write(f"{_number(specs, 'spec')}: {counted if problems else 'no problems'}\n")


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

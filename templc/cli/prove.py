"""`templc prove`: the stability table of a format, its witnesses, and the check of stored proofs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click

from templc.cli.console import colored, paint, progress
from templc.cli.failures import FINDING, InputError
from templc.cli.formats import spec_path
from templc.cli.inputs import option_values
from templc.ir.interpret import runtime_options
from templc.pipeline import Compilation, compile_path
from templc.problems.problem import Problems
from templc.problems.render import render_text
from templc.proof.demands import check_demands
from templc.proof.stability import Stability, prove
from templc.proofs import complaints
from templc.registry import generated, list_formats

EPILOG = """\b
Examples:
  templc prove qwen3
  templc prove qwen3 --witness 1           both renders, equal up to the dot
  templc prove qwen3 -o enable_thinking=false
  templc prove --recheck                   check every stored proof
"""
_STYLES = {"stable": "green", "never": "red", "if": "yellow", "refused": "dim"}


@click.command("prove", epilog=EPILOG)
@click.argument("format", required=False)
@click.option("--witness", type=int, metavar="N", help="Show the shortest example number N.")
@click.option("--tools", is_flag=True, help="With tools declared; without them by default.")
@click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the format.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Cells, conditions, reasons and witnesses as JSON."
)
@click.option(
    "--recheck", is_flag=True, help="Check stored certificates with the independent checker."
)
def command(
    format: str | None,
    witness: int | None,
    tools: bool,
    options: tuple[str, ...],
    as_json: bool,
    recheck: bool,
) -> int:
    """Show what may follow what without rewriting earlier text, proved for conversations of any length.

    FORMAT is a name or the path of a spec file. Rows are what a conversation ends with, columns the role of the next
    message. `stable if` is followed by the exact condition, `never` by the line of the spec that decides it. Exit
    status 1 when a demand of the spec (extend.must_allow) is not met, or a stored proof is not valid.
    """
    if recheck:
        return _recheck([format] if format else list_formats())
    if format is None:
        raise InputError("name a format, or check all stored proofs with --recheck")
    compilation = _compiled(format)
    program = compilation.checked()
    stability = prove(program, option_values(runtime_options(program), options), tools)
    if as_json:
        sys.stdout.write(json.dumps(stability.to_json(), ensure_ascii=False, indent=1) + "\n")
    elif witness is not None:
        sys.stdout.write(_witness(stability, witness).rstrip("\n") + "\n")
    else:
        sys.stdout.write(_table(stability) + "\n")
    return _demands(compilation, stability)


def _compiled(format: str) -> Compilation:
    path = spec_path(format)
    return compile_path(path, f"{path.parent.name}/{path.name}")


def _witness(stability: Stability, number: int) -> str:
    try:
        return stability.witness(number)
    except KeyError:
        known = [cell.number for cell in stability.cells if cell.number]
        cure = f"there are 1 to {max(known)}" if known else "nothing is ever rewritten here"
        raise InputError(f"there is no witness {number}", help=cure) from None


def _table(stability: Stability) -> str:
    """The table, verdicts coloured on a terminal, and how the format is used append-only."""
    on = colored(sys.stdout)
    text = str(stability).rstrip("\n")
    if on:
        text = re.sub(
            r"\b(stable|never|refused)\b(?= |$)",
            lambda found: paint(found.group(), _STYLES[found.group()], True),
            text,
            flags=re.MULTILINE,
        )
    twin = stability.twin
    if twin is None:
        return text
    how = f"{twin.option}={twin.value}" if twin.option else 'history="as_sampled"'
    lines = [f"append-only: {how}", *(f"    {change}" for change in twin.changes)]
    return "\n".join([text, "", *lines])


def _demands(compilation: Compilation, stability: Stability) -> int:
    problems = Problems()
    check_demands(compilation.checked(), stability, problems)
    sys.stderr.write(render_text(problems, color=colored(sys.stderr)))
    return 0 if problems.ok else FINDING


def _recheck(names: list[str]) -> int:
    """Check the stored proof of each format."""
    folder = Path(str(generated().__file__)).parent
    bad = 0
    with progress(len(names), "checking") as done:
        for number, name in enumerate(names):
            done(number)
            compilation = _compiled(name)
            path = folder / f"{compilation.checked().format}.json"
            found = _stored_complaints(compilation, path)
            bad += bool(found)
            for text in found:
                sys.stdout.write(f"{path.name}: {text}\n")
    valid = len(names) - bad
    sys.stdout.write(f"{valid} of {len(names)} stored proofs are valid\n")
    return FINDING if bad else 0


def _stored_complaints(compilation: Compilation, path: Path) -> list[str]:
    if not path.is_file():
        return ["there is no stored proof: run `templc build`"]
    text = path.read_text(encoding="utf-8")
    if json.loads(text).get("sha256") != compilation.digest:
        return ["the proof is of another spec: run `templc build`"]
    return complaints(compilation.checked(), text)

"""`templc prove`: the stability table of a format, its witnesses, and the check of stored proofs."""

from __future__ import annotations

import json
import re
import sys

import click

from templc.cli.console import colored, paint
from templc.cli.failures import FINDING, InputError
from templc.cli.inputs import OPTION_HELP, option_values
from templc.cli.proved import compiled, prove_all, recheck_all
from templc.cli.token_level import TokenLevel
from templc.ir.interpret import runtime_options
from templc.pipeline import Compilation
from templc.problems.problem import Problems
from templc.problems.render import render_text
from templc.proof.demands import check_demands
from templc.proof.stability import Stability, prove
from templc.registry import list_formats

EPILOG = """\b
Examples:
  templc prove qwen3
  templc prove qwen3 --witness 1           both renders, equal up to the dot
  templc prove qwen3 -o enable_thinking=false
  templc prove qwen3 --tokenizer DIR       where merges may cross, for this tokenizer
  templc prove --all                       a line a format
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
    help=OPTION_HELP,
)
@click.option(
    "--json", "as_json", is_flag=True, help="Cells, conditions, reasons and witnesses as JSON."
)
@click.option(
    "--recheck", is_flag=True, help="Check stored certificates with the independent checker."
)
@click.option(
    "--tokenizer",
    "tokenizer",
    metavar="T",
    help="Whose merges are looked at: a tokenizer.json, a folder, OWNER/NAME of the hub, or a demo vocabulary.",
)
@click.option("--all", "every", is_flag=True, help="Every format, one line each.")
def command(
    format: str | None,
    witness: int | None,
    tools: bool,
    options: tuple[str, ...],
    as_json: bool,
    recheck: bool,
    tokenizer: str | None,
    every: bool,
) -> int:
    """Show what may follow what without rewriting earlier text, proved for conversations of any length.

    FORMAT is a name or the path of a spec file. Rows are what a conversation ends with, columns the role of the next
    message. `stable if` is followed by the exact condition, `never` by the line of the spec that decides it. The last
    part says at which of these boundaries no merge of the tokenizer can join old text and new. Exit
    status 1 when a demand of the spec (extend.must_allow) is not met, or a stored proof is not valid.
    """
    if recheck:
        return recheck_all([format] if format else list_formats())
    if every:
        return prove_all(list_formats())
    if format is None:
        raise InputError("name a format; --all proves every one, --recheck checks stored proofs")
    compilation = compiled(format)
    program = compilation.checked()
    stability = prove(program, option_values(runtime_options(program), options), tools)
    if as_json:
        data = {**stability.to_json(), "token_level": TokenLevel.of(stability, tokenizer).to_json()}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    elif witness is not None:
        sys.stdout.write(_witness(stability, witness).rstrip("\n") + "\n")
    else:
        sys.stdout.write(f"{_table(stability)}\n\n{TokenLevel.of(stability, tokenizer)}\n")
    return _demands(compilation, stability)


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

"""`templc show`: the tokens of a conversation by role, or one stage of the compiler."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from templc.cli.cells import tally
from templc.cli.chats import Job, Wanted, chat_options, prepared
from templc.cli.console import colored, console, note
from templc.cli.failures import InputError
from templc.cli.formats import class_of, spec_path
from templc.cli.stages import PRINTERS

EPILOG = """\b
Examples:
  templc show qwen3 -m chat.json
  templc show qwen3 -m chat.json --html tokens.html
  templc show --stage ir specs/qwen3.yaml
  templc show --engine qwen3 --tokenizer models/mine

\b
The stages, in order:
  source   the YAML file as nodes, each with its place
  spec     the file merged over the one it extends
  model    every name resolved
  ir       the program: a few operations, and the facts they read
  python   the generated module
"""


@click.command("show", epilog=EPILOG)
@click.argument("format")
@click.option(
    "--stage", type=click.Choice(list(PRINTERS)), help="Print this stage of the compiler instead."
)
@click.option("--engine", is_flag=True, help="Print what encodes text, and why it is not tiktoken.")
@click.option("--html", metavar="FILE", help="Write a page that shows id and origin of each token.")
@chat_options
def command(
    format: str, stage: str | None, engine: bool, html: str | None, **arguments: Any
) -> None:
    """Show the tokens of a conversation: coloured by role, trained ones marked.

    FORMAT is a name or alias from `templc list`, or the path of a spec file. Without -m a sample conversation is
    shown. With --stage, look into the compiler.
    """
    wanted = Wanted(**arguments)
    if stage is not None:
        if html is not None or wanted != Wanted():
            raise InputError("--stage shows a spec, not a conversation", help="give it FORMAT only")
        _stage(stage, format)
        return
    if engine:
        _engine(format, wanted)
        return
    job = prepared(format, wanted)
    if html is not None:
        _page(job, Path(html), format)
    else:
        _terminal(job)


def _engine(format: str, wanted: Wanted) -> None:
    from templc.cli.vocabulary import chosen
    from templc.runtime.codec import codec_of

    tokenizer, name = chosen(wanted.tokenizer, class_of(format).info)
    sys.stdout.write(f"{name}: {codec_of(tokenizer).engine()}\n")


def _stage(stage: str, format: str) -> None:
    from templc.pipeline import compile_path
    from templc.problems.problem import SpecError
    from templc.problems.render import render_text

    path = spec_path(format)
    name = str(path) if str(path) == format else f"{path.parent.name}/{path.name}"
    compilation = compile_path(path, name)
    lines = importlib.import_module(PRINTERS[stage]).lines(compilation)
    if lines is None:
        raise SpecError(compilation.problems)
    if stage == "python" and colored(sys.stdout):
        from rich.syntax import Syntax

        console().print(Syntax("\n".join(lines), "python", background_color="default"))
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    if not compilation.problems.ok:
        sys.stderr.write(render_text(compilation.problems, color=colored(sys.stderr)))


def _terminal(job: Job) -> None:
    from templc.cli.paper import legend, trained_text

    out = console()
    marks = not colored(sys.stdout)
    out.print(trained_text(job.cells, marks=marks), soft_wrap=True)
    out.print()
    out.print(legend(job.cells, marks=marks))
    out.print(tally(job.cells))


def _page(job: Job, path: Path, format: str) -> None:
    from templc.cli.html import page
    from templc.cli.places import Places
    from templc.pipeline import compile_path

    info = job.renderer.info
    places = Places(compile_path(spec_path(format)).checked())
    lines = [places.of(cell) for cell in job.cells]
    path.write_text(page(job.cells, f"{info.name}: {info.title}", lines), encoding="utf-8")
    note(f"wrote {path}")

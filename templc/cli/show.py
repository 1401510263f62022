"""`templc show`: the tokens of a conversation by role, or one stage of the compiler."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from templc.cli.cells import tally
from templc.cli.chats import Job, Wanted, chat_options, prepared, renderer_of
from templc.cli.console import colored, console, note
from templc.cli.failures import InputError
from templc.cli.formats import class_of, spec_path
from templc.cli.inputs import read_completion, read_tools
from templc.cli.stages import PRINTERS

if TYPE_CHECKING:
    from templc.cli.places import Places

Parts = Callable[[bool], Iterator[Text]]

EPILOG = """\b
Examples:
  templc show qwen3 -m chat.json
  templc show qwen3 -m chat.json --html tokens.html
  templc show qwen3 -m chat.json --lines            a line a token, with the line of the spec
  templc show qwen3 --completion answer.txt         how a completion is read
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
@click.option(
    "--engine", is_flag=True, help="Print what encodes text, and why it is not a faster library."
)
@click.option("--html", metavar="FILE", help="Write a page that shows id and origin of each token.")
@click.option(
    "--lines",
    is_flag=True,
    help="A line a token: message, field, line of the spec, trained or not.",
)
@click.option(
    "--completion",
    metavar="FILE",
    help="How this text, which a model wrote, is read; - reads standard input. -m: what it answers.",
)
@click.option("--svg", metavar="FILE", help="Write a picture of what the terminal would show.")
@chat_options
def command(
    format: str,
    stage: str | None,
    engine: bool,
    html: str | None,
    lines: bool,
    completion: str | None,
    svg: str | None,
    **arguments: Any,
) -> None:
    """Show the tokens of a conversation: coloured by role, trained ones marked.

    FORMAT is a name or alias from `templc list`, or the path of a spec file. Without -m a sample conversation is
    shown. With --stage, look into the compiler.
    """
    wanted = Wanted(**arguments)
    _one_view(stage=stage, engine=engine, html=html, lines=lines, completion=completion, svg=svg)
    if stage is not None:
        if wanted != Wanted():
            raise InputError("--stage shows a spec, not a conversation", help="give it FORMAT only")
        _stage(stage, format)
        return
    if engine:
        _engine(format, wanted)
        return
    if completion is not None:
        _print(_reading(format, wanted, completion), svg, f"templc show {format} --completion")
        return
    job = prepared(format, wanted)
    if html is not None:
        _page(job, Path(html), format)
    elif lines:
        _print(partial(_lines, job, _places(format)), svg, f"templc show {format} --lines")
    else:
        _print(partial(_terminal, job), svg, f"templc show {format}")


def _one_view(**given: str | bool | None) -> None:
    """Refuse what asks for two views at once; a picture is made of what a terminal shows of a conversation."""
    views = [f"--{name}" for name, value in given.items() if value and name != "svg"]
    if len(views) > 1:
        raise InputError(f"{views[0]} and {views[1]} are two views", help="ask for one at a time")
    if given["svg"] and any(given[name] for name in ("stage", "engine", "html")):
        raise InputError(
            f"--svg makes no picture of {views[0]}",
            help="give it with a conversation, --lines or --completion",
        )


def _engine(format: str, wanted: Wanted) -> None:
    from templc.cli.vocabulary import chosen
    from templc.runtime.codec import codec_of
    from templc.runtime.filling import compiled

    tokenizer, name = chosen(wanted.tokenizer, class_of(format).info)
    sys.stdout.write(f"{name}: {codec_of(tokenizer).engine()}\n")
    what = "compiled" if compiled() else "Python (templc was installed without a C compiler)"
    sys.stdout.write(f"what short chats run through: {what}\n")


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


def _print(parts: Parts, svg: str | None, title: str) -> None:
    """Print, or with a file draw, what `parts` gives; it is told whether colours have to be written as marks."""
    if svg is not None:
        from templc.cli.picture import save

        save(Path(svg), title, parts(False))
        note(f"wrote {svg}")
        return
    out = console()
    for part in parts(not colored(sys.stdout)):
        out.print(part, soft_wrap=True)


def _terminal(job: Job, marks: bool) -> Iterator[Text]:
    from templc.cli.paper import legend, trained_text

    yield trained_text(job.cells, marks=marks)
    yield Text()
    yield legend(job.cells, marks=marks)
    yield Text(tally(job.cells))


def _lines(job: Job, places: Places, marks: bool) -> Iterator[Text]:
    from templc.cli.paper import cell_lines

    yield from cell_lines(job.cells, [places.of(cell) for cell in job.cells])
    yield Text()
    yield Text(tally(job.cells))


def _reading(format: str, wanted: Wanted, completion: str) -> Parts:
    """How a completion is read behind the conversation that was given, else behind the format's own prompt."""
    from templc.cli.reading import lines

    text = read_completion(completion)
    if wanted.messages is None:
        tools = None if wanted.tools is None else read_tools(wanted.tools)
        parsed = renderer_of(format, wanted).parse(text, tools=tools)
    else:
        job = prepared(format, replace(wanted, prompt=True), tokens="unwanted")
        parsed = job.renderer.parse(text, tools=job.tools, prompt=job.text)
    return partial(lines, parsed, text)


def _page(job: Job, path: Path, format: str) -> None:
    from templc.cli.html import page

    info, places = job.renderer.info, _places(format)
    lines = [places.of(cell) for cell in job.cells]
    path.write_text(page(job.cells, f"{info.name}: {info.title}", lines), encoding="utf-8")
    note(f"wrote {path}")


def _places(format: str) -> Places:
    from templc.cli.places import Places
    from templc.pipeline import compile_path

    return Places(compile_path(spec_path(format)).checked())

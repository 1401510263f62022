"""`templc tokenize`: a data set of conversations as Parquet with token ids and labels."""

from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from templc.cli.console import is_terminal, note
from templc.cli.formats import class_of
from templc.cli.inputs import OPTION_HELP, option_values
from templc.cli.vocabulary import chosen
from templc.data.counts import report
from templc.data.files import inputs, pyarrow
from templc.data.output import rejected_of
from templc.data.plan import Engine, Plan
from templc.data.run import run
from templc.data.settings import Settings

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

EPILOG = """\b
Examples:
  templc tokenize qwen3 chats.jsonl -o out.parquet
  templc tokenize llama3 data/ -o out.parquet --tokenizer models/mine --max-tokens 4096
  templc tokenize qwen3 data/ -o /shared/out.parquet --engine ray     on a cluster: RAY_ADDRESS names it
  templc tokenize qwen3 chats.parquet -o packed.parquet --pack 8192 --too-long cut_front

Killed, the same command goes on where it stopped. Exit status: 0 success, 1 rows were set aside, 2 bad input.
"""


@click.command("tokenize", epilog=EPILOG)
@click.argument("format")
@click.argument("data")
@click.option(
    "-o", "--output", required=True, metavar="OUT", help="A .parquet file, or a folder of parts."
)
@click.option(
    "--tokenizer",
    metavar="T",
    help="As for `templc render`; without it, the demo vocabulary that fits.",
)
@click.option("--option", "options", metavar="NAME=VALUE", multiple=True, help=OPTION_HELP)
@click.option(
    "--messages",
    default="",
    metavar="COLUMN",
    help="The column of the conversation, by default `messages` or `conversations`.",
)
@click.option(
    "--train-on",
    default="all_assistant",
    show_default=True,
    type=click.Choice(["all_assistant", "last_assistant", "last_turn", "all_messages"]),
    help="The messages that labels are for.",
)
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="The longest example.")
@click.option(
    "--too-long",
    default="drop",
    show_default=True,
    type=click.Choice(["drop", "cut_front", "error"]),
    help="Longer ones: set them aside, leave out whole turns at the front, or stop.",
)
@click.option(
    "--pack",
    type=click.IntRange(1),
    metavar="N",
    help="Put several examples in one row of at most N tokens.",
)
@click.option(
    "--weights", is_flag=True, help="Add a column of weights, for messages that count in part."
)
@click.option(
    "--on-error",
    default="skip",
    show_default=True,
    type=click.Choice(["skip", "stop"]),
    help="Bad rows: write them to OUT.rejected.jsonl, or stop at the first.",
)
@click.option(
    "--unsupported",
    default="refuse",
    type=click.Choice(["refuse", "as_template"]),
    help="As for `templc render`.",
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Processes; by default one a core."
)
@click.option(
    "--engine",
    default="processes",
    show_default=True,
    type=click.Choice(["processes", "ray"]),
    help="Processes of this machine, or the workers of a Ray cluster (extra `ray`).",
)
@click.option("--overwrite", is_flag=True, help="Begin anew, and replace OUT.")
def command(
    format: str,
    data: str,
    output: str,
    tokenizer: str | None,
    options: tuple[str, ...],
    unsupported: str,
    workers: int | None,
    engine: Engine,
    overwrite: bool,
    **settings: Any,
) -> int:
    """Tokenize a data set of conversations for training, on all cores.

    FORMAT is a name or alias from `templc list`, or the path of a spec file. DATA is a file of JSON lines, CSV or
    Parquet, or a folder of such files. Each row has `messages` (or is a list of messages), and perhaps `tools`. The
    output has input_ids, labels, attention_mask, assistant_masks, and the file and row that each came from.
    """
    pyarrow("pyarrow")
    found = inputs(data)
    make = functools.partial(bound, format, tokenizer, options, unsupported)
    name = chosen(tokenizer, class_of(format).info).name
    plan = Plan(
        found, Path(output), make, Settings(**settings), name, workers, overwrite, engine=engine
    )
    with bar(sum(file.size for file in found)) as told:
        counts = run(plan, told)
    sys.stdout.write(report(counts))
    if counts.rejected:
        rows = "row is" if counts.rejected == 1 else "rows are"
        note(f"{counts.rejected:,} {rows} in {rejected_of(plan.out)}, each with the reason")
    return int(counts.rejected > 0)


def bound(
    format: str, tokenizer: str | None, options: tuple[str, ...], unsupported: str
) -> Renderer:
    """The renderer with its tokenizer: each process makes its own."""
    warnings.simplefilter("ignore", UserWarning)
    found = class_of(format)
    vocabulary = chosen(tokenizer, found.info)
    renderer = found(
        vocabulary.tokenizer,
        unsupported=unsupported,  # type: ignore[arg-type]
        **option_values(found.known_options, options),  # type: ignore[arg-type]
    )
    renderer.codec(None)
    return renderer


@contextmanager
def bar(total: int) -> Iterator[Callable[[int, int], None]]:
    """A progress bar with rate and time left, on a terminal."""
    if not is_terminal(sys.stderr):
        yield lambda size, rows: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    shown = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, force_terminal=True)
    with Progress(TextColumn("tokenizing"), *shown, console=console, transient=True) as progress:
        task = progress.add_task("", total=total, speed="")
        start, done = time.monotonic(), 0

        def told(size: int, rows: int) -> None:
            nonlocal done
            done += rows
            rate = done / max(time.monotonic() - start, 0.001)
            progress.update(task, advance=size, speed=f"{done:,} rows, {rate:,.0f} a second")

        yield told

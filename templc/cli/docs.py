"""`templc docs`: a page for each format."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from templc.cli.console import progress
from templc.cli.formats import class_of
from templc.registry import list_formats

EPILOG = """\b
Examples:
  templc docs --out gallery
  templc docs qwen3 gemma4 --out gallery
"""


@click.command("docs", epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[FORMAT ...]")
@click.option("--out", required=True, metavar="DIR", help="Where the pages go.")
def command(names: tuple[str, ...], out: str) -> None:
    """Write a page for each format, in Markdown and HTML.

    What it looks like, options, what may follow what with the reasons, models by digest, deviations and the spec.
    """
    from templc.pages import gallery

    wanted = [class_of(name).info.name for name in names] or list_formats()
    with progress(len(wanted), "writing") as done:
        files = gallery(Path(out), wanted, done)
    sys.stdout.write(f"{len(files)} files in {out}\n")

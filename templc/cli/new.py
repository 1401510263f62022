"""`templc new`: the start of a spec."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from templc.cli.formats import SPECS
from templc.start_spec import write_spec

EPILOG = """\b
Examples:
  templc new mine                   a complete format in the manner of ChatML, with comments
  templc new mine --from qwen3      a variant of a format that templc has
"""


@click.command("new", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--from", "base", metavar="FORMAT", help="Start from this format; only what differs is written."
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=SPECS,
    help="The folder of the new file; ./specs by default.",
)
def command(name: str, base: str | None, folder: Path) -> None:
    """Write a spec NAME.yaml that works as it is, to be changed into the format you need.

    NAME: lower case letters, digits and underscores.
    """
    path = write_spec(name, folder, base)
    steps = {
        f"templc check {path}": "problems, with their places",
        f"templc render {path}": "see what it writes",
    }
    if folder == SPECS:
        steps["templc build"] = "make Python modules of all specs"
    width = max(map(len, steps))
    sys.stdout.write(f"wrote {path}\n\nwhat comes next:\n")
    sys.stdout.writelines(f"  {step.ljust(width)}  {why}\n" for step, why in steps.items())

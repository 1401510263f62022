"""The `templc` command: the table of its commands, loaded when called, and its exit status.

main(["list", "--json"])    -> 0, after printing
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import click

from templc.cli.failures import failed
from templc.version import VERSION


class Entry(NamedTuple):
    """Where a command is (`module`, as `command`), and the line that the overview shows for it."""

    module: str
    summary: str


COMMANDS: dict[str, Entry] = {
    "render": Entry("templc.cli.render", "Turn a conversation into text and token ids."),
    "show": Entry("templc.cli.show", "Look at tokens by role, or at a stage of the compiler."),
    "tokenize": Entry("templc.cli.tokenize", "Tokenize a data set of conversations for training."),
    "list": Entry("templc.cli.listing", "List the formats with their options and models."),
    "new": Entry("templc.cli.new", "Start a spec for a format of your own."),
    "check": Entry("templc.cli.check", "Report the problems of specs."),
    "build": Entry("templc.cli.build", "Write the Python modules of specs, or check them."),
    "prove": Entry("templc.cli.prove", "Show what may follow what without rewriting earlier text."),
    "diff": Entry("templc.cli.diff", "Show how two formats differ."),
    "docs": Entry("templc.cli.docs", "Write a page for each format."),
    "verify": Entry("templc.cli.verify", "Compare a format with a published chat template."),
}

EPILOG = """\b
Example: what would the model see?
  templc render qwen3_instruct
  templc render qwen3_instruct -m chat.json --tokens

Exit status: 0 success, 1 a finding (stale, different, a problem), 2 bad input.
"""


class Commands(click.Group):
    """The group of all commands; each module is imported only when its command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        found: click.Command = importlib.import_module(entry.module).command
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = get_close_matches(args[0], COMMANDS, 1)
            cure = f"did you mean `{close[0]}`?" if close else f"one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command `{args[0]}`; {cure}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A compiler for chat formats: a format is one YAML file, and templc makes a renderer of it that turns "
    "messages into the text and the token ids that a model was trained on.",
)
@click.version_option(VERSION, prog_name="templc")
def group() -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Never raises: what goes wrong is told on standard error."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        given = sys.argv[1:] if arguments is None else arguments
        # `group.main` would turn broken pipes and Ctrl-C into exits of its own.
        with group.make_context("templc", list(given)) as context:
            status = group.invoke(context)
        sys.stdout.flush()
        return int(status or 0)
    except BaseException as error:
        return failed(error)

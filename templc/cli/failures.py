"""What goes wrong while a command runs, as one readable message on standard error and an exit status.

error: there is no format `qwen`
  help: did you mean qwen3, qwen2_5? (a spec file ends in .yaml)
"""

from __future__ import annotations

import os
import sys

import click

from templc.cli.console import colored, paint
from templc.runtime.errors import TemplcError

FINDING, BAD_INPUT = 1, 2
# What shells report for a process that SIGINT or SIGPIPE ended.
INTERRUPTED, BROKEN_PIPE = 130, 141


class InputError(TemplcError):
    """Something that a command was given cannot be used."""


def failed(error: BaseException) -> int:
    """Tell it, and give the exit status. SystemExit is let through."""
    match error:
        case SystemExit():
            raise error
        case BrokenPipeError():
            return _broken_pipe()
        case KeyboardInterrupt() | click.Abort():
            _print("interrupted", "")
            return INTERRUPTED
        case click.exceptions.Exit(exit_code=int() as code):
            return code
        case click.ClickException():
            return _usage(error)
        case TemplcError():
            head, _, cure = str(error).partition("\n  help: ")
            _print(head, cure.replace('unsupported="as_template"', "--unsupported as_template"))
        case OSError():
            _print(_system(error), "")
        case _:
            return _other(error)
    return BAD_INPUT


def _other(error: BaseException) -> int:
    """Problems of a spec, or a fault of our own."""
    from templc.problems.problem import SpecError
    from templc.problems.render import render_text

    if isinstance(error, SpecError):
        sys.stderr.write(render_text(error.problems, color=colored(sys.stderr)))
        return BAD_INPUT
    if os.environ.get("TEMPLC_TRACEBACK"):
        raise error
    _print(
        f"a fault in templc itself: {type(error).__name__}: {error}",
        "please report it; with TEMPLC_TRACEBACK=1 in the environment the place is shown",
    )
    return BAD_INPUT


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        sys.stderr.write(error.format_message() + "\n")
        return BAD_INPUT
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "templc"
    text = error.format_message().rstrip(".")
    _print(text[:1].lower() + text[1:], f"{command} --help")
    return BAD_INPUT


def _system(error: OSError) -> str:
    why = (error.strerror or str(error)).lower()
    return f"{error.filename}: {why}" if error.filename else why


def _broken_pipe() -> int:
    """Whoever read our output has enough; the interpreter must not complain when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _print(text: str, cure: str) -> None:
    color = colored(sys.stderr)
    sys.stderr.write(f"{paint('error', 'red', color)}: {text}\n")
    if cure:
        sys.stderr.write(f"  {paint('help', 'green', color)}: {cure}\n")

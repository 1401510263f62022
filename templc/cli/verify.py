"""`templc verify`: a format held against a published chat template."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from templc.cli.console import colored, paint, progress
from templc.cli.failures import FINDING, InputError
from templc.cli.formats import class_of
from templc.verify import (
    CORE,
    SHAPES,
    Case,
    Published,
    compare,
    conversations,
    count,
    crossed,
    option_grid,
)

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer
    from templc.verify.shapes import Options

EXHAUSTIVE = 2
MISMATCHES = 500
EPILOG = """\b
Examples:
  templc verify qwen3 --hub Qwen/Qwen3-0.6B
  templc verify specs/mine.yaml --template chat_template.jinja --length 2
"""


@click.command("verify", epilog=EPILOG)
@click.argument("format")
@click.option("--template", metavar="FILE", help="A Jinja file, such as chat_template.jinja.")
@click.option(
    "--hub", metavar="REPO", help="A repository of the hub, OWNER/NAME or OWNER/NAME@REVISION."
)
@click.option(
    "--length",
    type=click.IntRange(1, 6),
    default=3,
    show_default=True,
    help="Longest conversation to try.",
)
def command(format: str, template: str | None, hub: str | None, length: int) -> int:
    """Compare a format with a published chat template, over every small conversation.

    FORMAT is a name from `templc list` or the path of a spec file. Conversations of up to two messages are built from
    all message shapes and all options, longer ones from fourteen shapes. The smallest conversation of each kind of
    difference is shown, and the exit status is 1. Needs the extra `templc[verify]`.
    """
    if (template is None) == (hub is None):
        raise InputError("one of --template and --hub is needed", help="templc verify --help")
    found = class_of(format)
    published = _published(found, template, hub)
    _say_which(found, published)
    grid = option_grid(
        **{
            name: (False, True)
            for name, option in found.known_options.items()
            if option.type == "bool"
        }
    )
    with warnings.catch_warnings(), progress(_total(length, grid), "comparing") as done:
        warnings.simplefilter("ignore")
        report = compare(
            found(unsupported="as_template"),
            published,
            _cases(length, grid),
            limit=MISMATCHES,
            with_options=lambda **options: found(unsupported="as_template", **options),
            progress=done,
        )
    sys.stdout.write(report.as_text() + "\n")
    return 0 if report.ok else FINDING


def _published(format: type[Renderer], template: str | None, hub: str | None) -> Published:
    tokens = {
        f"{option.bind}_token": option.default
        for option in format.known_options.values()
        if option.bind and option.default is not None
    }
    now = _clock(format)
    if template is not None:
        if Path(template).is_dir():
            raise InputError(f"{template} is a folder", help="name the Jinja file in it")
        return Published.from_file(template, tokens, now=now)
    repository, _, revision = str(hub).partition("@")
    return Published.from_hub(repository, revision or None, tokens, now=now)


def _clock(format: type[Renderer]) -> datetime | None:
    """What the template's clock must show: the date that the format writes by default."""
    dates = (option.default for option in format.known_options.values() if option.type == "date")
    return next((datetime.fromisoformat(date) for date in dates if isinstance(date, str)), None)


def _say_which(format: type[Renderer], published: Published) -> None:
    """Whether this is the file that the spec follows."""
    follows = format.info.sha256
    if not follows:
        return
    same = published.sha256 == follows
    text = (
        "the template that the spec follows"
        if same
        else f"not the template that the spec follows ({follows[:8]})"
    )
    style = "green" if same else "yellow"
    sys.stdout.write(
        paint(f"sha256 {published.sha256[:8]}: {text}", style, colored(sys.stdout)) + "\n"
    )


def _cases(length: int, grid: list[Options]) -> Iterator[Case]:
    short = itertools.chain.from_iterable(
        conversations(n) for n in range(1, min(length, EXHAUSTIVE) + 1)
    )
    long = itertools.chain.from_iterable(
        conversations(n, CORE) for n in range(EXHAUSTIVE + 1, length + 1)
    )
    yield from crossed(short, options=grid)
    yield from crossed(long)


def _total(length: int, grid: list[Options]) -> int:
    short = sum(count(n, SHAPES, options=grid) for n in range(1, min(length, EXHAUSTIVE) + 1))
    return short + sum(count(n, CORE) for n in range(EXHAUSTIVE + 1, length + 1))

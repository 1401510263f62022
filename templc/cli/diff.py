"""`templc diff`: how two formats differ."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator

import click

from templc.cli.failures import FINDING
from templc.cli.formats import class_of, spec_path

_MARGIN = re.compile(r"\s+# (\S+:)?\d+$")
EPILOG = """\b
Examples:
  templc diff qwen3 qwen3_instruct
  templc diff llama3 specs/mine.yaml
"""


@click.command("diff", epilog=EPILOG)
@click.argument("first")
@click.argument("second")
def command(first: str, second: str) -> int:
    """Show how two formats differ: in the spec, merged over what it extends, and on sample conversations.

    The exit status is 1 where they differ.
    """
    found = [*_compared(first, second, _spec(first), _spec(second))]
    theirs = dict(_samples(second))
    for kind, text in _samples(first):
        found += _compared(f"{first}: {kind}", f"{second}: {kind}", text, theirs.pop(kind, []))
    for kind, text in theirs.items():
        found += _compared(f"{first}: {kind}", f"{second}: {kind}", [], text)
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return FINDING if found else 0


def _spec(name: str) -> list[str]:
    """The merged spec, without the lines that its parts come from."""
    from templc.cli.stages import merged
    from templc.pipeline import compile_path

    compilation = compile_path(spec_path(name))
    compilation.checked()
    return [_MARGIN.sub("", line) for line in merged.lines(compilation) or []]


def _samples(name: str) -> Iterator[tuple[str, list[str]]]:
    from templc.pages.samples import shown

    yield from ((kind, text.split("\n")) for kind, text in shown(class_of(name)()))


def _compared(first: str, second: str, ours: list[str], theirs: list[str]) -> Iterator[str]:
    yield from difflib.unified_diff(ours, theirs, first, second, lineterm="", n=1)

"""`templc list`: the formats that templc knows."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from templc.cli.console import PIPE_WIDTH, colored, paint
from templc.cli.formats import class_of, spec_path
from templc.problems.codes import CODES
from templc.registry import list_formats

if TYPE_CHECKING:
    from templc.runtime.options import Option
    from templc.runtime.renderer import Renderer

DIGITS = 8
MARGIN = 11
EPILOG = """\b
Examples:
  templc list
  templc list qwen3 kimi_k2 --deviations
  templc list --json
"""


@click.command("list", epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[FORMAT ...]")
@click.option(
    "--deviations",
    is_flag=True,
    help="Also each deliberate difference from the template, with its reason.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything as a JSON list.")
def command(names: tuple[str, ...], deviations: bool, as_json: bool) -> None:
    """List the formats: aliases, the models that use them, options, and the template that each follows.

    With FORMAT only these. `follows` names the repository of the published template, the revision that was read, and
    the first digits of the file's sha256.
    """
    found = {name: class_of(name) for name in names or list_formats()}
    differences = {name: _deviations(name) if deviations else [] for name in found}
    if as_json:
        documents = [
            _document(format) | ({"deviations": differences[name]} if deviations else {})
            for name, format in found.items()
        ]
        sys.stdout.write(json.dumps(documents, indent=2, ensure_ascii=False) + "\n")
        return
    blocks = ("".join(_block(format, differences[name])) for name, format in found.items())
    sys.stdout.write("\n".join(blocks))


def _deviations(name: str) -> list[dict[str, str]]:
    """The deliberate differences that a spec declares."""
    from templc.pipeline import compile_path

    program = compile_path(spec_path(name)).checked()
    faults = [{"what": CODES[item.code].title, "why": item.why} for item in program.faults]
    return [*({"what": item.what, "why": item.why} for item in program.deviations), *faults]


def _document(format: type[Renderer]) -> dict[str, Any]:
    info = format.info
    return {
        "format": info.name,
        "title": info.title,
        "aliases": list(info.aliases),
        "models": list(info.models),
        "options": [
            {
                "name": name,
                "type": option.type,
                "default": {} if option.type == "record" else option.default,
                "values": list(option.values),
                **({"fields": list(option.fields)} if option.fields else {}),
                **({"optional": list(option.optional)} if option.optional else {}),
                **({"texts": True} if option.texts else {}),
                **({"further": True} if option.further else {}),
                "doc": option.doc,
            }
            for name, option in format.known_options.items()
        ],
        "stop": list(info.stop),
        "stop_strings": list(info.stop_strings),
        "reference": {
            "repository": info.repository,
            "revision": info.revision,
            "sha256": info.sha256,
        },
        "source": info.source,
    }


def _block(format: type[Renderer], deviations: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The lines about one format, wrapped to the terminal."""
    on = colored(sys.stdout)
    width = max(shutil.get_terminal_size((PIPE_WIDTH, 24)).columns, 40) - MARGIN
    yield f"{paint(format.info.name, 'bold', on)}  {format.info.title}\n"
    rows = [(label, ", ".join(items)) for label, items in _rows(format)]
    rows += [("differs", f"{item['what']} ({item['why']})") for item in deviations]
    for label, text in rows:
        head, *rest = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        yield f"  {paint(label.ljust(MARGIN - 2), 'dim', on)}{head}\n"
        yield from (" " * MARGIN + line + "\n" for line in rest)


def _rows(format: type[Renderer]) -> Iterator[tuple[str, Sequence[str]]]:
    """The labelled lines of one format."""
    info = format.info
    if info.aliases:
        yield "aliases", info.aliases
    if info.models:
        yield "models", info.models
    options = [_option(name, option) for name, option in format.known_options.items()]
    yield "options", options or ["none"]
    if info.repository:
        yield "follows", [info.repository, info.revision, f"sha256 {info.sha256[:DIGITS]}"]
    else:
        yield "follows", ["no published template"]


def _option(name: str, option: Option) -> str:
    """`enable_thinking (bool, unset)`."""
    default = str(option.default).lower() if isinstance(option.default, bool) else option.default
    told = "unset" if default is None else f"default {'none' if default == () else default}"
    return f"{name} ({option.takes}, {told})"

"""`generated/__init__.py`: which formats there are, and what else they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from templc.emit.header import MARK
from templc.emit.layout import Lines, literal
from templc.emit.python import class_name
from templc.version import VERSION


class Entry(NamedTuple):
    """A format as the index lists it."""

    format: str
    aliases: tuple[str, ...]


def emit_index(entries: Sequence[Entry]) -> str:
    """The index module of a set of formats, in alphabetical order."""
    lines = Lines()
    lines.add(
        f"{MARK}{VERSION} from specs/. Do not edit.",
        "# To rebuild: templc build",
        '"""The generated renderers: class names by format, formats by alias."""',
        "",
    )
    ordered = sorted(entries)
    names = [f"{literal(item.format)}: {literal(class_name(item.format))}" for item in ordered]
    lines.listed("FORMATS = {", names, "}")
    lines.add("")
    aliases = sorted((alias, item.format) for item in ordered for alias in item.aliases)
    lines.listed(
        "ALIASES = {", [f"{literal(alias)}: {literal(name)}" for alias, name in aliases], "}"
    )
    return str(lines)

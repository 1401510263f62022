"""`generated/__init__.py`: which formats there are, and what else they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from templc.emit.header import MARK
from templc.emit.layout import Lines, literal
from templc.emit.python import class_name
from templc.version import VERSION


class Entry(NamedTuple):
    """A format as the index lists it. sha256: of the template that it follows."""

    format: str
    aliases: tuple[str, ...]
    models: tuple[str, ...]
    sha256: str


def emit_index(entries: Sequence[Entry]) -> str:
    """The index module of a set of formats, in alphabetical order."""
    lines = Lines()
    lines.add(
        f"{MARK}{VERSION} from specs/. Do not edit.",
        "# To rebuild: templc build",
        '"""The generated renderers: class names by format, formats by digest, model and alias."""',
        "",
    )
    ordered = sorted(entries)
    names = [f"{literal(item.format)}: {literal(class_name(item.format))}" for item in ordered]
    lines.listed("FORMATS = {", names, "}")
    lines.add("")
    lines.listed("DIGESTS = {", _digests(ordered), "}")
    lines.add("")
    lines.listed("MODELS = {", _models(ordered), "}")
    lines.add("")
    aliases = sorted((alias, item.format) for item in ordered for alias in item.aliases)
    lines.listed(
        "ALIASES = {", [f"{literal(alias)}: {literal(name)}" for alias, name in aliases], "}"
    )
    return str(lines)


def shared_names(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """Each name that two formats claim, with both: an alias of two, or one that is another's name."""
    owners = {entry.format: entry.format for entry in entries}
    found = []
    for entry in sorted(entries):
        for alias in entry.aliases:
            if owners.setdefault(alias, entry.format) != entry.format:
                found.append((alias, owners[alias], entry.format))
    return found


def _digests(entries: Sequence[Entry]) -> list[str]:
    """Formats by the sha256 of the template that each follows."""
    pairs = sorted((entry.sha256, entry.format) for entry in entries if entry.sha256)
    return [f"{literal(digest)}: {literal(name)}" for digest, name in pairs]


def _models(entries: Sequence[Entry]) -> list[str]:
    """Formats by model; a model that several list belongs to none of them here."""
    owners: dict[str, list[str]] = {}
    for entry in entries:
        for model in entry.models:
            owners.setdefault(model, []).append(entry.format)
    return [
        f"{literal(model)}: {literal(names[0])}"
        for model, names in sorted(owners.items())
        if len(names) == 1
    ]

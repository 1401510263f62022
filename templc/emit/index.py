"""`generated/__init__.py`: which formats there are, and what else they are called."""

from __future__ import annotations

from collections.abc import Sequence

from templc.emit.header import MARK
from templc.emit.layout import Lines, literal
from templc.emit.python import class_name
from templc.ir.ops import Program
from templc.version import VERSION


def emit_index(programs: Sequence[Program]) -> str:
    """The index module of a set of formats, in alphabetical order."""
    lines = Lines()
    lines.add(
        f"{MARK}{VERSION} from specs/. Do not edit.",
        "# To rebuild: templc build",
        '"""The generated renderers: class names by format, formats by digest, model and alias."""',
        "",
    )
    ordered = sorted(programs, key=lambda program: program.format)
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


def shared_names(programs: Sequence[Program]) -> list[tuple[str, str, str]]:
    """Each name that two formats claim, with both: an alias of two, or one that is another's name."""
    owners = {program.format: program.format for program in programs}
    found = []
    for program in sorted(programs, key=lambda program: program.format):
        for alias in program.aliases:
            if owners.setdefault(alias, program.format) != program.format:
                found.append((alias, owners[alias], program.format))
    return found


def _digests(programs: Sequence[Program]) -> list[str]:
    """Formats by the sha256 of the template that each follows."""
    pairs = sorted((p.reference.sha256, p.format) for p in programs if p.reference.sha256)
    return [f"{literal(digest)}: {literal(name)}" for digest, name in pairs]


def _models(programs: Sequence[Program]) -> list[str]:
    """Formats by model; a model that several list belongs to none of them here."""
    owners: dict[str, list[str]] = {}
    for program in programs:
        for model in program.models:
            owners.setdefault(model, []).append(program.format)
    return [
        f"{literal(model)}: {literal(names[0])}"
        for model, names in sorted(owners.items())
        if len(names) == 1
    ]

"""Formats and specs by what a person types: a name, an alias, or the path of a spec file.

class_of("qwen3")        the generated class
class_of("mine")         compiled from specs/mine.yaml, where the project has that file
spec_path("qwen3")       the spec that comes with templc
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from templc.registry import canonical_name, renderer_class

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer

SPECS, GENERATED = Path("specs"), Path("generated")


def class_of(name: str) -> type[Renderer]:
    """The renderer class; FormatError or SpecError where there is none."""
    if canonical_name(name) is not None:
        return renderer_class(name)
    path = _own(name)
    return renderer_class(name if path is None else path)


def spec_path(name: str) -> Path:
    """The spec file behind a name, an alias or a path, which need not exist."""
    from templc.pipeline import spec_folder

    known = canonical_name(name)
    if known is None:
        return _own(name) or Path(name)
    own = SPECS / f"{known}.yaml"
    return own if own.is_file() else spec_folder() / f"{known}.yaml"


def _own(name: str) -> Path | None:
    """A file of that name, or a spec of the project in the current folder."""
    if name.endswith((".yaml", ".yml")) or Path(name).exists():
        return Path(name)
    path = SPECS / f"{name}.yaml"
    return path if path.is_file() else None


def project_specs() -> list[Path]:
    """The spec files of the project in the current folder, in alphabetical order."""
    return sorted(SPECS.glob("*.yaml"))

"""The modules that are compiled where templc is installed, as the Python that they are written in.

TEMPLC_LINES=python makes a test run use that.

    lines_of("templc.runtime.filling").compiled()  ->  False
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def sources() -> dict[str, Path]:
    """The file of each module."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    modules = settings["tool"]["setuptools"]["ext-modules"]
    return {module["name"]: ROOT / module["sources"][0] for module in modules}


def spec_of(name: str) -> ModuleSpec:
    """How a module is imported from its lines."""
    spec = importlib.util.spec_from_file_location(name, sources()[name])
    assert spec is not None
    return spec


def lines_of(name: str) -> ModuleType:
    """A module made from its lines, beside the one that everybody imports."""
    spec = spec_of(name)
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class Lines:
    """Finds the lines where else the compiled module would be found."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """As an importer's."""
        return spec_of(name) if name in sources() else None


def run_as_python() -> None:
    """Do so if that is wanted, before templc is imported."""
    if os.environ.get("TEMPLC_LINES") == "python":
        assert not sources().keys() & sys.modules.keys()
        sys.meta_path.insert(0, Lines())

"""The stage `python`: the generated module."""

from __future__ import annotations

from templc.pipeline import Compilation


def lines(compilation: Compilation) -> list[str] | None:
    """The module's lines."""
    if compilation.program is None or not compilation.problems.ok:
        return None
    return compilation.python().splitlines()

"""Certificates as they are stored, and what may be said of the modules that check them."""

from __future__ import annotations

import ast
import inspect
import json
from types import ModuleType
from typing import Any

from templc.ir.ops import Program
from templc.proof.certificate import certificate
from templc.proof.stability import prove
from tests.support.formats import SPECS

GENERATED = SPECS.parent / "generated"

# What heads that read all system messages say, and what a tool result takes over from its caller.
OUTSIDE = ("deepseekv3", "olmo3_1_instruct", "gemma4_early", "mistral_nemo")


def written(found: Program) -> dict[str, Any]:
    """The certificate of a program with its default options, as it is read from a file."""
    data: dict[str, Any] = json.loads(json.dumps(certificate(prove(found))))
    return data


def imports(*modules: ModuleType) -> set[str]:
    """The modules of this project from which others import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse("\n".join(map(inspect.getsource, modules)))):
        assert not isinstance(node, ast.Import) or "templc" not in {one.name for one in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level
            whole = node.module in {
                "templc",
                *(f"templc.{part}" for part in ("ir", "model", "proof", "runtime")),
            }
            names = (f"{node.module}.{one.name}" for one in node.names)
            found |= {*names} if whole else {node.module}
    return {name for name in found if name.startswith("templc")}


def code_lines(module: ModuleType) -> int:
    """Lines of code, without blank lines and docstrings."""
    text = inspect.getsource(module)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, described)]
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node)]
    spoken = {at for one in docstrings for at in range(one.lineno, (one.end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and at not in spoken for at, line in lines)

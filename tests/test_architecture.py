"""The structure of the project, held: import direction, size budgets, the top level."""

from __future__ import annotations

import ast
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from templc.problems.codes import CODES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "templc"
MODULE_LINES, FUNCTION_LINES = 400, 50

# What each part may import of templc, besides itself. Compiling may use the runtime's data classes (messages,
# pieces, the grammar of a response), never the other way round.
ALLOWED: dict[str, set[str]] = {
    "runtime": set(),
    "problems": {"source"},
    "source": {"problems"},
    "syntax": {"source", "problems"},
    "model": {"syntax", "source", "problems", "runtime"},
    "ir": {"model", "syntax", "source", "problems", "runtime"},
    "proof": {"ir", "model", "source", "problems", "runtime"},
    "emit": {"ir", "model", "source", "problems", "proof", "runtime", "version"},
    "verify": {"runtime"},
}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """The parts of templc that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("templc."):
                yield name.split(".")[1]


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_go_one_way(part: str) -> None:
    for path in (PACKAGE / part).rglob("*.py"):
        wrong = set(imports(path)) - ALLOWED[part] - {part}
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_the_runtime_needs_nothing_heavy() -> None:
    heavy = {"lark", "yaml", "jsonschema", "transformers", "torch", "numpy", "rich", "click"}
    for path in (PACKAGE / "runtime").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in heavy, path
            if isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & heavy, path


def test_modules_are_small() -> None:
    sizes = {path: length(path) for path in modules()}
    tests = {path: length(path) for path in (ROOT / "tests").rglob("*.py")}
    large = {
        str(path.relative_to(ROOT)): size
        for path, size in (sizes | tests).items()
        if size > MODULE_LINES
    }
    assert not large
    assert statistics.median(size for size in sizes.values() if size > 5) <= 180


def length(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_specs_are_small() -> None:
    sizes = {path.name: len(path.read_text().splitlines()) for path in ROOT.glob("specs/*.yaml")}
    assert statistics.median(sizes.values()) <= 60
    assert {name for name, size in sizes.items() if size > 150} == set()


def test_functions_are_small() -> None:
    large = []
    sizes = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                sizes.append(size)
                if size > FUNCTION_LINES:
                    large.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} ({size})")
    assert not large
    assert statistics.median(sizes) <= 10


def test_every_module_says_what_it_is() -> None:
    for path in modules():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_the_top_level_is_as_fixed() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail("the tests run in a git checkout")
    names = {line.split("/")[0] for line in done.stdout.splitlines()}
    fixed = {"pyproject.toml", "templc", "specs", "generated", "tests", "README.md", "LICENSE"}
    assert {name for name in names if not name.startswith(".")} <= fixed


def test_every_problem_code_has_a_case() -> None:
    texts = "".join(
        path.read_text("utf-8", "replace") for path in (ROOT / "tests" / "cases").rglob("*.yaml")
    )
    tested = (ROOT / "tests" / "test_cases.py").read_text(encoding="utf-8")
    missing = [code for code in CODES if f"[{code}]" not in texts and code not in tested]
    assert not missing

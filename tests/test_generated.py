"""Generated modules: fresh, deterministic, in final layout, on the runtime alone."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from templc.build import build
from tests.support.formats import FORMATS, program

ROOT = Path(__file__).parents[1]
GENERATED = ROOT / "generated"
ALLOWED = {"typing", "templc.runtime"}
PLACE = re.compile(r"# (line \d+|[a-z0-9_]+\.yaml:\d+)(, (line \d+|[a-z0-9_]+\.yaml:\d+))*")


def modules() -> list[Path]:
    return sorted(GENERATED.glob("*.py"))


def test_generated_modules_are_fresh() -> None:
    specs = [ROOT / "specs" / f"{name}.yaml" for name in FORMATS]
    built = build(specs, GENERATED, index=True, check=True)
    assert built.ok
    assert not built.stale, "\n".join(output.diff() for output in built.stale)


def test_two_hash_seeds_give_the_same_bytes() -> None:
    code = (
        "import hashlib, pathlib\n"
        "from templc.pipeline import compile_path\n"
        "texts = [compile_path(p, 'specs/' + p.name).python() for p in sorted(pathlib.Path('specs').glob('*.yaml'))]\n"
        "print(hashlib.sha256(''.join(texts).encode()).hexdigest())\n"
    )
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_the_layout_is_final() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", "--diff", str(GENERATED)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[:2000]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)
def test_modules_import_only_the_runtime(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not node.names, ast.dump(node)
        if isinstance(node, ast.ImportFrom):
            assert node.module in ALLOWED


def chain(name: str) -> Iterator[Path]:
    """The spec of a format and every one that it extends."""
    path = ROOT / "specs" / f"{name}.yaml"
    yield path
    if base := yaml.safe_load(path.read_text(encoding="utf-8")).get("extends"):
        yield from chain(base)


@pytest.mark.parametrize("name", FORMATS)
def test_the_header_names_the_spec_and_the_hash_of_every_text_behind_it(name: str) -> None:
    first, second, *_ = (GENERATED / f"{name}.py").read_text(encoding="utf-8").splitlines()
    texts = sorted(path.read_text(encoding="utf-8") for path in chain(name))
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    assert first.endswith(f"from specs/{name}.yaml (sha256 {digest[:8]}). Do not edit.")
    assert second == f"# To rebuild: templc build specs/{name}.yaml"


@pytest.mark.parametrize("name", FORMATS)
def test_comments_hold_places_in_specs_and_nothing_else(name: str) -> None:
    text = (GENERATED / f"{name}.py").read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    assert all(PLACE.fullmatch(comment) for comment in found[2:]), found
    assert len(found) > 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_method_takes_future_exactly_where_its_text_may_change(name: str) -> None:
    from templc.ir.facts import facts_of
    from templc.ir.ops import conditions

    tree = ast.parse((GENERATED / f"{name}.py").read_text(encoding="utf-8"))
    methods = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    for place, ops in program(name).blocks():
        method = place.removeprefix("assistant.")
        reads = any(
            fact.horizon == "future" for cond, _ in conditions(ops) for fact in facts_of(cond)
        )
        assert ("future" in methods.get(method, [])) == reads, place


@pytest.mark.parametrize("name", FORMATS)
def test_the_reference_is_pinned_and_is_the_file_that_was_compared(name: str) -> None:
    from tests.support.published import path_of

    found = program(name).reference
    if not found.file:
        assert found.note
        return
    assert found.repository and found.revision and found.transformers == 5
    text = path_of(found.file.removesuffix(".jinja")).read_bytes()
    assert hashlib.sha256(text).hexdigest() == found.sha256

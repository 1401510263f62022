"""Building: spec files to generated modules. The only module that writes files of the project.

`build(specs, out)` writes what has changed; `build(specs, out, check=True)` writes nothing and says what is stale.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from templc.emit.header import MARK
from templc.emit.index import emit_index
from templc.pipeline import Compilation, compile_path
from templc.problems.problem import Problem, Problems


@dataclass(frozen=True, slots=True)
class Output:
    """One file: what it holds now (None: missing) and what it should hold (None: it should not be there)."""

    path: Path
    before: str | None
    after: str | None

    @property
    def stale(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """A unified diff from the present to the wanted content."""
        before, after = (self.before or "").splitlines(True), (self.after or "").splitlines(True)
        return "".join(
            difflib.unified_diff(before, after, f"{self.path} (now)", f"{self.path} (built)")
        )


@dataclass(frozen=True, slots=True)
class Built:
    """What a build found: outputs of specs without errors, and all problems."""

    outputs: tuple[Output, ...]
    problems: tuple[Problem, ...]
    compilations: tuple[Compilation, ...]

    @property
    def ok(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def stale(self) -> tuple[Output, ...]:
        return tuple(output for output in self.outputs if output.stale)


def build(specs: Sequence[Path], out: Path, *, index: bool, check: bool = False) -> Built:
    """Compile every spec; write the modules that changed, and with `index` the list of all modules in `out`."""
    compilations = tuple(compile_path(path, f"{path.parent.name}/{path.name}") for path in specs)
    problems = tuple(problem for found in compilations for problem in found.problems)
    good = [found for found in compilations if found.program is not None and found.problems.ok]
    outputs = [_output(out / f"{found.checked().format}.py", found.python()) for found in good]
    if index and len(good) == len(compilations):
        programs = [found.checked() for found in good]
        outputs.append(_output(out / "__init__.py", emit_index(programs)))
        outputs += [
            _output(path, None) for path in _orphans(out, {output.path for output in outputs})
        ]
    foreign = Problems()
    for output in outputs:
        if output.before is not None and not output.before.startswith(MARK):
            foreign.error(
                "not-generated", f"{output.path} was not written by templc", helps=("move it away",)
            )
    built = Built(tuple(outputs), (*problems, *foreign), compilations)
    if not check and built.ok:
        _write(built.stale)
    return built


def _output(path: Path, after: str | None) -> Output:
    return Output(path, path.read_text(encoding="utf-8") if path.is_file() else None, after)


def _orphans(out: Path, made: set[Path]) -> Iterator[Path]:
    """Generated modules whose spec is gone."""
    for path in sorted(out.glob("*.py")):
        if path not in made and path.read_text(encoding="utf-8").startswith(MARK):
            yield path


def _write(outputs: Sequence[Output]) -> None:
    for output in outputs:
        if output.after is None:
            output.path.unlink()
            continue
        output.path.parent.mkdir(parents=True, exist_ok=True)
        output.path.write_text(output.after, encoding="utf-8")

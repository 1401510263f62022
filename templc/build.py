"""Building: spec files to generated modules. The only module that writes files of the project.

`build(specs, out)` writes what has changed; `build(specs, out, check=True)` writes nothing and says what is stale.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from templc.emit.header import MARK
from templc.emit.index import Entry, emit_index, shared_names
from templc.memory import Memory
from templc.pipeline import compile_path, weighed
from templc.problems.problem import Problem, Problems
from templc.proofs import MARK as PROOF_MARK
from templc.proofs import Proof
from templc.syntax.extends import family
from templc.workers import spread


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

    @property
    def ok(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def stale(self) -> tuple[Output, ...]:
        return tuple(output for output in self.outputs if output.stale)


def build(
    specs: Sequence[Path],
    out: Path,
    *,
    index: bool,
    check: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Built:
    """Compile and prove every spec; write the files that changed, and with `index` the list of all modules in `out`.

    A demand of a spec (`extend.must_allow`) that is not proved is a problem, and nothing is written. What was built
    before from the same specs by the same templc is not built again, unless it is to be checked.
    """
    jobs = [_Job(path, f"{path.parent.name}/{path.name}", out) for path in specs]
    memory = Memory("builds", str(out.resolve()))
    known = {} if check else {job: old for job in jobs if (old := _remembered(job, memory))}
    missing = [job for job in jobs if job not in known]
    done = spread(_make, missing, progress, alike=lambda job: family(job.path))
    known.update(zip(missing, done, strict=True))
    made = [known[job] for job in jobs]
    good = [one for one in made if one.entry is not None]
    outputs = [output for one in good for output in one.outputs]
    entries = [one.entry for one in good if one.entry is not None]
    if index and len(good) == len(made):
        outputs.append(_output(out / "__init__.py", emit_index(entries)))
        outputs += [
            _output(path, None) for path in _orphans(out, {output.path for output in outputs})
        ]
    problems = (
        *(problem for one in made for problem in one.problems),
        *(_shared(entries) if index else ()),
        *_foreign(outputs),
    )
    built = Built(tuple(outputs), problems)
    if not check and built.ok:
        _write(built.stale)
        for job in missing:
            _remember(job, known[job], memory)
        memory.save()
    return built


class _Job(NamedTuple):
    path: Path
    name: str
    out: Path


@dataclass(slots=True)
class _Made:
    """What one spec gives; `entry` is None when it has errors, before any proof."""

    problems: Problems
    entry: Entry | None = None
    outputs: tuple[Output, ...] = field(default=())
    bases: tuple[Path, ...] = ()


def _make(job: _Job) -> _Made:
    """Compile and prove one spec; a proof that is there already was written with its weights found right."""
    found = compile_path(job.path, job.name)
    if found.program is None or not found.problems.ok:
        return _Made(found.problems)
    proof = Proof(found)
    program = found.program
    known = _output(job.out / f"{program.format}.json", None)
    if not proof.is_in(known.before):
        weighed(found)
        if not found.problems.ok:
            return _Made(found.problems)
    module = _output(job.out / f"{program.format}.py", found.python())
    outputs = (module, Output(known.path, known.before, proof.text(known.before)))
    proof.demanded(found.problems)
    entry = Entry(program.format, program.aliases, program.models, program.reference.sha256)
    return _Made(found.problems, entry, outputs, found.bases)


def _remembered(job: _Job, memory: Memory) -> _Made | None:
    """What an earlier build made of the spec, where its files are still as it wrote them."""
    data = memory.get(job.path, job.name)
    if data is None:
        return None
    written = [_output(job.out / name, None) for name in data["files"]]
    if [_sha256(one.before) for one in written] != list(data["files"].values()):
        return None
    name, aliases, models, template = data["entry"]
    outputs = tuple(Output(one.path, one.before, one.before) for one in written)
    return _Made(Problems(), Entry(name, tuple(aliases), tuple(models), template), outputs)


def _remember(job: _Job, made: _Made, memory: Memory) -> None:
    """Keep what was made for the next build; warnings are to be shown again, so those are not kept."""
    if len(made.problems) == 0 and made.entry is not None:
        files = {output.path.name: _sha256(output.after) for output in made.outputs}
        data = {"files": files, "entry": list(made.entry)}
        memory.put(job.path, job.name, made.bases, data)


def _sha256(text: str | None) -> str:
    return hashlib.sha256((text or "").encode()).hexdigest()


def _shared(entries: Sequence[Entry]) -> Problems:
    """Names that two formats claim."""
    problems = Problems()
    for name, first, second in shared_names(entries):
        problems.error(
            "shared-name",
            f"`{name}` is a name of both {first} and {second}",
            helps=("leave it to one of them",),
        )
    return problems


def _foreign(outputs: Sequence[Output]) -> Problems:
    """Files in the way that templc did not write."""
    problems = Problems()
    for output in outputs:
        if output.before is not None and not output.before.startswith((MARK, PROOF_MARK)):
            problems.error(
                "not-generated", f"{output.path} was not written by templc", helps=("move it away",)
            )
    return problems


def _output(path: Path, after: str | None) -> Output:
    return Output(path, path.read_text(encoding="utf-8") if path.is_file() else None, after)


def _orphans(out: Path, made: set[Path]) -> Iterator[Path]:
    """Generated files whose spec is gone."""
    for path in sorted([*out.glob("*.py"), *out.glob("*.json")]):
        ours = path.read_text(encoding="utf-8").startswith((MARK, PROOF_MARK))
        if path not in made and ours:
            yield path


def _write(outputs: Sequence[Output]) -> None:
    for output in outputs:
        if output.after is None:
            output.path.unlink()
            continue
        output.path.parent.mkdir(parents=True, exist_ok=True)
        output.path.write_text(output.after, encoding="utf-8")

"""The stages, in order, and what runs them.

`compile_source(source)` goes from text to program; it stops after the first stage that reported an error. Each
intermediate form can be looked at: `templc show --stage ir specs/qwen3.yaml`.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from templc.emit.python import class_name, emit_python
from templc.ir.lower import lower
from templc.ir.ops import Program
from templc.ir.verify import verify
from templc.model.resolve import resolve
from templc.model.spec import Spec
from templc.problems.problem import Problems, SpecError
from templc.proof.weights.check import check_weights
from templc.runtime.renderer import Renderer
from templc.source.files import read_source
from templc.source.nodes import MappingNode, Node, parse_nodes
from templc.source.span import Source
from templc.syntax.extends import Base, merged
from templc.syntax.schema import check_shape


@dataclass(slots=True)
class Compilation:
    """Every intermediate form of one spec; later ones are None where a stage before them found errors."""

    source: Source
    problems: Problems
    nodes: Node | None = None
    shaped: MappingNode | None = None
    model: Spec | None = None
    program: Program | None = None
    digest: str = ""
    bases: tuple[Path, ...] = ()

    def checked(self) -> Program:
        """The program, or SpecError with every problem."""
        if self.program is None or not self.problems.ok:
            raise SpecError(self.problems)
        return self.program

    def python(self, command: str = "templc build") -> str:
        """The generated module."""
        program = self.checked()
        return emit_python(program, self.digest, f"{command} {program.source}")


def compile_path(path: Path, name: str | None = None) -> Compilation:
    """Compile the spec in a file."""
    problems = Problems()
    source = read_source(path, problems, name)
    if source is None:
        return Compilation(Source(name or str(path), ""), problems)
    return compile_source(source, problems, (path.parent,))


def compile_source(
    source: Source, problems: Problems | None = None, folders: tuple[Path, ...] = ()
) -> Compilation:
    """Compile the text of a spec; `folders` is where a spec that it extends is looked for."""
    found = Compilation(source, Problems() if problems is None else problems)
    found.nodes = parse_nodes(source, found.problems)
    if not (found.problems.ok and isinstance(found.nodes, MappingNode)):
        if found.problems.ok and found.nodes is not None:
            found.problems.error(
                "wrong-type", "a spec is a mapping", found.nodes.span, label="here"
            )
        return found
    bases: list[Base] = []
    found.shaped = merged(found.nodes, (*folders, spec_folder()), found.problems, bases=bases)
    if found.shaped is None:
        return found
    check_shape(found.shaped, found.problems)
    if not found.problems.ok:
        return found
    found.model = resolve(found.shaped, found.problems)
    if found.model is not None:
        found.program = lower(found.model)
        violations = verify(found.program)
        assert not violations, f"the compiler made a malformed program: {violations}"
        found.bases = tuple(base.path for base in bases)
        found.digest = _digest([source, *(base.source for base in bases)])
    return found


def weighed(found: Compilation) -> Compilation:
    """The same compilation, with a problem for each claim about its weights that fails.

    It takes longer than compiling, so it is asked for: by whoever checks, builds or trains with a spec.
    """
    if found.program is not None and found.problems.ok:
        check_weights(found.program, found.problems)
    return found


def _digest(sources: list[Source]) -> str:
    """sha256 of the spec and of every spec that it extends."""
    texts = sorted(source.text for source in sources)
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def spec_folder() -> Path:
    """Where the specs that come with templc are."""
    installed = Path(__file__).parent / "specs"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "specs"


def load_class(compilation: Compilation) -> type[Renderer]:
    """The renderer class of a compilation, from its generated module; SpecError when there are problems.

    The module is in `linecache` under a name of its own, so that tracebacks show its lines.
    """
    text = compilation.python()
    name = f"<templc {compilation.source.name} {compilation.digest[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = ModuleType(f"templc_compiled_{compilation.digest[:16]}")
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
    found: type[Renderer] = getattr(module, class_name(compilation.checked().format))
    found.program = compilation.checked()
    return found

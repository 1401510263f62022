"""Formats by name: the generated renderers, their aliases, and specs compiled in memory.

get_renderer("qwen3_instruct")          a generated class
get_renderer("my_formats/mine.yaml")    a spec file, compiled when first asked for
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from templc.runtime.errors import FormatError
from templc.runtime.options import checked
from templc.runtime.renderer import Renderer
from templc.runtime.stability import StabilityTable
from templc.runtime.trajectory import Trajectory


def get_renderer(
    format: str | Path, tokenizer: object | None = None, **options: object
) -> Renderer:
    """A renderer for a format by name, alias or path of a spec file, with its options set.

    FormatError for an unknown name (with the nearest ones), OptionError for an option or value that the format
    does not have, SpecError for a spec with problems.
    """
    return renderer_class(format)(tokenizer, **options)  # type: ignore[arg-type]


def renderer_class(format: str | Path) -> type[Renderer]:
    """The class behind `get_renderer`."""
    if isinstance(format, Path) or format.endswith((".yaml", ".yml")):
        return compile_spec(Path(format))
    index = generated()
    name = canonical_name(format)
    if name is None:
        known = [*index.FORMATS, *index.ALIASES]
        close = get_close_matches(_plain(format), known, 3, 0.5)
        cure = (
            f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(index.FORMATS)}"
        )
        raise FormatError(
            f"there is no format `{format}`", help=f"{cure} (a spec file ends in .yaml)"
        )
    module = importlib.import_module(f"{index.__name__}.{name}")
    found: type[Renderer] = getattr(module, index.FORMATS[name])
    return found


def canonical_name(format: str) -> str | None:
    """The name of a format from its name or an alias, case and hyphens aside; None when it is unknown."""
    index = generated()
    for name in (format, _plain(format)):
        found: str = index.ALIASES.get(name, name)
        if found in index.FORMATS:
            return found
    return None


def list_formats() -> list[str]:
    """The names of all formats that come with templc, in alphabetical order."""
    return sorted(generated().FORMATS)


def compile_spec(spec: str | Path) -> type[Renderer]:
    """The renderer class of a spec: a path, or the text of one. SpecError with every problem that it has."""
    if isinstance(spec, Path) or (spec.endswith((".yaml", ".yml")) and "\n" not in spec):
        return _compiled_file(Path(spec))
    return _compiled_text(spec)


_files: dict[tuple[Path, str], tuple[dict[Path, int], type[Renderer]]] = {}
"""The classes of spec files, with when each file that they hang on was changed."""


def _compiled_file(path: Path) -> type[Renderer]:
    from templc.pipeline import compile_path, load_class, weighed

    place = path.resolve(), str(path)
    known = _files.get(place)
    if known is not None and all(_changed(one) == when for one, when in known[0].items()):
        return known[1]
    spec = place[0]
    changed = {spec: _changed(spec)}
    compilation = compile_path(*place)
    # A base is looked for beside the spec first: one that comes there is another base.
    for base in compilation.bases:
        changed |= {one: _changed(one) for one in (base, spec.parent / base.name)}
    found = load_class(weighed(compilation))
    _files[place] = changed, found
    return found


def _changed(path: Path) -> int:
    """When a file was changed; 0 where there is none."""
    return path.stat().st_mtime_ns if path.is_file() else 0


@cache
def _compiled_text(text: str) -> type[Renderer]:
    from templc.pipeline import compile_source, load_class, weighed
    from templc.source.span import Source

    return load_class(weighed(compile_source(Source("<text>", text))))


@cache
def generated() -> ModuleType:
    """The package of generated renderers: inside an installed templc, beside it in a source tree."""
    if importlib.util.find_spec("templc.generated") is not None:
        return importlib.import_module("templc.generated")
    folder = Path(__file__).parent.parent / "generated"
    found = importlib.util.spec_from_file_location(
        "templc.generated", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if found is None or found.loader is None or not (folder / "__init__.py").is_file():
        raise FormatError("the generated renderers are missing", help="run `templc build`")
    module = importlib.util.module_from_spec(found)
    sys.modules["templc.generated"] = module
    found.loader.exec_module(module)
    return module


def stability_of(renderer: Renderer) -> StabilityTable:
    """The proved table of a renderer: the stored one for default options, else proved now from the spec."""
    stored = _stored(renderer)
    if stored is not None:
        return stored
    from templc.pipeline import compile_path, spec_folder
    from templc.proof.stability import prove

    program = renderer.program
    if program is None:
        program = compile_path(spec_folder() / f"{renderer.info.name}.yaml").checked()
    given = {name: value for name, value in renderer.options.items() if value is not None}
    found = prove(program, given)
    return StabilityTable({**found.to_json(), "text": str(found)})


def _stored(renderer: Renderer) -> StabilityTable | None:
    defaults = checked(renderer.info.name, renderer.known_options, {})
    if renderer.program is not None or renderer.options != defaults:
        return None
    path = Path(str(generated().__file__)).parent / f"{renderer.info.name}.json"
    return StabilityTable(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


Renderer.prover = staticmethod(stability_of)


def _datum(trajectory: Trajectory, advantages: Any, **options: Any) -> Any:
    from templc.tinker.datum import datum

    return datum(trajectory, advantages, **options)


Trajectory.builder = staticmethod(_datum)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")

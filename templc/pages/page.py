"""The page of one format: what it looks like, options, stability with witnesses, models, deviations, source.

page("qwen3").splitlines()[0]       # "# qwen3: Qwen3 hybrid thinking (0.6B to 235B-A22B)"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from templc.ir.ops import Program
from templc.pages.samples import shown
from templc.pipeline import compile_path, spec_folder
from templc.proof.stability import prove
from templc.recognise import measured
from templc.registry import renderer_class
from templc.runtime.renderer import Renderer

_FENCE = "~~~~"


def page(name: str) -> str:
    """The Markdown page of a format by its name."""
    renderer = renderer_class(name)()
    return "\n".join(_lines(name, renderer)) + "\n"


def _lines(name: str, renderer: Renderer) -> Iterator[str]:
    info = renderer.info
    yield f"# {name}: {plain(info.title)}"
    yield ""
    if info.aliases:
        yield f"Also called {', '.join(f'`{alias}`' for alias in info.aliases)}."
        yield ""
    samples = list(shown(renderer))
    for kind, text in samples:
        yield from _section(f"Sample: {kind}", _fenced(text))
    yield from _section("Options", _options(renderer))
    yield from _section("What may follow what", _fenced(str(renderer.stability), "text"))
    program = compile_path(spec_folder() / f"{name}.yaml", f"specs/{name}.yaml").checked()
    yield from _section("Witnesses", _witnesses(program))
    yield from _section("Tools", [_tools(kind for kind, _ in samples)])
    yield from _section("Models", _models(name, renderer))
    differs = [f"- {plain(item.what)}: {plain(item.why)}" for item in program.deviations]
    yield from _section("Deviations from the template", differs or ["None."])
    source = (spec_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    yield from _section("Source", _fenced(source, "yaml"))


def _section(title: str, body: Iterator[str] | list[str]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield from body
    yield ""


def _fenced(text: str, kind: str = "text") -> list[str]:
    return [f"{_FENCE}{kind}", text.rstrip("\n"), _FENCE]


def _options(renderer: Renderer) -> list[str]:
    rows = [
        f"| `{name}` | {plain(option.takes)}"
        f" | {'unset' if option.default is None else _cell(option.default)} | {plain(option.doc)} |"
        for name, option in renderer.known_options.items()
    ]
    head = ["| option | values | default | meaning |", "| --- | --- | --- | --- |"]
    return [*head, *rows] if rows else ["None."]


def plain(text: str) -> str:
    """Words as Markdown that means them as they stand: no tag, no emphasis, no end of a table's cell."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text).replace("\n", " ")


def _cell(value: object) -> str:
    """A value inside a table: no bar and no line end may split it."""
    text = str(value).lower() if isinstance(value, bool) else "" if value == () else str(value)
    return f"`{text}`".replace("|", "\\|").replace("\n", " ") if text else ""


def _witnesses(program: Program) -> Iterator[str]:
    """The shortest conversation for each reason why something is rewritten, with both of its texts."""
    stability = prove(program)
    seen: set[tuple[str, str]] = set()
    for cell in stability.cells:
        why = (cell.text, cell.reason.text)
        if cell.number and why not in seen:
            seen.add(why)
            yield f"({cell.number}) {cell.place.after} \\> {cell.place.then}"
            yield ""
            yield from _fenced(stability.witness(cell.number))
            yield ""
    if not seen:
        yield "Nothing that was written is ever rewritten."


def _tools(kinds: Iterable[str]) -> str:
    return (
        "Calls and results are written." if "tools" in kinds else "This format has no tool calls."
    )


def _models(name: str, renderer: Renderer) -> Iterator[str]:
    info = renderer.info
    if info.sha256:
        yield f"Follows the template of {info.repository} ({info.revision}), sha256 `{info.sha256}`."
    else:
        yield "Follows no published template."
    yield ""
    yield from (f"- {model}" for model in info.models)
    for digest, options, models in measured(name):
        if digest != info.sha256:
            given = "".join(f" with {key}={value}" for key, value in options.items())
            yield f"- `{digest[:16]}`{given}: {', '.join(models[:6])}"

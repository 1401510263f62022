"""The gallery: one Markdown and one HTML file for each format, and an index.

gallery(Path("docs"), ["qwen3"])    # docs/qwen3.md, docs/qwen3.html, docs/index.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from templc.pages.page import page
from templc.registry import renderer_class

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f4f4f4;padding:.8rem;overflow-x:auto;font-size:.85rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left}"
)


def gallery(
    out: Path, names: Sequence[str], progress: Callable[[int], None] = lambda _: None
) -> list[Path]:
    """Write the pages of these formats and the index; the files that were written."""
    out.mkdir(parents=True, exist_ok=True)
    markdown = MarkdownIt("commonmark").enable("table")
    written = []
    for done, name in enumerate(names):
        progress(done)
        text = page(name)
        written += [_write(out / f"{name}.md", text)]
        written += [_write(out / f"{name}.html", _html(name, markdown.render(text)))]
    rows = [f"- [{name}]({name}.html): {renderer_class(name).info.title}" for name in names]
    index = "\n".join(["# Formats", "", *rows, ""])
    return [*written, _write(out / "index.html", _html("Formats", markdown.render(index)))]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _html(title: str, body: str) -> str:
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}</body></html>\n'

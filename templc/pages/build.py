"""The gallery: one Markdown and one HTML file for each format, and an index.

gallery(Path("docs"), ["qwen3"])    # docs/qwen3.md, docs/qwen3.html, docs/index.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from templc.pages.page import page, plain
from templc.registry import renderer_class

_STYLE = (
    ":root{color-scheme:light dark;--box:#f4f4f4;--line:#ccc}"
    "@media(prefers-color-scheme:dark){:root{--box:#262626;--line:#555}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:var(--box);padding:.8rem;overflow-x:auto;font-size:.85rem}"
    # What a format writes has long lines; a spec is read line by line.
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "pre:has(.language-yaml){white-space:pre;overflow-wrap:normal}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}"
)
_BACK = '<nav><a href="index.html">All formats</a></nav>\n'


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
        written += [_write(out / f"{name}.html", _html(name, _BACK + markdown.render(text)))]
    head = ["# Formats", "", "| format | what it is | follows |", "| --- | --- | --- |"]
    index = "\n".join([*head, *map(_row, names), ""])
    return [*written, _write(out / "index.html", _html("Formats", markdown.render(index)))]


def _row(name: str) -> str:
    info = renderer_class(name).info
    return f"| [{plain(name)}]({name}.html) | {plain(info.title)} | {plain(info.repository)} |"


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _html(title: str, body: str) -> str:
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}</body></html>\n'

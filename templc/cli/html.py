"""Cells as one HTML file that needs nothing else: colours by role, trained tokens underlined, details on hover."""

from __future__ import annotations

import html
from collections.abc import Sequence

from templc.cli.cells import Cell, tally

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #222; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #ddd; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.7 system-ui, sans-serif; margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem; }
pre { font: 14px/1.9 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.cell { border-radius: 3px; padding: 1px 0; }
.cell:hover { outline: 2px solid currentColor; }
.cell:nth-child(odd) { filter: brightness(1.15); }
.system { background: #a3a3f033; } .user { background: #6cc06c33; } .assistant { background: #4db6e033; }
.tool { background: #e0b04d44; } .other { background: #e07bb033; } .format { background: #88888822; }
.trained { text-decoration: underline 2px; font-weight: 600; }
.end { opacity: .45; }
"""
_ROLES = ("system", "user", "assistant", "tool")


def page(cells: Sequence[Cell], title: str) -> str:
    """The whole page."""
    body = "".join(map(_cell, cells))
    roles = dict.fromkeys(_role_class(cell.role) for cell in cells)
    legend = " ".join(f'<span class="cell {role}">{role}</span>' for role in roles)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style></head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n"
        f'<p>{legend} <span class="cell trained">trained</span> &nbsp; {tally(cells)}; '
        "point at one for its id and origin</p>\n"
        f"<pre>{body}</pre>\n</body></html>\n"
    )


def _role_class(role: str) -> str:
    return role if role in _ROLES else "other" if role else "format"


def _cell(cell: Cell) -> str:
    classes = f"cell {_role_class(cell.role)}" + (" trained" if cell.weight else "")
    text = html.escape(cell.text).replace("\n", '<span class="end">⏎</span>\n')
    return f'<span class="{classes}" title="{html.escape(_details(cell))}">{text}</span>'


def _details(cell: Cell) -> str:
    parts = [
        "" if cell.id is None else f"id {cell.id}",
        f"message {cell.message} ({cell.role})" if cell.message >= 0 else "no message",
        cell.field or "written by the format",
        "sampled by the model" if cell.sampled else "not sampled",
        f"weight {cell.weight:g}",
    ]
    return ", ".join(part for part in parts if part)

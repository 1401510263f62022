"""Cells as one HTML file that needs nothing else: colours by role, trained tokens underlined, details of one at a time.

A token is chosen by pointing at it, by the arrow keys, or by `#t12` behind the address. The keys w and t (or the
buttons) show white space and weights.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from templc.cli.cells import Cell, tally

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --line: #8886; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #ddd; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.7 system-ui, sans-serif; margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem 6rem; }
pre { font: 14px/1.9 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.cell { border-radius: 3px; padding: 1px 0; }
pre .cell { cursor: default; }
pre .cell:nth-child(odd) { filter: brightness(1.15); }
.chosen { outline: 2px solid currentColor; }
.system { background: #a3a3f033; } .user { background: #6cc06c33; } .assistant { background: #4db6e033; }
.tool { background: #e0b04d44; } .other { background: #e07bb033; } .format { background: #88888822; }
.weights .trained { text-decoration: underline 2px; font-weight: 600; }
.end, .space { opacity: .45; } body:not(.whitespace) .end { display: none; }
.space::before { content: "\\00B7"; position: absolute; } body:not(.whitespace) .space::before { content: none; }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px; }
button[aria-pressed=true] { background: #4db6e044; }
#details { position: fixed; inset: auto 0 0; background: var(--paper); border-top: 1px solid var(--line);
           padding: .6rem 1rem; min-height: 1.7em; text-align: center; }
"""
_SCRIPT = """
const cells = [...document.querySelectorAll("pre .cell")], panel = document.getElementById("details");
let at = -1;
function choose(n) {
  if (!cells[n]) return;
  if (cells[at]) cells[at].classList.remove("chosen");
  at = n;
  cells[n].classList.add("chosen");
  panel.textContent = JSON.stringify(cells[n].dataset.text) + ": " + cells[n].title;
}
function toggle(name) {
  const on = document.body.classList.toggle(name);
  document.getElementById(name).setAttribute("aria-pressed", on);
}
cells.forEach((cell, n) => cell.addEventListener("mouseenter", () => choose(n)));
for (const name of ["whitespace", "weights"]) document.getElementById(name).onclick = () => toggle(name);
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step) {
    choose(Math.min(Math.max(at + step, 0), cells.length - 1));
    cells[at].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }
  if (event.key === "w") toggle("whitespace");
  if (event.key === "t") toggle("weights");
});
const linked = () => choose(Number(location.hash.slice(2)));
addEventListener("hashchange", linked);
if (location.hash.startsWith("#t")) linked();
"""
_ROLES = ("system", "user", "assistant", "tool")


def page(cells: Sequence[Cell], title: str, places: Sequence[str]) -> str:
    """The whole page; places: where the spec writes each cell, empty where that is not known."""
    body = "".join(map(_cell, cells, places))
    roles = dict.fromkeys(_role_class(cell.role) for cell in cells)
    legend = " ".join(f'<span class="cell {role}">{role}</span>' for role in roles)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f'<body class="whitespace weights">\n<h1>{html.escape(title)}</h1>\n'
        f'<p>{legend} <span class="cell trained">trained</span> &nbsp; {tally(cells)}</p>\n'
        f"<p>{_button('whitespace', 'w')} {_button('weights', 't')}</p>\n"
        f"<pre>{body}</pre>\n"
        '<p id="details" aria-live="polite">point at a token, or use the arrow keys</p>\n'
        f"<script>{_SCRIPT}</script>\n</body></html>\n"
    )


def _button(name: str, key: str) -> str:
    return f'<button id="{name}" aria-pressed="true">{name} ({key})</button>'


def _role_class(role: str) -> str:
    return role if role in _ROLES else "other" if role else "format"


def _cell(cell: Cell, place: str) -> str:
    classes = f"cell {_role_class(cell.role)}" + (" trained" if cell.weight else "")
    text = html.escape(cell.text).replace(" ", "\0")
    text = text.replace("\0", '<span class="space"> </span>').replace(
        "\n", '<span class="end">⏎</span>\n'
    )
    details, raw = html.escape(_details(cell, place)), html.escape(cell.text)
    raw = raw.replace("\n", "&#10;")
    return f'<span class="{classes}" data-text="{raw}" title="{details}">{text}</span>'


def _details(cell: Cell, place: str) -> str:
    parts = [
        "" if cell.id is None else f"id {cell.id}",
        f"message {cell.message} ({cell.role})" if cell.message >= 0 else "no message",
        cell.field or "written by the format",
        "sampled by the model" if cell.sampled else "not sampled",
        f"weight {cell.weight:g}" + (", trained" if cell.weight else ""),
        place,
    ]
    return ", ".join(part for part in parts if part)

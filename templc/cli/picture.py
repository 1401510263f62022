"""What a terminal would show, as a picture: one SVG file that loads nothing from elsewhere.

save(Path("weights.svg"), "templc show qwen3", [trained_text(cells, marks=False)])
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, RenderableType

WIDTH = 88


def svg(title: str, parts: Iterable[RenderableType]) -> str:
    """The picture."""
    paper = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        legacy_windows=False,
    )
    for part in parts:
        paper.print(part)
    drawn = paper.export_svg(title=title, unique_id="templc")
    # Its fonts would come from a server; the next best on the machine does.
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)


def save(path: Path, title: str, parts: Iterable[RenderableType]) -> None:
    """Write the picture."""
    path.write_text(svg(title, parts), encoding="utf-8")

"""The automaton for what a renderer samples after a past, made once for all renderers that write alike."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from templc.runtime.parser.kit import Kit
from templc.runtime.parser.origins import Alike
from templc.runtime.parser.start import Start
from templc.runtime.parser.states import Table
from templc.runtime.parser.table import table_of
from templc.runtime.writer import Writer

if TYPE_CHECKING:
    from templc.runtime.renderer import Renderer


def table_for(renderer: Renderer, start: Start, kit: Kit, accept: bool) -> Table:
    """accept: calls inside reasoning are calls."""
    if renderer.responds_alike:
        return _table(Alike(renderer), start.past, kit.controls, kit.ends, accept)
    response = renderer.responds(Writer(start.tools, start.lead), start.past)
    return table_of(response, kit.controls, kit.ends, accept)


@lru_cache(maxsize=1024)
def _table(
    alike: Alike, past: Any, controls: tuple[str, ...], ends: tuple[str, ...], accept: bool
) -> Table:
    return table_of(alike.renderer.responds(Writer(()), past), controls, ends, accept)

"""The conversation and the tools of a row, whatever it was read from.

conversation({"messages": '[{"role": "user", "content": "hi"}]', "tools": None}, "")
    -> ([{"role": "user", "content": "hi"}], None)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from templc.data.settings import RowError

NAMES = ("messages", "conversations", "conversation")
TOOLS = "tools"


def conversation(row: object, column: str) -> tuple[list[Any], list[Any] | None]:
    """Messages and declared tools; lists may be given as JSON text. RowError where there are none."""
    if isinstance(row, list) and not column:
        return row, None
    if not isinstance(row, Mapping):
        raise RowError("the row is not an object", help='give {"messages": [...]} in each row')
    name = column or next((name for name in NAMES if row.get(name) is not None), NAMES[0])
    messages = _listed(row.get(name), name)
    if messages is None:
        raise RowError(f"the row has no `{name}`", help="name its column: --messages COLUMN")
    if not messages:
        raise RowError(f"`{name}` is empty")
    return messages, _listed(row.get(TOOLS), TOOLS)


def _listed(value: object, name: str) -> list[Any] | None:
    """A list, given as one, as JSON text, or as an array; None where there is nothing."""
    if isinstance(value, str):
        value = _decoded(value, name) if value.strip() else None
    if value is None or isinstance(value, list):
        return value
    as_list = getattr(value, "tolist", None)
    found = as_list() if callable(as_list) else None
    if not isinstance(found, list):
        raise RowError(f"`{name}` is not a list", help="give a list, or one as JSON text")
    return found


def _decoded(text: str, name: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RowError(f"`{name}` is not JSON: {error}") from None

"""Text helpers and value encoders that generated renderers call: pure functions, no state.

The JSON spellings are those of transformers' `tojson`: `json.dumps` with non-ASCII kept, keys in the order given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from templc.runtime.errors import MessageError


def after(text: str, mark: str) -> str:
    """What follows the first `mark`, or all of `text` where there is none."""
    head, found, tail = text.partition(mark)
    return tail if found else head


def after_last(text: str, mark: str) -> str:
    """What follows the last `mark`, or all of `text` where there is none."""
    return text.rpartition(mark)[2]


def before(text: str, mark: str) -> str:
    """What stands before the first `mark`, or all of `text` where there is none."""
    return text.partition(mark)[0]


def to_json(
    value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None
) -> str:
    """JSON as published templates write it; MessageError for what JSON cannot hold."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"a value cannot be written as JSON: {error}") from None


def text_or_json(value: object) -> str:
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def text_or_python(value: object) -> str:
    """A string as it is, mappings and lists as JSON, the rest as Python's `str` writes it."""
    if isinstance(value, str):
        return value
    return to_json(value) if isinstance(value, Mapping | list | tuple) else str(value)

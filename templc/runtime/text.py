"""Text helpers and value encoders that generated renderers call: pure functions, no state.

The JSON spellings are those of transformers' `tojson`: `json.dumps` with non-ASCII kept, keys in the order given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime

from templc.runtime.errors import MessageError, OptionError

FILTERS: Mapping[str, Callable[[str], str]] = {
    "": lambda text: text,
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "strip_newlines": lambda text: text.strip("\n"),
    "lstrip_newlines": lambda text: text.lstrip("\n"),
    "rstrip_newlines": lambda text: text.rstrip("\n"),
    "capitalize": str.capitalize,
}
"""The filters that message rules may name."""


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


class Verbatim(str):
    """JSON text that is written as it is, whatever writes it: arguments as a model sampled them."""

    __slots__ = ()


def to_json(
    value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None
) -> str:
    """JSON as published templates write it; MessageError for what JSON cannot hold."""
    if isinstance(value, Verbatim):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"a value cannot be written as JSON: {error}") from None


def json_without(value: object, left_out: str) -> str:
    """JSON of a mapping, less some of its keys, named with blanks between."""
    if isinstance(value, Mapping):
        names = left_out.split()
        value = {key: inner for key, inner in value.items() if key not in names}
    return to_json(value)


def text_or_json(value: object) -> str:
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def text_or_python(value: object) -> str:
    """A string as it is, mappings and lists as JSON, the rest as Python's `str` writes it."""
    if isinstance(value, str):
        return value
    return to_json(value) if isinstance(value, Mapping | list | tuple) else str(value)


def to_python(value: object) -> str:
    """A string as it is, anything else as Python's `str` writes it."""
    return value if isinstance(value, str) else str(value)


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def date_text(value: str | None, form: str) -> str:
    """A date, given in ISO form, as `strftime` writes it in English: %Y %m %d %H %M %S %B %b are known."""
    if value is None:
        raise OptionError(
            "this format writes the date, and none is set",
            help='give one, such as now="2026-03-04": a clock is never read',
        )
    when = datetime.fromisoformat(value)
    month = _MONTHS[when.month - 1]
    named = form.replace("%B", month).replace("%b", month[:3])
    return when.strftime(named)

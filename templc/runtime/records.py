"""Options that are records, or lists of them: documents that a model answers from, and the like.

read_records("documents", (), [{"title": "T", "text": "x"}])     a tuple of one record

A record is what the caller gave: nothing in it is ever a control token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from templc.runtime.errors import OptionError

SHAPE = 'a list of mappings, such as [{"title": "...", "text": "..."}]'
OR_TEXTS = 'a list of texts and mappings, such as ["...", {"name": "..."}]'


def _fixed(self: object, *_: object, **__: object) -> Any:
    raise TypeError("a record is never changed: make a renderer with another one")


class Record(dict[str, Any]):
    """One record, which is never changed; `number` is its place in the list, from "0" on."""

    number: str

    def __init__(self, given: Mapping[str, Any], number: int) -> None:
        super().__init__(given)
        self.number = str(number)

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _fixed

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any], int]]:
        return Record, (dict(self), int(self.number))

    def __hash__(self) -> int:  # type: ignore[override]
        """What depends on records can be kept, for they are never changed."""
        return hash(json.dumps(self, sort_keys=True))

    def has(self, name: str) -> bool:
        """Whether the record has a field."""
        return self.get(name) is not None

    def text(self, name: str) -> str:
        """A field as text, empty where it is missing."""
        found = self.get(name, "")
        return found if isinstance(found, str) else str(found)


class RecordText(str):
    """A record that is a text; `number` is its place in the list."""

    number: str

    def __new__(cls, given: str, number: int) -> RecordText:
        found = super().__new__(cls, given)
        found.number = str(number)
        return found

    def __reduce__(self) -> tuple[type[RecordText], tuple[str, int]]:
        return RecordText, (str(self), int(self.number))


Records = tuple[Record | RecordText, ...]


def read_records(
    option: str,
    fields: Sequence[str],
    value: object,
    optional: Sequence[str] = (),
    *,
    further: bool = False,
    texts: bool = False,
    as_template: bool = False,
) -> Records:
    """The records that a caller gives, copied. OptionError for what is no record, or would be lost or garbled.

    fields: what the format writes by name; each record must have these, less those that are optional, and no others
    unless there may be `further` ones. None: it writes whole records. texts: each may also be a text.
    """
    shape = OR_TEXTS if texts else SHAPE
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise OptionError(f"the option `{option}` is no list", help=f"give {shape}")
    found: list[Record | RecordText] = []
    for number, one in enumerate(value):
        if texts and isinstance(one, str):
            found.append(RecordText(one, number))
            continue
        if not isinstance(one, Mapping):
            raise OptionError(f"record {number} of `{option}` is no mapping", help=f"give {shape}")
        record = _copied(one, number, f"record {number} of `{option}`")
        if fields and not as_template:
            _fits(option, fields, optional, record, further)
        found.append(record)
    return tuple(found)


def read_record(
    option: str, keys: Sequence[str], value: object, *, as_template: bool = False
) -> Record:
    """One mapping with some of these keys, copied."""
    cure = f"give a mapping with some of {', '.join(keys)}"
    if not isinstance(value, Mapping):
        raise OptionError(f"the option `{option}` is no mapping", help=cure)
    found = _copied(value, 0, f"the option `{option}`")
    for key in found:
        if key not in keys and not as_template:
            raise OptionError(f"the option `{option}` has `{key}`", help=cure)
    return found


def _copied(value: Mapping[Any, Any], number: int, which: str) -> Record:
    try:
        found = json.loads(json.dumps(dict(value)), object_pairs_hook=_each_once)
        return Record(found, number)
    except (TypeError, ValueError, RecursionError):
        raise OptionError(
            f"{which} cannot be written as JSON",
            help="texts, numbers, true, false, None, and lists and mappings of them, each key once",
        ) from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping, none of whose keys are written alike, as 1 and "1" are: one of them would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _fits(
    option: str, fields: Sequence[str], optional: Sequence[str], record: Record, further: bool
) -> None:
    which = f"record {record.number} of `{option}`"
    listed = ", ".join(f"`{name}`" for name in fields)
    for name in fields:
        if record.get(name) is None and name not in optional:
            raise OptionError(f"{which} has no `{name}`", help=f"each record has {listed}")
    for name, value in record.items():
        if name not in fields and not further:
            raise OptionError(
                f"{which} has `{name}`, which this format does not write",
                help=f'leave it out ({listed} are written), or render as the template does: unsupported="as_template"',
            )
        missing = value is None and name in optional
        if not missing and (not isinstance(value, str | int) or isinstance(value, bool)):
            raise OptionError(f"`{name}` of {which} is no text", help="give a text")


def further_lines(record: Record, written: str) -> str:
    """The fields of a record but for those in `written`, with blanks between: each on a line, its name in title case.

    further_lines({"text": "x", "page_no": 3}, "text") is "\\nPage_no: 3".
    """
    left = [name for name in record if name not in written.split()]
    return "".join(f"\n{_titled(name)}: {record[name]!s}" for name in left)


def _titled(name: str) -> str:
    """Each word with a capital, the rest of it small, as Jinja parts words."""
    words = re.split(r"([-\s({\[<]+)", name)
    return "".join(word[:1].upper() + word[1:].lower() for word in words)


def record_part(record: Record | RecordText, part: str) -> Any:
    """What a name such as `document.title` stands for: the whole record, its number, or a field."""
    if not part:
        return record
    return record.number if part == "number" or isinstance(record, str) else record.text(part)

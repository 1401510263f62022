"""Raw rows as they come from a file, sent to a worker undecoded, and the objects that they hold.

decoded(JsonLines([b'{"messages": []}']))      [{"messages": []}]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from templc.data.settings import RowError


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Lines of a JSON lines file; blank ones count as rows, so that row numbers are line numbers."""

    lines: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a CSV file under its header."""

    header: Sequence[str]
    values: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Arrow:
    """A `pyarrow.RecordBatch`."""

    batch: Any


Raw: TypeAlias = JsonLines | Records | Arrow


@dataclass(frozen=True, slots=True)
class Slice:
    """Neighbouring rows of one file: what one worker does at a time. `first` counts rows of the file from 1.

    size: how many bytes of the input these rows are, for the progress bar.
    """

    number: int
    file: str
    first: int
    size: int
    rows: Raw


def length(raw: Raw) -> int:
    """How many rows these are, blank lines included."""
    match raw:
        case JsonLines(lines):
            return len(lines)
        case Records(_, values):
            return len(values)
        case Arrow(batch):
            return int(batch.num_rows)
        case _:
            assert_never(raw)


def decoded(raw: Raw) -> Iterator[object]:
    """The rows; a `RowError` in place of one that cannot be read, None for a blank line."""
    match raw:
        case JsonLines(lines):
            yield from map(_json, lines)
        case Records(header, values):
            yield from (_record(header, value) for value in values)
        case Arrow(batch):
            yield from batch.to_pylist()
        case _:
            assert_never(raw)


def _json(line: bytes) -> object:
    if not line.strip():
        return None
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return RowError(f"not UTF-8 at byte {error.start} of the line")
    except (ValueError, RecursionError) as error:
        return RowError(f"not JSON: {error}")
    return RowError("the row is null") if row is None else row


def _record(header: Sequence[str], values: Sequence[str]) -> object:
    if not values:
        return None
    if len(values) != len(header):
        return RowError(f"the record has {len(values)} fields, the header {len(header)}")
    return dict(zip(header, values, strict=True))

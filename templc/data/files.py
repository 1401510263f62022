"""Reading data sets lazily: files of JSON lines, CSV and Parquet, and folders of them, as slices of rows.

for part in slices(inputs("chats.jsonl"), columns=()): part.rows

How a file is cut into slices depends on the file alone, so a run that goes on after a kill finds the same ones.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import os
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from templc.data.rows import Arrow, JsonLines, Raw, Records, Slice, length
from templc.data.settings import DataError

ROWS = 512
# A slice of long rows ends early, so that memory does not depend on how long they are.
BYTES = 8 << 20
KINDS = (".jsonl", ".ndjson", ".jsonl.gz", ".parquet", ".csv")
INSTALL = 'pip install "templc[data]"'
_FIELD = 2**31 - 1
_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Input:
    """A file to read; size and time of its last change tell whether it is still the same."""

    path: str
    size: int
    changed: int


def inputs(path: str | Path) -> list[Input]:
    """The files behind a path: itself, or all of a folder in alphabetical order. DataError where there are none."""
    place = Path(path)
    if place.is_dir():
        found = sorted(file for file in place.rglob("*") if _kind(file) and file.is_file())
        if not found:
            raise DataError(f"the folder {path} has no data", help=f"it needs {' or '.join(KINDS)}")
        return [_input(file) for file in found]
    if not place.exists():
        raise DataError(f"there is no file {path}", help="give a file or a folder of files")
    if not _kind(place):
        raise DataError(f"{path} is of no kind that is read", help=f"it must be {', '.join(KINDS)}")
    return [_input(place)]


def slices(files: Sequence[Input], columns: Sequence[str], rows: int = ROWS) -> Generator[Slice]:
    """All rows of all files in order, a slice at a time; of Parquet only `columns` that are there (none: all)."""
    number = 0
    for file in files:
        first = 1
        for raw, size in _raw(file, columns, rows):
            yield Slice(number, file.path, first, size, raw)
            number, first = number + 1, first + length(raw)


def pyarrow(module: str) -> Any:
    """A module of pyarrow; DataError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError("data sets need pyarrow, which is not installed", help=INSTALL) from None


def _input(path: Path) -> Input:
    about = path.stat()
    return Input(str(path), about.st_size, about.st_mtime_ns)


def _kind(path: Path) -> str:
    return next((kind for kind in KINDS if path.name.lower().endswith(kind)), "")


def _raw(file: Input, columns: Sequence[str], rows: int) -> Iterator[tuple[Raw, int]]:
    path = Path(file.path)
    match _kind(path):
        case ".parquet":
            yield from _parquet(file, columns, rows)
        case ".csv":
            # The csv module wants ends of lines as they are.
            with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
                yield from _records(text, file.path, rows)
        case ".jsonl.gz":
            yield from _packed(path, rows)
        case _:
            with path.open("rb") as plain:
                yield from _lines(plain, plain.tell, rows)


def _packed(path: Path, rows: int) -> Iterator[tuple[Raw, int]]:
    try:
        with path.open("rb") as packed, gzip.open(packed, "rb") as unpacked:
            yield from _lines(unpacked, packed.tell, rows)  # type: ignore[arg-type]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is not whole: {error}", help="fetch the file again") from None


def _lines(file: BinaryIO, place: Callable[[], int], rows: int) -> Iterator[tuple[Raw, int]]:
    lines: list[bytes] = []
    held = before = 0
    while line := file.readline():
        lines.append(line)
        held += len(line)
        if len(lines) == rows or held >= BYTES:
            yield JsonLines(lines), place() - before
            lines, held, before = [], 0, place()
    if lines:
        yield JsonLines(lines), place() - before


def _records(file: TextIO, name: str, rows: int) -> Iterator[tuple[Raw, int]]:
    csv.field_size_limit(_FIELD)
    reader = csv.reader(file, strict=True)
    try:
        header = next(reader, [])
        values: list[list[str]] = []
        held = 0
        for record in reader:
            values.append(record)
            held += sum(map(len, record))
            if len(values) == rows or held >= BYTES:
                yield Records(header, values), held
                values, held = [], 0
        if values:
            yield Records(header, values), held
    except csv.Error as error:
        raise DataError(
            f"{name}:{reader.line_num}: not CSV: {error}",
            help="a quote inside a quoted field is written twice",
        ) from None


def _parquet(file: Input, columns: Sequence[str], rows: int) -> Iterator[tuple[Raw, int]]:
    arrow = pyarrow("pyarrow")
    try:
        # Read ahead, a whole row group would be in memory.
        with pyarrow("pyarrow.parquet").ParquetFile(
            file.path, pre_buffer=False, buffer_size=_BUFFER
        ) as found:
            each = file.size / max(1, found.metadata.num_rows)
            wanted = [name for name in columns if name in found.schema_arrow.names] or None
            for batch in found.iter_batches(_fewer(found.metadata, rows), columns=wanted):
                yield Arrow(batch), round(each * batch.num_rows)
    except (arrow.ArrowInvalid, OSError) as error:
        raise DataError(f"{file.path} is not readable as Parquet: {error}") from None


def _fewer(about: Any, rows: int) -> int:
    """The rows of a slice of Parquet: fewer where the rows of the file are long."""
    size = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
    return max(1, min(rows, BYTES * int(about.num_rows) // max(1, int(size))))


def durable(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all, kept over a crash of the machine."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
    moved(temporary, path)


def moved(temporary: Path, path: Path) -> None:
    """Put a written file in its place, on disk first."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    # Folders cannot be synced everywhere.
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

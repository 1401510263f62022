"""One slice to one Parquet file: the rows that could be used, and those set aside beside it.

write(maker, slice, folder) makes _rejected/part-000007.jsonl and part-000007.parquet, in this order: a part that is
there is whole, and its statistics stand in its metadata.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from templc.data.columns import Columns, Maker, names
from templc.data.counts import Counts, lengths_of
from templc.data.files import durable, moved, pyarrow
from templc.data.lengths import TooLongError
from templc.data.packing import packed, packed_columns
from templc.data.rows import Slice, decoded
from templc.data.settings import DataError, RowError, Settings
from templc.runtime.errors import TemplcError
from templc.runtime.tokens import IGNORED_LABEL

COUNTS = b"templc.counts"
REJECTED = "_rejected"
_TYPES = {"input_ids": "int32", "labels": "int32", "position_ids": "int32", "segment_ids": "int32"}
_TYPES |= {"attention_mask": "int8", "assistant_masks": "int8", "weights": "float32"}


@dataclass(slots=True)
class _Made:
    """What a slice gave so far: examples as columns with the row of each, rejected rows, sums."""

    examples: list[dict[str, list[Any]]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.parquet"


def rejected_path(part: Path) -> Path:
    """The file of the rows of a part that were set aside, in a folder that readers of Parquet pass over."""
    return part.parent / REJECTED / part.with_suffix(".jsonl").name


def counts_of(part: Path) -> Counts:
    """The statistics of a finished part."""
    return Counts.from_json(pyarrow("pyarrow.parquet").read_schema(part).metadata[COUNTS])


def write(maker: Maker, part: Slice, folder: Path) -> Counts:
    """Tokenize a slice into its two files. DataError for a bad row where those stop the run."""
    made = _made(maker, part)
    rows, numbers = _rows(made, maker.settings)
    counts = _counted(made, len(rows))
    path = part_path(folder, part.number)
    lines = [json.dumps(record, ensure_ascii=True) + "\n" for record in made.rejected]
    durable(rejected_path(path), "".join(lines).encode())
    table = _table(rows, numbers, part.file, maker.settings)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    pyarrow("pyarrow.parquet").write_table(
        table.replace_schema_metadata({COUNTS: counts.to_json()}), temporary, compression="zstd"
    )
    moved(temporary, path)
    return counts


def _made(maker: Maker, part: Slice) -> _Made:
    made = _Made()
    read = 0
    for number, row in enumerate(decoded(part.rows), part.first):
        if row is None:
            continue
        read += 1
        try:
            _add(made, maker, number, row)
        except TooLongError as error:
            raise _at(part, number, error) from None
        except Exception as error:
            # A fault of our own in one row must not end the work on millions of others either.
            problem = error if isinstance(error, TemplcError) else RowError(f"a fault: {error!r}")
            if maker.settings.on_error == "stop":
                raise _at(part, number, problem) from error
            made.rejected.append(_record(part, number, problem))
    made.counts = replace(made.counts, rows=read, rejected=len(made.rejected))
    return made


def _add(made: _Made, maker: Maker, number: int, row: object) -> None:
    if isinstance(row, TemplcError):
        raise row
    found = maker.examples(row)
    made.examples += [maker.columns(tokens) for tokens in found.examples]
    made.numbers += [number] * len(found.examples)
    counts = made.counts
    made.counts = replace(
        counts,
        cut=counts.cut + bool(found.cut),
        untrained=counts.untrained + found.untrained,
    )


def _at(part: Slice, number: int, error: TemplcError) -> DataError:
    text, _, cure = str(error).partition("\n  help: ")
    return DataError(f"{part.file}: row {number}: {text}", help=cure)


def _record(part: Slice, number: int, error: TemplcError) -> dict[str, Any]:
    text, _, cure = str(error).partition("\n  help: ")
    return {"file": part.file, "row": number, "reason": text, "help": cure}


def _rows(made: _Made, settings: Settings) -> tuple[list[dict[str, list[Any]]], list[Any]]:
    """The rows to write, and the number of the input row of each (packed: a list of them)."""
    if settings.pack is None:
        return made.examples, made.numbers
    bins = packed([len(row["input_ids"]) for row in made.examples], settings.pack)
    rows = [packed_columns([made.examples[at] for at in chosen]) for chosen in bins]
    return rows, [[made.numbers[at] for at in chosen] for chosen in bins]


def _counted(made: _Made, written: int) -> Counts:
    sizes = [len(row["input_ids"]) for row in made.examples]
    return replace(
        made.counts,
        examples=len(sizes),
        written=written,
        tokens=sum(sizes),
        trained=sum(sizes) - sum(row["labels"].count(IGNORED_LABEL) for row in made.examples),
        longest=max(sizes, default=0),
        lengths=lengths_of(sizes),
    )


def _table(
    rows: list[dict[str, list[Any]]], numbers: list[Any], file: str, settings: Settings
) -> Any:
    """The columns of the ids, then where each row came from: `source_file` and `source_row` (packed: a list)."""
    arrow = pyarrow("pyarrow")
    where = arrow.int64() if settings.pack is None else arrow.list_(arrow.int64())
    made = as_table({name: [row[name] for row in rows] for name in names(settings)}, settings)
    made = made.append_column("source_file", arrow.array([file] * len(rows), arrow.string()))
    return made.append_column("source_row", arrow.array(numbers, where))


def as_table(columns: Columns, settings: Settings) -> Any:
    """Columns of examples as a `pyarrow.Table`, with types that hold whatever the rows are."""
    arrow = pyarrow("pyarrow")
    typed = {
        name: arrow.array(columns[name], arrow.list_(_type(arrow, name)))
        for name in names(settings)
    }
    return arrow.table(typed)


def _type(arrow: Any, name: str) -> Any:
    return getattr(arrow, _TYPES[name])()

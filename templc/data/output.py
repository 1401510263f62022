"""The output while it grows and when it is whole: parts and a manifest in OUT.parts, then the file or folder OUT.

begun(what_it_depends_on, out)   the folder of parts, new or the one of the same run that was interrupted
finish(folder, out, total)       OUT and OUT.rejected.jsonl, each put in place as a whole
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from templc.data.counts import Counts
from templc.data.files import durable, moved, pyarrow
from templc.data.parts import REJECTED, counts_of, part_path, rejected_path
from templc.data.settings import DataError

MANIFEST, LOCK = "_manifest.json", "_lock"
ONE_FILE = ".parquet"


@contextmanager
def begun(run: Mapping[str, Any], out: Path, *, overwrite: bool) -> Iterator[Path]:
    """The folder of parts, held as long as this process lives.

    run: whatever the rows depend on, as JSON has it: parts are kept only where all of it is still the same. DataError
    where OUT is there already, parts of another run are, or another run is at work.
    """
    folder = out.with_name(out.name + ".parts")
    manifest = folder / MANIFEST
    if out.exists() and not overwrite and not manifest.is_file():
        raise DataError(f"{out} exists", help="name another output, or replace it: --overwrite")
    (folder / REJECTED).mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if overwrite:
            manifest.unlink(missing_ok=True)
        if manifest.is_file():
            _require_same(json.loads(manifest.read_bytes()), run, folder)
        else:
            _clear(folder, "part-*.parquet")
            durable(manifest, _json({"run": run}))
        _clear(folder, "*.tmp")
        yield folder


def _clear(folder: Path, pattern: str) -> None:
    for left in folder.rglob(pattern):
        left.unlink(missing_ok=True)


def _require_same(manifest: Mapping[str, Any], run: Mapping[str, Any], folder: Path) -> None:
    earlier = manifest["run"]
    other = sorted(key for key in {*earlier, *run} if earlier.get(key) != run.get(key))
    if other:
        raise DataError(
            f"{folder} holds parts of another run: other {', '.join(other)}",
            help="repeat that command to finish it, or begin anew: --overwrite",
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder. DataError where another run holds it."""
    with (folder / LOCK).open("wb") as file:
        try:
            # Not every system has it; there, two runs at once are the caller's business.
            lock = importlib.import_module("fcntl")
        except ImportError:
            lock = None
        try:
            if lock is not None:
                lock.flock(file, lock.LOCK_EX | lock.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"another run is at work in {folder}", help="wait for it, or name another output"
            ) from None
        yield


def finished_parts(folder: Path) -> set[int]:
    """The numbers of the parts that are there, each of them whole."""
    return {int(path.stem.removeprefix("part-")) for path in folder.glob("part-*.parquet")}


def finish(folder: Path, out: Path, total: int) -> Counts:
    """Put parts 0 to `total` - 1 together in their order, and the sums of their statistics."""
    parts = [part_path(folder, number) for number in range(total)]
    counts = sum((counts_of(part) for part in parts), Counts())
    run = json.loads((folder / MANIFEST).read_bytes())["run"]
    about = {"run": run, "counts": json.loads(counts.to_json())}
    _join_rejected(parts, out)
    if out.suffix == ONE_FILE:
        _join(parts, out, about)
    else:
        listed = [{"file": part.name, "rows": counts_of(part).written} for part in parts]
        durable(folder / MANIFEST, _json({**about, "parts": listed}))
        _remove(out)
        folder.replace(out)
        (out / LOCK).unlink(missing_ok=True)
        shutil.rmtree(out / REJECTED, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    return counts


def rejected_of(out: Path) -> Path:
    """The file of rows that were set aside."""
    name = out.stem if out.suffix == ONE_FILE else out.name
    return out.with_name(name + ".rejected.jsonl")


def _join_rejected(parts: list[Path], out: Path) -> None:
    """One file of all rows set aside; none where there are none."""
    place = rejected_of(out)
    temporary = place.with_name(place.name + ".tmp")
    with temporary.open("wb") as file:
        for part in parts:
            file.write(rejected_path(part).read_bytes())
    if temporary.stat().st_size:
        moved(temporary, place)
    else:
        temporary.unlink()
        place.unlink(missing_ok=True)


def _join(parts: list[Path], out: Path, about: Mapping[str, Any]) -> None:
    parquet = pyarrow("pyarrow.parquet")
    temporary = out.with_name(out.name + ".tmp")
    schema = parquet.read_schema(parts[0]).with_metadata({b"templc": _json(about)})
    with parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for table in _tables(parquet, parts):
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    _remove(out)
    moved(temporary, out)


def _tables(parquet: Any, parts: list[Path]) -> Iterator[Any]:
    for part in parts:
        with parquet.ParquetFile(part) as file:
            table = file.read()
        if table.num_rows:
            yield table


def _remove(out: Path) -> None:
    """Make place: a rename replaces a file, but no folder."""
    if out.is_dir():
        away = out.with_name(f"{out.name}.{os.getpid()}.old")
        out.replace(away)
        shutil.rmtree(away)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()

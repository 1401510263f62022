"""The same work on a Ray cluster, spread by Ray Data (extra `ray`): a function for data sets, and files to files.

    tokenized(ray.data.read_parquet("chats/"), make).write_parquet("out/")

`templc tokenize --engine ray` writes the files that a run on one machine writes; its output folder must be one that
every node of the cluster sees. Which node does what is Ray's business, and so is doing again what a killed worker
left: a part is put in place as a whole, and made twice it is the same.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from templc.data.columns import Maker, columns_of
from templc.data.parts import as_table, write
from templc.data.plan import Plan, Told
from templc.data.rows import length
from templc.data.settings import DataError, Settings
from templc.runtime.renderer import Renderer

INSTALL = 'pip install "templc[ray]"'
BATCH = 512


def tokenized(
    dataset: Any,
    make: Callable[[], Renderer],
    settings: Settings | None = None,
    *,
    workers: int | tuple[int, int] | None = None,
) -> Any:
    """A `ray.data.Dataset` of the examples of `dataset`, in its order, with the columns of `columns_of`.

    make: gives the renderer, bound to its tokenizer; each worker calls it once. workers: how many, or the least and
    the most; None for one a core of the cluster. With `pack`, rows of one batch of 512 are packed together. Bad rows
    stop the run, unless `Settings(on_error="skip")` leaves them out.
    """
    chosen, pool = settings or Settings(on_error="stop"), _pool(workers)
    made = dataset.map_batches(
        _Batches,
        fn_constructor_args=(make, chosen),
        batch_size=BATCH,
        batch_format="pyarrow",
        zero_copy_batch=True,
        compute=pool,
    )
    made.context.execution_options.preserve_order = True
    return made


def spread(plan: Plan, folder: Path, done: set[int], told: Told) -> int:
    """Write every part that is not in `done`; how many parts there are in all.

    DataError for what stops the run; what was written until then stays, and the same call goes on from there.
    """
    _started()
    data = _ray("ray.data")
    # Reading takes no time beside tokenizing, so one task does it, and it waits for no core.
    slices = data.from_items([0], override_num_blocks=1).map_batches(
        _slices, fn_args=(plan, frozenset(done)), batch_size=None, num_cpus=0
    )
    # One slice a block, so that each can go to another worker.
    slices.context.target_max_block_size = 1
    slices.context.enable_progress_bars = False
    parts = slices.map_batches(
        _Parts,
        fn_constructor_args=(plan.make, plan.settings, folder),
        batch_size=1,
        compute=_pool(plan.workers),
    )
    numbers = set(done)
    try:
        for row in parts.iter_rows():
            if row["problem"]:
                raise DataError(row["problem"], help=row["help"])
            numbers.add(int(row["number"]))
            told(int(row["size"]), int(row["rows"]))
    except _ray("ray.exceptions").RayError as error:
        raise DataError(
            f"Ray gave up: {str(error).splitlines()[0]}",
            help="the same command goes on where this one stopped",
        ) from error
    return len(numbers)


def _started() -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine, unless the caller did."""
    ray = _ray("ray")
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(logging_level=logging.ERROR, log_to_driver=False)
    # Ray Data tells of every plan and every error, which is told here too.
    for name in ("ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _pool(workers: int | tuple[int, int] | None) -> Any:
    strategy = _ray("ray.data").ActorPoolStrategy
    if workers is None:
        ray = _ray("ray")
        workers = max(1, int(ray.cluster_resources().get("CPU", 1))) if ray.is_initialized() else 1
    if isinstance(workers, int):
        return strategy(size=workers)
    return strategy(min_size=workers[0], max_size=workers[1])


def _ray(module: str) -> Any:
    """A module of Ray; DataError where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError("this needs Ray, which is not installed", help=INSTALL) from None


# in the workers


class _Batches:
    """Rows to examples."""

    def __init__(self, make: Callable[[], Renderer], settings: Settings) -> None:
        self._settings = settings
        self._columns = columns_of(make(), settings=settings)

    def __call__(self, batch: Any) -> Any:
        return as_table(self._columns(batch.to_pydict()), self._settings)


def _slices(batch: Any, plan: Plan, done: frozenset[int]) -> Iterator[dict[str, list[Any]]]:
    """The slices of the input that are not done, one at a time."""
    for part in plan.slices():
        if part.number not in done:
            yield {"slice": [pickle.dumps(part)]}


class _Parts:
    """Slices to files."""

    def __init__(self, make: Callable[[], Renderer], settings: Settings, folder: Path) -> None:
        self._maker, self._folder = Maker(make(), settings), folder

    def __call__(self, batch: Any) -> dict[str, list[Any]]:
        part = pickle.loads(batch["slice"][0])
        try:
            write(self._maker, part, self._folder)
            problem = ("", "")
        except DataError as error:
            # Told as a row: what is raised here comes back as text, wrapped in Ray's own errors.
            problem = (error.message, error.help)
        return {
            "number": [part.number],
            "size": [part.size],
            "rows": [length(part.rows)],
            "problem": [problem[0]],
            "help": [problem[1]],
        }

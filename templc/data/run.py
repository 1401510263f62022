"""A data set on all cores: slices of rows go to processes, each of which writes its own part; a kill loses nothing.

run(Plan(inputs("chats.jsonl"), Path("out.parquet"), make, Settings()))     Counts(rows=..., tokens=...)

A part that is there is whole and is not made again. Few slices are on their way at a time, so memory does not depend
on the length of the input.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path

from templc.data.columns import Maker
from templc.data.counts import Counts
from templc.data.output import begun, finish, finished_parts
from templc.data.parts import write
from templc.data.plan import Plan, Told
from templc.data.rows import Slice, length
from templc.data.settings import DataError, Settings
from templc.runtime.renderer import Renderer

# Slices on their way for each process: one at work, one waiting.
WAITING = 2


def run(plan: Plan, told: Told = lambda size, rows: None) -> Counts:
    """Tokenize everything, or what an interrupted run left; the statistics of the whole output.

    told: called with the bytes and rows of each slice that is done. DataError for an input without rows, for bad
    rows where they stop the run, and for an output that is in the way.
    """
    maker = Maker(plan.make(), plan.settings)
    with begun(plan.identity(maker.renderer), plan.out, overwrite=plan.overwrite) as folder:
        if plan.engine == "ray":
            from templc.data import ray

            total = ray.spread(plan, folder, finished_parts(folder), told)
            return finish(folder, plan.out, _some(total))
        wanted = _Missing(plan.slices(), finished_parts(folder), told)
        _make_all(plan, maker, folder, wanted, told)
        return finish(folder, plan.out, _some(wanted.total))


def _some(parts: int) -> int:
    """The number of parts; DataError for none."""
    if not parts:
        raise DataError("the input has no rows")
    return parts


def _make_all(plan: Plan, maker: Maker, folder: Path, wanted: Iterator[Slice], told: Told) -> None:
    """Here where one process is asked for or there is little to do, else in processes."""
    first = list(itertools.islice(wanted, WAITING))
    workers = plan.workers or os.cpu_count() or 1
    if workers > 1 and len(first) == WAITING:
        _spread(plan, folder, itertools.chain(first, wanted), workers, told)
        return
    for part in itertools.chain(first, wanted):
        write(maker, part, folder)
        told(part.size, length(part.rows))


class _Missing(Iterator[Slice]):
    """The slices that are not done yet; `total` counts all that were passed."""

    def __init__(self, found: Iterator[Slice], done: set[int], told: Told) -> None:
        self._found, self._done, self._told = found, done, told
        self.total = 0

    def __next__(self) -> Slice:
        for part in self._found:
            self.total += 1
            if part.number not in self._done:
                return part
            self._told(part.size, length(part.rows))
        raise StopIteration


def _spread(plan: Plan, folder: Path, parts: Iterator[Slice], workers: int, told: Told) -> None:
    # Started anew, not forked: a copy of a process with threads may stop for ever.
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start, (plan.make, plan.settings)
    )
    flying: dict[Future[Counts], Slice] = {}
    try:
        for part in parts:
            flying[pool.submit(_work, part, folder)] = part
            if len(flying) >= workers * WAITING:
                _land(flying, told)
        while flying:
            _land(flying, told)
    except BrokenProcessPool:
        raise DataError(
            "a process was killed, perhaps for want of memory",
            help="the same command goes on where this one stopped; --workers 1 needs the least memory",
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _land(flying: dict[Future[Counts], Slice], told: Told) -> None:
    """Wait for at least one slice; what it raised is raised here."""
    for future in wait(flying, return_when=FIRST_COMPLETED).done:
        part = flying.pop(future)
        future.result()
        told(part.size, length(part.rows))


# in the processes

_makers: list[Maker] = []


def _start(make: Callable[[], Renderer], settings: Settings) -> None:
    # Ctrl-C is for the parent, which ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _makers[:] = [Maker(make(), settings)]


def _end_with_parent() -> None:
    """A killed parent says nothing to its processes: they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


def _work(part: Slice, folder: Path) -> Counts:
    return write(_makers[0], part, folder)

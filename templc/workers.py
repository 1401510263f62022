"""Work on many specs at once: one process a core, results in the order of the jobs.

spread(prove_one, jobs, progress)      [prove_one(job) for job in jobs], with the finished ones counted
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Literal, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
FEW = 4


def spread(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """The result of every job. `work` is a function of a module, jobs and results can be pickled.

    A few jobs are done here, since processes take longer to start. What a job raises is raised, the first one's first.
    """
    cores = min(os.cpu_count() or 1, len(jobs))
    if cores < 2 or len(jobs) < FEW:
        return [_counted(work(job), number, progress) for number, job in enumerate(jobs, 1)]
    context = multiprocessing.get_context(_method())
    with ProcessPoolExecutor(cores, context, initializer=_rarely_collect) as pool:
        futures = [pool.submit(work, job) for job in jobs]
        for done, _ in enumerate(as_completed(futures), 1):
            progress(done)
        return [future.result() for future in futures]


def _method() -> Literal["fork", "spawn"]:
    """A copy of this process has all modules at once, but one of a process with threads may stop for ever."""
    threads = Path("/proc/self/task")
    alone = threads.is_dir() and len(list(threads.iterdir())) == 1
    return "fork" if alone else "spawn"


def _rarely_collect() -> None:
    """Proofs make millions of small values without cycles: looking for some takes a tenth of the time."""
    gc.set_threshold(200_000, 50, 100)


def _counted(result: Result, done: int, progress: Callable[[int], None]) -> Result:
    progress(done)
    return result

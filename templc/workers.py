"""Work on many specs at once: one process a core, results in the order of the jobs.

spread(prove_one, jobs, progress)      [prove_one(job) for job in jobs], with the finished ones counted
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
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
    alike: Callable[[Job], object] = id,
) -> list[Result]:
    """The result of every job. `work` is a function of a module, jobs and results can be pickled.

    alike: the same for jobs that one process does in a row, since each remembers what helps the next. A few jobs are
    done here, since processes take longer to start. What a job raises is raised.
    """
    if len(jobs) < FEW or _cores(jobs) < 2:
        return [_counted(work(job), number, progress) for number, job in enumerate(jobs, 1)]
    groups: dict[object, list[int]] = {}
    for at, job in enumerate(jobs):
        groups.setdefault(alike(job), []).append(at)
    with _pool(jobs) as pool:
        # The largest first, so that no process is left alone with one at the end.
        places = sorted(groups.values(), key=len, reverse=True)
        futures = {pool.submit(_each, work, [jobs[at] for at in group]): group for group in places}
        found: dict[int, Result] = {}
        for future in as_completed(futures):
            found.update(zip(futures[future], future.result(), strict=True))
            progress(len(found))
        return [found[at] for at in range(len(jobs))]


def _each(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    return [work(job) for job in jobs]


def finished(work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """The results of jobs that take long, each as soon as it is there."""
    if _cores(jobs) < 2:
        yield from map(work, jobs)
        return
    with _pool(jobs) as pool:
        for future in as_completed([pool.submit(work, job) for job in jobs]):
            yield future.result()


def _cores(jobs: Sequence[object]) -> int:
    """How many processes help: one for each core that this one may use."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(own or 1, len(jobs))


def _pool(jobs: Sequence[object]) -> ProcessPoolExecutor:
    context = multiprocessing.get_context(_method())
    return ProcessPoolExecutor(_cores(jobs), context, initializer=_rarely_collect)


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

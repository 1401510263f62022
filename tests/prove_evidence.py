"""The large runs of the proof's evidence: conversations up to length 4, extensions up to 2, every option.

    python -m tests.prove_evidence [--format qwen3 ...] [--old 4] [--new 2] [--shapes u,a,a.r,t.id]

For each format and options it prints how many extensions were tried, how many predictions were wrong, and what is
wrong with cells: stable ones that broke, refused ones that never did; and what the checkers find wrong with the
certificate. All cores work; the last lines say how long each format took.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from templc.cli.console import progress
from templc.proof.certificate import certificate
from templc.proof.recheck import recheck
from templc.proof.recheck_if import recheck_conditions
from templc.proof.stability import prove
from templc.workers import finished
from tests.support.formats import FORMATS, option_sets, program
from tests.support.proof_truth import SMALL, agreed, cell_errors, check, sampled_by

SHOWN = 5


class Job(NamedTuple):
    """One format with one setting of its options, and how long its conversations and extensions are."""

    name: str
    options: Mapping[str, Any]
    old: int
    new: int
    shapes: tuple[str, ...]


class Found(NamedTuple):
    """What one job found; `seconds` of processor time."""

    job: Job
    total: int
    wrong: list[str]
    seconds: float


def run(job: Job) -> Found:
    """Hold the proof of one setting against every conversation of the job."""
    begin = time.process_time()
    stability = prove(program(job.name), job.options)
    render, sampled = agreed(job.name, job.options), sampled_by(job.name, job.options)
    tally = check(stability, render, job.shapes, old=job.old, new=job.new, sampled=sampled)
    wrong = [*tally.wrong, *cell_errors(stability, tally)]
    if stability.names is not None:
        known = certificate(stability)
        wrong += [*recheck(program(job.name), known), *recheck_conditions(program(job.name), known)]
    return Found(job, tally.total, wrong, time.process_time() - begin)


def main() -> int:
    """Print one line for each run, then one for each format; 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=FORMATS, nargs="+", default=FORMATS, metavar="FORMAT")
    parser.add_argument("--old", type=int, default=4)
    parser.add_argument("--new", type=int, default=2)
    parser.add_argument("--shapes", default=",".join(SMALL))
    given = parser.parse_args()
    shapes = tuple(given.shapes.split(","))
    jobs = [
        Job(name, options, given.old, given.new, shapes)
        for name in given.format
        for options in option_sets(name)
    ]
    seconds, totals = dict.fromkeys(given.format, 0.0), Counter[str]()
    wrong = 0
    with progress(len(jobs), "rendering") as done:
        for number, found in enumerate(finished(run, jobs), 1):
            done(number)
            name = found.job.name
            seconds[name] += found.seconds
            totals[name] += found.total
            wrong += len(found.wrong)
            counts = f"{found.total:,} extensions, {len(found.wrong)} wrong, {found.seconds:.0f} s"
            print(f"{name:24} {dict(found.job.options)} {counts}", flush=True)
            for error in found.wrong[:SHOWN]:
                print(f"    {error}", flush=True)
    for name in given.format:
        print(f"{name:24}{totals[name]:>15,} extensions{seconds[name]:>8.0f} s")
    took = sum(seconds.values())
    print(f"{sum(totals.values()):,} extensions, {wrong} wrong, {took:.0f} s of processor time")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

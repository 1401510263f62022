"""The large runs of the proof's evidence: conversations up to length 4, extensions up to 2, every option.

    python -m tests.prove_evidence [--format qwen3] [--old 4] [--new 2] [--shapes u,a,a.r,t.id]

For each format and options it prints how many extensions were tried, how many predictions were wrong, and what is
wrong with cells: stable ones that broke, refused ones that never did.
"""

from __future__ import annotations

import argparse
import sys
import time

from templc.proof.stability import prove
from tests.support.formats import FORMATS, option_sets, program
from tests.support.proof_truth import SMALL, agreed, cell_errors, check, sampled_by


def main() -> int:
    """Print one line for each run; 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=FORMATS)
    parser.add_argument("--old", type=int, default=4)
    parser.add_argument("--new", type=int, default=2)
    parser.add_argument("--shapes", default=",".join(SMALL))
    given = parser.parse_args()
    total = wrong = 0
    for name in [given.format] if given.format else FORMATS:
        for options in option_sets(name):
            begin = time.perf_counter()
            stability = prove(program(name), options)
            render, sampled = agreed(name, options), sampled_by(name, options)
            shapes = given.shapes.split(",")
            tally = check(stability, render, shapes, old=given.old, new=given.new, sampled=sampled)
            errors = [*tally.wrong, *cell_errors(stability, tally)]
            total, wrong = total + tally.total, wrong + len(errors)
            took = time.perf_counter() - begin
            print(
                f"{name:20} {options} {tally.total} extensions, {len(errors)} wrong, {took:.0f} s"
            )
            for error in errors[:5]:
                print(f"    {error}")
    print(f"{total} extensions, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

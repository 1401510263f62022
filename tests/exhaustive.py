"""Every small conversation: published template, interpreter and generated class must agree.

`python -m tests.exhaustive [--format F] [--length 4]` runs the full product (lengths 1 to 2 of all shapes, 3 of the
core ones, 4 of a smaller core); the test runs a sample of the last two.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import templc
from templc.ir.interpret import Interpreter
from templc.verify import CORE, SHAPES, TOOLS, Case, Report, compare, conversations, crossed
from tests.support.formats import REFERENCED, option_sets, program, reference

SMALL = CORE[:8]
"""For length 4: a user, answers with and without reasoning and calls, results, a system message."""


def cases(options: Mapping[str, Any], length: int, *, every: int = 1) -> Iterator[Case]:
    """Conversations up to `length` with every tool list and prompt; of lengths 3 and 4 each `every`-th one."""
    for size, shapes in zip(range(1, length + 1), (SHAPES, SHAPES, CORE, SMALL), strict=False):
        found = crossed(
            conversations(size, shapes),
            tools=TOOLS if size < 3 else TOOLS[::3],
            options=[dict(options)],
        )
        yield from itertools.islice(found, 0, None, every if size > 2 else 1)


def check(name: str, options: Mapping[str, Any], given: Iterable[Case]) -> tuple[Report, Report]:
    """Generated class and interpreter against the published template."""
    listed = list(given)
    generated = templc.get_renderer(name, unsupported="as_template", **options)
    interpreted = Interpreter(program(name), True, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            compare(generated, reference(name), listed, with_options=lambda **_: generated),
            compare(interpreted, reference(name), listed, with_options=lambda **_: interpreted),
        )


def main() -> None:
    """Run the full product and print one line for each format and option set."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=REFERENCED)
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    for name in [given.format] if given.format else REFERENCED:
        for options in option_sets(name):
            begin = time.perf_counter()
            reports = check(name, options, cases(options, given.length, every=given.every))
            counts = {str(key): value for key, value in reports[0].counts.items() if value}
            ok = all(report.ok for report in reports)
            print(
                f"{name:18} {options} {counts} {'ok' if ok else 'DIFFERENT'} {time.perf_counter() - begin:.0f} s"
            )
            for report in reports:
                if not report.ok:
                    print(report.as_text())


if __name__ == "__main__":
    main()

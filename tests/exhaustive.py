"""Every small conversation: published template, interpreter and generated class must agree.

The whole product, minutes a format:

    python -m tests.exhaustive [--format F] [--length 4]

The test runs `sample`, which reaches every pair of shapes, every triple of the core shapes, and many quadruples.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from templc.verify import (
    CORE,
    SHAPES,
    TOOLS,
    Case,
    Recorded,
    Report,
    compare,
    conversations,
    crossed,
)
from templc.verify.report import Outcome
from tests.support import declared
from tests.support.deviations import APART
from tests.support.formats import REFERENCED, interpreter, option_sets, program, reference, renderer

SOME_TOOLS = (None, TOOLS[3])
"""No tools, and two of which one is nested."""
# Primes, so that steps through the product meet every combination of shape, tools and prompt.
STEP_3, STEP_4 = 3, 149
Texts = dict[str, str]


def product(options: Mapping[str, Any], length: int) -> Iterator[Case]:
    """Conversations up to `length`: every shape up to 2, core shapes beyond; with and without tools and prompt."""
    for size in range(1, length + 1):
        shapes, tools = (SHAPES, TOOLS) if size <= 2 else (CORE, SOME_TOOLS)
        yield from crossed(conversations(size, shapes), tools=tools, options=[options])


def sample(options: Mapping[str, Any]) -> Iterator[Case]:
    """Up to length 2 of every shape; of the core shapes a third of the cases of length 3, and some of length 4."""
    yield from product(options, 1)
    for size, shapes, step in ((2, SHAPES, 1), (3, CORE, STEP_3), (4, CORE, STEP_4)):
        cases = crossed(conversations(size, shapes), tools=SOME_TOOLS, options=[options])
        yield from itertools.islice(cases, 0, None, step)


def pairs(options: Mapping[str, Any]) -> Iterator[Case]:
    """Up to length 2 of the core shapes."""
    for size in (1, 2):
        yield from crossed(conversations(size, CORE), tools=SOME_TOOLS, options=[options])


def text_options(name: str) -> Texts:
    """A value for every option that is a text."""
    options = program(name).options.items()
    return {key: f"{key} é" for key, option in options if option.type == "text"}


def check(
    name: str, options: Mapping[str, Any], cases: Iterable[Case], *, declared_too: bool = False
) -> dict[str, Report]:
    """Generated class and interpreter against the published template, all with the same options.

    declared_too: also the conversations that are declared to differ.
    """
    given = [case for case in cases if declared_too or not apart(name, case)]
    published = Recorded(reference(name))
    ours: dict[str, Any] = {
        "generated": renderer(name, unsupported="as_template", **options),
        "interpreted": interpreter(name, options),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            kind: compare(one, published, given, with_options=lambda one=one, **_: one)
            for kind, one in ours.items()
        }


def apart(name: str, case: Case) -> bool:
    """Whether it is declared that this conversation differs: Mistral's tools, by messages that are equal."""
    if case.tools is None or name not in APART["equal_users"]:
        return False
    users = [
        {key: value for key, value in message.items() if value is not None}
        for message in case.messages
        if message["role"] == "user"
    ]
    return any(message == users[-1] for message in users[:-1])


def undeclared(name: str, report: Report) -> int:
    """How many cases are neither equal nor refused by both, nor declared with a reason."""
    excused = 0
    for (outcome, reason), number in report.reasons.items():
        fine = outcome is Outcome.WE_REFUSE and declared.refusal(name, reason)
        fine |= outcome is Outcome.TEMPLATE_RAISES and declared.superset(name, reason)
        excused += number if fine else 0
    return report.mismatches - excused


def main() -> int:
    """Run the product and print one line for each format and set of options; 1 where something differs."""
    parser = argparse.ArgumentParser(description="compare every small conversation")
    parser.add_argument("--format", choices=REFERENCED, help="only this one")
    parser.add_argument("--length", type=int, default=4, help="of the longest conversations")
    given = parser.parse_args()
    different = 0
    for name in [given.format] if given.format else REFERENCED:
        for options in option_sets(name):
            begin = time.perf_counter()
            reports = check(name, options, product(options, given.length))
            took = time.perf_counter() - begin
            print(f"{name} {options or ''}: {reports['generated'].total:,} in {took:.0f} s")
            for kind, report in reports.items():
                if undeclared(name, report):
                    different = 1
                    print(kind, report.as_text())
    return different


if __name__ == "__main__":
    sys.exit(main())

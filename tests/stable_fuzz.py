"""Random conversations against the stability table: what is called stable never breaks.

    python -m tests.stable_fuzz [--format qwen3 ...] [--examples 100000]

Hypothesis draws hostile conversations. At every place where one can be cut, the published template (the generated
class where none is published) renders both parts, and the verdict of the cell and the exact answer for these messages
are held against what happened. One line a format; a break is shrunk to a smallest conversation and shown.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from templc.proof.stability import Stability, prove
from templc.runtime.errors import MessageError
from tests.support.formats import FORMATS, MISSION, program
from tests.support.proof_truth import Render, agreed
from tests.support.strategies import Messages, conversations

LONGEST = 6
# Drawing costs more than rendering, so the messages of each drawn conversation are put together anew.
SHUFFLES = 9


@dataclass(slots=True)
class Tally:
    """conversations: with an extension that the format accepts. stable: extensions in stable cells."""

    conversations: int = 0
    extensions: int = 0
    stable: int = 0


def search(name: str, options: Mapping[str, Any], examples: int) -> Tally:
    """Try this many conversations; AssertionError with a smallest one where a verdict is false."""
    stability, render, tally = prove(program(name), options), agreed(name, options), Tally()

    @settings(
        max_examples=-(-examples // (SHUFFLES + 1)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(conversations(max_size=LONGEST), st.integers(0, 2**32))
    def each(messages: Messages, seed: int) -> None:
        dice = random.Random(seed)
        _cut_everywhere(stability, render, messages, tally)
        for _ in range(SHUFFLES):
            mixed = dice.choices(messages, k=dice.randint(2, LONGEST))
            _cut_everywhere(stability, render, mixed, tally)

    each()
    return tally


def _cut_everywhere(stability: Stability, render: Render, messages: Messages, tally: Tally) -> None:
    before = tally.extensions
    for size in range(1, len(messages)):
        whole = messages[: size + 1]
        old, new = render(messages[:size], False), render(whole, False)
        if old is None or new is None:
            continue
        try:
            said = stability.decide(messages[:size], messages[size : size + 1])
        except MessageError:
            continue
        cell = stability.at(messages[size - 1]["role"], messages[size]["role"])
        tally.extensions += 1
        tally.stable += cell.verdict == "stable"
        kept = new.startswith(old)
        assert kept or cell.verdict != "stable", (cell.place, whole)
        assert kept or not said, ("decided to be stable", cell.place, whole)
    tally.conversations += tally.extensions > before


def main() -> int:
    """Print a line a format; 1 where a verdict is false."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=FORMATS, nargs="+", default=MISSION)
    parser.add_argument("--examples", type=int, default=100_000, help="conversations to draw")
    given_ = parser.parse_args()
    wrong = 0
    for name in given_.format:
        begin = time.perf_counter()
        try:
            tally = search(name, {}, given_.examples)
        except AssertionError as broken:
            wrong += 1
            print(f"{name}: {broken}", flush=True)
            continue
        print(
            f"{name:20} {tally.conversations:,} conversations, {tally.extensions:,} extensions, "
            f"{tally.stable:,} in stable cells, 0 broken, {time.perf_counter() - begin:.0f} s",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

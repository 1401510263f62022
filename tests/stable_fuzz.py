"""Random conversations against the stability table: what is called stable never breaks.

    python -m tests.stable_fuzz [--format qwen3 ... | --all] [--examples 100000]

Hypothesis draws hostile conversations, and each is grown into more of their messages. At every place where one can
be cut, the published template (the generated class where none is published) renders both parts, and the verdict of
the cell and the exact answer for these messages are held against what happened. One line a format; a break is shrunk
to a smallest conversation and shown.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from templc.cli.console import progress
from templc.proof.stability import Stability, prove
from templc.workers import finished
from tests.support.formats import FORMATS, MISSION, program
from tests.support.grown import Node, Raw, Render, Tree
from tests.support.proof_truth import agreed, published_alone
from tests.support.strategies import (
    Allow,
    Messages,
    assistants,
    conversations,
    plain_messages,
    results,
)

LONGEST = 6
# Drawing costs more than rendering, so each drawn conversation is grown into so many more, made of its messages and of
# these others, one of each role that most formats take, in at most so many tries.
GROWN = 50
TRIES = 4 * GROWN
OTHERS = st.tuples(
    plain_messages("user", Allow()),
    assistants(Allow(), 100, False),
    assistants(Allow(), 110),
    results(Allow()),
).map(list)
# Draws of one run of Hypothesis; they are repeated until there are enough conversations.
BATCH = 250


@dataclass(slots=True)
class Tally:
    """conversations: of two messages or more, all different within a draw, each held against the one it goes on from.

    stable: how many of them go on in a stable cell. draws: what they were grown from.
    """

    conversations: int = 0
    stable: int = 0
    draws: int = 0


class Broken(NamedTuple):
    """A conversation whose last message changes what stands before it, where that was called stable.

    verdict: of the cell; where that is not `stable`, it is the exact answer that was wrong.
    """

    place: tuple[str, str]
    messages: tuple[Raw, ...]
    verdict: str


def search(name: str, options: Mapping[str, Any], examples: int) -> Tally:
    """Try this many conversations; AssertionError with a smallest one where a verdict is false.

    Fewer only where a whole batch of draws held none that the format accepts.
    """
    stability, tally = prove(program(name), options), Tally()
    renders = published_alone(name, options), agreed(name, options)
    for number in itertools.count():
        before = tally.conversations
        left = -(-(examples - before) // GROWN)
        _batch(number, max(10, min(BATCH, left)), stability, renders, tally)
        if tally.conversations >= examples or tally.conversations == before:
            return tally
    raise AssertionError("unreachable")


def _batch(
    number: int, draws: int, stability: Stability, renders: tuple[Render, Render], tally: Tally
) -> None:
    """The conversations of some draws, the same ones for the same number."""

    @seed(number)
    @settings(
        max_examples=draws,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(conversations(max_size=LONGEST), OTHERS, st.integers(0, 2**32))
    def each(messages: Messages, others: Messages, mixing: int) -> None:
        tree = Tree(stability, renders[0], [*messages, *others])
        tally.draws += 1
        pairs = _grown(tree, len(messages), random.Random(mixing))
        found = (_broken(stability, renders[1], old, new, tally) for old, new in pairs)
        broken = next(filter(None, found), None)
        assert broken is None, _smallest(broken, stability, renders)

    each()


def _grown(tree: Tree, drawn: int, dice: random.Random) -> Iterator[tuple[Node, Node]]:
    """The drawn conversation and others of the tree, by pairs of one and what it becomes with one more message.

    Every beginning of a conversation is one of them, so each place where it can be cut is looked at, and once.
    """
    nodes = tree.path(range(drawn))
    yield from pairwise(nodes)
    enough = len(nodes) + GROWN
    for _ in range(TRIES):
        old, at = dice.choice(nodes), dice.randrange(len(tree.raw))
        if len(old.raw) < LONGEST and at not in old.below:
            new = tree.grown(old, at)
            if new is not None:
                nodes.append(new)
                yield old, new
        if len(nodes) == enough:
            return


def _broken(
    stability: Stability, truth: Render, old: Node, new: Node, tally: Tally
) -> Broken | None:
    """What the verdict of the cell, or the exact answer, says wrongly of two renders.

    truth: the render where the format agrees with its template; only what is broken asks for it.
    """
    size = len(old.raw)
    first, whole = (old.text(), new.text()) if size else (None, None)
    if first is None or whole is None:
        return None
    cell = stability.at(new.word[size - 1].role, new.word[size].role)
    tally.conversations += 1
    tally.stable += cell.verdict == "stable"
    if whole.startswith(first):
        return None
    wrong = cell.verdict == "stable" or stability.kept(new.word, size)
    if not wrong or truth(old.raw, False) is None or truth(new.raw, False) is None:
        return None
    return Broken(cell.place, new.raw, cell.verdict)


def _smallest(broken: Broken, stability: Stability, renders: tuple[Render, Render]) -> Broken:
    """Hypothesis makes the messages small; which of them are needed is found by leaving out one after the other."""
    at = 0
    while at < len(broken.messages):
        fewer = (*broken.messages[:at], *broken.messages[at + 1 :])
        nodes = Tree(stability, renders[0], fewer).path(range(len(fewer)))
        whole = len(nodes) > len(fewer) > 1
        less = whole and _broken(stability, renders[1], nodes[-2], nodes[-1], Tally())
        broken, at = (less, 0) if less else (broken, at + 1)
    return broken


def _searched(job: tuple[str, int]) -> tuple[str, Tally | None, str, float]:
    """A format with what was tried, or with what is wrong, and the seconds that it took."""
    name, examples = job
    begin = time.perf_counter()
    try:
        return name, search(name, {}, examples), "", time.perf_counter() - begin
    except AssertionError as broken:
        return name, None, str(broken), time.perf_counter() - begin


def _line(name: str, tally: Tally | None, broken: str, took: float) -> str:
    if tally is None:
        return f"{name:24} BROKEN: {broken}"
    counts = (tally.conversations, tally.stable, tally.draws)
    return f"{name:24}{''.join(f'{count:>15,}' for count in counts)}{took:>8.0f} s"


def main() -> int:
    """Print a line a format; 1 where a verdict is false."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--format", choices=FORMATS, nargs="+", default=MISSION, metavar="FORMAT")
    parser.add_argument("--all", action="store_true", help="every shipped format, all cores")
    parser.add_argument("--examples", type=int, default=100_000, help="conversations to try")
    given_ = parser.parse_args()
    names = FORMATS if given_.all else tuple(given_.format)
    heads = ("conversations", "in stable cells", "draws")
    print(f"{'format':24}{''.join(f'{head:>15}' for head in heads)}{'time':>10}", flush=True)
    jobs, wrong, total = [(name, given_.examples) for name in names], 0, 0
    with progress(len(jobs), "searching") as done:
        for number, found in enumerate(finished(_searched, jobs), 1):
            done(number)
            print(_line(*found), flush=True)
            total += found[1].conversations if found[1] else 0
            wrong += found[1] is None
    print(f"{len(names)} formats, {total:,} conversations, {wrong} broken")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

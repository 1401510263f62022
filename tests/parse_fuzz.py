"""Random and mutated completions, over all formats: `python -m tests.parse_fuzz [COUNT] [--laws] [--format NAME]`.

Each one must be read without an exception, with every token in exactly one span, and alike when it is fed in pieces.
COUNT is shared out among the formats, a million by default; `--seconds` ends earlier, `--workers` runs formats side
by side. `--laws` takes every small message of every format instead, rendered and read back.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from templc.runtime.codec import codec_of
from tests.support.responses import TOOLS, Case, cases, formats, small_messages

BATCH = 500


@dataclass(frozen=True)
class Read:
    """What one batch came to: completions read, tokens in them, and the first that was read wrongly."""

    name: str
    count: int
    tokens: int
    wrong: str = ""


def covered(spans: tuple[tuple[int, int, str], ...], size: int) -> bool:
    """Whether the spans hold every token once, in order."""
    return [0, *(end for _, end, _ in spans)] == [*(start for start, _, _ in spans), size]


def pools(case: Case) -> tuple[list[int], list[list[int]]]:
    """The control tokens of a format, and completions to mutate."""
    codec = codec_of(case.tokenizer)
    info = case.renderer.info
    ids = [codec.token_id(text) for text in (*info.specials, *info.markers)]
    found = [
        case.completion(item) for item in itertools.islice(small_messages(case.renderer), 0, 400, 7)
    ]
    return [token for token in ids if token is not None], [item.ids for item in found if item] or [
        [1]
    ]


def drawn_ids(random_: random.Random, controls: list[int], seeds: list[list[int]]) -> list[int]:
    """A completion: tokens at random, or a good one with some taken out, doubled or replaced."""
    extra = [*controls, *random_.sample(range(3000), 3)]
    if random_.random() < 0.3:
        return random_.choices([*extra, random_.randrange(200000)], k=random_.randrange(24))
    ids = list(random_.choice(seeds))
    for _ in range(random_.randint(1, 5)):
        at = random_.randrange(len(ids) + 1)
        ids[at : at + random_.randint(0, 3)] = random_.choices(extra, k=random_.randint(0, 2))
    return ids


@functools.cache
def prepared(name: str) -> tuple[Case, list[int], list[int], list[list[int]]]:
    """A conversation of a format, its prompt, control tokens and completions to mutate."""
    case = next(cases(name))
    return case, case.prompt(), *pools(case)


def fuzz(name: str, count: int, seed: int) -> Read:
    """Read `count` completions of a format, up to the first that is read wrongly."""
    random_ = random.Random(f"{name} {seed}")
    case, prompt, controls, seeds = prepared(name)
    tokens = 0
    for number in range(count):
        ids = drawn_ids(random_, controls, seeds)
        tokens += len(ids)
        try:
            good = read_well(case, prompt, ids, streamed=number % 10 == 0)
        except Exception as error:
            return Read(name, number, tokens, f"{type(error).__name__}: {error} for {ids}")
        if not good:
            return Read(name, number, tokens, f"wrong spans or another result in pieces for {ids}")
    return Read(name, count, tokens)


def read_well(case: Case, prompt: list[int], ids: list[int], *, streamed: bool) -> bool:
    """Whether a completion is read with every token in one span, and alike by the machine, whole or by tokens."""
    parsed = case.renderer.parse(ids, prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
    # Rendering again is put off until somebody asks, and must not fail then either.
    if parsed.canonical not in (True, False) or not covered(parsed.spans, len(ids)):
        return False
    parser = case.renderer.parser(prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
    for piece in ids if streamed else [ids]:
        parser.feed(piece)
    return parser.finish() == parsed


def laws(name: str) -> tuple[int, list[object]]:
    """How many small messages were rendered and read back, and those that came back otherwise."""
    count, wrong = 0, []
    for case in cases(name):
        prompt = case.prompt()
        for item in small_messages(case.renderer):
            completion = case.completion(item)
            if completion is None:
                continue
            count += 1
            parsed = case.renderer.parse(
                completion.ids, prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer
            )
            found = (parsed.message["content"], parsed.message.get("reasoning_content", ""))
            good = found == (completion.content, completion.reasoning) and parsed.status == "ok"
            if not (good and parsed.canonical and parsed.differs is None):
                wrong.append((case.renderer, completion.text))
    return count, wrong


def batches(names: list[str], count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Name, size and seed of each batch, the formats in turn, so that an early end has read of all of them."""
    each = -(-count // len(names))
    for start in range(0, each, BATCH):
        for name in names:
            yield name, min(BATCH, each - start), seed * 1_000_000 + start


def run_fuzz(names: list[str], given: argparse.Namespace) -> list[Read]:
    """Every batch, with a progress bar; stops handing out more when the time is over."""
    found: list[Read] = []
    end = time.monotonic() + given.seconds
    todo = batches(names, given.count, given.seed)
    total = -(-given.count // len(names)) * len(names)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        ProcessPoolExecutor(given.workers) as pool,
        Progress(*columns, TimeRemainingColumn()) as progress,
    ):
        bar = progress.add_task("completions", total=total)
        running = {pool.submit(fuzz, *one) for one in itertools.islice(todo, given.workers * 2)}
        while running:
            done = next(as_completed(running))
            running.remove(done)
            found.append(done.result())
            progress.advance(bar, found[-1].count)
            more = [] if time.monotonic() > end else itertools.islice(todo, 1)
            running |= {pool.submit(fuzz, *one) for one in more}
    return found


def summary(found: list[Read], seconds: float) -> str:
    """The numbers of a run, and what was read wrongly."""
    count, tokens = sum(one.count for one in found), sum(one.tokens for one in found)
    wrong = [f"{one.name}: {one.wrong}" for one in found if one.wrong]
    names = len({one.name for one in found})
    head = f"{count:,} completions of {names} formats, {tokens:,} tokens, {seconds:.0f} s"
    return "\n".join([f"{head}, {len(wrong)} read wrongly", *wrong[:10]])


def main(argv: list[str]) -> int:
    """Run it; 1 where something is read wrongly."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("count", nargs="?", type=int, default=1_000_000)
    options.add_argument("--laws", action="store_true")
    options.add_argument("--format", action="append")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seconds", type=float, default=float("inf"))
    given = options.parse_args(argv)
    names = given.format or formats()
    start = time.monotonic()
    if not given.laws:
        found = run_fuzz(names, given)
        print(summary(found, time.monotonic() - start), flush=True)
        return int(any(one.wrong for one in found))
    bad = False
    for name in names:
        count, wrong = laws(name)
        bad = bad or bool(wrong)
        print(f"{name}: {count} messages, {len(wrong)} wrong", *wrong[:1], flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

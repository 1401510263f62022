"""Random and mutated completions, over all formats: `python -m tests.parse_fuzz [COUNT] [--laws] [--format NAME]`.

Each one must be read without an exception, with every token in exactly one span, and alike when it is fed in pieces.
`--laws` takes every small message of every format instead, rendered and read back.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

from templc.runtime.codec import codec_of
from tests.support.responses import TOOLS, Case, cases, formats, small_messages


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


def fuzz(name: str, count: int, seed: int) -> None:
    """Read `count` completions of a format; AssertionError with the one that is read wrongly."""
    random_ = random.Random(f"{name} {seed}")
    case = next(cases(name))
    controls, seeds = pools(case)
    prompt = case.prompt()
    for number in range(count):
        ids = drawn_ids(random_, controls, seeds)
        parsed = case.renderer.parse(ids, prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
        assert covered(parsed.spans, len(ids)), (name, ids)
        if number % 10 == 0:
            parser = case.renderer.parser(prompt=prompt, tools=TOOLS, tokenizer=case.tokenizer)
            for token in ids:
                parser.feed(token)
            assert parser.finish() == parsed, (name, ids)


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


def main(argv: list[str]) -> int:
    """Run it; 1 where something is read wrongly."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("count", nargs="?", type=int, default=1_000_000)
    options.add_argument("--laws", action="store_true")
    options.add_argument("--format", action="append")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args(argv)
    names = given.format or formats()
    bad = False
    for name in names:
        start = time.monotonic()
        if given.laws:
            count, wrong = laws(name)
            bad = bad or bool(wrong)
            print(f"{name}: {count} messages, {len(wrong)} wrong", *wrong[:1], flush=True)
            continue
        count = -(-given.count // len(names))
        fuzz(name, count, given.seed)
        print(f"{name}: {count} completions, {time.monotonic() - start:.0f} s", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

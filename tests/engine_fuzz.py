"""The fast engine against the tokenizers themselves: `python -m tests.engine_fuzz --count 1000000`.

Owns the comparison on random strings over nine real vocabularies: ids of every string, and where tokens start. Prints
one line a vocabulary and library and ends with status 1 where there is a difference.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from templc.runtime.engine import FastEngine, Unfit, fast_engine
from templc.runtime.engine.build import KINDS
from templc.runtime.engine.trial import hostile_strings
from tests.support import vocabularies
from tests.support.vocabularies import split_tokenizer, text_engine

BLOCKS = ((0x20, 0x7F), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0xDFF), (0x1100, 0x11FF),
          (0x2000, 0x2BFF), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xA640, 0xABFF), (0xAC00, 0xD7A3),
          (0xF900, 0xFFFD), (0x10000, 0x1FFFF), (0x20000, 0x2FFFF), (0xE0000, 0xE01FF))  # fmt: skip
# Further vocabularies of splintr-rs, with the number of ranks and whose pattern they are cut with.
MORE = {"cl100k": ("cl100k_base", 100256, "llama3"), "phi4": ("phi4", 100256, "llama3")}
NAMES = (*vocabularies.NAMES, *MORE)


def tokenizer(name: str) -> Any:
    """A vocabulary without its added tokens."""
    if name not in MORE:
        return text_engine(vocabularies.backend(name))
    import splintr

    source, size, pattern = MORE[name]
    loaded = splintr.Tokenizer.from_pretrained(source)
    ranks: Mapping[bytes, int] = {loaded.decode_token_bytes(rank): rank for rank in range(size)}
    return split_tokenizer(ranks, vocabularies.FAMILIES[pattern].pattern)


def strings(count: int, seed: int) -> Iterator[str]:
    """Pieces that tokenizers disagree about, and runs of random characters of the same or of several scripts."""
    dice = random.Random(seed)
    for hostile in hostile_strings(count, seed):
        if dice.random() < 0.6:
            yield hostile
            continue
        blocks = dice.choices(BLOCKS, k=dice.randint(1, 3))
        drawn = (chr(dice.randint(*dice.choice(blocks))) for _ in range(dice.randint(1, 24)))
        yield "".join(drawn) + (hostile if dice.random() < 0.5 else "")


def compare(own: Any, fast: FastEngine, count: int, seed: int) -> tuple[int, int, list[str]]:
    """How many strings the fast engine took, of how many characters, and those that differ."""
    taken = size = 0
    wrong: list[str] = []
    for text in strings(count, seed):
        ids = fast.ids(text)
        if ids is None:
            continue
        taken += 1
        size += len(text)
        found = own.encode(text, add_special_tokens=False)
        starts = fast.starts(text)
        same = starts is None or starts == (found.ids, [start for start, _ in found.offsets])
        if ids != found.ids or not same:
            wrong.append(text)
    return taken, size, wrong


def fitting(own: Any) -> list[FastEngine]:
    """The engines of every kind that takes the vocabulary; at least one."""
    found = []
    for kind in KINDS:
        try:
            found.append(fast_engine(own, [kind]))
        except Unfit as unfit:
            print(f"  {kind.name}: {unfit.reason}")
    assert found, "no kind of engine takes this vocabulary"
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--count", type=int, default=20_000, help="strings a library, over all vocabularies"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = False
    for name in NAMES:
        own = tokenizer(name)
        for fast in fitting(own):
            begin = time.perf_counter()
            taken, size, wrong = compare(own, fast, -(-given.count // len(NAMES)), given.seed)
            failed = failed or bool(wrong)
            spent = time.perf_counter() - begin
            counts = f"{taken:>9} strings {size:>10} characters {len(wrong):>5} differ"
            print(f"{name:18} {fast.name:10} {counts} {spent:6.1f} s", flush=True)
            for text in wrong[:3]:
                print(f"  {text!r}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

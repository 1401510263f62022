"""Whether reading takes linear time: `python -m tests.benchmarks.parse_time [START]`.

Hostile completions are read at START, twice and four times that length, whole and in pieces; each doubling may take
at most 2.2 times as long. What is read within milliseconds starts longer, so that no length has the processor's caches
to itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from templc.registry import get_renderer

LIMIT = 2.2
# Clocks are coarse, and whatever else the machine does shows in short times.
MOMENT = 0.03
LEAST = 0.08
_OPEN = '<tool_call>\n{"name": "f", "arguments": {"k": "'
HOSTILE: dict[str, Callable[[int], str]] = {
    "plain": lambda n: "word " * (n // 5),
    "newlines": lambda n: "\n" * n,
    "open call": lambda n: _OPEN + "x" * n,
    "closers in a string": lambda n: _OPEN + "</tool_call>" * (n // 12),
    "openers": lambda n: "<tool_call>" * (n // 11),
    "quotes": lambda n: _OPEN + '\\"' * (n // 2),
    "braces": lambda n: "<tool_call>\n" + "{" * n,
    "half anchors": lambda n: "<tool_cal" * (n // 9),
    "thoughts": lambda n: "<think>\n" * (n // 8),
    "calls": lambda n: (_OPEN + '"}}\n</tool_call>\n') * (n // 64),
}


def reading(name: str, text: str, chunk: int) -> None:
    """Read a completion; `chunk`: characters at a time."""
    parser = get_renderer(name).parser()
    for at in range(0, len(text), chunk):
        parser.feed(text[at : at + chunk])
    parser.finish()


def seconds(name: str, text: str, chunk: int) -> float:
    """Processor time of one reading: the best of seven times, each of as many readings as take a moment."""
    start = time.process_time()
    reading(name, text, chunk)
    count = 1 + int(MOMENT / max(time.process_time() - start, 1e-4))
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        for _ in range(count):
            reading(name, text, chunk)
        best = min(best, (time.process_time() - start) / count)
    return best


def lengths(name: str, make: Callable[[int], str], size: int, whole: bool) -> tuple[int, ...]:
    """The three lengths: from `size` on, or from where reading in one piece takes a while."""
    while whole and size < 64_000_000:
        start = time.process_time()
        reading(name, make(size), size)
        if time.process_time() - start >= LEAST:
            break
        size *= 2
    return size, 2 * size, 4 * size


def main(argv: list[str]) -> int:
    """Print the growth of each; 1 where one grows too fast."""
    size, bad = int(argv[0]) if argv else 200_000, False
    for name in ("qwen3", "qwen3_coder"):
        for kind, make in HOSTILE.items():
            for whole in (True, False):
                found = lengths(name, make, size, whole)
                chunk = found[-1] if whole else 16
                times = [seconds(name, make(length), chunk) for length in found]
                growth = (times[2] / times[0]) ** 0.5
                bad = bad or growth > LIMIT
                print(
                    f"{name} {kind}, {chunk} at a time: {times[2]:.3f} s, x{growth:.2f}", flush=True
                )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a longer conversation costs: `python -m tests.benchmarks.extend_cost`.

A tool loop on Qwen3 is extended turn by turn by messages that are given; `rollout_cost` has those that are sampled.
Printed are, for the tokenizer's own engine and for the fast one: the time of all extensions over one render of the
final conversation, of `extend` at late turns over early ones, and what rendering anew at each turn costs with
transformers; and the memory of forks.
"""

from __future__ import annotations

import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import templc
from tests.benchmarks.engines import with_engine
from tests.support.published import published
from tests.support.vocabularies import backend

TEXT = (
    "The temperature is 18 degrees and the wind comes from the west, so take a light jacket. " * 6
)


def loop(turns: int) -> list[dict[str, Any]]:
    """A user question and `turns` rounds of call and result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Keep me posted on the weather."}]
    for number in range(turns):
        call = {"name": "get_weather", "arguments": {"hour": number}}
        messages.append(
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": TEXT,
                "tool_calls": [{"type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "content": json.dumps({"hour": number, "report": TEXT})})
    return messages


def timed(work: Callable[[], Any], repeat: int = 5) -> float:
    """The median time of a call in seconds."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def late_over_early(renderer: templc.Renderer, early: int, late: int, pairs: int = 60) -> float:
    """The time of one `extend` after `late` turns over the one after `early` turns: median of pairs."""
    messages = loop(late + 1)
    ratios = []
    ends = [2 * early + 1, 2 * late + 1]
    olds = [renderer.render(messages[:end], add_generation_prompt=False) for end in ends]
    for _ in range(pairs):
        times = []
        for old, end in zip(olds, ends, strict=True):
            begin = time.perf_counter()
            renderer.extend(old, messages[end : end + 2], add_generation_prompt=False)
            times.append(time.perf_counter() - begin)
        ratios.append(times[1] / times[0])
    return statistics.median(ratios)


def incremental(renderer: templc.Renderer, messages: list[dict[str, Any]]) -> None:
    """A whole conversation, extended turn by turn."""
    last = renderer.render(messages[:1], add_generation_prompt=False)
    for at in range(1, len(messages), 2):
        last = renderer.extend(last, messages[at : at + 2], add_generation_prompt=False)


def forks(
    renderer: templc.Renderer, messages: list[dict[str, Any]], count: int
) -> tuple[float, float]:
    """Kilobytes that a fork adds, and that the first trajectory takes."""
    tracemalloc.start()
    base = renderer.start(messages)
    first = tracemalloc.get_traced_memory()[0]
    made = [base.fork() for _ in range(count)]
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(made) == count
    return (after - first) / count / 1024, first / 1024


def unused() -> Any:
    """A tokenizer that nobody has used before."""
    return type(backend("qwen3")).from_str(backend("qwen3").to_str())


def table(renderer: templc.Renderer, tokenizer: Any) -> None:
    """One row for each length, with transformers where it does not take minutes."""
    template = published("Qwen-Qwen3-0.6B@a55ee1")
    print(
        f"{'turns':>6} {'tokens':>8} {'render':>9} {'extend all':>11} {'ratio':>6}"
        f" {'transformers, each turn':>24} {'ratio':>7}"
    )
    for turns in (1, 8, 64, 256):
        messages = loop(turns)
        repeat = 5
        whole = timed(lambda m=messages: renderer.render(m), repeat)  # type: ignore[misc]
        grown = timed(lambda m=messages: incremental(renderer, m), repeat)  # type: ignore[misc]

        def anew(m: list[dict[str, Any]] = messages) -> None:
            for at in range(1, len(m) + 1, 2):
                text = template.render(m[:at], add_generation_prompt=True)
                tokenizer.encode(text, add_special_tokens=False)

        again = timed(anew, 1 if turns > 8 else 3) if turns <= 64 else float("nan")
        size = len(renderer.render(messages))
        print(
            f"{turns:>6} {size:>8} {whole * 1e3:>7.1f}ms {grown * 1e3:>9.1f}ms {grown / whole:>6.2f}"
            f" {again * 1e3:>22.0f}ms {again / grown:>7.1f}"
        )
    print(f"extend at turn 256 over turn 4: {late_over_early(renderer, 4, 256):.2f}")


def main() -> None:
    """Print a table for each engine, and the memory of forks."""
    for engine in ("own", "fast"):
        renderer = with_engine(engine, "qwen3", unused)
        incremental(renderer, loop(4))
        table(renderer, renderer.tokenizer)
    per_fork, base = forks(renderer, loop(64), 1000)
    print(
        f"1,000 forks of a 64-turn trajectory: {per_fork:.1f} kB each, the trajectory itself {base:.0f} kB"
    )


if __name__ == "__main__":
    main()

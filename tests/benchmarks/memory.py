"""What a bound renderer takes beside its tokenizer: `python -m tests.benchmarks.memory`.

Owns one line a vocabulary: resident megabytes that the codec and the fast engine add, once made, and what 1,000
renderers for one tokenizer add to that. Linux only, for it reads /proc.
"""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path

import templc
from templc.runtime.codec import codec_of
from tests.support import vocabularies

FORMATS = {"qwen3": "qwen3", "llama3": "llama3", "deepseek-v3": "deepseekv3", "gpt-oss": "gpt_oss"}
CHAT = [{"role": "user", "content": "How much memory does this take? " * 20}]


def resident() -> float:
    """Megabytes of this process, what was freed given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(vocabulary: str, format: str) -> tuple[float, float]:
    """Megabytes that the first renderer adds, and that 1,000 more of them add."""
    tokenizer = vocabularies.backend(vocabulary)
    tokenizer.encode(CHAT[0]["content"])
    before = resident()
    first = templc.get_renderer(format, tokenizer)
    assert codec_of(tokenizer).engine() == "gigatoken"
    first.render(CHAT)
    one = resident()
    more = [templc.get_renderer(format, tokenizer) for _ in range(1000)]
    for renderer in more:
        renderer.render(CHAT)
    return one - before, resident() - one


def main() -> None:
    """Print the table, each vocabulary in a process of its own."""
    for vocabulary, format in FORMATS.items():
        child = os.fork()
        if child == 0:
            first, more = measure(vocabulary, format)
            print(
                f"{vocabulary:12} first renderer {first:6.1f} MB, 1,000 more {more:6.1f} MB",
                flush=True,
            )
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()

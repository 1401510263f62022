"""What a bound renderer takes beside its tokenizer: `python -m tests.benchmarks.memory`.

Owns one line a vocabulary and fast engine: resident megabytes that the codec and the engine add, once made and used
to render and to read an answer, and what 1,000 renderers for one tokenizer add to that. What the libraries take by
being imported is told apart, once a process: numpy most of it, and Python's metadata of packages, which training code
has anyway. Linux only, for it reads /proc.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import itertools
import os
from pathlib import Path
from typing import Any

import templc
from templc.runtime.codec import codec_of
from tests.support import vocabularies

FORMATS = {"qwen3": "qwen3", "llama3": "llama3", "deepseek-v3": "deepseekv3", "gpt-oss": "gpt_oss"}
ENGINES = ("gigatoken", "tiktoken")
LIBRARIES = ("gigatoken.gigatoken_rs", "numpy", "tiktoken", "importlib.metadata")
CHAT = [
    {"role": "user", "content": "How much memory does this take? " * 20},
    {"role": "assistant", "content": "It is measured here. " * 20 + "Yes."},
]


def resident() -> float:
    """Megabytes of this process, what was freed given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(vocabulary: str, format: str, engine: str) -> tuple[float, float]:
    """Megabytes that the first renderer adds, and that 1,000 more of them add."""
    os.environ["TEMPLC_ENGINE"] = engine
    tokenizer = vocabularies.backend(vocabulary)
    tokenizer.encode(CHAT[0]["content"])
    before = resident()
    first = templc.get_renderer(format, tokenizer)
    assert codec_of(tokenizer).engine() == engine
    used(first)
    one = resident()
    more = [templc.get_renderer(format, tokenizer) for _ in range(1000)]
    for renderer in more:
        used(renderer)
    return one - before, resident() - one


def used(renderer: Any) -> None:
    """Render a conversation and read its answer back."""
    tokens = renderer.render(CHAT)
    parsed = renderer.parse([id for id, by in zip(tokens, tokens.sampled, strict=True) if by])
    assert parsed.message["content"] == CHAT[1]["content"]


def main() -> None:
    """Print the table, each line in a process of its own. Verdicts must be kept: the second run on a machine counts."""
    before = resident()
    for library in LIBRARIES:
        importlib.import_module(library)
    print(f"{'libraries':24} {resident() - before:6.1f} MB", flush=True)
    for (vocabulary, format), engine in itertools.product(FORMATS.items(), ENGINES):
        child = os.fork()
        if child == 0:
            first, more = measure(vocabulary, format, engine)
            named = f"{vocabulary:13} {engine:10}"
            print(f"{named} {first:6.1f} MB, 1,000 more {more:6.1f} MB", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()

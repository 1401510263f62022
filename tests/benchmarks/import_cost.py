"""What `import templc` and the first render cost over a bare interpreter.

    python -m tests.benchmarks.import_cost

Prints the medians of 15 runs each, in turn, and exits with 1 above the target. Bytecode is cached, as it is by default.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

RUNS = 15
TARGET_MS = 100.0
BARE = "pass"
RENDER = (
    "import templc; "
    "templc.get_renderer('qwen3_instruct').render_text([{'role': 'user', 'content': 'hi'}])"
)


def milliseconds(code: str) -> float:
    """How long a new interpreter takes to run `code`."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return (time.perf_counter() - start) * 1000


def cost(runs: int = RUNS) -> tuple[float, float]:
    """Median milliseconds of a bare interpreter, and of one that renders a text."""
    for code in (BARE, RENDER):
        milliseconds(code)
    pairs = [(milliseconds(BARE), milliseconds(RENDER)) for _ in range(runs)]
    bare, render = zip(*pairs, strict=True)
    return statistics.median(bare), statistics.median(render)


def main() -> int:
    bare, render = cost()
    extra = render - bare
    verdict = "within" if extra <= TARGET_MS else "above"
    print(f"python -c pass             {bare:7.1f} ms")
    print(f"import templc and render   {render:7.1f} ms")
    print(f"difference                 {extra:7.1f} ms, {verdict} the target of {TARGET_MS:.0f} ms")
    return int(extra > TARGET_MS)


if __name__ == "__main__":
    sys.exit(main())

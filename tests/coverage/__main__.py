"""`python -m tests.coverage`: measure, print, and with `--record` write the table that recognition reads."""

from __future__ import annotations

import argparse
import sys
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import track

from tests.coverage.match import best
from tests.coverage.renders import store, templates
from tests.coverage.report import lines, table

RECORD = Path(__file__).parents[2] / "templc" / "recognised.json"
PROCESSES = 2


def main() -> int:
    """Render what is not stored yet, match every template, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=main.__doc__)
    parser.add_argument("--record", action="store_true", help="also write the table of digests")
    given = parser.parse_args()
    screen = Console(stderr=True)
    found = templates()
    with get_context("spawn").Pool(PROCESSES) as pool:
        jobs = pool.imap_unordered(store, found, chunksize=8)
        for _ in track(jobs, "rendering", total=len(found), console=screen):
            pass
    matches = [best(template) for template in track(found, "matching ", console=screen)]
    sys.stdout.write("\n".join(lines(matches)) + "\n")
    if given.record:
        RECORD.write_text(table(matches), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
